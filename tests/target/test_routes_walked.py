"""Directions and times between tiles, against an implementation that walks the spine unit by unit.

The walk knows no formula for the direction, and adds the other terms in another form: by the banks
of source and receiver, instead of by travel and crossing. `src/` and the walk agree on all pairs.
"""

from typing import TYPE_CHECKING

import numpy as np

from tilewright.target.geometry import TILES
from tilewright.target.routes import directions, early_members, paired_times, times
from tilewright.target.topology import IntArray

if TYPE_CHECKING:
    from tests.target.conftest import TimedPairs

BANK = 8
"""Columns in one of the two banks that face each other across the spine."""

Station = set[tuple[str, int, int, int]]
"""What touches the spine at one place: output or input, position, flank, member of the pair."""


def spine() -> list[Station]:
    """The stations in order. Outputs stand between two positions, inputs inside one."""
    stations: list[Station] = []
    for position in range(BANK):
        outputs: Station = {
            ("output", flank, member, at)
            for flank, at in ((0, position), (1, position - 1))
            for member in (0, 1)
        }
        inputs = [("input", 0, 0), ("input", 0, 1), None, ("input", 1, 1), ("input", 1, 0)]
        stations += [outputs, *({(*each, position)} if each else set() for each in inputs)]
    return [*stations, {("output", 1, member, BANK - 1) for member in (0, 1)}]


SPINE = spine()


def position_and_flank(column: int, side: int) -> tuple[int, int]:
    """Columns of the second bank are counted from the far end, and turned around."""
    if column < BANK:
        return column, side
    return 2 * BANK - 1 - column, 1 - side


def walk(source: int, receiver: int) -> tuple[int, int]:
    """Direction and number of steps from the output of one tile to the input of another."""
    names = []
    for kind, tile in (("output", source), ("input", receiver)):
        column, member, side = tile // 4 % 16, tile // 2 % 2, tile % 2
        position, flank = position_and_flank(column, side)
        names.append((kind, flank, member, position))
    output, target = names
    (start,) = (place for place, station in enumerate(SPINE) if output in station)
    for direction, stride in ((1, 1), (2, -1)):
        place, steps = start, 0
        while 0 <= place < len(SPINE):
            if target in SPINE[place]:
                return direction, steps
            place, steps = place + stride, steps + 1
    raise AssertionError("no way along the spine")


def time_in_row_0(source: int, receiver: int) -> int:
    """The time between two tiles of row 0, from the walk."""
    _, steps = walk(source, receiver)
    source_column, receiver_column = source // 4 % 16, receiver // 4 % 16
    source_position, _ = position_and_flank(source_column, 0)
    receiver_position, _ = position_and_flank(receiver_column, 0)
    per_position = 5 if receiver_column < BANK else 3
    constant = -14 if source_column >= BANK > receiver_column else -30
    return steps + per_position * (source_position - receiver_position) + constant


CELLS = range(64)
"""The tiles of row 0: a physical id is one of these plus 64 times its row."""
DIRECTION = np.array([[walk(source, receiver)[0] for receiver in CELLS] for source in CELLS])
TIME = np.array([[time_in_row_0(source, receiver) for receiver in CELLS] for source in CELLS])


def walked_directions(sources: IntArray, receivers: IntArray) -> IntArray:
    return DIRECTION[sources % 64, receivers % 64]


def walked_times(sources: IntArray, receivers: IntArray) -> IntArray:
    return TIME[sources % 64, receivers % 64] + 2 * (sources // 64) - 2 * (receivers // 64)


EVERY_TILE = np.arange(TILES, dtype=np.int32)
SOURCES, RECEIVERS = EVERY_TILE[:, None], EVERY_TILE[None, :]
PARTNERS = RECEIVERS - 2 * (RECEIVERS // 2 % 2) + 2 * (1 - RECEIVERS // 2 % 2)


def test_the_walk_gives_the_timed_pairs(timed_pairs: "TimedPairs") -> None:
    source, receiver = timed_pairs.source, timed_pairs.receiver
    assert (walked_directions(source, receiver) == timed_pairs.direction).all()
    assert (walked_times(source, receiver) == timed_pairs.time).all()


def test_directions_of_all_pairs_as_walked() -> None:
    assert (directions(SOURCES, RECEIVERS) == walked_directions(SOURCES, RECEIVERS)).all()


def test_times_of_all_pairs_as_walked() -> None:
    assert (times(SOURCES, RECEIVERS) == walked_times(SOURCES, RECEIVERS)).all()


def test_paired_times_of_all_pairs_as_walked() -> None:
    late = np.maximum(walked_times(SOURCES, RECEIVERS), walked_times(SOURCES, PARTNERS))
    assert (paired_times(SOURCES, RECEIVERS) == late).all()


def test_early_members_of_all_pairs_as_walked() -> None:
    walked = walked_times(SOURCES, RECEIVERS), walked_times(SOURCES, PARTNERS)
    early = early_members(SOURCES, RECEIVERS)
    assert (walked_times(SOURCES, early) == np.minimum(*walked)).all()
    assert ((early == RECEIVERS) | (early == PARTNERS)).all()
