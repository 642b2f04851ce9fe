"""What a value is: its shape, and the number format in which it is stored."""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from tilewright.graph.faults import GraphError

Shape = tuple[int, ...]

LEAST_SCALE, GREATEST_SCALE = -32, 31
"""Scales of eight-bit tensors: six bits, signed, as the chip's `$FP_SCL` and `$FP_ISCL` hold."""

MOST_ELEMENTS = (1 << 63) - 1
"""As in NumPy, whose sizes have 64 bits."""

INDEX_LIMIT = 1 << 31
"""An I32 lies in −INDEX_LIMIT … INDEX_LIMIT − 1."""


class DType(Enum):
    """A storage precision. The value is its name in the text form."""

    F8F143 = "f8f143"
    """Sign, four exponent bits, three fraction bits; the numbers of `float8_e4m3fnuz`."""
    F16 = "f16"
    F32 = "f32"
    I32 = "i32"
    """Counts and indices; operators of arithmetic do not take it."""

    @property
    def is_float(self) -> bool:
        return self is not DType.I32

    def scaled(self, scale: int) -> "NumberFormat":
        """F8F143 with numbers that stand for 2**`scale` times themselves."""
        return NumberFormat(self, scale)


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """A precision and, for F8F143, the power of two that scales the whole tensor.

    A stored number n stands for n · 2**`scale`. Raises `GraphError` for a scale out of range, and
    for one other than 0 on another precision.
    """

    dtype: DType
    scale: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.dtype, DType):
            known = ", ".join(str(each) for each in DType)
            raise GraphError(f"a number format is one of {known}; found {self.dtype!r}")
        object.__setattr__(self, "scale", operator.index(self.scale))
        if self.scale and self.dtype is not DType.F8F143:
            raise GraphError(f"{self.dtype.name} has no scale, found {self.scale}")
        if not LEAST_SCALE <= self.scale <= GREATEST_SCALE:
            raise GraphError(
                f"the scale of an F8F143 tensor is {LEAST_SCALE} to {GREATEST_SCALE}, "
                f"found {self.scale}"
            )

    def __str__(self) -> str:
        return f"{self.dtype.value}*2^{self.scale}" if self.scale else self.dtype.value


@dataclass(frozen=True, slots=True)
class ValueType:
    """The number format and shape of a value. Raises `GraphError` for what is no shape."""

    format: NumberFormat
    shape: Shape

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", as_shape(self.shape))

    @property
    def dtype(self) -> DType:
        return self.format.dtype

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> int:
        return element_count(self.shape)

    def with_shape(self, shape: Iterable[int]) -> "ValueType":
        return ValueType(self.format, tuple(shape))

    def __str__(self) -> str:
        return f"{self.format}{show_shape(self.shape)}"


def as_format(format: DType | NumberFormat) -> NumberFormat:
    return format if isinstance(format, NumberFormat) else NumberFormat(format)


def as_shape(extents: Iterable[int]) -> Shape:
    """Whole numbers of any kind as a shape.

    Raises `GraphError` for an extent below 1, and for more than `MOST_ELEMENTS` elements.
    """
    try:
        shape = tuple(operator.index(extent) for extent in extents)
    except TypeError as fault:
        raise GraphError(f"a shape is a sequence of whole numbers, found {extents!r}") from fault
    if any(extent < 1 for extent in shape):
        raise GraphError(f"each extent of a shape is at least 1, found {show_shape(shape)}")
    if element_count(shape) > MOST_ELEMENTS:
        raise GraphError(f"a shape has at most {MOST_ELEMENTS} elements, found {show_shape(shape)}")
    return shape


def show_shape(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def element_count(shape: Shape) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def computed_format(operands: Iterable[ValueType]) -> NumberFormat:
    """The format of what arithmetic makes of `operands`: F32 if any of them is F32, otherwise F16.

    So F8F143 never arises by itself: only a cast rounds to it.
    """
    widest = any(each.dtype is DType.F32 for each in operands)
    return NumberFormat(DType.F32 if widest else DType.F16)


def broadcast_shapes(first: Shape, second: Shape) -> Shape | None:
    """The shape that NumPy broadcasts both to, or `None` where it would refuse."""
    rank = max(len(first), len(second))
    pairs = zip(_padded(first, rank), _padded(second, rank), strict=True)
    extents = []
    for left, right in pairs:
        if left != right and 1 not in (left, right):
            return None
        extents.append(max(left, right))
    return tuple(extents)


def _padded(shape: Shape, rank: int) -> Shape:
    return (1,) * (rank - len(shape)) + shape
