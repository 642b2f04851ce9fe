"""Chips set aside and put back, at any point of a program with two phases and workers."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tilewright.emulator.chip import Chip, End
from tilewright.emulator.engines import Engine
from tilewright.emulator.snapshots import SnapshotError
from tilewright.isa import Mode
from tilewright.target.csr import CSRS
from tilewright.target.routes import directions, times
from tilewright.target.row_events import pointer_delays, row_end_delays
from tilewright.target.topology import NEUTRAL_MUX

if TYPE_CHECKING:
    from tests.emulator.chip.conftest import Bench, Run

CODE, WORKER_CODE = 0x4C100, 0x4D000
TILES = 8
FIRST, SECOND = 0, 5
WORD, RESULT, BACK = 0x50000, 0x60000, 0x68000

RUN_WORKERS = """
    setzi $m1, 0x4d000
    setzi $m2, 0x60000
    runall $m1, $m2, 0
    sync 2
"""
WORKERS = """
    setzi $m3, 9
    ld32 $m4, $m13, $mzero, 0
    add $m4, $m4, 1
    st32 $m4, $m13, $mzero, 40
    brnzdec $m3, 0x4d004
    exitz $mzero
"""


def transfer(bench: "Bench", source: int, tile: int, address: int, result: int) -> dict[int, str]:
    """Rows that carry eight words."""
    slot = 120
    event = slot - int(times(source, tile))
    return {
        source: bench.row(
            (event, "send", 8, address, int(directions(source, tile))), length=event + 7
        ),
        tile: bench.row(
            (slot, "source", source),
            (slot + 8, "source", NEUTRAL_MUX),
            (slot + int(pointer_delays(tile)), "pointer", result),
            length=slot + 8 + int(row_end_delays(tile)),
        ),
    }


def there_and_back(bench: "Bench") -> "Run":
    """Words go from one tile to the other and back; the first phase comes after worker code, and
    so does the end."""
    there = transfer(bench, FIRST, SECOND, WORD, RESULT)
    back = transfer(bench, SECOND, FIRST, RESULT, BACK)
    run = bench.prepare(
        {tile: [there[tile], back[tile]] for tile in (FIRST, SECOND)},
        TILES,
        before={SECOND: RUN_WORKERS},
        after={SECOND: RUN_WORKERS},
    )
    _, content = bench.code(WORKERS, WORKER_CODE, Mode.WORKER)
    run.chip.memory.write(SECOND, WORKER_CODE, content)
    run.chip.memory.write(SECOND, RESULT, bytes(0x100))
    return run


def same(chip: Chip, other: Chip) -> bool:
    states = all(chip.state(tile) == other.state(tile) for tile in range(TILES))
    return states and np.array_equal(chip.memory.bytes, other.memory.bytes)


def test_the_program_does_what_it_says(bench: "Bench") -> None:
    run = there_and_back(bench).go()
    run.check_end()
    assert np.array_equal(run.now(FIRST, BACK, 8), run.words(FIRST, WORD, 8))
    assert run.now(SECOND, RESULT + 160, 1)[0] == run.now(SECOND, RESULT, 1)[0] + 1


def test_from_any_point_the_end_is_the_same(bench: "Bench") -> None:
    whole = there_and_back(bench).go()
    assert whole.outcome is not None
    chip = there_and_back(bench).chip
    workers = 0
    for limit in range(0, whole.outcome.cycle, 61):
        assert chip.run(limit).end is End.LIMIT
        snapshot = chip.save()
        workers += int(chip.state(SECOND)["workers"]["is_active"].any())
        for _ in range(2):
            assert str(chip.run()) == str(whole.outcome), limit
            assert same(chip, whole.chip), limit
            chip.restore(snapshot)
    assert workers > 3


def test_another_chip_can_go_on(bench: "Bench") -> None:
    """One that has been nowhere, and one that has run something else."""
    whole = there_and_back(bench).go()
    chip = there_and_back(bench).chip
    chip.run(400)
    other = bench.prepare({3: bench.row(length=40)}, TILES).go().chip
    for target in (Chip(TILES), other):
        target.restore(chip.save())
        assert str(target.run()) == str(whole.outcome)
        assert same(target, whole.chip)


def test_participations_come_back(bench: "Bench") -> None:
    """Inactive tiles register them before the first barrier, and the save is after that."""
    whole = there_and_back(bench).go()
    chip = there_and_back(bench).chip
    chip.run(100)
    assert int(chip.state(1)["supervisor"]["csr"][CSRS["ANS_DCOUNT"].index]) == 1
    snapshot = chip.save()
    chip.run()
    target = Chip(TILES)
    target.restore(snapshot)
    assert str(target.run()) == str(whole.outcome)


def test_the_reference_goes_on_with_what_no_compiled_worker_has_begun(bench: "Bench") -> None:
    whole = there_and_back(bench).go()
    start = there_and_back(bench).chip.save()
    reference = Chip(TILES, engine=Engine.REFERENCE)
    reference.restore(start)
    assert str(reference.run()) == str(whole.outcome)
    assert same(reference, whole.chip)


def test_tiles_that_were_loaded_later_are_gone(bench: "Bench") -> None:
    chip = Chip(TILES)
    chip.load(0, bench.program(None))
    snapshot = chip.save()
    chip.load(1, bench.program(None))
    chip.restore(snapshot)
    assert chip.run().unloaded == tuple(range(1, TILES))


def test_chips_of_another_size(bench: "Bench") -> None:
    with pytest.raises(SnapshotError, match="a snapshot of 8 tiles"):
        Chip(16).restore(there_and_back(bench).chip.save())
