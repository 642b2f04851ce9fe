"""Which ranges of memory overlap, in all tiles at once."""

import numpy as np

from tilewright.codegen.place.requests import Ints


def overlapping(tile: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """All pairs of rows of one tile whose bytes `start` up to `end` overlap, each pair once.

    Time and space go with the number of pairs.
    """
    order = np.lexsort((end, start, tile))
    tile, start, end = tile[order], start[order], end[order]
    rows = np.arange(len(order))
    pairs = [(rows[:0], rows[:0])]
    distance = 1
    while len(rows):
        rows = rows[rows + distance < len(order)]
        after = rows + distance
        reached = (tile[after] == tile[rows]) & (start[after] < end[rows])
        rows = rows[reached]
        pairs.append((order[rows], order[rows + distance]))
        distance += 1
    return np.concatenate([one for one, _ in pairs]), np.concatenate([two for _, two in pairs])
