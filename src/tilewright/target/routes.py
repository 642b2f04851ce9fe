"""Routes between tiles: the direction in which a word travels, and when a receiver can sample it.

Each tile counts *events*, cycles of its own clock: event 1 is the first cycle of the first exchange
instruction after the barrier of a phase. A *slot* is the event whose mux setting decides which bus
a receiver samples. A word that leaves its source at event W, in the direction of the route, is on
the receiver's bus in slot W + time. Tiles leave the barrier at different moments; times contain
that, so that only events of single tiles are ever needed, and a time may be negative. (Absolute
moments are left open: [8.15] of the exchange notes, docs/fidelity.md, `exit-skew`.)

Tiles are given by physical ids. Arrays of sources and of receivers broadcast against each other.
The time from a tile to itself follows the same formula; it is only known to hold if there is
another receiver ([8.23], `own-route`).

Evidence: equal for all ordered pairs of tiles to the tables of a third party's stack that ran on
C600 cards; a multicast to two tiles was measured. What the terms stand for is inferred.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from tilewright.target.geometry import TILES
from tilewright.target.topology import (
    COLUMNS_PER_HALF,
    PARTNER_BIT,
    IntArray,
    places,
    tile_ids,
)


class Direction(IntEnum):
    """Of the wires along the spine. The value is the bit by which a send drives that direction."""

    EAST = 1
    WEST = 2


TIME_RANGE = (-78, 112)
"""The least and the greatest time between two different tiles."""

_SPINE_UNITS_PER_COLUMN = 6
"""Places along the spine are counted in sixths of a folded column; one takes one cycle."""
_INPUT_OFFSETS = np.array([[1, 2], [5, 4]], dtype=np.int32)
"""[lane, member] → where in its folded column a tile takes words off the spine."""

_ROW_TIME, _FOLDED_COLUMN_TIME, _COLUMN_TIME = 2, 4, 1
"""Travel inside columns, together with the skew between tiles that leave the barrier."""
_CONSTANT_TIME = -30
_CROSSING_TIME, _CROSSING_TIME_PER_COLUMN = 15, -2
"""Added if the tiles are in different halves; the second per column of the source in its half."""

_PLACES = places(np.arange(TILES))
_OUTPUT = _SPINE_UNITS_PER_COLUMN * (_PLACES.folded_column + _PLACES.lane)
_INPUT = (
    _SPINE_UNITS_PER_COLUMN * _PLACES.folded_column + _INPUT_OFFSETS[_PLACES.lane, _PLACES.member]
)
_INSIDE_COLUMNS = (
    _ROW_TIME * _PLACES.row
    + _FOLDED_COLUMN_TIME * _PLACES.folded_column
    + _COLUMN_TIME * _PLACES.column
)
_HALF = _PLACES.half
_CROSSING = _CROSSING_TIME + _CROSSING_TIME_PER_COLUMN * (_PLACES.column % COLUMNS_PER_HALF)
"""Per tile, by physical id: where words enter and leave the spine, and terms of the time."""


@dataclass(frozen=True, slots=True)
class Route:
    """From one tile to another.

    `time` is for the receiver itself; `paired_time` is that of the later member of its pair, and
    `early_member` the member that a word reaches first.
    """

    direction: Direction
    time: int
    paired_time: int
    early_member: int


def directions(sources: npt.ArrayLike, receivers: npt.ArrayLike) -> IntArray:
    """`Direction` values: the one direction in which each receiver hears its source.

    Both members of a pair lie in the same direction.
    """
    distances = _INPUT[tile_ids(receivers)] - _OUTPUT[tile_ids(sources)]
    # No distance is 0: outputs are at multiples of a folded column, inputs never.
    return np.where(distances > 0, np.int32(Direction.EAST), np.int32(Direction.WEST))


def times(sources: npt.ArrayLike, receivers: npt.ArrayLike) -> IntArray:
    """Cycles from the event in which a word leaves to the slot in which the receiver samples it."""
    return _times(tile_ids(sources), tile_ids(receivers))


def clock_skews(tiles: npt.ArrayLike) -> IntArray:
    """What makes events of different tiles comparable when it is added to them, up to a constant.

    Between events so counted, the time of a route is the way along the spine alone.
    """
    return _INSIDE_COLUMNS[tile_ids(tiles)]


def paired_times(sources: npt.ArrayLike, receivers: npt.ArrayLike) -> IntArray:
    """As `times`, for the later member of each receiver's pair: one more than for the earlier."""
    source, receiver = tile_ids(sources), tile_ids(receivers)
    return np.maximum(_times(source, receiver), _times(source, receiver ^ PARTNER_BIT))


def early_members(sources: npt.ArrayLike, receivers: npt.ArrayLike) -> IntArray:
    """The member of each receiver's pair that a word of the source reaches first.

    Which one it is depends on the source.
    """
    source, receiver = tile_ids(sources), tile_ids(receivers)
    partner = receiver ^ PARTNER_BIT
    return np.where(_times(source, receiver) < _times(source, partner), receiver, partner)


def route(source: int, receiver: int) -> Route:
    """The route between two tiles, given by physical ids."""
    return Route(
        direction=Direction(int(directions(source, receiver))),
        time=int(times(source, receiver)),
        paired_time=int(paired_times(source, receiver)),
        early_member=int(early_members(source, receiver)),
    )


def _times(source: IntArray, receiver: IntArray) -> IntArray:
    along_spine = np.abs(_INPUT[receiver] - _OUTPUT[source])
    inside_columns = _INSIDE_COLUMNS[source] - _INSIDE_COLUMNS[receiver]
    crossing = _CROSSING[source] * (_HALF[source] ^ _HALF[receiver])
    return along_spine + inside_columns + _CONSTANT_TIME + crossing
