"""What tiles did: the steps of all tiles with their cycles, and which of these they only waited."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.package import NONE, Profile, StepKind, Steps

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

UNKNOWN = -1
"""Planned cycles that nobody planned."""
BARRIERS = (StepKind.EXCHANGE, StepKind.SYNCHRONISATION, StepKind.HOST)
"""Kinds of steps that begin by waiting for all tiles."""


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """One entry per tile and step: tile after tile, each in the order in which it took its steps.

    `waited` are those of a step's cycles that passed before the last tile had come to its barrier.
    """

    tile: Integers
    """Physical ids."""
    row: Integers
    """The step in `Steps.table`."""
    step: Integers
    """The step of the chip (see `ChipSteps`) that it is part of."""
    start: Integers
    """Cycles from the tile's first sample on."""
    cycles: Integers
    planned: Integers
    """`UNKNOWN` if it is not planned."""
    waited: Integers

    @property
    def busy(self) -> Integers:
        """Cycles without waiting."""
        return self.cycles - self.waited


def taken_steps(profile: Profile) -> Taken:
    """The steps of a profile, entry by entry."""
    steps = profile.steps
    counts = steps.counts.astype(np.int64)
    tile = np.repeat(steps.tiles.tile.astype(np.int64), counts)
    first = np.searchsorted(steps.table.list, steps.tiles.tile_list, side="left").astype(np.int64)
    begin = np.cumsum(counts) - counts
    row = np.arange(len(tile)) + np.repeat(first - begin, counts)
    cycles = profile.cycles().astype(np.int64)
    ended = np.cumsum(cycles)
    before = np.concatenate([[0], ended])[begin]
    start = ended - cycles - np.repeat(before, counts)
    planned = np.where(steps.table.planned == NONE, UNKNOWN, steps.table.planned.astype(np.int64))
    step = step_numbers(steps)[row]
    waited = _waited(step, cycles, planned[row], is_barrier(steps)[row])
    return Taken(tile, row, step, start, cycles, planned[row], waited)


def is_barrier(steps: Steps) -> Flags:
    """Of each row, whether it begins by waiting for all tiles."""
    return np.isin(steps.table.kind, [int(kind) for kind in BARRIERS])


def step_numbers(steps: Steps) -> Integers:
    """Of each row, the step of the chip: rows of different lists that are the same work.

    They are if they agree in epoch, phase, kind, operation and kernel; where a list has several
    such rows, the first is the same as the first of other lists, and so on.
    """
    table = steps.table
    key = np.zeros(len(table), np.int64)
    for column in (table.epoch, table.phase, table.kind, table.operation, table.kernel):
        key = _numbered(key, column)
    return _numbered(key, _ordinals(_numbered(key, table.list)))


def _numbered(key: Integers, more: NDArray[np.integer[Any]]) -> Integers:
    """Pairs of numbers as one number each, from 0 on, in the order of the pairs."""
    _, small = np.unique(more, return_inverse=True)
    pairs = key * (int(small.max(initial=0)) + 1) + small
    _, numbers = np.unique(pairs, return_inverse=True)
    return np.asarray(numbers, np.int64)


def _ordinals(key: Integers) -> Integers:
    """How many entries before each have its key."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    position = np.arange(len(key)) - np.repeat(starts, np.diff(starts, append=len(key)))
    ordinals = np.empty_like(position)
    ordinals[order] = position
    return ordinals


def _waited(step: Integers, cycles: Integers, planned: Integers, barrier: Flags) -> Integers:
    """Cycles that each entry waited.

    After a barrier, tiles differ by what is planned for them only; so whoever is least above the
    plan came last and did not wait, and what others are more above it is what they waited.
    """
    count = int(step.max(initial=-1)) + 1
    is_known = np.ones(count, bool)
    is_known[step[planned == UNKNOWN]] = False
    above = cycles - np.where(is_known[step], planned, 0)
    least = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(least, step, above)
    return np.where(barrier, np.minimum(above - least[step], cycles), 0)
