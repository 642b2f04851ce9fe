"""Steps of the chip: the same work on all tiles that take part, as one."""

from dataclasses import dataclass

import numpy as np

from tilewright.package import Steps
from tilewright.profile.taken import UNKNOWN, Integers, Taken, is_barrier


@dataclass(frozen=True, slots=True, eq=False)
class ChipSteps:
    """One entry per step of the chip, by the numbers that `Taken.step` has.

    Cycles are busy ones, without waiting for other tiles.
    """

    row: Integers
    """A row of `Steps.table` that is part of it, which has its names."""
    order: Integers
    """The numbers of the steps in the order in which the chip takes them."""
    tiles: Integers
    """How many tiles take part."""
    cycles: Integers
    """Of all tiles together."""
    longest: Integers
    """Of the tile that is busy longest."""
    critical: Integers
    """That tile's physical id; the first of several."""
    waited: Integers
    """Cycles that all tiles together wait at its barrier."""
    planned: Integers
    """The most that is planned for any tile; `UNKNOWN` if any is not planned."""


def chip_steps(steps: Steps, taken: Taken) -> ChipSteps:
    """The steps of the chip that tiles took."""
    number, busy = taken.step, taken.busy
    count = int(number.max(initial=-1)) + 1
    order = np.lexsort((taken.tile, -busy, number))
    first = np.searchsorted(number[order], np.arange(count))
    worst = order[first]  # the tile that is busy longest, of each step
    planned = np.full(count, UNKNOWN)
    np.maximum.at(planned, number, taken.planned)
    planned[number[taken.planned == UNKNOWN]] = UNKNOWN
    return ChipSteps(
        row=taken.row[worst],
        order=np.argsort(_times(steps, taken, count), kind="stable"),
        tiles=np.bincount(number, minlength=count),
        cycles=_sums(number, busy, count),
        longest=busy[worst],
        critical=taken.tile[worst],
        waited=_sums(number, taken.waited, count),
        planned=planned,
    )


def _sums(number: Integers, values: Integers, count: int) -> Integers:
    sums = np.zeros(count, np.int64)
    np.add.at(sums, number, values)
    return sums


def _times(steps: Steps, taken: Taken, count: int) -> Integers:
    """When a step happens: the first start; of a barrier the last, when all tiles are there."""
    barrier = is_barrier(steps)[taken.row]
    times = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(times, taken.step[~barrier], taken.start[~barrier])
    last = np.full(count, -1)
    np.maximum.at(last, taken.step[barrier], taken.start[barrier])
    return np.where(last >= 0, last, times)
