"""Reductions over trailing axes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tilewright.graph.faults import OperatorError
from tilewright.graph.operator import Array, Formula, float_format, register
from tilewright.graph.types import ValueType


class Reduction(Enum):
    SUM = "sum"
    MEAN = "mean"
    MAX = "max"


_FUNCTIONS: dict[Reduction, Callable[..., Array]] = {
    Reduction.SUM: np.sum,
    Reduction.MEAN: np.mean,
    Reduction.MAX: np.max,
}


@register
@dataclass(frozen=True, slots=True)
class Reduce(Formula):
    """The last `axes` axes brought to one number, and left out, or with `keep` left as extent 1."""

    kind: Reduction
    axes: int = 1
    keep: bool = False

    mnemonic = "reduce"
    roles = ("x",)

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        (x,) = operands
        if not 1 <= self.axes <= x.rank:
            raise OperatorError(f"it cannot reduce {self.axes} trailing axes of {x.rank}")
        kept = (1,) * self.axes if self.keep else ()
        return ValueType(float_format(x), x.shape[: -self.axes] + kept)

    def evaluate(self, operands: Sequence[Array]) -> Array:
        axes = tuple(range(-self.axes, 0))
        return np.asarray(_FUNCTIONS[self.kind](operands[0], axis=axes, keepdims=self.keep))
