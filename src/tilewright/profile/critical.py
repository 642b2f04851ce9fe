"""The critical path: which tile the chip waits for, from one barrier to the next."""

import numpy as np

from tilewright.package import Steps
from tilewright.profile.taken import Flags, Integers, Taken, is_barrier


def critical_entries(steps: Steps, taken: Taken) -> Flags:
    """The entries of `taken` that lie on the critical path.

    An interval begins when a barrier lets all tiles go and ends when the last of them has come to
    the next. The tile that is busy longest in it decides on its length; its entries are on the
    path. So their busy cycles add up to the length of the run.
    """
    if not len(taken.tile):
        return np.zeros(0, bool)
    barrier = is_barrier(steps)[taken.row]
    is_first = np.concatenate([[True], taken.tile[1:] != taken.tile[:-1]])
    starts = np.flatnonzero(is_first | barrier)  # of each tile's part of an interval
    interval = np.where(barrier[starts], taken.step[starts], -1)
    busy = np.add.reduceat(taken.busy, starts)
    chosen = _greatest(interval, busy)
    return np.repeat(chosen, np.diff(starts, append=len(taken.tile)))


def _greatest(group: Integers, value: Integers) -> Flags:
    """Of each group, the first entry with the greatest value."""
    order = np.lexsort((-value, group))
    ordered = group[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    chosen = np.zeros(len(group), bool)
    chosen[order[is_first]] = True
    return chosen
