"""Work that repeats at even distances, found in lists."""

from collections.abc import Iterator

import numpy as np

from tilewright.codegen.mid.orders import Indices


def even_runs(places: Indices, shape: Indices) -> Iterator[tuple[int, int, list[int]]]:
    """Entries (columns) that lie evenly and have equal shape together.

    Gives the number of the first, how many there are, and by how much each of their places (rows)
    grows from one to the next: 0 if there is only one.
    """
    first, entries = 0, places.shape[1]
    steps, changes = np.diff(places), np.any(np.diff(shape), axis=0)
    while first < entries:
        last = first + 1
        while (
            last < entries
            and not changes[last - 1]
            and np.array_equal(steps[:, last - 1], steps[:, first])
        ):
            last += 1
        pitches = steps[:, first].tolist() if last - first > 1 else [0] * len(places)
        yield first, last - first, pitches
        first = last
