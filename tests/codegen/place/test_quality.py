"""How good packings are, on the simulation of docs/placement.md."""

import itertools

import numpy as np
import pytest

from tilewright.cli.bench.place import WHOLE, placed_ratios, simulated
from tilewright.codegen.place import Requests, place
from tilewright.target.geometry import MEMORY_BASE


@pytest.mark.parametrize("rounded", [False, True])
def test_packings_are_within_5_percent_of_the_bound_on_average(rounded: bool) -> None:
    ratios = placed_ratios(simulated(300, 0, rounded=rounded))
    assert ratios.min() >= 1
    assert ratios.mean() <= 1.05
    # What is reached, so that a change for the worse is seen.
    assert ratios.mean() < (1.011 if rounded else 1.008)


def test_packings_of_few_are_the_best_there_are() -> None:
    """Against all orders of first fit: some order leads to a least peak, that of its addresses."""
    random = np.random.default_rng(8)
    for _ in range(60):
        count = int(random.integers(2, 7))
        size = random.integers(1, 9, count)
        first = random.integers(0, 6, count)
        last = first + random.integers(0, 4, count)
        asked = Requests.of(tile=0, size=size, alignment=1, first=first, last=last)
        end = place(asked, WHOLE).address + size
        assert end.max() - MEMORY_BASE == _least_peak(size, first, last)


def _least_peak(size: np.ndarray, first: np.ndarray, last: np.ndarray) -> int:
    best = int(size.sum())
    for order in itertools.permutations(range(len(size))):
        address: dict[int, int] = {}
        for row in order:
            taken = sorted(
                (address[other], address[other] + int(size[other]))
                for other in address
                if first[other] <= last[row] and first[row] <= last[other]
            )
            start = 0
            for low, high in taken:
                if start + size[row] > low:
                    start = max(start, high)
            address[row] = start
        best = min(best, max(start + int(size[row]) for row, start in address.items()))
    return best
