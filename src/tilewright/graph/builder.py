"""The methods that add operations to a graph, one for each operator."""

import math
import operator as python_operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.graph import operators as ops
from tilewright.graph.faults import GraphError
from tilewright.graph.indexing import read_index
from tilewright.graph.operator import Formula
from tilewright.graph.tensor import Part, Scalar, Tensor
from tilewright.graph.types import (
    DType,
    NumberFormat,
    ValueType,
    as_format,
    computed_format,
    show_shape,
)
from tilewright.graph.values import misuse


class Builder(ABC):
    """Operators as methods. `name`, where given, labels the result in text, messages and profiles.

    All raise `OperatorError` for operands that the operator does not take, and for tensors of other
    graphs or of a repeat's closed body.
    """

    @abstractmethod
    def apply(self, operator: Formula, *operands: Tensor, name: str = "") -> Tensor:
        """Add an operation: how every method below ends, and how to use an operator without one."""

    def constant(
        self, values: Any, format: DType | NumberFormat = DType.F16, *, name: str = ""
    ) -> Tensor:
        """Numbers that are part of the graph: a number or an array of any shape."""
        try:
            array = np.asarray(values, np.float64)
        except (TypeError, ValueError):
            raise misuse(f"expected a tensor, a number or an array, found {values!r}") from None
        flat = tuple(array.ravel().tolist())
        if len({number.hex() for number in flat}) == 1:  # which tells −0 from 0
            flat = flat[:1]
        try:
            operator = ops.Constant(ValueType(as_format(format), array.shape), flat)
        except GraphError as fault:
            raise misuse(f"constant: {fault}") from None
        return self.apply(operator, name=name)

    # Matrices and attention

    def gemm(
        self,
        a: Tensor,
        b: Tensor,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        name: str = "",
    ) -> Tensor:
        """a · b over the last two axes; leading axes broadcast."""
        return self.apply(ops.Gemm(bool(transpose_a), bool(transpose_b)), a, b, name=name)

    def attention(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        *,
        causal: bool = False,
        scale: float | None = None,
        key_counts: Tensor | None = None,
        name: str = "",
    ) -> Tensor:
        """softmax(`scale` · q · kᵀ) · v per head; `scale` is 1/√(size of q's heads) if not given.

        `key_counts` is an I32 for each batch entry: how many of the first keys count.
        """
        if scale is None:
            scale = 1.0 / math.sqrt(q.shape[-1]) if q.shape else 1.0
        optional = () if key_counts is None else (key_counts,)
        return self.apply(ops.Attention(float(scale), bool(causal)), q, k, v, *optional, name=name)

    # Element by element

    def add(self, a: Tensor | Scalar, b: Tensor | Scalar, *, name: str = "") -> Tensor:
        return self.apply(ops.Add(), *self._pair(a, b), name=name)

    def sub(self, a: Tensor | Scalar, b: Tensor | Scalar, *, name: str = "") -> Tensor:
        return self.apply(ops.Sub(), *self._pair(a, b), name=name)

    def mul(self, a: Tensor | Scalar, b: Tensor | Scalar, *, name: str = "") -> Tensor:
        return self.apply(ops.Mul(), *self._pair(a, b), name=name)

    def div(self, a: Tensor | Scalar, b: Tensor | Scalar, *, name: str = "") -> Tensor:
        return self.apply(ops.Div(), *self._pair(a, b), name=name)

    def gelu(self, x: Tensor, *, name: str = "") -> Tensor:
        """The exact form, by erf."""
        return self.apply(ops.Gelu(), x, name=name)

    def gelu_tanh(self, x: Tensor, *, name: str = "") -> Tensor:
        """The form by tanh, up to 5e-4 from the exact one."""
        return self.apply(ops.GeluTanh(), x, name=name)

    def relu(self, x: Tensor, *, name: str = "") -> Tensor:
        return self.apply(ops.Relu(), x, name=name)

    def silu(self, x: Tensor, *, name: str = "") -> Tensor:
        return self.apply(ops.Silu(), x, name=name)

    def sigmoid(self, x: Tensor, *, name: str = "") -> Tensor:
        return self.apply(ops.Sigmoid(), x, name=name)

    def tanh(self, x: Tensor, *, name: str = "") -> Tensor:
        return self.apply(ops.Tanh(), x, name=name)

    def exp(self, x: Tensor, *, name: str = "") -> Tensor:
        return self.apply(ops.Exp(), x, name=name)

    def sqrt(self, x: Tensor, *, name: str = "") -> Tensor:
        return self.apply(ops.Sqrt(), x, name=name)

    # Along axes

    def softmax(self, x: Tensor, *, name: str = "") -> Tensor:
        """Along the last axis."""
        return self.apply(ops.Softmax(), x, name=name)

    def layer_norm(
        self,
        x: Tensor,
        scale: Tensor | None = None,
        bias: Tensor | None = None,
        *,
        epsilon: float = 1e-5,
        name: str = "",
    ) -> Tensor:
        """Along the last axis; `scale` and `bias` have one number for each of its elements.

        A bias without a scale is given a scale of ones.
        """
        return self._normalised(ops.LayerNorm(float(epsilon)), x, scale, bias, name)

    def rms_norm(
        self,
        x: Tensor,
        scale: Tensor | None = None,
        bias: Tensor | None = None,
        *,
        epsilon: float = 1e-5,
        name: str = "",
    ) -> Tensor:
        """Along the last axis; `scale` and `bias` have one number for each of its elements.

        A bias without a scale is given a scale of ones.
        """
        return self._normalised(ops.RmsNorm(float(epsilon)), x, scale, bias, name)

    def reduce_sum(self, x: Tensor, axes: int = 1, *, keep: bool = False, name: str = "") -> Tensor:
        """Over the last `axes` axes; `keep` leaves them with extent 1."""
        return self._reduced(ops.Reduction.SUM, x, axes, keep, name)

    def reduce_mean(
        self, x: Tensor, axes: int = 1, *, keep: bool = False, name: str = ""
    ) -> Tensor:
        """Over the last `axes` axes; `keep` leaves them with extent 1."""
        return self._reduced(ops.Reduction.MEAN, x, axes, keep, name)

    def reduce_max(self, x: Tensor, axes: int = 1, *, keep: bool = False, name: str = "") -> Tensor:
        """Over the last `axes` axes; `keep` leaves them with extent 1."""
        return self._reduced(ops.Reduction.MAX, x, axes, keep, name)

    # Views and casts

    def reshape(self, x: Tensor, shape: Sequence[int], *, name: str = "") -> Tensor:
        """One extent may be −1: what is left for it."""
        return self.apply(ops.Reshape(_without_wildcard(x, shape)), x, name=name)

    def transpose(self, x: Tensor, order: Sequence[int] | None = None, *, name: str = "") -> Tensor:
        """Axis i of the result is axis `order`[i] of x.

        Without `order`, the last two axes change places (NumPy would reverse all of them).
        """
        axes = list(range(x.rank))
        if order is None:
            axes[-2:] = reversed(axes[-2:])
        else:
            axes = [axis + x.rank if axis < 0 else axis for axis in _whole(order)]
        return self.apply(ops.Transpose(tuple(axes)), x, name=name)

    def slice(
        self, x: Tensor, starts: Sequence[int], stops: Sequence[int], *, name: str = ""
    ) -> Tensor:
        """Of each axis, the elements from its start to before its stop. See also `x[…]`."""
        return self.apply(ops.Slice(_whole(starts), _whole(stops)), x, name=name)

    def index(self, x: Tensor, parts: tuple[Part, ...]) -> Tensor:
        """`x[parts]`: a slice, and a reshape if a whole number among `parts` drops an axis."""
        starts, stops, shape = read_index(x.shape, parts)
        result = x
        if stops != x.shape or any(starts):
            result = self.slice(x, starts, stops)
        return result if result.shape == shape else self.reshape(result, shape)

    def split_heads(self, x: Tensor, heads: int, *, name: str = "") -> Tensor:
        """tokens × (heads · size) as heads × tokens × size, after any leading axes."""
        return self.apply(ops.SplitHeads(python_operator.index(heads)), x, name=name)

    def merge_heads(self, x: Tensor, *, name: str = "") -> Tensor:
        """heads × tokens × size as tokens × (heads · size), after any leading axes."""
        return self.apply(ops.MergeHeads(), x, name=name)

    def concat(self, parts: Sequence[Tensor], axis: int = -1, *, name: str = "") -> Tensor:
        """One after the other along `axis`."""
        if axis < 0 and parts:
            axis += parts[0].rank
        return self.apply(ops.Concat(python_operator.index(axis)), *parts, name=name)

    def broadcast(self, x: Tensor, shape: Sequence[int], *, name: str = "") -> Tensor:
        """Repeated along new leading axes and axes of extent 1, to `shape`."""
        return self.apply(ops.Broadcast(_whole(shape)), x, name=name)

    def cast(self, x: Tensor, to: DType | NumberFormat, *, name: str = "") -> Tensor:
        """The same numbers in another format; `DType.F8F143.scaled(-4)` is one with a scale."""
        try:
            operator = ops.Cast(as_format(to))
        except GraphError as fault:
            raise misuse(f"cast: {fault}") from None
        return self.apply(operator, x, name=name)

    def _reduced(self, kind: ops.Reduction, x: Tensor, axes: int, keep: bool, name: str) -> Tensor:
        return self.apply(ops.Reduce(kind, python_operator.index(axes), bool(keep)), x, name=name)

    def _normalised(
        self,
        operator: ops.LayerNorm | ops.RmsNorm,
        x: Tensor,
        scale: Tensor | None,
        bias: Tensor | None,
        name: str,
    ) -> Tensor:
        if bias is not None and scale is None:
            scale = self.constant(np.ones(x.shape[-1:]), computed_format([x.type]))
        affine = [each for each in (scale, bias) if each is not None]
        return self.apply(operator, x, *affine, name=name)

    def _pair(self, a: Tensor | Scalar, b: Tensor | Scalar) -> tuple[Tensor, Tensor]:
        known = [each.type for each in (a, b) if isinstance(each, Tensor)]
        format = computed_format(known)
        return (
            a if isinstance(a, Tensor) else self.constant(a, format),
            b if isinstance(b, Tensor) else self.constant(b, format),
        )


def _whole(numbers: Sequence[int]) -> tuple[int, ...]:
    return tuple(python_operator.index(number) for number in numbers)


def _without_wildcard(x: Tensor, shape: Sequence[int]) -> tuple[int, ...]:
    extents = _whole(shape)
    if extents.count(-1) != 1:
        return extents
    known = -math.prod(extents)
    if known < 1 or x.type.elements % known:
        raise misuse(f"reshape: the elements of {x.value} do not fit {show_shape(extents)}")
    return tuple(x.type.elements // known if each == -1 else each for each in extents)
