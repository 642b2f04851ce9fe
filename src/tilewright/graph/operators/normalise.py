"""Operators along the last axis: softmax and the normalisations."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.graph.faults import OperatorError
from tilewright.graph.operator import (
    Array,
    Formula,
    float_format,
    register,
    require_rank,
    softmax,
)
from tilewright.graph.types import ValueType


@register
@dataclass(frozen=True, slots=True)
class Softmax(Formula):
    mnemonic = "softmax"
    roles = ("x",)

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        (x,) = operands
        require_rank(x, "x", 1)
        return ValueType(float_format(x), x.shape)

    def evaluate(self, operands: Sequence[Array]) -> Array:
        return softmax(operands[0])


class Normalisation(Formula):
    """Rows brought to unit size, then times `scale` and plus `bias`, one number for each column.

    The result has the format computed from x alone: scale and bias may be wider.
    """

    __slots__ = ()

    epsilon: float
    roles = ("x", "scale", "bias")
    optional = 2

    @abstractmethod
    def normalised(self, x: Array) -> Array:
        """Without scale and bias."""

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        x, *affine = operands
        require_rank(x, "x", 1)
        if not 0.0 <= self.epsilon < float("inf"):
            raise OperatorError(f"epsilon must be finite and not negative, found {self.epsilon}")
        float_format(*operands)
        for role, each in zip(self.roles[1:], affine, strict=False):
            if each.shape != x.shape[-1:]:
                raise OperatorError(
                    f"{role} needs the shape [{x.shape[-1]}], the extent of x's last axis"
                )
        return ValueType(float_format(x), x.shape)

    def evaluate(self, operands: Sequence[Array]) -> Array:
        x, *affine = operands
        result = self.normalised(x)
        if affine:
            result = result * affine[0]
        if len(affine) > 1:
            result = result + affine[1]
        return result


@register
@dataclass(frozen=True, slots=True)
class LayerNorm(Normalisation):
    """(x − mean) / √(variance + epsilon); the variance is the mean of the squared deviations."""

    epsilon: float = 1e-5

    mnemonic = "layer_norm"

    def normalised(self, x: Array) -> Array:
        centred = x - np.mean(x, axis=-1, keepdims=True)
        variance = np.mean(centred * centred, axis=-1, keepdims=True)
        return np.asarray(centred / np.sqrt(variance + self.epsilon))


@register
@dataclass(frozen=True, slots=True)
class RmsNorm(Normalisation):
    """x / √(mean of squares + epsilon)."""

    epsilon: float = 1e-5

    mnemonic = "rms_norm"

    def normalised(self, x: Array) -> Array:
        return np.asarray(x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.epsilon))
