"""The chip as a whole: all 1,472 tiles, what it costs to start, loading, limits."""

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tilewright.emulator.chip import Chip, ChipError, End
from tilewright.emulator.faults import OutsidePhaseFault
from tilewright.emulator.images import TileImage
from tilewright.emulator.memory import UNWRITTEN_WORD
from tilewright.target.geometry import MEMORY_BASE, TILES
from tilewright.target.routes import directions, times
from tilewright.target.row_events import pointer_delays, row_end_delays
from tilewright.target.topology import (
    NEUTRAL_MUX,
    external_muxes,
    logical_tile,
    physical_tile,
    physical_tiles,
)

if TYPE_CHECKING:
    from .conftest import Bench

N = NEUTRAL_MUX
CODE = 0x4C100
WORD, RESULT = 0x50000, 0x60000


# -- what it costs --------------------------------------------------------------------------------


_MEASURE = """
import resource
from tilewright.emulator.chip import Chip
from tilewright.emulator.images import Piece, TileImage
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
chip = Chip()
empty = peak()
image = TileImage((Piece(0x4C100, bytes(4096)), Piece(0x50000, bytes(4096))), 0x4C100)
for tile in range(1472):
    chip.load(tile, image)
print(before, empty, peak())
"""


def test_memory_is_used_only_where_it_is_touched() -> None:
    """In KiB; all of the chip's memory would be 918,528."""
    output = subprocess.run([sys.executable, "-c", _MEASURE], capture_output=True, check=True)
    before, empty, loaded = map(int, output.stdout.split())
    assert empty - before < 4 * 1024
    assert loaded - before < 60 * 1024


# -- threads --------------------------------------------------------------------------------------


def test_threads_give_what_one_gives_also_when_tiles_fault(bench: "Bench") -> None:
    """Two tiles exchange outside a phase: the first is reported, and all have run as far."""
    rows = "delay 4\n trap 0"
    outside = TileImage((bench.code("delay 3\n send 0, 0, 1\n trap 0", CODE),), CODE)
    fine = TileImage((bench.code(rows, CODE),), CODE)
    found = []
    for threads in (1, 2, 7):
        chip = Chip(16, threads=threads)
        for tile in range(16):
            chip.load(tile, outside if tile in (3, 9) else fine)
        with pytest.raises(OutsidePhaseFault) as caught:
            chip.run()
        found.append((str(caught.value), [chip.state(tile).tobytes() for tile in range(16)]))
    assert found[0] == found[1] == found[2]
    assert "tile 3" in found[0][0]


@pytest.mark.parametrize("threads", [0, -1])
def test_no_thread_is_refused(threads: int) -> None:
    with pytest.raises(ChipError, match="at least one"):
        Chip(4, threads=threads)


# -- loading --------------------------------------------------------------------------------------


def test_what_nobody_has_written_shows() -> None:
    chip = Chip(8)
    assert chip.memory.read(7, 0xE7FFC, 4) == UNWRITTEN_WORD.to_bytes(4, "little")


@pytest.mark.parametrize("tiles", [0, -4, 3, TILES + 4])
def test_sizes_of_chips(tiles: int) -> None:
    with pytest.raises(ChipError, match=f"a chip of {tiles} tiles"):
        Chip(tiles)


@pytest.mark.parametrize("tile", [-1, 8])
def test_tiles_that_do_not_exist(tile: int) -> None:
    with pytest.raises(ChipError, match=f"there is no tile {tile}"):
        Chip(8).load(tile, TileImage((), CODE))


def test_state_of_a_tile_without_a_program() -> None:
    with pytest.raises(ChipError, match="tile 3 has no program"):
        Chip(8).state(3)


def test_registers_after_a_reset(bench: "Bench") -> None:
    """Tiles know who they are, and the mux is in the range of the host."""
    chip = Chip(8)
    code = bench.code("get $m1, $TILE_ID\n get $m2, $INCOMING_MUX\n trap 0", CODE)
    for tile in range(8):
        chip.load(tile, TileImage((code,), CODE))
    assert chip.run().end is End.STOPPED
    for tile in range(8):
        registers = chip.state(tile)["supervisor"]["m"]
        assert registers[1:3].tolist() == [tile, int(external_muxes(tile))]


def test_without_programs_there_is_nothing_to_run() -> None:
    outcome = Chip(4).run()
    assert (outcome.end, outcome.cycle, outcome.unloaded) == (End.STOPPED, 0, (0, 1, 2, 3))


# -- limits ---------------------------------------------------------------------------------------


def transfer(bench: "Bench") -> dict[int, str]:
    source, tile, slot = 0, 5, 120
    event = slot - int(times(source, tile))
    return {
        source: bench.row(
            (event, "send", 8, WORD, int(directions(source, tile))), length=event + 7
        ),
        tile: bench.row(
            (slot, "source", source),
            (slot + 8, "source", N),
            (slot + int(pointer_delays(tile)), "pointer", RESULT),
            length=slot + 8 + int(row_end_delays(tile)),
        ),
    }


def test_a_run_with_limits_ends_as_one_without(bench: "Bench") -> None:
    rows = transfer(bench)
    whole = bench.run(rows, 8)
    pieces = bench.prepare(rows, 8)
    limit = 0
    ends: list[End] = []
    while not ends or ends[-1] is End.LIMIT:
        limit += 23
        outcome = pieces.chip.run(limit)
        ends.append(outcome.end)
    assert len(ends) > 10
    assert str(outcome) == str(whole.outcome)
    assert np.array_equal(pieces.chip.memory.bytes, whole.chip.memory.bytes)
    for tile in range(8):
        assert pieces.chip.state(tile) == whole.chip.state(tile)


def test_the_order_of_loading_does_not_matter(bench: "Bench") -> None:
    rows = transfer(bench)
    whole = bench.run(rows, 8)
    other = Chip(8)
    for tile in reversed(range(8)):
        row = rows.get(tile)
        other.load(tile, bench.program(row))
        other.memory.bytes[tile, WORD - MEMORY_BASE :][:0x4000] = whole.chip.memory.bytes[
            tile, WORD - MEMORY_BASE :
        ][:0x4000]
    assert str(other.run()) == str(whole.outcome)
    assert np.array_equal(other.memory.bytes, whole.chip.memory.bytes)


def test_an_endless_program_reaches_the_limit(bench: "Bench") -> None:
    chip = Chip(4)
    for tile in range(4):
        chip.load(tile, TileImage((bench.code(f"bri {CODE}", CODE),), CODE))
    outcome = chip.run(500)
    assert (outcome.end, outcome.cycle) == (End.LIMIT, 500)


# -- all tiles ------------------------------------------------------------------------------------


def rows_of_matching(bench: "Bench", receiver_of: dict[int, int]) -> dict[int, str]:
    """Rows in which every tile sends one word to another; slots avoid events of the sends."""
    slots = dict.fromkeys(receiver_of, 120)

    def send(source: int) -> int:
        return slots[source] - int(times(source, receiver_of[source]))

    source_of = {tile: source for source, tile in receiver_of.items()}

    def controls(tile: int) -> list[int]:
        slot = slots[source_of[tile]]
        return [slot, slot + 1, slot + int(pointer_delays(tile))]

    moved = True
    while moved:
        moved = False
        for source in receiver_of:
            if source in source_of and send(source) in controls(source):
                slots[source] += 1
                moved = True
    rows = {}
    for tile in sorted(set(receiver_of) | set(source_of)):
        steps: list[tuple[object, ...]] = []
        length = 6
        if tile in receiver_of:
            direction = int(directions(tile, receiver_of[tile]))
            steps.append((send(tile), "send", 1, WORD, direction))
            length = max(length, send(tile))
        if tile in source_of:
            slot, neutral, point = controls(tile)
            steps += [(slot, "source", source_of[tile]), (neutral, "source", N)]
            steps.append((point, "pointer", RESULT))
            length = max(length, slot + 1 + int(row_end_delays(tile)))
        rows[tile] = bench.row(*steps, length=length)
    return rows


def test_a_permutation_of_all_tiles(bench: "Bench") -> None:
    """Logical tile l sends a word to 5l + 17."""
    logical = np.arange(TILES)
    sources, receivers = physical_tiles(logical), physical_tiles((5 * logical + 17) % TILES)
    matching = dict(zip(sources.tolist(), receivers.tolist(), strict=True))
    rows = rows_of_matching(bench, matching)
    chip = Chip()
    for tile, row in rows.items():
        chip.load(tile, bench.program(row))
        chip.memory.write(tile, WORD, int(tile * 0x10001 + 7).to_bytes(4, "little"))
    before = chip.memory.bytes[:, : 0x70000 - MEMORY_BASE].copy()
    outcome = chip.run()
    assert outcome.end is End.STOPPED, str(outcome)
    place = RESULT - MEMORY_BASE
    for source, receiver in matching.items():
        before[receiver, place : place + 4] = before[source, WORD - MEMORY_BASE :][:4]
    assert np.array_equal(chip.memory.bytes[:, : 0x70000 - MEMORY_BASE], before)


def test_a_broadcast_to_all_tiles(bench: "Bench") -> None:
    """In the least number of events that the notes give: W = 74, 191 events for 64 words.

    One word more than that keeps neutral and pointer apart in all rows of the chip.
    """
    source, items = 0, 65
    others = [tile for tile in range(TILES) if tile != source]
    time_to = dict(zip(others, times(source, others).tolist(), strict=True))
    event = 1 - min(time_to.values())
    assert event == 74
    rows = {source: bench.row((event, "send", items, WORD, 3), length=event + items - 1)}
    ends = []
    for tile in others:
        slot = event + time_to[tile]
        ends.append(slot + items + int(row_end_delays(tile)))
        rows[tile] = bench.row(
            (slot, "source", source),
            (slot + items, "source", N),
            (slot + int(pointer_delays(tile)), "pointer", RESULT),
            length=ends[-1],
        )
    assert max(ends) == 191 + 1
    chip = Chip()
    for tile, row in rows.items():
        chip.load(tile, bench.program(row))
    words = np.random.default_rng(1).bytes(4 * items)
    chip.memory.write(source, WORD, words)
    outcome = chip.run()
    assert outcome.end is End.STOPPED, str(outcome)
    assert all(chip.memory.read(tile, RESULT, 4 * items) == words for tile in others)


_ADD = f"""
    setzi $m1, {WORD}
    ld32 $m2, $m1, $m15, 0
    setzi $m3, {RESULT}
    ld32 $m4, $m3, $m15, 0
    add $m2, $m2, $m4
    st32 $m2, $m1, $m15, 0
"""


def test_a_reduction_of_all_tiles(bench: "Bench") -> None:
    """Eleven phases: the survivors pair up in order, the right one of a pair sends to the left one.

    The sum of l + 1 over all logical tiles is 1,084,128 (section 6.4).
    """
    alive = list(range(TILES))
    stages: list[dict[int, int]] = []
    while len(alive) > 1:
        pairs = list(zip(alive[::2], alive[1::2], strict=False))
        stages.append({physical_tile(right): physical_tile(left) for left, right in pairs})
        alive = alive[::2]
    assert [len(stage) for stage in stages] == [736, 368, 184, 92, 46, 23, 11, 6, 3, 1, 1]
    rows = [rows_of_matching(bench, stage) for stage in stages]
    chip = Chip()
    for tile in range(TILES):
        texts = [
            (of_stage.get(tile), _ADD if tile in stage.values() else "")
            for of_stage, stage in zip(rows, stages, strict=True)
        ]
        chip.load(tile, bench.program_with_code(texts))
        chip.memory.write(tile, WORD, (logical_tile(tile) + 1).to_bytes(4, "little"))
    outcome = chip.run()
    assert outcome.end is End.STOPPED, str(outcome)
    assert int.from_bytes(chip.memory.read(physical_tile(0), WORD, 4), "little") == 1_084_128
