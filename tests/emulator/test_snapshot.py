"""Memory and tiles set aside and put back. Chips are in `chip/test_snapshot.py`."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tilewright.emulator.engines import Engine, tile_maker
from tilewright.emulator.events import EventKind
from tilewright.emulator.inspection import Breakpoint, Inspector
from tilewright.emulator.memory import UNWRITTEN_WORD, TileMemory
from tilewright.emulator.reference.tile import ReferenceTile, Stop
from tilewright.emulator.snapshots import SnapshotError, restore_memory, save_memory

if TYPE_CHECKING:
    from tests.emulator.conftest import MakeProgram, Program

LIMIT = 100_000
FIRST, DATA = 0x4C000, 0x60000


# -- memory ---------------------------------------------------------------------------------------


def test_memory_comes_back() -> None:
    memory = TileMemory(4)
    memory.write(0, FIRST, b"first")
    memory.write(2, DATA, b"kept")
    before = memory.bytes.copy()
    snapshot = save_memory(memory)
    memory.write(2, DATA, b"lost")
    memory.write(3, DATA + 0x5000, b"new")
    restore_memory(memory, snapshot)
    assert np.array_equal(memory.bytes, before)
    assert memory.read(3, DATA + 0x5000, 4) == UNWRITTEN_WORD.to_bytes(4, "little")


def test_only_touched_pages_are_kept() -> None:
    memory = TileMemory(4)
    memory.write(2, FIRST, b"x")
    memory.write(2, DATA + 4094, b"four")  # two pages
    snapshot = save_memory(memory)
    assert list(snapshot.pages) == [2]
    assert snapshot.pages[2].content.shape == (3, 4096)


def test_a_snapshot_does_not_follow_memory() -> None:
    memory = TileMemory(4)
    memory.write(1, DATA, b"before")
    snapshot = save_memory(memory)
    memory.write(1, DATA, b"after!")
    other = TileMemory(4)
    restore_memory(other, snapshot)
    other.write(1, DATA, b"other!")
    restore_memory(memory, snapshot)
    assert memory.read(1, DATA, 6) == b"before"


def test_memory_of_another_size() -> None:
    with pytest.raises(SnapshotError, match="a snapshot of 4 tiles"):
        restore_memory(TileMemory(8), save_memory(TileMemory(4)))


# -- a tile ---------------------------------------------------------------------------------------

SUPERVISOR = """
    setzi $m1, 0x60000
    ld32 $m2, $m1, $mzero, 0
    runall $m0, $mzero, 0
    add $m3, $m3, 5
    mul $m3, $m3, 7
    sync 2
    add $m2, $m2, $m3
    st32 $m2, $m1, $mzero, 100
    trap 0
"""
WORKERS = """
    get $m5, $WSR
    and $m5, $m5, 7
    shl $m5, $m5, 3
    add $m4, $m5, $m1
    add $m3, $m5, 4
    ld32 $m6, $m4, $mzero, 0
    { rpt 3, 0 ; fnop }
    { add $m6, $m6, $m5 ; urand64 $a0:1 }
    st32 $m6, $m4, $mzero, 0
    brnzdec $m3, 0x4d014
    exitz $m5
"""


def work(program: "MakeProgram") -> "Program":
    """Workers of different lengths; each counts up a word in memory."""
    made = program(SUPERVISOR, WORKERS, worker={"m1": DATA})
    made.load(DATA, bytes(512))
    for number, worker in enumerate(made.workers):
        worker["random"] = (number + 1, 99)
    return made


def on_engine(made: "Program", engine: Engine) -> ReferenceTile:
    tile = tile_maker(engine)(made.memory, 0)
    tile.restore(made.tile.save())
    return tile


@pytest.mark.parametrize("engine", Engine)
def test_a_tile_goes_on_as_if_nothing_had_been(program: "MakeProgram", engine: Engine) -> None:
    """From many points: in supervisor code, workers, and repeats."""
    reference = work(program)
    end = reference.finish()
    made = work(program)
    tile = on_engine(made, engine)
    for limit in range(0, end.cycle, 197):
        assert tile.run(limit).reason is Stop.LIMIT
        saved, memory = tile.save(), save_memory(made.memory)
        for attempt in range(2):
            assert str(tile.run(LIMIT)) == str(end), (limit, attempt)
            assert tile.state == reference.tile.state
            assert np.array_equal(made.memory.bytes, reference.memory.bytes)
            restore_memory(made.memory, memory)
            tile.restore(saved)


def test_events_come_back(program: "MakeProgram") -> None:
    made = program("delay 9\n sync 3\n trap 0")
    before = made.tile.save()
    made.run()
    after, events = made.tile.save(), made.tile.events.copy()
    assert events["kind"].tolist() == [EventKind.DELAY, EventKind.SYNC]
    made.tile.restore(before)
    assert not len(made.tile.events)
    made.tile.restore(after)
    assert np.array_equal(made.tile.events, events)


def test_the_row_under_way_comes_back(program: "MakeProgram") -> None:
    """What ends a row depends on whether one has begun since the barrier."""
    made = program("sync 3\n delay 9\n delay 9\n get $m1, $TILE_ID\n trap 0")
    made.run()
    made.tile.resume(100)
    made.run(limit=105)
    in_row = made.tile.save()
    ends = [made.run().reason, made.run().reason]
    made.tile.restore(in_row)
    assert [made.run().reason, made.run().reason] == ends == [Stop.ROW_END, Stop.FAULT]


def test_a_breakpoint_stops_again_after_going_back(program: "MakeProgram") -> None:
    made = program("nop\n nop\n nop\n trap 0")
    made.tile.observer = inspector = Inspector()
    inspector.breakpoints.append(Breakpoint(0x4C108))
    start = made.tile.save()
    first = made.run()
    at_break = made.tile.save()
    made.tile.restore(start)
    assert made.run() == first
    assert made.run().reason is Stop.FAULT
    made.tile.restore(at_break)
    assert made.run().reason is Stop.FAULT


def test_compiled_workers_under_way_need_the_engine(program: "MakeProgram") -> None:
    tile = on_engine(work(program), Engine.LLVM)
    assert any(tile.run(limit).reason is Stop.LIMIT and tile.save().ahead for limit in range(999))
    with pytest.raises(SnapshotError, match="the reference engine has none"):
        ReferenceTile(TileMemory(1)).restore(tile.save())
