"""Stored tensors as the host sees them: the order of their streams, and which part lies where.

A stream has the parts of tiles one after the other, each in the order of the tile's memory, as far
as parts are of one size. An axis that is cut unevenly is not cut in the stream; such tiles have
their part in several pieces.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, pairwise
from math import prod

import numpy as np

from tilewright.codegen.build.axes import Axes, Factors, Inexpressible
from tilewright.codegen.mid import Layout, Storage
from tilewright.codegen.mid.orders import ElementOrder, Indices, granule
from tilewright.codegen.mid.storage import WORD


@dataclass(frozen=True, slots=True)
class Loop:
    """`extent` steps along `axis`, of `unit` elements each."""

    axis: int
    extent: int
    unit: int


@dataclass(frozen=True, slots=True)
class Nest:
    """The loops of a stream, outermost first: over parts of tiles, then over what lies in them."""

    parts: tuple[Loop, ...]
    local: tuple[Loop, ...]

    @property
    def loops(self) -> tuple[Loop, ...]:
        return (*self.parts, *self.local)

    @property
    def steps(self) -> list[int]:
        """How many elements of the stream each loop steps over."""
        return _inner_products([loop.extent for loop in self.loops])


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Bytes of a stream on tiles, counted within the group; ordered by tile.

    `size` bytes of the stream from `offset` on lie `place` bytes into the shard of `tile`.
    """

    tile: Indices
    offset: Indices
    place: Indices
    size: Indices


def stream_nest(layout: Layout) -> Nest:
    """The order of the stream of what a layout stores."""
    rank = len(layout.shape)
    units = [1] * rank
    form = layout.format
    block = granule(form.order, form.packing)
    for axis, unit in ((rank - 2, block.rows), (rank - 1, block.columns)):
        if axis >= 0:
            units[axis] = unit
    parts = [form.partitions(axis) if _is_even(layout, axis) else 1 for axis in range(rank)]
    part_loops = tuple(
        Loop(axis, parts[axis], layout.padded_shape[axis] // parts[axis])
        for axis in range(rank)
        if parts[axis] > 1
    )
    outer = [
        Loop(axis, layout.padded_shape[axis] // parts[axis] // units[axis], units[axis])
        for axis in range(rank)
    ]
    inner = [Loop(axis, units[axis], 1) for axis in range(rank)]
    matrix = slice(max(rank - 2, 0), rank)
    ordered = slice(None) if _has_rows_outermost(form.order) else slice(None, None, -1)
    local = (*outer[: matrix.start], *outer[matrix][ordered], *inner[matrix][ordered])
    return Nest(part_loops, local)


def stream_pieces(layout: Layout) -> Pieces:
    """Where the parts of the stream of what a layout stores lie, on all tiles of the group."""
    nest = stream_nest(layout)
    tiles = np.arange(layout.format.tiles)
    numbers, ranges = layout.tile_parts(tiles), layout.shard(tiles)
    part_steps, steps = nest.steps[: len(nest.parts)], nest.steps[len(nest.parts) :]
    start = np.zeros_like(tiles)
    for loop, step in zip(nest.parts, part_steps, strict=True):
        start = start + numbers[loop.axis] * step
    uneven = [
        number
        for number, loop in enumerate(nest.local)
        if not _is_even(layout, loop.axis) and _is_outermost(nest.local, number)
    ]
    if not uneven:
        size = prod(loop.extent for loop in nest.local)
        return _bytes(layout, tiles, start, np.zeros_like(tiles), np.full_like(tiles, size))
    first, count = np.zeros((2, len(nest.local), len(tiles)), np.int64)
    for number, loop in enumerate(nest.local):
        count[number] = loop.extent
        if number in uneven:
            low, extent = ranges[loop.axis]
            first[number], count[number] = low // loop.unit, extent // loop.unit
    return _uneven_pieces(layout, start, steps, first, count, uneven[-1])


def element_pieces(storage: Storage) -> Pieces:
    """Where the elements of a stored value lie, for a stream in row-major order of its axes.

    Of copies the first one counts. Elements that follow each other in both are one piece.
    """
    shape = storage.shape
    tile, offset = storage.locate(tuple(np.indices(shape, dtype=np.int64, sparse=True)))
    tile, offset = (np.broadcast_to(each, shape).reshape(-1) for each in (tile, offset))
    goes_on = (np.diff(tile) == 0) & (np.diff(offset) == 1)
    first = np.flatnonzero(np.concatenate([[True], ~goes_on]))
    size = np.diff(np.append(first, len(tile)))
    found = _bytes(storage.layout, tile[first], first, offset[first], size)
    order = np.argsort(found.tile, kind="stable")
    return Pieces(*(getattr(found, each.name)[order] for each in fields(found)))


def filled_up(pieces: Pieces, stream_bytes: int) -> Pieces:
    """Pieces of a stream whose end is filled up to `stream_bytes`, with what fills it up."""
    end = pieces.offset + pieces.size
    size = np.where(end == end.max(initial=0), stream_bytes - pieces.offset, pieces.size)
    return Pieces(pieces.tile, pieces.offset, pieces.place, size)


def are_whole_words(pieces: Pieces) -> bool:
    """Whether the host can send and fetch each piece."""
    return not np.any((pieces.offset | pieces.place | pieces.size) % WORD)


def _uneven_pieces(
    layout: Layout, start: Indices, steps: Sequence[int], first: Indices, count: Indices, inner: int
) -> Pieces:
    """Pieces of tiles that have iterations from `first` on, `count`, of each local loop.

    All of what lies within loop `inner` is one piece for each iteration of the loops around it.
    """
    repeats = count[:inner].prod(axis=0) * (count[inner] > 0)
    tile = np.repeat(np.arange(len(start)), repeats)
    number = np.arange(len(tile)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    size = (count[inner] * steps[inner])[tile]
    offset = (start + first[inner] * steps[inner])[tile]
    rest = number
    for loop in reversed(range(inner)):
        rest, index = np.divmod(rest, count[loop, tile])
        offset += (first[loop, tile] + index) * steps[loop]
    return _bytes(layout, tile, offset, number * size, size)


def _bytes(layout: Layout, tile: Indices, offset: Indices, place: Indices, size: Indices) -> Pieces:
    width = layout.format.precision.bytes
    return Pieces(tile, offset * width, place * width, size * width)


def host_loops(
    nest: Nest, axes: Axes, stored: Sequence[Factors], seen: Sequence[Factors]
) -> tuple[tuple[int, int], ...]:
    """The loops of a stream over the axes that the host sees: (axis, extent), outermost first.

    `stored` and `seen` are the two arrays of `axes`. Raises `Inexpressible`.
    """
    extents = list(axes.extents)
    """Of factors, with padding."""
    for axis, factors in enumerate(stored):
        full = prod(loop.extent for loop in nest.loops if loop.axis == axis)
        within = prod(extents[each] for each in factors[1:])
        if full > 1 and (not factors or full % within):
            raise Inexpressible
        if factors:
            extents[factors[0]] = full // within
    place = {factor: axis for axis, factors in enumerate(seen) for factor in factors}
    found: list[tuple[int, int]] = []
    least: dict[int, int] = {}
    for axis, extent, step in _on_factors(nest, stored, extents, seen, place):
        if step >= least.get(axis, step + 1):
            raise Inexpressible
        least[axis] = step
        found.append((axis, extent))
    for factors in seen:
        if any(extents[each] != axes.extents[each] for each in factors[1:]):
            raise Inexpressible
    return tuple(found)


def _on_factors(
    nest: Nest,
    stored: Sequence[Factors],
    extents: Sequence[int],
    seen: Sequence[Factors],
    place: dict[int, int],
) -> list[tuple[int, int, int]]:
    """Each loop as loops over factors: axis seen, extent, and elements of the axis in a step."""
    found = []
    for loop in nest.loops:
        factors = stored[loop.axis]
        ends = _inner_products([extents[each] for each in factors])
        """Elements of the stored axis in a step of each factor."""
        cuts = {step for step in ends if loop.unit < step < loop.unit * loop.extent}
        bounds = sorted({loop.unit, loop.unit * loop.extent, *cuts}, reverse=True)
        for high, low in pairwise(bounds):
            # The factor whose steps are the largest that this loop's are made of.
            factor, step = next(each for each in zip(factors, ends, strict=True) if each[1] <= low)
            if high % low or low % step:
                raise Inexpressible
            if factor not in place:  # padding of an axis of one element, which the host lacks
                raise Inexpressible
            axis = place[factor]
            within = seen[axis][seen[axis].index(factor) + 1 :]
            found.append((axis, high // low, low // step * prod(extents[each] for each in within)))
    return found


def _inner_products(extents: Sequence[int]) -> list[int]:
    """For each extent, the product of those behind it."""
    return [*accumulate(reversed(extents), lambda product, each: product * each, initial=1)][-2::-1]


def _is_even(layout: Layout, axis: int) -> bool:
    """Whether all parts of an axis are of one size."""
    form = layout.format
    blocks = layout.padded_shape[axis] // form.axes[axis].block
    return blocks % form.partitions(axis) == 0


def _is_outermost(loops: Sequence[Loop], number: int) -> bool:
    """Whether a loop is the outermost of its axis."""
    return all(loop.axis != loops[number].axis for loop in loops[:number])


def _has_rows_outermost(order: ElementOrder) -> bool:
    """Whether blocks of an order are stored row of blocks by row of blocks, and so inside them."""
    return order is ElementOrder.ROW_MAJOR or order.is_transposed
