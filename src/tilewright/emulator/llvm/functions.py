"""Functions of one single: roots and reciprocals, exponentials, logarithms, tanh, the logistic.

All are correctly rounded. Roots and reciprocals of singles are so on the host. The others are
evaluated in double by the host's C library, whose error is some 2**-51; if all numbers within
2**-45 of the double round to the same single, so does the true value. If not, which happens about
once in a million calls, the specification itself is called (the slow path).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llvmlite import ir

from tilewright.emulator.llvm.lanes import (
    DOUBLE,
    LONG,
    SINGLE,
    WORD,
    Emitted,
    like,
    same_type_intrinsic,
    vector,
)
from tilewright.emulator.llvm.library import unlikely
from tilewright.emulator.llvm.rounded import (
    as_single,
    is_zero,
    result,
    single_lanes,
    single_result,
)

if TYPE_CHECKING:
    from tilewright.emulator.llvm.machine import LlvmMachine

_MARGIN = 2.0**-45
_LIBRARY = {"exp": "exp", "exp2": "exp2", "ln": "log", "log2": "log2", "tanh": "tanh"}


@dataclass(frozen=True, slots=True)
class UnaryFunction:
    """The body of a support function, and what it needs as further arguments."""

    body: Callable[..., Emitted]
    support: tuple[Emitted, ...] = ()


def unary_result(machine: LlvmMachine, function: str) -> UnaryFunction:
    """How to compute `function`."""
    if function == "sqrt":
        return UnaryFunction(_root)
    if function == "oox":
        return UnaryFunction(_reciprocal)
    exact = machine.support_word(f"f32.{function}")
    if function == "oorx":
        return UnaryFunction(_reciprocal_root, (exact,))
    library = machine.support_word(f"libm.{_LIBRARY.get(function, 'exp')}")
    has_pole = function in ("ln", "log2")

    def body(builder: ir.IRBuilder, a: Emitted, exact: Emitted, library: Emitted) -> Emitted:
        lanes = single_lanes(builder, a)
        wide = builder.fpext(builder.extract_element(as_single(builder, lanes), WORD(0)), DOUBLE)
        value = (
            _logistic(builder, library, wide)
            if function == "sigm"
            else _call(builder, library, DOUBLE, wide)
        )
        return _confirmed(builder, exact, lanes, value, has_pole)

    return UnaryFunction(body, (exact, library))


def _root(builder: ir.IRBuilder, a: Emitted) -> Emitted:
    lanes = single_lanes(builder, a)
    root = same_type_intrinsic(builder, "sqrt", as_single(builder, lanes))
    return single_result(builder, root, [lanes])


def _reciprocal(builder: ir.IRBuilder, a: Emitted) -> Emitted:
    lanes = single_lanes(builder, a)
    one = ir.Constant(vector(SINGLE, lanes.type.count), [1.0] * lanes.type.count)
    quotient = builder.fdiv(one, as_single(builder, lanes))
    return single_result(builder, quotient, [lanes], zero_divisor=is_zero(builder, lanes))


def _reciprocal_root(builder: ir.IRBuilder, a: Emitted, exact: Emitted) -> Emitted:
    lanes = single_lanes(builder, a)
    wide = builder.fpext(builder.extract_element(as_single(builder, lanes), WORD(0)), DOUBLE)
    root = same_type_intrinsic(builder, "sqrt", wide)
    return _confirmed(builder, exact, lanes, builder.fdiv(DOUBLE(1.0), root), has_pole=True)


def _logistic(builder: ir.IRBuilder, library: Emitted, x: Emitted) -> Emitted:
    power = _call(builder, library, DOUBLE, builder.fneg(x))
    return builder.fdiv(DOUBLE(1.0), builder.fadd(DOUBLE(1.0), power))


def _confirmed(
    builder: ir.IRBuilder, exact: Emitted, lanes: Emitted, value: Emitted, has_pole: bool
) -> Emitted:
    """The result structure for `value`, or of the specification if it may round differently."""
    bounds = [
        builder.bitcast(builder.fptrunc(builder.fmul(value, DOUBLE(1.0 + margin)), SINGLE), WORD)
        for margin in (-_MARGIN, _MARGIN)
    ]
    is_sure = builder.icmp_unsigned("==", *bounds)
    # A NaN is a NaN whatever its bits.
    is_sure = builder.or_(is_sure, builder.fcmp_unordered("uno", value, value))
    pole = is_zero(builder, lanes) if has_pole else None
    one = ir.Constant(vector(SINGLE, 1), ir.Undefined)
    fast = builder.insert_element(one, builder.fptrunc(value, SINGLE), WORD(0))
    sure = single_result(builder, fast, [lanes], zero_divisor=pole)

    def slow() -> Emitted:
        answer = _call(builder, exact, LONG, builder.extract_element(lanes, WORD(0)))
        flags = builder.trunc(builder.lshr(answer, like(answer, 32)), WORD)
        return result(builder, builder.trunc(answer, WORD), flags)

    usual = builder.extract_value(sure, 0), builder.extract_value(sure, 1)
    return unlikely(builder, builder.not_(is_sure), usual, slow)


def _call(builder: ir.IRBuilder, address: Emitted, result: object, argument: Emitted) -> Emitted:
    """Call a function of one argument by its address."""
    kind = ir.FunctionType(result, [argument.type])
    return builder.call(builder.inttoptr(address, kind.as_pointer()), [argument])
