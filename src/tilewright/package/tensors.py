"""Tensors: what a name means on the device, and how elements are ordered in a tensor's stream.

A tensor's *stream* is its bytes in one fixed order. Shards say which part of the stream lies where
on the tiles, host slices which part passes through which page. The order is a nest of loops:
`loops` lists (axis, extent) from the outermost to the innermost, and an axis that occurs several
times is split, its outermost occurrence counting the largest steps. The extents of an axis multiply
to its size with padding. Row-major order of a shape (m, n) is ((0, m), (1, n)); blocks of 16 by 16
are ((0, m/16), (1, n/16), (0, 16), (1, 16)).
"""

from dataclasses import dataclass
from enum import IntEnum
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.package.tables import NONE, U8
from tilewright.target.host import HOST_WORD


class ElementType(IntEnum):
    """How one element is stored. `F8F143` and `F8F152` are the chip's quarters, as codes."""

    F32 = 0
    F16 = 1
    F8F143 = 2
    F8F152 = 3
    I32 = 4
    U32 = 5
    I16 = 6
    U16 = 7
    I8 = 8
    U8 = 9

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of a stored element, little endian; quarters are bytes."""
        return _DTYPES[self]


_DTYPES: dict[ElementType, np.dtype[Any]] = {
    ElementType.F32: np.dtype("<f4"),
    ElementType.F16: np.dtype("<f2"),
    ElementType.F8F143: np.dtype("u1"),
    ElementType.F8F152: np.dtype("u1"),
    ElementType.I32: np.dtype("<i4"),
    ElementType.U32: np.dtype("<u4"),
    ElementType.I16: np.dtype("<i2"),
    ElementType.U16: np.dtype("<u2"),
    ElementType.I8: np.dtype("i1"),
    ElementType.U8: np.dtype("u1"),
}


class Role(IntEnum):
    """What a tensor is for."""

    INPUT = 0
    OUTPUT = 1
    PARAMETER = 2
    INTERNAL = 3
    """Named for inspection only: a checkpoint, say."""


class Source(IntEnum):
    """Where the bytes of a parameter come from."""

    NONE = 0
    """It is no parameter."""
    SEGMENTS = 1
    """The segments of the tiles hold them already."""
    BLOB = 2
    """A blob holds the stream."""
    FILE = 3
    """A tensor of a safetensors file, given when the package is loaded."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A named tensor. `loops` empty means row-major without padding."""

    name: str
    role: Role
    element: ElementType
    shape: tuple[int, ...]
    loops: tuple[tuple[int, int], ...] = ()
    scale: int = 0
    """Quarters stand for their value times two to the power of this."""
    source: Source = Source.NONE
    blob: int = NONE
    """The number of the blob with the stream, if `source` is that."""
    source_name: str = ""
    """The name in the file, if `source` is that."""

    @property
    def order(self) -> tuple[tuple[int, int], ...]:
        """`loops`, or row-major order where they are left out."""
        return self.loops or tuple(enumerate(self.shape))

    @property
    def padded_shape(self) -> tuple[int, ...]:
        """The size of each axis with padding."""
        sizes = dict.fromkeys(range(len(self.shape)), 1)
        for axis, extent in self.order:
            sizes[axis] = sizes.get(axis, 1) * extent
        return tuple(sizes[axis] for axis in range(len(self.shape)))

    @property
    def stream_bytes(self) -> int:
        """The length of the stream in bytes: its elements, filled up to whole words."""
        size = prod(extent for _, extent in self.order) * self.element.dtype.itemsize
        return -(-size // HOST_WORD) * HOST_WORD

    def to_stream(self, array: npt.ArrayLike) -> U8:
        """The stream of a tensor's value, padding zero.

        `array` has the tensor's shape and stored type (quarters as codes). Raises `ValueError`.
        """
        values = np.asarray(array)
        dtype = self.element.dtype
        if values.shape != self.shape or values.dtype != dtype:
            raise ValueError(
                f"tensor '{self.name}' is {dtype} of shape {self.shape}, "
                f"not {values.dtype} of shape {values.shape}"
            )
        padded = np.zeros(self.padded_shape, dtype)
        padded[self._inside] = values
        split, places = self._split()
        blocks = padded.reshape(split).transpose(places)
        stream = np.zeros(self.stream_bytes, np.uint8)
        stream[: blocks.nbytes] = np.ascontiguousarray(blocks).reshape(-1).view(np.uint8)
        return stream

    def from_stream(self, stream: U8) -> npt.NDArray[Any]:
        """The value whose stream this is, without padding. Raises `ValueError`."""
        if stream.size != self.stream_bytes:
            raise ValueError(
                f"the stream of tensor '{self.name}' has {self.stream_bytes} bytes, "
                f"not {stream.size}"
            )
        dtype = self.element.dtype
        extents = [extent for _, extent in self.order]
        blocks = stream[: prod(extents) * dtype.itemsize].view(dtype).reshape(extents)
        _, places = self._split()
        padded = blocks.transpose(np.argsort(places)).reshape(self.padded_shape)
        return np.array(padded[self._inside])

    @property
    def _inside(self) -> tuple[slice, ...]:
        """What is not padding."""
        return tuple(slice(size) for size in self.shape)

    def _split(self) -> tuple[list[int], list[int]]:
        """The extents with those of an axis side by side, and where each loop is among them."""
        by_axis = sorted(range(len(self.order)), key=lambda loop: self.order[loop][0])
        split = [self.order[loop][1] for loop in by_axis]
        return split, [by_axis.index(loop) for loop in range(len(by_axis))]
