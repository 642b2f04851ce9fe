"""Instructions of phases beside published ones, which ran on hardware."""

import numpy as np

from tilewright.codegen.host.phases import HostPhase, host_phase
from tilewright.codegen.host.pieces import Pieces
from tilewright.codegen.host.tables import Packets, Tables
from tilewright.codegen.host.window import DUMMY

_TILE = 260
_OWNER = 4
_ENTER = [0x41800002, 0x19800604, 0x438080A0, 0x41800007]
_LEAVE = [0x41800007, 0x19800640, 0x438080A0]


def _phase(is_read: list[bool], place: list[int], size: list[int], table: int) -> HostPhase:
    """Of packets of one tile whose headers lie from `table` on."""
    count = len(size)
    found = Packets(
        batch=np.zeros(count, np.int64),
        tile=np.full(count, _TILE),
        is_read=np.array(is_read),
        host=np.full(count, 0x40),
        place=np.array(place),
        size=np.array(size),
    )
    tables = Tables(
        start=np.zeros(1473, np.int64),
        words=np.zeros((0, 2), np.uint32),
        packet_address=table + 8 * np.arange(count),
        request_batch=np.zeros(1, np.int64),
        request_tile=np.array([_OWNER]),
        request_address=np.array([0x50000]),
    )
    return host_phase(found, tables, 0, Pieces.none())


def _words(phase: HostPhase, tile: int) -> list[int]:
    words: list[int] = np.frombuffer(phase.code(tile), "<u4").tolist()
    return words


def test_to_the_host() -> None:
    phase = _phase([False, True], [0x50120, DUMMY], [64, 0], 0x50160)
    published = [
        *(0x19800001, 0x438080A6, 0x782A02C3, 0x79EA0243, 0x40A00001, 0x782A02D3),
        0x41800000,
    ]
    assert _words(phase, _TILE) == [*_ENTER, *published, *_LEAVE]


def test_to_a_tile() -> None:
    phase = _phase([True], [0x50120], [64], 0x50170)
    published = [0x19800010, 0x438080A6, 0x782A02E3, 0x41800000]
    assert _words(phase, _TILE) == [*_ENTER, *published, *_LEAVE]


def test_owners_and_others() -> None:
    phase = _phase([True], [0x50120], [64], 0x50170)
    asking = [*_ENTER[:-1], 0x4180000F, 0x782A0003]
    assert _words(phase, _OWNER) == [*asking, *_LEAVE]
    assert _words(phase, 5) == [0x40C00001, 0x41800001]
