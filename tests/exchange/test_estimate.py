"""Estimates of phases against schedules of the patterns, within the stated error."""

import numpy as np
import pytest

from tilewright.exchange import estimated_cycles, estimated_events, schedule
from tilewright.exchange.estimate import LATENCY_ERROR
from tilewright.exchange.patterns import PATTERNS
from tilewright.target.geometry import TILES
from tilewright.target.timing import PHASE_BOUNDARY


@pytest.mark.parametrize("name", PATTERNS)
def test_estimates_of_patterns(name: str) -> None:
    pattern, lengths = PATTERNS[name]
    for words in lengths:
        phase = pattern(words)
        found = schedule(phase)
        items = phase.words // (2 if found.messages.wide.all() else 1)
        sent = np.bincount(phase.source_tile, weights=items, minlength=TILES)
        owner = phase.receiver_transfer
        received = np.bincount(phase.receiver_tile, weights=items[owner], minlength=TILES)
        low, high = LATENCY_ERROR
        assert low <= found.horizon - estimated_events(sent, received) <= high


def test_cycles_have_the_boundary_in_addition() -> None:
    assert estimated_cycles(10, [20, 30]) == estimated_events(10, 30) + PHASE_BOUNDARY.value
    assert estimated_cycles(0, []) == 0
