"""What the floating-point units share: calls of support functions, and collecting their flags."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from llvmlite import ir

from tilewright.emulator.llvm import ordered
from tilewright.emulator.llvm.lanes import Emitted, any_lane, packed, same_type_intrinsic, vector
from tilewright.emulator.llvm.library import unlikely
from tilewright.emulator.llvm.rounded import as_single, magnitude, no_flags, result_type

if TYPE_CHECKING:
    from tilewright.emulator.llvm.machine import LlvmMachine

UNIFORMS = 12
"""Uniform numbers that add up to an approximately normal one (assumed, `grand`)."""
UNIFORM_BITS = 16

Arithmetic = Callable[[ir.IRBuilder, Emitted, Emitted], Emitted]


def _add(builder: ir.IRBuilder, a: Emitted, b: Emitted) -> Emitted:
    return builder.fadd(a, b)


def _sub(builder: ir.IRBuilder, a: Emitted, b: Emitted) -> Emitted:
    return builder.fsub(a, b)


def _mul(builder: ir.IRBuilder, a: Emitted, b: Emitted) -> Emitted:
    return builder.fmul(a, b)


def _absadd(builder: ir.IRBuilder, a: Emitted, b: Emitted) -> Emitted:
    return builder.fadd(
        same_type_intrinsic(builder, "fabs", a), same_type_intrinsic(builder, "fabs", b)
    )


class LaneUnit(ABC):
    """One format's arithmetic: support functions on all lanes of their operands.

    The subclass tells how to take a value apart and how to finish a result.
    """

    name: str

    def __init__(self, machine: LlvmMachine) -> None:
        self._machine = machine
        self._control = machine.control

    # -- what differs between formats ---------------------------------------------------------

    @abstractmethod
    def lanes(self, builder: ir.IRBuilder, value: Emitted) -> Emitted:
        """Patterns of the lanes of a value."""

    @abstractmethod
    def finish(self, builder: ir.IRBuilder, rounded: Emitted, operands: list[Emitted]) -> Emitted:
        """The result structure from the host's singles."""

    @abstractmethod
    def quick(
        self, builder: ir.IRBuilder, operation: Arithmetic, a: Emitted, b: Emitted
    ) -> tuple[Emitted, Emitted]:
        """Patterns of results, and the lanes in which they are right and raise no flags."""

    # -- arithmetic ---------------------------------------------------------------------------

    def add(self, a: Emitted, b: Emitted) -> Emitted:
        return self._arithmetic("add", _add, a, b)

    def sub(self, a: Emitted, b: Emitted) -> Emitted:
        return self._arithmetic("sub", _sub, a, b)

    def mul(self, a: Emitted, b: Emitted) -> Emitted:
        return self._arithmetic("mul", _mul, a, b)

    def absadd(self, a: Emitted, b: Emitted) -> Emitted:
        return self._arithmetic("absadd", _absadd, a, b)

    def max(self, a: Emitted, b: Emitted) -> Emitted:
        return self._extreme("max", ">", a, b)

    def min(self, a: Emitted, b: Emitted) -> Emitted:
        return self._extreme("min", "<", a, b)

    def absmax(self, a: Emitted, b: Emitted) -> Emitted:
        def body(builder: ir.IRBuilder, a: Emitted, b: Emitted) -> Emitted:
            one, other = (magnitude(builder, self.lanes(builder, each)) for each in (a, b))
            return ordered.extreme_result(builder, ">", one, other)

        return self.call("absmax", body, a.type.width, a, b)

    def clamp(self, a: Emitted, low: Emitted, high: Emitted) -> Emitted:
        def body(builder: ir.IRBuilder, *operands: Emitted) -> Emitted:
            return ordered.clamped(builder, *(self.lanes(builder, each) for each in operands))

        return self.call("clamp", body, a.type.width, a, low, high)

    def compare(self, relation: str, a: Emitted, b: Emitted) -> Emitted:
        def body(builder: ir.IRBuilder, *operands: Emitted) -> Emitted:
            one, other = (self.lanes(builder, each) for each in operands)
            return ordered.compared(builder, relation, one, other)

        return self.call(relation, body, a.type.width, a, b)

    # -- for subclasses -----------------------------------------------------------------------

    def call(
        self, name: str, body: Callable[..., Emitted], width: int, *operands: Emitted
    ) -> Emitted:
        """Call the support function `name`, collect its flags, and give its pattern."""
        full_name = ".".join([self.name, name, *(str(operand.type.width) for operand in operands)])
        return self._machine.call_rounding(full_name, body, result_type(width), operands)

    def _arithmetic(self, name: str, operation: Arithmetic, a: Emitted, b: Emitted) -> Emitted:
        library, width = self._machine.library, a.type.width
        complete_name = f"{self.name}.{name}.complete.{width}"

        def complete(builder: ir.IRBuilder, *operands: Emitted) -> Emitted:
            patterns = [self.lanes(builder, each) for each in operands]
            one, other = (as_single(builder, each) for each in patterns)
            return self.finish(builder, operation(builder, one, other), patterns)

        def body(builder: ir.IRBuilder, *operands: Emitted) -> Emitted:
            pattern, ordinary = self.quick(builder, operation, *operands)
            return unlikely(
                builder,
                any_lane(builder, builder.not_(ordinary)),
                (packed(builder, pattern), no_flags()),
                lambda: library.call(
                    builder, complete_name, complete, result_type(width), operands, ("noinline",)
                ),
            )

        return self.call(name, body, width, a, b)

    def _extreme(self, name: str, relation: str, a: Emitted, b: Emitted) -> Emitted:
        def body(builder: ir.IRBuilder, a: Emitted, b: Emitted) -> Emitted:
            one, other = self.lanes(builder, a), self.lanes(builder, b)
            return ordered.extreme_result(builder, relation, one, other)

        return self.call(name, body, a.type.width, a, b)

    def _normal_samples(self) -> list[Emitted]:
        """Two sums of uniform 16-bit numbers less their mean, as exact singles."""
        machine = self._machine
        draws = [machine.random() for _ in range(UNIFORMS // 2)]
        uniforms = [
            machine.zero_extend(lane, 32)
            for draw in draws
            for lane in machine.split(draw, UNIFORM_BITS)
        ]
        mean = machine.const(UNIFORMS << (UNIFORM_BITS - 1))
        samples = []
        for first in (0, UNIFORMS):
            total = machine.const(0)
            for uniform in uniforms[first : first + UNIFORMS]:
                total = machine.add(total, uniform)
            samples.append(machine.sub(total, mean))
        return samples


def scaled_integers(builder: ir.IRBuilder, integers: Emitted, kind: object, power: int) -> Emitted:
    """Signed integers times 2**`power` as the host's floats, which must hold them exactly."""
    lanes = vector(kind, integers.type.count)
    exact = builder.sitofp(integers, lanes)
    scale = ir.Constant(lanes, [2.0**power] * integers.type.count)
    return builder.fmul(exact, scale)
