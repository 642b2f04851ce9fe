"""Work that repeats at even distances, found in lists."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tilewright.codegen.mid.orders import Indices
from tilewright.target.geometry import WORKERS


def even_runs(places: Indices, shape: Indices) -> Iterator[tuple[int, int, list[int]]]:
    """Entries (columns) that lie evenly and have equal shape together.

    Gives the number of the first, how many there are, and by how much each of their places (rows)
    grows from one to the next: 0 if there is only one.
    """
    entries = places.shape[1]
    steps, changes = np.diff(places), np.any(np.diff(shape), axis=0)
    # Where an entry cannot follow the one before it as that one follows its own.
    breaks = np.ones(max(entries - 1, 0), np.bool_)
    breaks[1:] = np.any(steps[:, 1:] != steps[:, :-1], axis=0) | changes[1:]
    ends = np.append(np.flatnonzero(breaks), entries - 1)
    first = 0
    while first < entries:
        last = first + 1
        if last < entries and not changes[first]:
            last = int(ends[np.searchsorted(ends, first, side="right")]) + 1
        pitches = steps[:, first].tolist() if last - first > 1 else [0] * len(places)
        yield first, last - first, pitches
        first = last


@dataclass(frozen=True, slots=True)
class Rows:
    """`rows` rows of `words` words of a target, and where the elements of operands lie for them.

    Row j starts at word `word` + j · `word_pitch`. Of an operand it takes the elements `place` +
    j · `pitch` + i · `step`.
    """

    word: int
    words: int
    rows: int
    word_pitch: int
    places: tuple[int, ...]
    steps: tuple[int, ...]
    pitches: tuple[int, ...]


def find_rows(words: Indices, places: Indices, steps: Indices | None) -> Iterator[Rows]:
    """The fewest rows, by a greedy search, that make up words of a target.

    `places` has a row for each operand: the element that it gives to each word. With `steps`, of
    the same shape, a word takes two elements, the second so far from the first.
    """
    shape = steps if steps is not None else np.zeros((1, len(words)), np.int64)
    lines: list[tuple[int, ...]] = []
    blocks: list[Rows] = []
    count = len(places)
    for first, length, (word_pitch, *pitches) in even_runs(np.vstack([words, places]), shape):
        start = tuple(places[:, first].tolist())
        inside = tuple(pitches) if steps is None else tuple(steps[:, first].tolist())
        goes_on = steps is None or all(
            pitch == 2 * step for pitch, step in zip(pitches, inside, strict=True)
        )
        if length == 1 or (word_pitch == 1 and goes_on):
            lines.append((int(words[first]), *start, length, *inside))
        else:
            steps_inside = inside if steps is not None else (0,) * count
            blocks.append(
                Rows(int(words[first]), 1, length, word_pitch, start, steps_inside, tuple(pitches))
            )
    yield from blocks
    if not lines:
        return
    columns = np.array(lines, np.int64).T
    for first, length, (word_pitch, *pitches) in even_runs(
        columns[: count + 1], columns[count + 1 :]
    ):
        word, *rest = columns[:, first].tolist()
        yield Rows(
            word,
            rest[count],
            length,
            word_pitch,
            tuple(rest[:count]),
            tuple(rest[count + 1 :]),
            tuple(pitches),
        )


def single_words(words: Indices, places: Indices) -> Iterator[Rows]:
    """As `find_rows`, but with one word, of one element, in each row."""
    none = (0,) * len(places)
    shape = np.zeros((1, len(words)), np.int64)
    for first, rows, (word_pitch, *pitches) in even_runs(np.vstack([words, places]), shape):
        start = tuple(places[:, first].tolist())
        yield Rows(int(words[first]), 1, rows, word_pitch, start, none, tuple(pitches))


def shared(rows: Rows, elements_per_word: int) -> Iterator[Rows]:
    """The same work with a row or more for each worker, if rows are long enough to be cut."""
    part, rest = divmod(rows.words, WORKERS)
    cut = _steps(part) + (_steps(rest) if rest else 0)
    if rows.rows >= WORKERS or part < 2 or _steps(rows.words) <= rows.rows * cut:
        yield rows
        return
    moved = tuple(step * elements_per_word for step in rows.steps)
    for row in range(rows.rows):
        places = _moved(rows.places, rows.pitches, row)
        word = rows.word + row * rows.word_pitch
        yield replace(
            rows,
            word=word,
            words=part,
            rows=WORKERS,
            word_pitch=part,
            places=places,
            pitches=tuple(part * each for each in moved),
        )
        if rest:
            yield replace(
                rows,
                word=word + WORKERS * part,
                words=rest,
                rows=1,
                places=_moved(places, moved, WORKERS * part),
            )


def _steps(words: int) -> int:
    """About how many a worker takes in a call for one row of so many words."""
    return _CALL_STEPS + _WORD_STEPS * words


_CALL_STEPS, _WORD_STEPS = 40, 3
"""As kernels that permute have them."""


def _moved(places: tuple[int, ...], by: tuple[int, ...], times: int) -> tuple[int, ...]:
    return tuple(place + times * each for place, each in zip(places, by, strict=True))
