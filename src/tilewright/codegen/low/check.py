"""Whether moves and copies of a schedule bring every element to where its buffer wants it.

It knows buffers by `Layout.coordinates` only, as places that hold numbered elements, and follows
single words; nothing of how moves are found.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from tilewright.codegen.low.schedule import (
    CopyStep,
    ExchangeStep,
    LowStep,
    RepeatStep,
    TileSchedule,
)
from tilewright.codegen.mid.orders import Indices
from tilewright.codegen.mid.storage import WORD, Storage, view_indices

_NOWHERE = -1


@dataclass(frozen=True, slots=True, eq=False)
class _Words:
    """Words that go from a tile's buffer to another's, one by one."""

    source_tile: Indices
    source: Indices
    target_tile: Indices
    target: Indices


@dataclass(slots=True)
class _Filling:
    """What has come of the words of a target, by tile, and which step of a loop they are for."""

    came: NDArray[np.bool_]
    window: int
    where: str


def misplaced(schedule: TileSchedule) -> Iterator[str]:
    """A line for each target that gets a wrong word, or lacks one, with the operation's name."""
    yield from _region(schedule, schedule.steps)


def _region(schedule: TileSchedule, steps: tuple[LowStep, ...]) -> Iterator[str]:
    filling: dict[int, _Filling] = {}
    for step in steps:
        match step:
            case CopyStep(copies=copies, seen=seen) if copies is not None and seen is not None:
                words = _expanded(
                    copies.tile, copies.source, copies.tile, copies.target, copies.words
                )
                ends = step.source, step.target
                yield from _moved(schedule, step, ends, seen, words, filling)
            case ExchangeStep():
                for (source, target, moves), seen in zip(step.moves, step.seen, strict=True):
                    run = np.repeat(np.arange(len(moves.words)), np.diff(moves.receiver_start))
                    words = _expanded(
                        moves.source_tile[run],
                        moves.source[run],
                        moves.receiver_tile,
                        moves.receiver,
                        moves.words[run],
                    )
                    yield from _moved(schedule, step, (source, target), seen, words, filling)
            case _:
                yield from _lacking(schedule, filling)
                filling = {}
                if isinstance(step, RepeatStep):
                    yield from _region(schedule, step.body)
    yield from _lacking(schedule, filling)


def _expanded(
    source_tile: Indices, source: Indices, target_tile: Indices, target: Indices, words: Indices
) -> _Words:
    run = np.repeat(np.arange(len(words)), words)
    inside = np.arange(len(run)) - np.repeat(np.cumsum(words) - words, words)
    return _Words(source_tile[run], source[run] + inside, target_tile[run], target[run] + inside)


def _moved(
    schedule: TileSchedule,
    step: CopyStep | ExchangeStep,
    ends: tuple[int, int],
    seen: Storage,
    words: _Words,
    filling: dict[int, _Filling],
) -> Iterator[str]:
    of, to = (schedule.buffers[end] for end in ends)
    window = step.window if to.slot.steps > 1 else 0
    arrived = _Arrived(seen, to.slot.storage, words, window * to.tiles)
    starts = (each for each in _starts(seen, to.slot.storage) if _is_right(arrived.first, each))
    if not any(_is_right(arrived, start) for start in starts):
        where = step.provenance.operation
        yield f"{where}: {to.name} gets words of {of.name} that belong elsewhere"
        return
    shape = (to.tiles, -(-to.slot.tile_bytes // WORD))
    known = filling.setdefault(
        to.id, _Filling(np.zeros(shape, np.bool_), window, step.provenance.operation)
    )
    known.came[words.target_tile, words.target] = True


@dataclass(frozen=True, slots=True, eq=False)
class _Arrived:
    """Words of `source` in places of `target`, of which a tile holds the shard `first_shard` later
    than its number."""

    source: Storage
    target: Storage
    words: _Words
    first_shard: int

    @property
    def first(self) -> "_Arrived":
        """The first word alone, which tells most wrong starts."""
        return replace(self, words=_Words(*(each[:1] for each in _parts(self.words))))


def _parts(words: _Words) -> tuple[Indices, ...]:
    return words.source_tile, words.source, words.target_tile, words.target


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a source begins in its target: at `place` of `axis`."""

    axis: int
    place: int


def _starts(source: Storage, target: Storage) -> Iterator[_Start]:
    """Where it may begin: a target that is longer along an axis has room for others there."""
    shapes = source.shape, target.shape[len(target.shape) - len(source.shape) :]
    longer = [axis for axis, (own, whole) in enumerate(zip(*shapes, strict=True)) if own != whole]
    if not longer:
        yield _Start(0, 0)
    elif len(longer) == 1:
        axis = longer[0]
        for place in range(shapes[1][axis] - shapes[0][axis] + 1):
            yield _Start(axis, place)


def _is_right(arrived: _Arrived, start: _Start) -> bool:
    """Whether each word holds elements that its place wants."""
    source, target, words = arrived.source, arrived.target, arrived.words
    tile = words.target_tile + arrived.first_shard
    per_word = WORD // target.format.precision.bytes
    source_per_word = WORD // source.format.precision.bytes
    for element in range(per_word):
        wanted = _numbers(target, tile, words.target * per_word + element)
        # of a finer source, one of the elements in the word
        inside = (element,) if per_word == source_per_word else range(source_per_word)
        met = np.zeros(len(tile), np.bool_)
        for place in inside:
            offset = words.source * source_per_word + place
            held = _base_numbers(source, words.source_tile, offset)
            met |= _meet(wanted, held, source, target, start)
        if not np.all((wanted == _NOWHERE) | met):
            return False
    return True


def _meet(
    wanted: Indices, held: Indices, source: Storage, target: Storage, start: _Start
) -> NDArray[np.bool_]:
    """Where the element of the target with a number is the one that the source holds, whose number
    is that of its base.

    A target with an axis more holds terms of a sum along it.
    """
    there = (wanted != _NOWHERE) & (held != _NOWHERE)
    shape = source.shape
    if not shape:
        return np.asarray(there)
    every = np.unravel_index(np.maximum(wanted, 0), target.shape)
    inner = list(every[len(every) - len(shape) :])
    inner[start.axis] = inner[start.axis] - start.place
    there &= (inner[start.axis] >= 0) & (inner[start.axis] < shape[start.axis])
    number = np.ravel_multi_index(tuple(np.where(there, each, 0) for each in inner), shape)
    return np.asarray(there & (_shown(source)[number] == held))


def _shown(storage: Storage) -> Indices:
    """For each element of the value, its number in the base."""
    if storage.view is None:
        return np.arange(prod(storage.base))
    return np.asarray(view_indices(storage.view), np.int64).reshape(-1)


def _base_numbers(storage: Storage, tile: Indices, offset: Indices) -> Indices:
    """Numbers of the base's elements at offsets of tiles' shards; of padding, -1."""
    coordinates, held = storage.layout.coordinates(tile, offset)
    number = np.zeros(len(tile), np.int64)
    for coordinate, extent in zip(coordinates, storage.base, strict=True):
        number = number * extent + np.where(held, coordinate, 0)
    return np.where(held, number, _NOWHERE)


def _numbers(storage: Storage, tile: Indices, offset: Indices) -> Indices:
    """Those of the value's elements."""
    number = _base_numbers(storage, tile, offset)
    if storage.view is None:
        return number
    seen = np.full(prod(storage.base), _NOWHERE, np.int64)
    indices = _shown(storage)
    seen[indices] = np.arange(len(indices))
    return np.where(number == _NOWHERE, _NOWHERE, seen[np.maximum(number, 0)])


def _lacking(schedule: TileSchedule, filling: dict[int, _Filling]) -> Iterator[str]:
    for target, known in filling.items():
        buffer = schedule.buffers[target]
        storage = buffer.slot.storage
        per_word = WORD // storage.format.precision.bytes
        words = known.came.shape[1]
        tile = (np.arange(buffer.tiles) + known.window * buffer.tiles)[:, None]
        _, held = storage.layout.coordinates(tile, np.arange(words * per_word)[None, :])
        wanted = held.reshape(buffer.tiles, words, per_word).any(axis=2)
        missing = int(np.count_nonzero(wanted & ~known.came))
        if missing:
            yield f"{known.where}: {missing} words of {buffer.name} never come"
