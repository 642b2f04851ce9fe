"""Views: the same numbers in another shape or order. They keep the number format."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.graph.faults import OperatorError
from tilewright.graph.operator import Array, Formula, register, require_rank
from tilewright.graph.types import (
    Shape,
    ValueType,
    as_shape,
    broadcast_shapes,
    element_count,
    show_shape,
)


@register
@dataclass(frozen=True, slots=True)
class Reshape(Formula):
    """The elements, counted with the last axis fastest, in another shape."""

    shape: Shape

    mnemonic = "reshape"
    roles = ("x",)

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        (x,) = operands
        if element_count(as_shape(self.shape)) != x.elements:
            raise OperatorError(
                f"{show_shape(self.shape)} has {element_count(self.shape)} elements, "
                f"x has {x.elements}"
            )
        return x.with_shape(self.shape)

    def evaluate(self, operands: Sequence[Array]) -> Array:
        return operands[0].reshape(self.shape)


@register
@dataclass(frozen=True, slots=True)
class Transpose(Formula):
    """Axis i of the result is axis `order`[i] of x."""

    order: tuple[int, ...]

    mnemonic = "transpose"
    roles = ("x",)

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        (x,) = operands
        if sorted(self.order) != list(range(x.rank)):
            raise OperatorError(
                f"the order must name each of the axes 0 to {x.rank - 1} once, "
                f"found {show_shape(self.order)}"
            )
        return x.with_shape(x.shape[axis] for axis in self.order)

    def evaluate(self, operands: Sequence[Array]) -> Array:
        return np.transpose(operands[0], self.order)


@register
@dataclass(frozen=True, slots=True)
class Slice(Formula):
    """Of each axis, the elements from `starts` to before `stops`."""

    starts: tuple[int, ...]
    stops: tuple[int, ...]

    mnemonic = "slice"
    roles = ("x",)

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        (x,) = operands
        if not len(self.starts) == len(self.stops) == x.rank:
            raise OperatorError(
                f"it needs a start and a stop for each of {x.rank} axes, "
                f"found {len(self.starts)} starts and {len(self.stops)} stops"
            )
        ranges = list(zip(self.starts, self.stops, x.shape, strict=True))
        for axis, (start, stop, extent) in enumerate(ranges):
            if not 0 <= start < stop <= extent:
                raise OperatorError(
                    f"{start} to {stop} is no part of axis {axis}, which has {extent} elements"
                )
        return x.with_shape(stop - start for start, stop, _ in ranges)

    def evaluate(self, operands: Sequence[Array]) -> Array:
        where = tuple(slice(*bounds) for bounds in zip(self.starts, self.stops, strict=True))
        return np.asarray(operands[0][where])


@register
@dataclass(frozen=True, slots=True)
class SplitHeads(Formula):
    """tokens × (heads · size) as heads × tokens × size, after any leading axes."""

    heads: int

    mnemonic = "split_heads"
    roles = ("x",)

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        (x,) = operands
        require_rank(x, "x", 2)
        *leading, tokens, width = x.shape
        if self.heads < 1 or width % self.heads:
            raise OperatorError(f"a last axis of {width} cannot be split into {self.heads} heads")
        return x.with_shape((*leading, self.heads, tokens, width // self.heads))

    def evaluate(self, operands: Sequence[Array]) -> Array:
        (x,) = operands
        *leading, tokens, width = x.shape
        split = x.reshape((*leading, tokens, self.heads, width // self.heads))
        return np.swapaxes(split, -2, -3)


@register
@dataclass(frozen=True, slots=True)
class MergeHeads(Formula):
    """heads × tokens × size as tokens × (heads · size), after any leading axes."""

    mnemonic = "merge_heads"
    roles = ("x",)

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        (x,) = operands
        require_rank(x, "x", 3)
        *leading, heads, tokens, size = x.shape
        return x.with_shape((*leading, tokens, heads * size))

    def evaluate(self, operands: Sequence[Array]) -> Array:
        (x,) = operands
        *leading, heads, tokens, size = x.shape
        return np.swapaxes(x, -2, -3).reshape((*leading, tokens, heads * size))


@register
@dataclass(frozen=True, slots=True)
class Concat(Formula):
    """Operands one after the other along `axis`; they share the format and all other extents."""

    axis: int

    mnemonic = "concat"
    roles = ("x",)
    variadic = True

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        first = operands[0]
        if not 0 <= self.axis < first.rank:
            raise OperatorError(f"there is no axis {self.axis} among {first.rank}")
        if any(each.format != first.format for each in operands):
            raise OperatorError("the operands need one number format; cast some of them first")
        if len({self._others(each) for each in operands}) > 1:
            raise OperatorError(f"the shapes differ at other axes than {self.axis}")
        extent = sum(each.shape[self.axis] for each in operands)
        before, after = first.shape[: self.axis], first.shape[self.axis + 1 :]
        return first.with_shape((*before, extent, *after))

    def evaluate(self, operands: Sequence[Array]) -> Array:
        return np.concatenate(operands, axis=self.axis)

    def _others(self, operand: ValueType) -> tuple[Shape, Shape]:
        return operand.shape[: self.axis], operand.shape[self.axis + 1 :]


@register
@dataclass(frozen=True, slots=True)
class Broadcast(Formula):
    """x repeated along new leading axes and axes of extent 1, as NumPy does, to `shape`."""

    shape: Shape

    mnemonic = "broadcast"
    roles = ("x",)

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        (x,) = operands
        if broadcast_shapes(x.shape, as_shape(self.shape)) != self.shape:
            raise OperatorError(f"x does not broadcast to {show_shape(self.shape)}")
        return x.with_shape(self.shape)

    def evaluate(self, operands: Sequence[Array]) -> Array:
        return np.broadcast_to(operands[0], self.shape)
