"""Structured repetition: one body, run a fixed number of times."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tilewright.graph.faults import OperatorError
from tilewright.graph.operator import Operator, register
from tilewright.graph.structure import Region
from tilewright.graph.types import ValueType
from tilewright.graph.values import Value

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RepeatParts(Generic[T]):
    """Something that a `Repeat` has for each operand, by what the operand is for."""

    carried: tuple[T, ...]
    invariants: tuple[T, ...]
    sequences: tuple[tuple[T, ...], ...]
    """For each sequence, one for each iteration."""


@register
@dataclass(frozen=True, slots=True)
class Repeat(Operator):
    """`body`, run `count` times; it is never unrolled.

    Operands are, in this order, the initial carried values, the invariants, and the values of each
    sequence, one per iteration. The body has one argument for each carried value, invariant and
    sequence. What it yields becomes the carried values of the next iteration, and after the last
    one the results.
    """

    count: int
    invariants: int
    body: Region

    mnemonic = "repeat"

    @property
    def carried(self) -> int:
        return len(self.body.results)

    @property
    def sequences(self) -> int:
        return len(self.body.arguments) - self.carried - self.invariants

    def parts(self, operands: Sequence[T]) -> RepeatParts[T]:
        """The operands, or what belongs to them, sorted by use."""
        first = self.carried + self.invariants
        starts = range(first, first + self.sequences * self.count, self.count)
        return RepeatParts(
            tuple(operands[: self.carried]),
            tuple(operands[self.carried : first]),
            tuple(tuple(operands[start : start + self.count]) for start in starts),
        )

    @property
    def arguments(self) -> RepeatParts[Value]:
        """The body's arguments, sorted by use; a sequence has one."""
        arguments = self.body.arguments
        first = self.carried + self.invariants
        return RepeatParts(
            arguments[: self.carried],
            arguments[self.carried : first],
            tuple((argument,) for argument in arguments[first:]),
        )

    def role(self, index: int) -> str:
        first = self.carried + self.invariants
        if index < self.carried:
            return f"carried {index}"
        if index < first:
            return f"invariant {index - self.carried}"
        sequence, iteration = divmod(index - first, max(self.count, 1))
        return f"sequence {sequence}, iteration {iteration}"

    def result_types(self, operands: Sequence[ValueType]) -> tuple[ValueType, ...]:
        faults = list(self._faults(operands))
        if faults:
            raise OperatorError("; ".join(faults))
        return tuple(result.type for result in self.body.results)

    def _faults(self, operands: Sequence[ValueType]) -> Iterator[str]:
        if self.count < 1:
            yield f"it needs one iteration or more, found {self.count}"
            return
        if not self.carried:
            yield "it carries no value, so it has no result"
            return
        if self.invariants < 0 or self.sequences < 0:
            yield (
                f"{self.carried} carried values and {self.invariants} invariants need as many "
                f"arguments of the body, found {len(self.body.arguments)}"
            )
            return
        expected = self.carried + self.invariants + self.sequences * self.count
        if len(operands) != expected:
            yield (
                f"{self.carried} carried values, {self.invariants} invariants and "
                f"{self.sequences} sequences of {self.count} make {expected} operands, "
                f"found {len(operands)}"
            )
            return
        yield from self._argument_faults(operands)
        yield from self._yield_faults()

    def _argument_faults(self, operands: Sequence[ValueType]) -> Iterator[str]:
        groups = self.parts(operands)
        whole = [(each,) for each in (*groups.carried, *groups.invariants)]
        for argument, given in zip(self.body.arguments, [*whole, *groups.sequences], strict=True):
            wrong = next((each for each in given if each != argument.type), None)
            if wrong is not None:
                yield f"the body's argument {argument} is given {wrong}"

    def _yield_faults(self) -> Iterator[str]:
        for argument, result in zip(self.body.arguments, self.body.results, strict=False):
            if argument.type != result.type:
                yield f"the body yields {result} for the carried value {argument}"
