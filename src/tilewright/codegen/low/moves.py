"""Which words of which tiles fill the shards of a stored tensor.

Tiles are numbered within the group, and places count words of four bytes from the start of a
shard: the grain of the exchange. Words that follow each other in both places are one run, and tiles
that hold copies receive a run together.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from tilewright.codegen.low.faults import LoweringError
from tilewright.codegen.mid.dispatch import Slot
from tilewright.codegen.mid.layout import Layout
from tilewright.codegen.mid.orders import Indices
from tilewright.codegen.mid.storage import WORD, Storage, seen_numbers
from tilewright.target.topology import MEMBERS

_MOST_WORDS = 1 << 20
"""Words that are looked at in one go: bounds the memory that this takes."""

_Found = tuple[Indices, Indices]
"""For each element asked for, the first tile that holds it, and its place in elements."""


@dataclass(frozen=True, eq=False)
class Copies:
    """Words that tiles copy inside their memory: `words` from word `source` to word `target`."""

    tile: Indices
    source: Indices
    target: Indices
    words: Indices


@dataclass(frozen=True, eq=False)
class Moves:
    """Runs that are sent, each to one or many tiles, and what tiles copy themselves.

    Run i goes to entries `receiver_start[i]` to `receiver_start[i + 1]` of the receivers.
    """

    source_tile: Indices
    source: Indices
    words: Indices
    receiver_start: Indices
    receiver_tile: Indices
    receiver: Indices
    copies: Copies

    def filled_words(self, tiles: int) -> Indices:
        """How many words of the target each of so many tiles gets."""
        words = np.repeat(self.words, np.diff(self.receiver_start))
        received = np.bincount(self.receiver_tile, weights=words, minlength=tiles)
        copied = np.bincount(self.copies.tile, weights=self.copies.words, minlength=tiles)
        return np.asarray(received + copied, np.int64)

    @property
    def sent_words(self) -> int:
        """Words sent, each once, however many receive it."""
        return int(self.words.sum())


@dataclass(frozen=True, slots=True)
class Part:
    """The range from `start` on along an axis that one of several sources fills."""

    axis: int
    start: int
    extent: int

    def holds(self, coordinates: tuple[Indices, ...]) -> NDArray[np.bool_]:
        """Whether coordinates of the whole are in the part."""
        place = coordinates[self.axis] - self.start
        inside: NDArray[np.bool_] = (place >= 0) & (place < self.extent)
        return inside

    def inner(self, coordinates: tuple[Indices, ...]) -> tuple[Indices, ...]:
        """Coordinates of the whole as those of the part."""
        before, here = coordinates[: self.axis], coordinates[self.axis]
        return (*before, here - self.start, *coordinates[self.axis + 1 :])


def gathered(source: Storage, target: Slot, window: int = 0, part: Part | None = None) -> Moves:
    """What fills `target`, or a part of it, from `source`; of a slot with steps, step `window`.

    A target of whole words for the elements of a finer source gets the word around each. Raises
    `LoweringError` if a word of the target is no word of the source, and for other changes of size.
    """
    layout = target.storage.layout
    tiles = window * target.tiles + np.arange(target.tiles)
    finder = _Finder(target.storage, source.format.precision.bytes, source.locate, part)
    runs = _all_runs(finder, _owners(layout, tiles), layout.shard_elements)
    return _spread(runs, tiles, layout.replica_tiles, source.layout.replica_tiles)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a slot of whole words, for elements of a finer source, was gathered from."""

    source: Storage
    part: Part | None


def inner_places(origin: Origin, target: Storage, tile: int) -> Indices:
    """For each word of a tile's shard of `target` which element of it, counted from 0, is the one
    that was gathered for it from `origin`; -1 where none was."""
    layout = target.layout
    size = origin.source.format.precision.bytes
    finder = _Finder(target, size, origin.source.locate, origin.part)
    coordinates, held = layout.coordinates(np.array(tile), np.arange(layout.shard_elements))
    held &= finder.wants(coordinates)
    found = np.full(layout.shard_elements, -1, np.int64)
    _, place = finder.find([each[held] for each in coordinates], int(np.count_nonzero(held)))
    found[held] = place % finder.source_group
    return found


def scattered(source: Storage, arriving: Storage) -> Moves:
    """What brings the other terms of a sum to the tiles that own its parts.

    Tiles that `source` counts as holders of copies have one term each. The first axis of `arriving`
    numbers the terms that a tile has not: those of the other tiles, in ascending order. Padding is
    moved, too, so that all of `arriving` is filled.
    """
    source, arriving = _with_padding(source), _with_padding(arriving)
    layout = arriving.layout
    tiles = np.arange(arriving.format.tiles)
    terms = arriving.base[0]

    def locate(coordinates: tuple[Indices, ...]) -> _Found:
        return source.layout.locate(coordinates[1:])

    # All terms of a tile lie alike, one after the other.
    finder = _Finder(arriving, source.format.precision.bytes, locate)
    first = _all_runs(finder, tiles, layout.shard_elements // terms)
    runs = _of_all_terms(first, layout, terms, source.layout.replica_tiles)
    nowhere = np.zeros(1, np.int64)
    return _spread(runs, tiles, nowhere, nowhere)


def _with_padding(storage: Storage) -> Storage:
    """What is stored, with its padding as elements."""
    return Storage(storage.format, storage.layout.padded_shape)


def _of_all_terms(runs: "_Runs", layout: Layout, terms: int, holders: Indices) -> "_Runs":
    """Runs of a first term, for each of the tiles that hold the terms but the owner itself."""
    group = WORD // layout.format.precision.bytes
    extents = [extent for _, extent in layout.shard(runs.target_tile)]
    stride = np.prod(extents[1:], axis=0) // group
    term = np.arange(terms)[None, :]
    own = np.searchsorted(holders, runs.target_tile - runs.source_tile)[:, None]
    count = np.ones_like(term)
    return _Runs(
        (runs.target_tile[:, None] * count).reshape(-1),
        (runs.target[:, None] + stride[:, None] * term).reshape(-1),
        (runs.source_tile[:, None] + holders[term + (term >= own)]).reshape(-1),
        (runs.source[:, None] * count).reshape(-1),
        (runs.words[:, None] * count).reshape(-1),
    )


class _Finder:
    """Where the elements of a target come from."""

    def __init__(
        self,
        target: Storage,
        source_bytes: int,
        locate: Callable[[tuple[Indices, ...]], _Found],
        part: Part | None = None,
    ) -> None:
        self.target = target
        self._part = part
        self.group = WORD // target.format.precision.bytes
        self.source_group = WORD // source_bytes
        self._locate = locate
        if self.group not in (self.source_group, 1):
            raise LoweringError(
                f"the exchange does not convert: elements of {source_bytes} bytes to {target}"
            )

    @property
    def takes_words_around(self) -> bool:
        """Whether the target has a word for each element of a finer source."""
        return self.group != self.source_group

    def wants(self, coordinates: tuple[Indices, ...]) -> NDArray[np.bool_] | bool:
        """Whether elements, given by coordinates of the target's base, come from this source."""
        return True if self._part is None else self._part.holds(coordinates)

    def find(self, coordinates: list[Indices], count: int) -> _Found:
        """The first tile and place of elements, given by coordinates of the target's base."""
        values = _values(self.target, coordinates)
        if self._part is not None:
            values = self._part.inner(values)
        tile, place = self._locate(values)
        return np.broadcast_to(tile, (count,)), np.broadcast_to(place, (count,))


def _all_runs(finder: _Finder, owners: Indices, elements: int) -> "_Runs":
    """Runs of the first `elements` of shards (of those with first coordinate 0, if not all)."""
    chunks = _chunks(owners, -(-elements // finder.group))
    parts = [_runs(finder, chunk, elements) for chunk in chunks]
    return _Runs(*(np.concatenate(column) for column in zip(*map(_columns, parts), strict=True)))


@dataclass(frozen=True, eq=False)
class _Runs:
    """Words that follow each other in a source and in a target shard."""

    target_tile: Indices
    target: Indices
    source_tile: Indices
    source: Indices
    words: Indices


def _columns(runs: _Runs) -> list[Indices]:
    return [getattr(runs, field.name) for field in fields(_Runs)]


def _owners(layout: Layout, tiles: Indices) -> Indices:
    """Of tiles that hold copies of each other, the first."""
    replicas = layout.replica_tiles
    if len(replicas) == 1:
        return tiles
    is_copy = np.zeros(int(tiles[-1]) + 1, dtype=np.bool_)
    for tile in tiles:
        if not is_copy[tile]:
            copies = tile + replicas[1:]
            is_copy[copies[copies < len(is_copy)]] = True
    return tiles[~is_copy[tiles]]


def _chunks(tiles: Indices, words: int) -> Iterator[Indices]:
    step = max(1, _MOST_WORDS // words)
    for start in range(0, max(len(tiles), 1), step):
        yield tiles[start : start + step]


def _runs(finder: _Finder, tiles: Indices, elements: int) -> _Runs:
    layout = finder.target.layout
    offset = np.arange(0, elements, finder.group)
    coordinates, held = layout.coordinates(tiles[:, None], offset[None, :])
    if elements < layout.shard_elements:
        held &= coordinates[0] == 0
    held &= finder.wants(coordinates)
    tile, word = (each.astype(np.int64) for each in np.nonzero(held))
    owner = tiles[tile]
    found = finder.find([each[held] for each in coordinates], len(owner))
    if not finder.takes_words_around:
        _check_words(finder, tiles, offset, held, found)
    source_tile, source = found[0], found[1] // finder.source_group
    goes_on = np.zeros(len(owner), dtype=np.bool_)
    goes_on[1:] = (
        (np.diff(owner) == 0)
        & (np.diff(word) == 1)
        & (np.diff(source_tile) == 0)
        & (np.diff(source) == 1)
    )
    first = np.flatnonzero(~goes_on)
    words = np.diff(np.append(first, len(owner)))
    return _Runs(owner[first], word[first], source_tile[first], source[first], words)


def _values(target: Storage, coordinates: list[Indices]) -> tuple[Indices, ...]:
    """Coordinates of the base as those of the value that is seen of it."""
    if target.view is None:
        return tuple(coordinates)
    numbers = seen_numbers(target, np.ravel_multi_index(tuple(coordinates), target.base))
    return tuple(np.unravel_index(numbers, target.shape))


def _check_words(
    finder: _Finder, tiles: Indices, offset: Indices, held: NDArray[np.bool_], first: _Found
) -> None:
    """The other elements of each word must follow the first one where it comes from, too."""
    layout = finder.target.layout
    wrong = np.any(first[1] % finder.group)
    for step in range(1, finder.group):
        coordinates, also = layout.coordinates(tiles[:, None], offset[None, :] + step)
        if np.any(held & also & ~np.asarray(finder.wants(coordinates))):
            raise LoweringError(f"a word of {finder.target} comes from two sources")
        both = also[held]
        others = [each[held & also] for each in coordinates]
        tile, place = finder.find(others, int(np.count_nonzero(both)))
        wrong |= np.any(tile != first[0][both]) or np.any(place != first[1][both] + step)
    if wrong:
        raise LoweringError(
            f"words of {finder.target} are not words of their source, and the exchange moves "
            "whole ones"
        )


def _spread(
    runs: _Runs, tiles: Indices, target_replicas: Indices, source_replicas: Indices
) -> Moves:
    """Runs to all tiles that hold copies, shared out among the tiles that can send them.

    A tile that sends to others may receive its own words as well, so that pairs stay complete; what
    would go to itself alone it copies.
    """
    receiver = runs.target_tile[:, None] + target_replicas[None, :] - tiles[0]
    copy = _sender(receiver, runs.source_tile, source_replicas)
    source = runs.source_tile[:, None] + source_replicas[copy]
    run = np.repeat(np.arange(len(receiver)), receiver.shape[1])
    order = np.lexsort((receiver.reshape(-1), source.reshape(-1), run))
    run, to, sender = run[order], receiver.reshape(-1)[order], source.reshape(-1)[order]
    is_new = np.ones(len(run), dtype=np.bool_)
    is_new[1:] = (np.diff(run) != 0) | (np.diff(sender) != 0)
    first = np.flatnonzero(is_new)
    is_copy = (np.diff(np.append(first, len(run))) == 1) & (to[first] == sender[first])
    copied, sent = first[is_copy], ~is_copy[np.cumsum(is_new) - 1]
    kept = first[~is_copy]
    return Moves(
        source_tile=sender[kept],
        source=runs.source[run[kept]],
        words=runs.words[run[kept]],
        receiver_start=np.append(np.flatnonzero(is_new[sent]), np.count_nonzero(sent)),
        receiver_tile=to[sent],
        receiver=runs.target[run[sent]],
        copies=Copies(
            to[copied], runs.source[run[copied]], runs.target[run[copied]], runs.words[run[copied]]
        ),
    )


def _sender(receiver: Indices, first: Indices, replicas: Indices) -> Indices:
    """Which of the tiles that hold a run sends it to each receiver: itself, if it is one.

    The others take turns, by pairs of receivers.
    """
    place = np.broadcast_to(np.arange(receiver.shape[1]), receiver.shape)
    turn = place // MEMBERS % len(replicas)
    own = np.searchsorted(replicas, receiver - first[:, None])
    own = np.minimum(own, len(replicas) - 1)
    holds = replicas[own] == receiver - first[:, None]
    return np.where(holds & (len(replicas) > 1), own, turn)
