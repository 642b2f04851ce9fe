"""Operators on one element at a time: functions of one operand, and NumPy-broadcast arithmetic."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.graph.faults import OperatorError
from tilewright.graph.operator import Array, Formula, float_format, register
from tilewright.graph.types import ValueType, broadcast_shapes


class Unary(Formula):
    """A function of each element."""

    __slots__ = ()

    roles = ("x",)

    @abstractmethod
    def of(self, x: Array) -> Array:
        """The function."""

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        (x,) = operands
        return ValueType(float_format(x), x.shape)

    def evaluate(self, operands: Sequence[Array]) -> Array:
        return np.asarray(self.of(operands[0]))


class Binary(Formula):
    """A function of pairs of elements, broadcast as NumPy does."""

    __slots__ = ()

    roles = ("a", "b")

    @abstractmethod
    def of(self, a: Array, b: Array) -> Array:
        """The function."""

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        a, b = operands
        shape = broadcast_shapes(a.shape, b.shape)
        if shape is None:
            raise OperatorError(
                "the shapes do not broadcast: aligned at the last axis, extents must be equal or 1"
            )
        return ValueType(float_format(a, b), shape)

    def evaluate(self, operands: Sequence[Array]) -> Array:
        return np.asarray(self.of(operands[0], operands[1]))


def _erfc(x: Array) -> Array:
    return np.fromiter(map(math.erfc, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


def _sigmoid(x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


@register
@dataclass(frozen=True, slots=True)
class Add(Binary):
    mnemonic = "add"

    def of(self, a: Array, b: Array) -> Array:
        return a + b


@register
@dataclass(frozen=True, slots=True)
class Sub(Binary):
    mnemonic = "sub"

    def of(self, a: Array, b: Array) -> Array:
        return a - b


@register
@dataclass(frozen=True, slots=True)
class Mul(Binary):
    mnemonic = "mul"

    def of(self, a: Array, b: Array) -> Array:
        return a * b


@register
@dataclass(frozen=True, slots=True)
class Div(Binary):
    mnemonic = "div"

    def of(self, a: Array, b: Array) -> Array:
        return a / b


@register
@dataclass(frozen=True, slots=True)
class Gelu(Unary):
    """x · Φ(x), with Φ the normal distribution: the exact form, by erf."""

    mnemonic = "gelu"

    def of(self, x: Array) -> Array:
        # erfc rather than 1 + erf, which loses all digits where x is far below zero
        return np.asarray(0.5 * x * _erfc(x * -math.sqrt(0.5)))


@register
@dataclass(frozen=True, slots=True)
class GeluTanh(Unary):
    """½ x (1 + tanh(√(2/π) (x + 0.044715 x³)))."""

    mnemonic = "gelu_tanh"

    def of(self, x: Array) -> Array:
        return np.asarray(
            0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
        )


@register
@dataclass(frozen=True, slots=True)
class Relu(Unary):
    mnemonic = "relu"

    def of(self, x: Array) -> Array:
        return np.asarray(np.maximum(x, 0.0))


@register
@dataclass(frozen=True, slots=True)
class Silu(Unary):
    """x · sigmoid(x)."""

    mnemonic = "silu"

    def of(self, x: Array) -> Array:
        return np.asarray(x * _sigmoid(x))


@register
@dataclass(frozen=True, slots=True)
class Sigmoid(Unary):
    mnemonic = "sigmoid"

    def of(self, x: Array) -> Array:
        return np.asarray(_sigmoid(x))


@register
@dataclass(frozen=True, slots=True)
class Tanh(Unary):
    mnemonic = "tanh"

    def of(self, x: Array) -> Array:
        return np.asarray(np.tanh(x))


@register
@dataclass(frozen=True, slots=True)
class Exp(Unary):
    mnemonic = "exp"

    def of(self, x: Array) -> Array:
        return np.asarray(np.exp(x))


@register
@dataclass(frozen=True, slots=True)
class Sqrt(Unary):
    mnemonic = "sqrt"

    def of(self, x: Array) -> Array:
        return np.asarray(np.sqrt(x))
