"""Which ranges of memory overlap while they are live, in all tiles at once."""

import numpy as np

from tilewright.codegen.place.requests import Ints


def overlapping(tile: Ints, start: Ints, end: Ints, first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """All pairs of rows of one tile that have both a byte and a step in common, each pair once.

    Bytes are those from `start` up to `end`, steps those from `first` to `last`, included. The time
    goes with the number of pairs that have bytes in common.
    """
    order = np.lexsort((end, start, tile))
    tile, start, end, first, last = (each[order] for each in (tile, start, end, first, last))
    rows = np.arange(len(order))
    pairs = [(rows[:0], rows[:0])]
    distance = 1
    while len(rows):
        rows = rows[rows + distance < len(order)]
        after = rows + distance
        reached = (tile[after] == tile[rows]) & (start[after] < end[rows])
        rows, after = rows[reached], after[reached]
        meet = (first[rows] <= last[after]) & (first[after] <= last[rows])
        pairs.append((order[rows[meet]], order[after[meet]]))
        distance += 1
    return np.concatenate([one for one, _ in pairs]), np.concatenate([two for _, two in pairs])
