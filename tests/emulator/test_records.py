"""Records of tiles: event logs, which grow, and what is gathered of many of them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.emulator.events import EVENT, EventKind
from tilewright.emulator.records import RowState, TileRecords


def filled(counts: list[int]) -> TileRecords:
    """Tiles with so many events: the n-th of tile t is a delay in cycle 1,000 t + n."""
    records = TileRecords(len(counts))
    for tile, count in enumerate(counts):
        for number in range(count):
            records.record(tile, EventKind.DELAY, 1000 * tile + number, 0x4C100, 1)
    return records


@given(
    counts=st.lists(st.integers(0, 200), min_size=1, max_size=5),
    choice=st.lists(st.booleans(), min_size=5, max_size=5),
    skipped=st.integers(0, 70),
)
def test_events_of_tiles_are_gathered_in_order(
    counts: list[int], choice: list[bool], skipped: int
) -> None:
    """Also where some logs have grown and others have not, and some are empty."""
    records = filled(counts)
    tiles = np.flatnonzero(choice[: len(counts)]).astype(np.uint32)
    first = np.minimum(np.array(counts)[tiles], skipped)
    events, bounds = records.gather(tiles, first)
    expected = [
        list(range(1000 * tile + min(skipped, counts[tile]), 1000 * tile + counts[tile]))
        for tile in tiles.tolist()
    ]
    found = [events["cycle"][start:end].tolist() for start, end in pairwise(bounds.tolist())]
    assert found == expected


def test_arguments_that_a_kind_does_not_have_are_0() -> None:
    records = TileRecords(1)
    records.record(0, EventKind.SEND, 1, 2, 3, 4, 5, 6)
    records.clear_logs(np.zeros(1, np.uint32))
    records.record(0, EventKind.PUT, 7, 8, 9, 10)
    expected = np.array([(7, EventKind.PUT, 8, (9, 10, 0, 0))], EVENT)
    assert np.array_equal(records.log(0), expected)


def test_kinds_are_noted() -> None:
    records = TileRecords(2)
    records.record(1, EventKind.SEND, 0, 0, 1)
    records.record(1, EventKind.SANS, 0, 0, 1)
    assert records.schedules["kinds"].tolist() == [0, EventKind.SEND.bit | EventKind.SANS.bit]


def test_a_log_is_replaced_by_a_longer_one() -> None:
    records, other = filled([3]), filled([500])
    records.replace_log(0, other.log(0))
    assert np.array_equal(records.log(0), other.log(0))


@pytest.mark.parametrize("count", [3, 300])
def test_a_reset_tile_has_nothing_and_can_log_again(count: int) -> None:
    records = filled([count, 2])
    records.states[0]["supervisor"]["m"][3] = 5
    records.resume(0, 77)
    records.reset(0)
    assert not np.frombuffer(records.states[0].tobytes(), np.uint8).any()
    assert (int(records.schedules[0]["supervisor"]), int(records.schedules[0]["row"])) == (0, 0)
    assert len(records.log(0)) == 0
    assert len(records.log(1)) == 2
    records.record(0, EventKind.DELAY, 9, 0, 1)
    assert records.log(0)["cycle"].tolist() == [9]


def test_tiles_go_on_and_await_a_row() -> None:
    records = TileRecords(4)
    records.resume(np.array([1, 3], np.uint32), np.array([50, 60]))
    assert records.schedules["supervisor"].tolist() == [0, 50, 0, 60]
    states = [RowState(int(row)) for row in records.schedules["row"]]
    assert states == [RowState.NONE, RowState.AWAITED] * 2
