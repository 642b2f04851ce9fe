"""Directions and times between tiles, against figures of the exchange notes."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tilewright.target.geometry import TILES
from tilewright.target.routes import (
    TIME_RANGE,
    Direction,
    Route,
    directions,
    early_members,
    paired_times,
    route,
    times,
)
from tilewright.target.topology import IntArray, partners, physical_tiles

if TYPE_CHECKING:
    from tests.target.conftest import TimedPairs

ALL = np.arange(TILES)
EVERY_SOURCE, EVERY_RECEIVER = ALL[:, None], ALL[None, :]
DIFFERENT = ~np.eye(TILES, dtype=bool)


def test_physical_ids_of_the_timed_pairs(timed_pairs: "TimedPairs") -> None:
    assert (physical_tiles(timed_pairs.logical_source) == timed_pairs.source).all()
    assert (physical_tiles(timed_pairs.logical_receiver) == timed_pairs.receiver).all()


def test_directions_of_the_timed_pairs(timed_pairs: "TimedPairs") -> None:
    found = directions(timed_pairs.source, timed_pairs.receiver)
    assert found.tolist() == timed_pairs.direction.tolist()


def test_times_of_the_timed_pairs(timed_pairs: "TimedPairs") -> None:
    assert len(timed_pairs.time) == 3000
    assert times(timed_pairs.source, timed_pairs.receiver).tolist() == timed_pairs.time.tolist()


def test_paired_times_of_the_timed_pairs(timed_pairs: "TimedPairs") -> None:
    found = paired_times(timed_pairs.source, timed_pairs.receiver)
    assert found.tolist() == timed_pairs.paired_time.tolist()


@pytest.mark.parametrize(
    ("source", "receiver", "direction", "time"),
    [
        (0, 53, 1, -23),
        (0, 63, 1, -28),
        (32, 260, 2, 49),
        (63, 0, 1, -13),
        (53, 63, 2, -14),
        (0, 32, 1, -4),
        (1024, 0, 1, 3),
        (32, 53, 2, 20),
        (0, 9, 1, -23),
        (260, 613, 1, -24),
        (0, 2, 1, -28),
        (260, 1216, 2, -50),
        (0, 64, 1, -31),
        (0, 1409, 1, -69),
        (0, 66, 1, -30),
        (0, 1411, 1, -70),
        (64, 0, 1, -27),
        (32, 613, 2, -34),
    ],
)
def test_worked_routes(source: int, receiver: int, direction: int, time: int) -> None:
    found = route(source, receiver)
    assert (found.direction, found.time) == (direction, time)


@pytest.mark.parametrize(
    ("source", "first_event", "slots"),
    [
        (0, 136, {53: 113}),
        (53, 127, {63: 113}),
        (1024, 110, {0: 113}),
        (32, 64, {260: 113}),
        (0, 24, {9: 1, 53: 1}),
        (0, 24, {9: 1, 32: 20}),
        (32, 35, {260: 84, 613: 1}),
        (0, 29, {2: 1}),
        (32, 229, {53: 249}),
        (0, 32, {64: 1}),
        (64, 28, {0: 1}),
        (0, 71, {1411: 1}),
    ],
)
def test_slots_of_worked_rows(source: int, first_event: int, slots: dict[int, int]) -> None:
    """The muxes of rows that ran on hardware: the event of the first send, slots of receivers."""
    assert (first_event + times(source, list(slots))).tolist() == [*slots.values()]


def test_a_route_tells_about_the_receivers_pair() -> None:
    # From tile 0, 1411 hears before its partner 1409 (times -70 and -69).
    assert route(0, 1411) == Route(Direction.EAST, -70, paired_time=-69, early_member=1411)
    assert route(0, 1409) == Route(Direction.EAST, -69, paired_time=-69, early_member=1411)


@pytest.mark.parametrize(("source", "pair", "early"), [(0, 64, 64), (64, 0, 0), (0, 1409, 1411)])
def test_early_members_of_rows_with_64_bit_items(source: int, pair: int, early: int) -> None:
    assert early_members(source, [pair, pair ^ 2]).tolist() == [early, early]


def test_spread_of_times() -> None:
    all_times = times(EVERY_SOURCE, EVERY_RECEIVER)[DIFFERENT]
    assert (all_times.min(), all_times.max()) == TIME_RANGE == (-78, 112)
    assert all_times.sum() == -21_355_040
    assert all_times.mean() == pytest.approx(-9.862, abs=5e-4)


def test_each_direction_reaches_as_many_pairs_of_tiles() -> None:
    found = directions(EVERY_SOURCE, EVERY_RECEIVER)[DIFFERENT]
    assert np.bincount(found).tolist() == [0, 1_082_656, 1_082_656]


def test_members_of_a_pair_lie_in_the_same_direction() -> None:
    found = directions(EVERY_SOURCE, EVERY_RECEIVER)
    assert (found == found[:, partners(ALL)]).all()


def test_times_of_a_pair_differ_by_one() -> None:
    found = times(EVERY_SOURCE, EVERY_RECEIVER)
    assert set(np.unique(found - found[:, partners(ALL)])) == {-1, 1}


def test_two_receivers_of_a_multicast_as_measured() -> None:
    """Words → cycles that physical 32 and 53 took, sampled every 6 cycles, while 0 sent to both."""
    grain = 6
    measured = {1: (552, 534), 52: (606, 582), 64: (618, 594), 1024: (1578, 1554)}
    apart = np.subtract(*times(0, [32, 53]))
    for first, second in measured.values():
        assert abs(first - second - apart) < grain


def test_small_and_unsigned_ids_do_not_wrap() -> None:
    assert times(np.array([0], np.uint16), np.array([1411], np.uint16)).tolist() == [-70]
    assert times(np.array([0], np.int8), np.array([64], np.uint8)).tolist() == [-31]


def test_sources_and_receivers_broadcast() -> None:
    assert times([[0], [32]], [53, 613]).tolist() == [[-23, times(0, 613)], [20, -34]]
    assert directions(0, [[53, 63], [32, 2]]).shape == (2, 2)
    assert early_members([0, 64], 64).shape == paired_times([0, 64], 64).shape == (2,)


@pytest.mark.parametrize("function", [directions, times, paired_times, early_members])
def test_ids_of_no_tile_have_no_route(function: Callable[..., IntArray]) -> None:
    with pytest.raises(ValueError, match="no tile has the id -1"):
        function([0, 1], [2, -1])
    with pytest.raises(ValueError, match="no tile has the id 1600"):
        function(0x640, 0)
