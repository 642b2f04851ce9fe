"""Published rows, word for word: they decode and move as the exchange notes say (section 3.6).

Where a row of the older encoder is known to be wrong, the test pins what the chip makes of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tilewright.emulator.fabric import Executed
from tilewright.emulator.fabric.findings import as_faults, no_findings
from tilewright.emulator.fabric.rows import Rows, read_rows
from tilewright.emulator.faults import SilentBusFault
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.tile import ReferenceTile
from tilewright.target.routes import directions, times
from tilewright.target.row_events import pointer_delays, row_end_delays
from tilewright.target.topology import NEUTRAL_MUX, physical_tile

if TYPE_CHECKING:
    from .conftest import Bench, Run

SOURCE, DESTINATION = 0x50000, 0x60000
"""What stands for the rows' placeholders, item 0 and a pointer."""


def decode(bench: "Bench", words: str) -> Rows:
    """The row that tile 0 runs when it executes words, as the only one."""
    memory = TileMemory(4)
    for piece in (bench.code(bench.words(words) + "\n trap 0", 0x4C800),):
        memory.write(0, *piece)
    tile = ReferenceTile(memory)
    tile.state["supervisor"]["pc"] = 0x4C800
    tile.run(1_000_000)
    bounds = np.array([0, len(tile.events)])
    executed = Executed(np.zeros(1, np.int64), tile.events, bounds, np.zeros((1, 12), np.uint32))
    rows, found = read_rows(executed, no_findings())
    assert not as_faults(found)
    return rows


def steps(rows: Rows) -> str:
    """What a row does, in order of events; addresses in items and pointers in words, as in rows."""
    found: list[tuple[int, str]] = []
    for event, value, _, is_paired in rows.sources.tolist():
        found.append((event, f"{'pair' if is_paired else 'mux'} {value}"))
    found += [(event, f"pointer {value // 4:#x}") for event, value, *_ in rows.pointers.tolist()]
    found += [(event, f"format {value}") for event, value, *_ in rows.formats.tolist()]
    for _, event, items, address, size, driven, _ in rows.sends.tolist():
        found.append((event, f"send {items} from {address // size:#x} dir {driven}"))
    return ", ".join(f"{what} @{event}" for event, what in sorted(found))


N = NEUTRAL_MUX
VENDORS = (
    "64000082 40a00032 f6600000 03014048 f6600000 03095000 f6600000 04016000 f7200000 19017000"
)
"""A receiver, of the vendor's compiler."""
DECODED = [
    (
        VENDORS,
        "mux 130 @1, mux 192 @53, pointer 0x14048 @53, mux 194 @105, pointer 0x15000 @105, "
        "mux 256 @157, pointer 0x16000 @157, mux 1600 @209, pointer 0x17000 @209",
        266,
    ),
    (
        "f54a0109 19015000",
        "mux 1600 @1, pointer 0x15000 @1, send 43 from 0x14021 dir 1 @1",
        43,
    ),
    (
        "7b6a0241 70f00640 71f95000",
        "send 52 from 0x14048 dir 1 @1, mux 1600 @29, pointer 0x15000 @37",
        52,
    ),
    ("f7e00018 03018000", "mux 192 @1, pointer 0x18000 @1", 64),
    ("40a00086 78400001", "send 3 from 0x0 dir 1 @136", 138),
    (
        "641c0000 64008640 61800000 40a00007",
        "mux 0 @113, mux 1600 @116, pointer 0x0 @165",
        173,
    ),
    ("40a0007d 7fe00002 70000002", "send 65 from 0x0 dir 2 @127", 191),
    (
        "641c0035 61980000 64030640 40a00038",
        "mux 53 @113, pointer 0x0 @165, mux 1600 @178",
        235,
    ),
    ("40a0006c 7fe00001 766fc001", "send 4148 from 0x0 dir 1 @110", 4257),
    (
        "641c0400 61980000 67ffc640 40a00038",
        "mux 1024 @113, pointer 0x0 @165, mux 1600 @4261",
        4318,
    ),
    ("40a0003e 7e600002", "send 52 from 0x0 dir 2 @64", 115),
    (
        "641c0020 61d00000 64000640 40a00038",
        "mux 32 @113, pointer 0x0 @172, mux 1600 @173",
        230,
    ),
    ("40a00016 78400003", "send 3 from 0x0 dir 3 @24", 26),
    (
        "64000000 64008640 61814000 40a00007",
        "mux 0 @1, mux 1600 @4, pointer 0x14000 @53",
        61,
    ),
    ("40a00021 7e600003", "send 52 from 0x0 dir 3 @35", 86),
    (
        "6414c020 61d14000 64000640 40a00038",
        "mux 32 @84, pointer 0x14000 @143, mux 1600 @144",
        201,
    ),
    (
        "64000020 62214000 64000640 40a00038",
        "mux 32 @1, pointer 0x14000 @70, mux 1600 @71",
        128,
    ),
    ("40a0001b 78000001", "send 1 from 0x0 dir 1 @29", 29),
    (
        "64000000 64000640 61914000 40a00005",
        "mux 0 @1, mux 1600 @2, pointer 0x14000 @53",
        59,
    ),
    ("40a0001e 7fe00005", "send 64 from 0x0 dir 1 @32", 95),
    (
        "64002000 61a40001 60080000 64022640 61a40000 40a00006",
        "pair 0 @1, format 1 @54, pointer 0x0 @56, pair 1600 @65, format 0 @118",
        125,
    ),
    (
        "61ac0001 60080000 61ec0000 40a00006",
        "format 1 @54, pointer 0x0 @56, format 0 @118",
        125,
    ),
    ("40a0001a 7fe00005", "send 64 from 0x0 dir 1 @28", 91),
    (
        "64002040 61940001 60080000 6402a640 61940000 40a00006",
        "pair 64 @1, format 1 @52, pointer 0x0 @54, pair 1600 @65, format 0 @116",
        123,
    ),
    (
        "619c0001 60080000 61ec0000 40a00006",
        "format 1 @52, pointer 0x0 @54, format 0 @116",
        123,
    ),
    ("40a00045 7fe00005", "send 64 from 0x0 dir 1 @71", 134),
    (
        "62fc0001 60080000 61ec0000 40a00006",
        "format 1 @96, pointer 0x0 @98, format 0 @160",
        167,
    ),
    (
        "64002002 640fe640 60f40001 60080000 61ec0000 40a00006",
        "pair 2 @1, pair 1600 @65, format 1 @96, pointer 0x0 @98, format 0 @160",
        167,
    ),
    (
        "64000082 40a00030 78310003 70d00640 769a6000 767000c0 70d00640 711a6100 40a00031",
        "mux 130 @1, send 130 from 0x22000 dir 3 @51, mux 1600 @53, pointer 0x26000 @60, "
        "mux 192 @113, mux 1600 @165, pointer 0x26100 @172",
        230,
    ),
    ("40a00016 7ff10003", "send 64 from 0x22000 dir 3 @24", 87),
    (
        "64000000 619a6000 6402c640 40a00038",
        "mux 0 @1, pointer 0x26000 @53, mux 1600 @65",
        122,
    ),
    (
        "6404c000 619a6000 6402c640 40a0008f 7ff30002",
        "mux 0 @20, pointer 0x26000 @72, mux 1600 @84, send 64 from 0x26000 dir 2 @229",
        292,
    ),
    (
        "643e0020 61980000 6402c640 40a00038",
        "mux 32 @249, pointer 0x0 @301, mux 1600 @313",
        370,
    ),
]


@pytest.mark.parametrize(("words", "expected", "length"), DECODED)
def test_rows_decode_as_published(bench: "Bench", words: str, expected: str, length: int) -> None:
    row = decode(bench, words)
    assert steps(row) == expected
    assert row.rows["length"].tolist() == [length]


@dataclass(frozen=True)
class Transfer:
    """A published primitive, tiles by physical ids; `zeros` are words that follow the payload."""

    source: int
    sender: str
    receivers: Mapping[int, str]
    items: int
    pointer: int = 0
    zeros: Mapping[int, int] = field(default_factory=dict)
    lender: str | None = None

    @property
    def tiles(self) -> int:
        """A chip that has all of them."""
        last = max(self.source ^ 2, *(tile ^ 2 for tile in self.receivers), *self.receivers)
        return (max(last, self.source) | 3) + 1

    def prepare(self, bench: "Bench") -> "Run":
        rows = {tile: bench.words(words) for tile, words in self.receivers.items()}
        rows[self.source] = bench.words(self.sender)
        if self.lender is not None:
            rows[self.source ^ 2] = self.lender
        bases = _bases(DESTINATION - 4 * self.pointer)
        run = bench.prepare(rows, self.tiles, before=bases)
        count = self.items * (2 if self.lender else 1)
        for tile in self.receivers:
            words = run.words(self.source, SOURCE, count)
            padded = np.append(words, np.zeros(self.zeros.get(tile, 0), np.uint32))
            run.expect(tile, DESTINATION, padded)
        return run


def _bases(incoming: int) -> str:
    return f"""
        setzi $m0, {SOURCE}
        put $OUTGOING_BASE, $m0
        setzi $m0, {incoming}
        put $INCOMING_BASE, $m0
    """


POINT = "641c0000 64008640 61800000 40a00007"
MULTI = "64000000 64008640 61814000 40a00007"
TRANSFERS = {
    "0 to 1286": Transfer(0, "40a00086 78400001", {53: POINT}, 3),
    "1286 to 1471": Transfer(
        53,
        "40a0007d 7fe00002 70000002",
        {63: "641c0035 61980000 64030640 40a00038"},
        65,
    ),
    "32 to 0": Transfer(
        1024,
        "40a0006c 7fe00001 766fc001",
        {0: "641c0400 61980000 67ffc640 40a00038"},
        4148,
    ),
    "0 to 274 and 1286": Transfer(0, "40a00016 78400003", {9: MULTI, 53: MULTI}, 3, 0x14000),
    "0 to 1": Transfer(
        0, "40a0001b 78000001", {2: "64000000 64000640 61914000 40a00005"}, 1, 0x14000
    ),
}


@pytest.mark.parametrize("name", TRANSFERS)
def test_published_transfers(bench: "Bench", name: str) -> None:
    TRANSFERS[name].prepare(bench).go().check()


WIDE = {
    "0 to 2 and 3": Transfer(
        0,
        "40a0001e 7fe00005",
        {
            64: "64002000 61a40001 60080000 64022640 61a40000 40a00006",
            66: "61ac0001 60080000 61ec0000 40a00006",
        },
        64,
        lender="delay 94",
    ),
    "2 to 0 and 1": Transfer(
        64,
        "40a0001a 7fe00005",
        {
            0: "64002040 61940001 60080000 6402a640 61940000 40a00006",
            2: "619c0001 60080000 61ec0000 40a00006",
        },
        64,
        lender="delay 90",
    ),
    "0 to 46 and 47": Transfer(
        0,
        "40a00045 7fe00005",
        {
            1409: "62fc0001 60080000 61ec0000 40a00006",
            1411: "64002002 640fe640 60f40001 60080000 61ec0000 40a00006",
        },
        64,
        lender="delay 133",
    ),
}


@pytest.mark.parametrize("name", WIDE)
def test_published_64_bit_transfers(bench: "Bench", name: str) -> None:
    WIDE[name].prepare(bench).go().check()


LATE_NEUTRAL = {
    "736 to 100": Transfer(
        32,
        "40a0003e 7e600002",
        {260: "641c0020 61d00000 64000640 40a00038"},
        52,
        zeros={260: 8},
    ),
    "736 to 100 and 900": Transfer(
        32,
        "40a00021 7e600003",
        {
            260: "6414c020 61d14000 64000640 40a00038",
            613: "64000020 62214000 64000640 40a00038",
        },
        52,
        0x14000,
        zeros={260: 8, 613: 18},
    ),
}


@pytest.mark.parametrize("name", LATE_NEUTRAL)
def test_late_neutral_of_older_rows_writes_zeros_and_is_a_fault(bench: "Bench", name: str) -> None:
    transfer = LATE_NEUTRAL[name]
    run = transfer.prepare(bench)
    with pytest.raises(SilentBusFault) as raised:
        run.chip.run()
    faults = [raised.value, *raised.value.others]
    assert {fault.tile for fault in faults} == set(transfer.zeros)
    assert {type(fault) for fault in faults} == {SilentBusFault}
    run.check_memory()


def test_a_row_of_the_vendors_takes_four_messages_back_to_back(bench: "Bench") -> None:
    receiver = 53
    sources = {130: (1, 0x14048), 192: (53, 0x15000), 194: (105, 0x16000), 256: (157, 0x17000)}
    first = {tile: slot - int(times(tile, receiver)) for tile, (slot, _) in sources.items()}
    assert min(first.values()) >= 1, "a receiver whose senders can all start in time"
    rows = {receiver: bench.words(VENDORS)}
    for tile, event in first.items():
        direction = int(directions(tile, receiver))
        rows[tile] = bench.row((event, "send", 52, SOURCE, direction), length=event + 51)
    base = 0x10000
    run = bench.prepare(
        rows, 260, before={receiver: f"setzi $m0, {base}\n put $INCOMING_BASE, $m0"}
    )
    for tile, (_, pointer) in sources.items():
        run.expect(receiver, base + 4 * pointer, run.words(tile, SOURCE, 52))
    run.go().check()


def test_a_row_that_receives_while_it_sends(bench: "Bench") -> None:
    words = "64000082 40a00030 78310003 70d00640 769a6000 767000c0 70d00640 711a6100 40a00031"
    middle, listener = 260, physical_tile(38)
    rows = {middle: bench.words(words)}
    for tile, slot in ((130, 1), (192, 113)):
        event = slot - int(times(tile, middle))
        direction = int(directions(tile, middle))
        rows[tile] = bench.row((event, "send", 52, 0x88000, direction), length=event + 51)
    slot = 51 + int(times(middle, listener))
    point = slot + int(pointer_delays(listener))
    rows[listener] = bench.row(
        (slot, "source", middle),
        (slot + 130, "source", N),
        (point, "pointer", 0x60000),
        length=slot + 130 + int(row_end_delays(listener)),
    )
    run = bench.prepare(rows, (max(rows) | 3) + 1, source=0x88000)
    run.expect(middle, 4 * 0x26000, run.words(130, 0x88000, 52))
    run.expect(middle, 4 * 0x26100, run.words(192, 0x88000, 52))
    run.expect(listener, 0x60000, run.words(middle, 0x88000, 130))
    run.go().check()


def test_published_relay(bench: "Bench") -> None:
    rows = {
        0: "40a00016 7ff10003",
        9: "64000000 619a6000 6402c640 40a00038",
        32: "6404c000 619a6000 6402c640 40a0008f 7ff30002",
        53: "643e0020 61980000 6402c640 40a00038",
    }
    source, middle, last = 4 * 0x22000, 4 * 0x26000, 0x60000
    run = bench.prepare(
        {tile: bench.words(words) for tile, words in rows.items()},
        before={53: f"setzi $m0, {last}\n put $INCOMING_BASE, $m0"},
        source=source,
    )
    sent = run.words(0, source, 64)
    run.expect(9, middle, sent)
    run.expect(32, middle, sent)
    run.expect(53, last, sent)
    run.go().check()
