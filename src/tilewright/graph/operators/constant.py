"""Numbers that are part of the graph itself."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.graph.faults import OperatorError
from tilewright.graph.operator import Array, Formula, register
from tilewright.graph.rounding import largest
from tilewright.graph.types import INDEX_LIMIT, ValueType


@register
@dataclass(frozen=True, slots=True)
class Constant(Formula):
    """`values` with the last axis fastest, or one value for all elements.

    Meant for scalars and small tables; what a model has learnt is a parameter. The text form prints
    `type` as that of the result.
    """

    type: ValueType
    values: tuple[float, ...]

    mnemonic = "constant"
    roles = ()

    def __post_init__(self) -> None:
        as_number = float if self.type.dtype.is_float else _whole
        object.__setattr__(self, "values", tuple(map(as_number, self.values)))

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        if len(self.values) not in (1, self.type.elements):
            raise OperatorError(
                f"{self.type} needs {self.type.elements} values, or 1 for all of them, "
                f"found {len(self.values)}"
            )
        if not all(math.isfinite(value) for value in self.values):
            raise OperatorError("the values of a constant must be finite")
        limit = largest(self.type.format)
        if self.type.dtype.is_float and any(abs(value) > limit for value in self.values):
            raise OperatorError(f"{self.type.format} holds numbers up to {limit:g} only")
        return self.type

    def evaluate(self, operands: Sequence[Array]) -> Array:
        numbers = np.array(self.values, np.float64 if self.type.dtype.is_float else np.int64)
        return np.broadcast_to(numbers, self.type.elements).reshape(self.type.shape)


def _whole(value: float) -> int:
    if not math.isfinite(value) or int(value) != value or not -INDEX_LIMIT <= value < INDEX_LIMIT:
        raise OperatorError(f"{value} is not an I32")
    return int(value)
