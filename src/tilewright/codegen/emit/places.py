"""Where the elements of a stored value lie in a tile's shard."""

import numpy as np

from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.mid import Layout
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.orders import Indices
from tilewright.codegen.mid.storage import Storage, view_indices

NOWHERE = -1
"""For padding, and for what nobody holds."""


def held_elements(storage: Storage, tile: int) -> Indices:
    """For each offset of a tile's shard the number of the value's element there, last axis fastest;
    NOWHERE for padding and for elements of the base that the value does not show."""
    coordinates, held = _coordinates(storage.layout, tile)
    number = np.zeros_like(held, np.int64)
    for coordinate, extent in zip(coordinates, storage.base, strict=True):
        number = number * extent + coordinate
    if storage.view is not None:
        number = _seen(storage)[np.where(held, number, 0)]
    return np.where(held, number, NOWHERE)


def padding(layout: Layout, tile: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """For each offset of a tile's shard, whether no element lies there."""
    _, held = _coordinates(layout, tile)
    return ~held


def find_elements(storage: Storage, tile: int, wanted: Indices) -> Indices:
    """Offsets in a tile's shard of the elements with these numbers, NOWHERE for NOWHERE.

    Raises `EmissionError` if the tile lacks some.
    """
    present = held_elements(storage, tile)
    offsets = np.flatnonzero(present != NOWHERE)
    order = np.argsort(present[offsets], kind="stable")
    known = present[offsets][order]
    if np.all(wanted == NOWHERE):
        return wanted
    if not len(known):
        raise EmissionError("a tile rearranges what it does not hold")
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    if np.any((wanted != NOWHERE) & (known[at] != wanted)):
        raise EmissionError("a tile rearranges what it does not hold")
    return np.where(wanted == NOWHERE, NOWHERE, offsets[order][at])


def broadcast_numbers(numbers: Indices, shape: Shape, operand: Shape) -> Indices:
    """Numbers of elements of a result of `shape` as those of the operand's elements that they meet,
    as NumPy broadcasts."""
    lift = len(shape) - len(operand)
    coordinates = np.unravel_index(np.maximum(numbers, 0), shape)[lift:] if shape else ()
    found = np.zeros_like(numbers)
    for coordinate, extent in zip(coordinates, operand, strict=True):
        found = found * extent + (coordinate if extent > 1 else 0)
    return np.where(numbers == NOWHERE, NOWHERE, found)


def _coordinates(
    layout: Layout, tile: int
) -> tuple[tuple[Indices, ...], np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    extents = [int(extent) for _, extent in layout.shard(np.array(tile))]
    offsets = np.arange(int(np.prod(extents)))
    return layout.coordinates(np.array(tile), offsets)


def _seen(storage: Storage) -> Indices:
    assert storage.view is not None
    indices = view_indices(storage.view).reshape(-1)
    seen = np.full(int(np.prod(storage.base, dtype=np.int64)), NOWHERE, np.int64)
    seen[indices] = np.arange(indices.size)
    return seen
