"""Lower bounds against the exchange notes' table, and schedules against the bounds."""

import pytest

from tests.exchange.random_phases import random_phase
from tilewright.exchange import lower_bound, schedule
from tilewright.exchange.patterns import PATTERNS

SCATTER = (121, 569, 3385, 4153)
"""The notes have 122 for one word, which is what our schedule takes; nothing rules 121 out."""

BOUNDS = {
    "permutation": (148, 211, 1171),
    "shift_1": (103, 166, 1126),
    "shift_736": (171, 234, 1194),
    "reversal": (103, 166, 1126),
    "broadcast": (128, 191, 1151, 4275),
    "gather": (122, 570, 3386, 4154),
    "pair_broadcast": (191, 1151),
    "scatter": SCATTER,
} | {
    f"reduction_{stage}": (bound,)
    for stage, bound in enumerate((103, 103, 103, 103, 103, 103, 101, 97, 100, 127, 106))
}
"""Events, for the lengths in `PATTERNS`."""
WHOLE, MIXED = 1.05, 1.15
"""What schedules may take, times the bound: of those whose messages do not meet; of others."""


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_those_of_the_notes(name: str) -> None:
    pattern, lengths = PATTERNS[name]
    assert tuple(lower_bound(pattern(words)) for words in lengths) == BOUNDS[name]


@pytest.mark.parametrize("name", PATTERNS)
def test_schedules_come_close_to_the_bound(name: str) -> None:
    pattern, lengths = PATTERNS[name]
    most = MIXED if name.startswith(("gather", "scatter", "all_")) else WHOLE
    for words in lengths:
        found = schedule(pattern(words))
        assert found.bound <= found.horizon <= most * found.bound, words


@pytest.mark.parametrize("seed", range(40))
def test_no_schedule_undercuts_its_bound(seed: int) -> None:
    found = schedule(random_phase(seed, tiles=4 + seed % 5 * 20, transfers=1 + seed % 7 * 6))
    assert found.bound <= found.horizon
