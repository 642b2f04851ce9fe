"""Change of number format."""

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.graph.faults import OperatorError
from tilewright.graph.operator import Array, Formula, register
from tilewright.graph.types import NumberFormat, ValueType


@register
@dataclass(frozen=True, slots=True)
class Cast(Formula):
    """The same numbers in the format `to`, rounded where they do not fit."""

    to: NumberFormat

    mnemonic = "cast"
    roles = ("x",)

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        (x,) = operands
        if x.dtype.is_float and not self.to.dtype.is_float:
            raise OperatorError(f"{x.dtype.name} cannot be cast to I32, only the reverse")
        return ValueType(self.to, x.shape)

    def evaluate(self, operands: Sequence[Array]) -> Array:
        return operands[0]
