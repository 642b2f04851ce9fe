"""Another order of a tile's elements, as calls of the permuting kernel."""

from collections.abc import Iterator

import numpy as np

from tilewright.codegen.emit.addresses import Address
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.operands import Call
from tilewright.codegen.emit.strides import even_runs
from tilewright.codegen.mid import Layout
from tilewright.codegen.mid.orders import Indices

_HALF = 2
"""Bytes that the kernel moves."""
_NOWHERE = -1


def rearranging_calls(
    source: Layout, source_address: Address, target: Layout, target_address: Address, tile: int
) -> Iterator[Call]:
    """The calls that fill a tile's target shard from its source shard.

    Words of padding stay as they are. Raises `EmissionError` for words that are half padding,
    elements of other sizes, and if the source shard lacks some.
    """
    if source.format.precision.bytes != target.format.precision.bytes:
        raise EmissionError("no kernel of ours picks elements out of words")
    halves = _halves(_source_offsets(source, target, tile), source.format.precision.bytes)
    first, second = halves.reshape(-1, 2).T
    (words,) = np.nonzero(first != _NOWHERE)
    if np.any((first == _NOWHERE) != (second == _NOWHERE)):
        raise EmissionError("no kernel of ours moves a half beside padding")
    first, step = first[words], (second - first)[words]
    starts = np.flatnonzero(
        np.concatenate(
            [
                [True],
                (np.diff(words) != 1) | (np.diff(step) != 0) | (np.diff(first) != 2 * step[:-1]),
            ]
        )[: len(words)]
    )
    pairs = np.diff(np.append(starts, len(words)))
    places = np.stack([words[starts], first[starts]])
    for row, rows, (z_pitch, x_pitch) in even_runs(places, np.stack([pairs, step[starts]])):
        word, half = places[:, row].tolist()
        yield Call(
            "permute_16",
            (
                target_address + 2 * _HALF * word,
                source_address + _HALF * half,
                z_pitch,
                x_pitch,
                int(step[starts[row]]),
                int(pairs[row]),
                rows,
            ),
        )


def _source_offsets(source: Layout, target: Layout, tile: int) -> Indices:
    """For each offset of the target shard, where the element lies in the source's."""
    wanted, is_wanted = _elements(target, tile)
    present, is_present = _elements(source, tile)
    places = np.flatnonzero(is_present)
    order = np.argsort(present[places])
    known = present[places][order]
    found = np.searchsorted(known, wanted)
    found_there = np.minimum(found, len(known) - 1)
    if np.any(is_wanted & (known[found_there] != wanted)):
        raise EmissionError(f"tile {tile} lacks elements of what it rearranges")
    return np.where(is_wanted, places[order][found_there], _NOWHERE)


def _elements(layout: Layout, tile: int) -> tuple[Indices, Indices]:
    """The number of the element at each offset of a shard, and whether there is one."""
    extents = [int(extent) for _, extent in layout.shard(np.array(tile))]
    offsets = np.arange(int(np.prod(extents)))
    coordinates, held = layout.coordinates(np.array(tile), offsets)
    number = np.zeros_like(offsets)
    for coordinate, extent in zip(coordinates, layout.shape, strict=True):
        number = number * extent + coordinate
    return number, held


def _halves(offsets: Indices, element: int) -> Indices:
    """Offsets of elements as those of halves: an even number, as atoms have room behind them."""
    if element < _HALF:
        raise EmissionError("no kernel of ours rearranges single bytes")
    parts = element // _HALF
    inside = np.arange(parts)
    halves = np.where(
        offsets[:, None] == _NOWHERE, _NOWHERE, offsets[:, None] * parts + inside
    ).reshape(-1)
    return np.append(halves, halves[-1:]) if len(halves) % 2 else halves
