"""Rows read back: the vendor's as the exchange notes tell them, and our own."""

from collections.abc import Sequence

import numpy as np
import pytest

from tilewright.exchange import RowError, RowEvents, decode_rows
from tilewright.target.geometry import TILES

Event = tuple[str, int, int]


def read(words: str, tile: int = 0) -> RowEvents:
    row = np.array([int(word, 16) for word in words.split()], dtype=np.uint32)
    start = np.zeros(TILES + 1, dtype=np.int64)
    start[tile + 1 :] = len(row)
    return decode_rows(row, start)


def happenings(events: RowEvents) -> list[Event]:
    """(what, event, value): bytes of addresses become words, as rows have them."""
    found = []
    for name, controls, unit in (
        ("mux", events.sources, 1),
        ("pointer", events.pointers, 4),
        ("format", events.formats, 1),
    ):
        pairs = zip(controls.event.tolist(), controls.value.tolist(), strict=True)
        found += [(name, event, value // unit) for event, value in pairs]
    return sorted(found, key=lambda entry: (entry[1], entry[0]))


RECEIVES = [
    (
        "64000082 40a00032 f6600000 03014048 f6600000 03095000 f6600000 04016000 f7200000 19017000",
        266,
        [
            ("mux", 1, 130),
            ("mux", 53, 192),
            ("pointer", 53, 0x14048),
            ("mux", 105, 194),
            ("pointer", 105, 0x15000),
            ("mux", 157, 256),
            ("pointer", 157, 0x16000),
            ("mux", 209, 0x640),
            ("pointer", 209, 0x17000),
        ],
    ),
    ("f7e00018 03018000", 64, [("mux", 1, 192), ("pointer", 1, 0x18000)]),
    (
        "641c0000 64008640 61800000 40a00007",
        173,
        [("mux", 113, 0), ("mux", 116, 0x640), ("pointer", 165, 0)],
    ),
    (
        "64002000 61a40001 60080000 64022640 61a40000 40a00006",
        125,
        [
            ("mux", 1, 0),
            ("format", 54, 1),
            ("pointer", 56, 0),
            ("mux", 65, 0x640),
            ("format", 118, 0),
        ],
    ),
]


@pytest.mark.parametrize(("words", "length", "expected"), RECEIVES)
def test_receives(words: str, length: int, expected: list[Event]) -> None:
    events = read(words)
    assert events.length[0] == length
    assert happenings(events) == expected
    assert len(events.sends.tile) == 0


SENDS = [
    # (words, length, [(event, items, address in items, item size, directions)], controls)
    ("40a00086 78400001", 138, [(136, 3, 0, 4, 1)], []),
    ("40a0007d 7fe00002 70000002", 191, [(127, 65, 0, 4, 2)], []),
    ("40a0006c 7fe00001 766fc001", 4257, [(110, 4148, 0, 4, 1)], []),
    ("40a0001e 7fe00005", 95, [(32, 64, 0, 8, 1)], []),
    (
        "f54a0109 19015000",
        43,
        [(1, 43, 0x14021, 4, 1)],
        [("mux", 1, 0x640), ("pointer", 1, 0x15000)],
    ),
    (
        "7b6a0241 70f00640 71f95000",
        52,
        [(1, 52, 0x14048, 4, 1)],
        [("mux", 29, 0x640), ("pointer", 37, 0x15000)],
    ),
    (
        "64000082 40a00030 78310003 70d00640 769a6000 767000c0 70d00640 711a6100 40a00031",
        230,
        [(51, 130, 0x22000, 4, 3)],
        [
            ("mux", 1, 130),
            ("mux", 53, 0x640),
            ("pointer", 60, 0x26000),
            ("mux", 113, 192),
            ("mux", 165, 0x640),
            ("pointer", 172, 0x26100),
        ],
    ),
]


@pytest.mark.parametrize(("words", "length", "sends", "controls"), SENDS)
def test_sends(
    words: str, length: int, sends: Sequence[tuple[int, ...]], controls: list[Event]
) -> None:
    events = read(words, tile=100)
    found = events.sends
    columns = (found.event, found.items, found.address // found.size, found.size, found.directions)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == list(sends)
    assert happenings(events) == controls
    assert events.length[100] == length
    assert set(found.tile.tolist()) == {100}


def test_a_second_word_that_looks_like_a_first() -> None:
    # sendpicp whose data word is itself a sendpicp's pattern, twice, and an instruction after.
    events = read("f7e00018 f0000000 f7e00018 f7e00018 40a00006")
    assert events.length[0] == 64 + 64 + 7
    assert events.sources.event.tolist() == [1, 65]


def test_bases_are_added() -> None:
    row = np.array([0x60080001, 0x78000021], dtype=np.uint32)
    start = np.zeros(TILES + 1, dtype=np.int64)
    start[8:] = 2
    events = decode_rows(row, start, incoming_base=0x50000, outgoing_base=0x60000)
    assert events.pointers.value.tolist() == [0x50004]
    assert events.sends.address.tolist() == [0x60010]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("40a00000 f7e00018 03018000", "odd word"),
        ("f7e00018", "ends inside"),
        ("40a00000 19000000", "0x19000000 does not belong"),
        ("70000002", "before one has started"),
    ],
)
def test_what_is_no_row(words: str, reason: str) -> None:
    with pytest.raises(RowError, match=reason) as raised:
        read(words, tile=7)
    assert "tile 7" in str(raised.value)
