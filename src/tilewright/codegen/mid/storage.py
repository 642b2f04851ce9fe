"""Where a value's elements are: a layout, seen directly or through views.

Views (reshape, transpose, slice, splitting heads) move nothing: whoever gathers a viewed value
reads the elements of the base where they lie. A view's meaning is the graph operators' own, applied
to the numbers of the base's elements.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.codegen.mid.formats import TensorFormat
from tilewright.codegen.mid.layout import Layout, Shape, resolve
from tilewright.codegen.mid.orders import Indices
from tilewright.graph.operator import Formula
from tilewright.graph.operators import Reshape

_PROBED_ROWS = 4
_PROBED_ELEMENTS = 4096
_LEAST_PROBED_TILES = 3


@dataclass(frozen=True, slots=True)
class View:
    """Operators that make a value of `shape` out of a base of `base`, first to last."""

    base: Shape
    operators: tuple[Formula, ...]
    shape: Shape

    @property
    def keeps_numbers(self) -> bool:
        """Whether elements, counted with the last axis fastest, are those of the base."""
        return all(isinstance(operator, Reshape) for operator in self.operators)


@lru_cache(maxsize=256)
def view_indices(view: View) -> NDArray[Any]:
    """For each element of the view, its number in the base, last axis fastest."""
    count = int(np.prod(view.base, dtype=np.int64))
    narrow = np.int32 if count <= np.iinfo(np.int32).max else np.int64
    indices: NDArray[Any] = np.arange(count, dtype=narrow).reshape(view.base)
    for operator in view.operators:
        indices = operator.evaluate([indices])
    return indices


@dataclass(frozen=True, slots=True)
class Storage:
    """A stored tensor of `base` extents in `format`; with a view, what is seen of it."""

    format: TensorFormat
    base: Shape
    view: View | None = None
    _hash: int = field(init=False, repr=False, compare=False)
    """Storages are looked up much more often than made."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.format, self.base, self.view)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def shape(self) -> Shape:
        return self.base if self.view is None else self.view.shape

    @property
    def layout(self) -> Layout:
        """Of the base."""
        return resolve(self.format, self.base)

    def viewed(self, operator: Formula, shape: Shape) -> "Storage":
        """Seen through one more view."""
        before = () if self.view is None else self.view.operators
        return Storage(self.format, self.base, View(self.base, (*before, operator), shape))

    def locate(self, coordinates: tuple[Indices, ...]) -> tuple[Indices, Indices]:
        """As `Layout.locate`, for coordinates of the value."""
        if self.view is None:
            return self.layout.locate(coordinates)
        arrays = tuple(np.broadcast_arrays(*coordinates))
        if not self.view.keeps_numbers:
            numbers = view_indices(self.view)[arrays]
        elif arrays:
            numbers = np.ravel_multi_index(arrays, self.view.shape)
        else:
            numbers = np.zeros((), np.int64)
        if not self.base:
            return np.zeros_like(numbers), np.zeros_like(numbers)
        return self.layout.locate(tuple(np.unravel_index(numbers, self.base)))

    def __str__(self) -> str:
        if self.view is None:
            return str(self.format)
        names = " ".join(operator.mnemonic for operator in self.view.operators)
        return f"{self.format}, seen by {names} of {list(self.base)}"


WORD = 4
"""Bytes that the exchange moves at once."""


@lru_cache(maxsize=8192)
def keeps_words(storage: Storage, axis: int) -> bool:
    """Whether neighbours along `axis` (-1 or -2) that fill a word are a word of one tile's memory.

    Then the exchange, which moves whole words, can gather the elements in another order. It is
    probed on the first rows: shards and views are regular.
    """
    shape = storage.shape
    group = WORD // storage.format.precision.bytes
    if group < 2 or len(shape) < -axis:
        return True
    others = [np.arange(min(extent, _PROBED_ROWS)) for extent in shape]
    others[axis] = np.arange(shape[axis])
    tile, offset = storage.locate(tuple(np.meshgrid(*others, indexing="ij")))
    tile, offset = np.moveaxis(tile, axis, 0), np.moveaxis(offset, axis, 0)
    place = np.arange(shape[axis]) % group
    aligned = np.moveaxis(offset, 0, -1) % group == place
    together = (tile[1:] == tile[:-1]) & (offset[1:] == offset[:-1] + 1)
    return bool(np.all(aligned) and np.all(together[place[1:] != 0]))


@lru_cache(maxsize=8192)
def moves_whole_words(source: Storage, target: Storage) -> bool:
    """Whether every word of `target` is a word of `source`, so that the exchange can move it.

    Both store the same value. Probed on the first elements of some of the target's tiles, of small
    ones all.
    """
    group = WORD // target.format.precision.bytes
    if group < 2 or not target.shape:
        return True
    layout = target.layout
    offset = np.arange(min(layout.shard_elements, _PROBED_ELEMENTS))
    count = max(_LEAST_PROBED_TILES, 2 * _PROBED_ELEMENTS // len(offset))
    last = layout.format.tiles - 1
    tiles = np.unique(np.linspace(0, last, min(count, last + 1)).astype(np.int64))[:, None]
    coordinates, held = layout.coordinates(tiles, offset)
    offset = np.broadcast_to(offset, held.shape)
    numbers = np.ravel_multi_index([each[held] for each in coordinates], target.base)
    tile, place = source.locate(np.unravel_index(seen_numbers(target, numbers), source.shape))
    tile, place = np.atleast_1d(tile), np.atleast_1d(place)
    aligned = place % group == offset[held] % group
    row = np.nonzero(held)[0]  # of which tile; words do not span tiles
    word = row * layout.shard_elements + offset[held] // group
    same_word = np.diff(word) == 0
    together = (np.diff(tile) == 0) & (np.diff(place // group) == 0)
    return bool(np.all(aligned) and np.all(together[same_word]))


def seen_numbers(storage: Storage, numbers: Indices) -> Indices:
    """Numbers of elements of the base as numbers of the value's, last axis fastest."""
    if storage.view is None or storage.view.keeps_numbers:
        return numbers
    indices = view_indices(storage.view).reshape(-1)
    seen = np.zeros(int(np.prod(storage.base, dtype=np.int64)), indices.dtype)
    seen[indices] = np.arange(indices.size)
    return np.asarray(seen[numbers], np.int64)
