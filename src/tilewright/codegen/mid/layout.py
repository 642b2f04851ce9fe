"""A format resolved for a shape: the one answer to what lies where, and how large it is.

An axis of n blocks in p parts is cut at floor(i·n/p): sizes differ by at most one block, and
cutting each part again in q gives the cuts of p·q parts. Every shard is padded to whole blocks and
stored with its own extents; what a tile sets aside is the size of the largest shard.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.codegen.mid.faults import FormatError
from tilewright.codegen.mid.formats import AxisTiling, Indivisible, TensorFormat
from tilewright.codegen.mid.orders import Indices, granule, offsets, positions

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """`format` for a tensor of `shape`. Make one with `resolve`.

    Tiles are numbered within the group; offsets count elements from the start of a shard. Axes of
    `extent`, `blocks` and the like are those of the tensor, with leading 1s up to rank 2.
    """

    format: TensorFormat
    shape: Shape

    # sizes

    @cached_property
    def _lift(self) -> int:
        """Axes put before the tensor's, so that there is a matrix to order."""
        return max(0, 2 - len(self.shape))

    @cached_property
    def _extents(self) -> Shape:
        return (1,) * self._lift + self.shape

    @cached_property
    def _block(self) -> Shape:
        return (1,) * self._lift + tuple(tiling.block for tiling in self.format.axes)

    @cached_property
    def _blocks(self) -> Shape:
        return tuple(-(-n // b) for n, b in zip(self._extents, self._block, strict=True))

    @cached_property
    def _parts(self) -> Shape:
        own = tuple(self.format.partitions(axis) for axis in range(len(self.shape)))
        return (1,) * self._lift + own

    @cached_property
    def padded_shape(self) -> Shape:
        """The tensor's extents, filled up to whole blocks."""
        padded = tuple(n * b for n, b in zip(self._blocks, self._block, strict=True))
        return padded[self._lift :]

    @cached_property
    def _largest(self) -> Shape:
        return tuple(
            -(-n // p) * b for n, p, b in zip(self._blocks, self._parts, self._block, strict=True)
        )

    @cached_property
    def largest_shard(self) -> Shape:
        """Extents of the largest shard, padding included."""
        return self._largest[self._lift :]

    @property
    def shard_elements(self) -> int:
        """Elements of the largest shard."""
        return prod(self._largest)

    @property
    def shard_bytes(self) -> int:
        """What each tile of the group sets aside."""
        return self.shard_elements * self.format.precision.bytes

    # places

    @cached_property
    def replica_tiles(self) -> Indices:
        """What to add to an owner's number to get the tiles that hold its copies; starts with 0."""
        numbers = np.zeros(1, np.int64)
        for digit, place in zip(self.format.grid, self._places, strict=True):
            if digit.axis is None:
                step = np.arange(digit.size) * place
                numbers = (numbers[:, None] + step).reshape(-1)
        return np.sort(numbers)

    @cached_property
    def _places(self) -> tuple[int, ...]:
        """What each digit counts in tiles."""
        places, place = [], 1
        for digit in reversed(self.format.grid):
            places.append(place)
            place *= digit.size
        return tuple(reversed(places))

    def _starts(self, axis: int, part: Indices) -> Indices:
        """Where parts begin along an (extended) axis, in elements."""
        return (part * self._blocks[axis] // self._parts[axis]) * self._block[axis]

    def _part_of(self, axis: int, coordinate: Indices) -> Indices:
        block = coordinate // self._block[axis]
        return ((block + 1) * self._parts[axis] - 1) // max(self._blocks[axis], 1)

    def tile_parts(self, tile: Indices) -> tuple[Indices, ...]:
        """Which part of each axis the tiles hold."""
        parts = [np.zeros_like(tile) for _ in self._parts]
        for digit, place in zip(self.format.grid, self._places, strict=True):
            if digit.axis is not None:
                value = tile // place % digit.size
                parts[digit.axis + self._lift] += value * digit.weight
        return tuple(parts[self._lift :])

    def shard(self, tile: Indices) -> tuple[tuple[Indices, Indices], ...]:
        """Per axis of the tensor, the first coordinate and the (padded) extent of tiles' shards."""
        return self._shard(tile)[self._lift :]

    def _shard(self, tile: Indices) -> tuple[tuple[Indices, Indices], ...]:
        parts = (np.zeros_like(tile),) * self._lift + self.tile_parts(tile)
        ranges = []
        for axis, part in enumerate(parts):
            start = self._starts(axis, part)
            ranges.append((start, self._starts(axis, part + 1) - start))
        return tuple(ranges)

    def locate(self, coordinates: tuple[Indices, ...]) -> tuple[Indices, Indices]:
        """The first tile that holds each element, and its offset in that tile's shard.

        Copies lie at the same offset on that tile plus `replica_tiles`. `coordinates` has an array
        per axis of the tensor; the arrays broadcast.
        """
        arrays = np.broadcast_arrays(*coordinates) if coordinates else [np.zeros((), np.int64)]
        first = np.zeros_like(np.asarray(arrays[0], np.int64))
        lifted = [first] * self._lift + [np.asarray(a, np.int64) for a in arrays]
        lifted = lifted[-len(self._extents) :]
        parts = [self._part_of(axis, c) for axis, c in enumerate(lifted)]
        tile = first
        for digit, place in zip(self.format.grid, self._places, strict=True):
            if digit.axis is not None:
                value = parts[digit.axis + self._lift] // digit.weight % digit.size
                tile = tile + value * place
        starts = [self._starts(axis, part) for axis, part in enumerate(parts)]
        extents = [self._starts(a, part + 1) - starts[a] for a, part in enumerate(parts)]
        local = [c - start for c, start in zip(lifted, starts, strict=True)]
        return tile, self._offset(local, extents)

    def _offset(self, local: list[Indices], extents: list[Indices]) -> Indices:
        form = self.format
        inside = offsets(form.order, form.packing, *local[-2:], *extents[-2:])
        outside = np.zeros_like(inside)
        for coordinate, extent in zip(local[:-2], extents[:-2], strict=True):
            outside = outside * extent + coordinate
        return outside * (extents[-2] * extents[-1]) + inside

    def coordinates(
        self, tile: Indices, offset: Indices
    ) -> tuple[tuple[Indices, ...], NDArray[Any]]:
        """The tensor's coordinates at offsets of tiles' shards, and whether an element lies there.

        False marks padding, and offsets beyond the tile's own shard, without coordinates.
        """
        tile, offset = np.broadcast_arrays(np.asarray(tile, np.int64), np.asarray(offset, np.int64))
        ranges = self._shard(tile)
        safe = [
            np.maximum(extent, block)
            for (_, extent), block in zip(ranges, self._block, strict=True)
        ]
        matrix = safe[-2] * safe[-1]
        outside, inside = offset // matrix, offset % matrix
        form = self.format
        row, column = positions(form.order, form.packing, inside, safe[-2], safe[-1])
        local = [column, row]
        for extent in reversed(safe[:-2]):
            local.append(outside % extent)
            outside = outside // extent
        found = [c + start for c, (start, _) in zip(reversed(local), ranges, strict=True)]
        elements = np.ones_like(offset)
        for _, extent in ranges:
            elements = elements * extent
        held = offset < elements
        for coordinate, whole in zip(found, self._extents, strict=True):
            held &= coordinate < whole
        return tuple(found[self._lift :]), held

    # data

    def places(self) -> Indices:
        """For each element, its place in the shards of all tiles laid one after another."""
        tile, offset = self.locate(_all_coordinates(self.shape))
        return tile * self.shard_elements + offset

    def pack(self, array: NDArray[Any], places: Indices | None = None) -> NDArray[Any]:
        """Shards of an array: tiles × elements of the largest shard, zero where nothing lies.

        `places` spares working them out again.
        """
        if array.shape != self.shape:
            raise FormatError(f"an array of shape {array.shape} does not suit {self}")
        shards = np.zeros((self.format.tiles, self.shard_elements), array.dtype)
        first = self.places() if places is None else places
        for copy in self.replica_tiles:
            shards.reshape(-1)[first + copy * self.shard_elements] = array
        return shards

    def unpack(self, shards: NDArray[Any], places: Indices | None = None) -> NDArray[Any]:
        """The array again, from the first copy of each element."""
        first = self.places() if places is None else places
        return np.asarray(shards.reshape(-1)[first])

    def __str__(self) -> str:
        return f"{list(self.shape)} as {self.format}"


def _all_coordinates(shape: Shape) -> tuple[Indices, ...]:
    return tuple(np.indices(shape, dtype=np.int64, sparse=True))


@lru_cache(maxsize=65536)
def resolve(format: TensorFormat, shape: Shape) -> Layout:
    """The layout of a tensor of `shape` in `format`.

    Raises FormatError if the rank differs, an extent is no multiple of a block that rejects that,
    or blocks would cut through those of the element order.
    """
    if len(format.axes) != len(shape):
        raise FormatError(f"a format of rank {len(format.axes)} for the shape {list(shape)}")
    for axis, (extent, tiling) in enumerate(zip(shape, format.axes, strict=True)):
        if tiling.indivisible is Indivisible.REJECT and extent % tiling.block:
            raise FormatError(
                f"axis {axis} of {list(shape)} is no multiple of its block of {tiling.block}"
            )
    _check_order(format)
    return Layout(format, shape)


def _check_order(format: TensorFormat) -> None:
    block = granule(format.order, format.packing)
    one = AxisTiling()
    rows, columns = (one, one, *format.axes)[-2:]
    if rows.block % block.rows or columns.block % block.columns:
        raise FormatError(
            f"order {format.order.value} of {format.packing.value} needs blocks of multiples of "
            f"{block.rows} × {block.columns}, not {rows.block} × {columns.block}"
        )
