"""Tiles of a chip under observation: breaks end the chip's run, and it goes on as before."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tilewright.emulator.chip import ChipError, End
from tilewright.emulator.inspection import Breakpoint, Inspector

if TYPE_CHECKING:
    from tests.emulator.chip.conftest import Bench, Run

CODE, ROW = 0x4C100, 0x4C800
TILES = 8
OBSERVED = 5
AFTER = "add $m1, $m1, 1\n add $m2, $m2, 2"


def two_phases(bench: "Bench") -> "Run":
    """Rows that wait only; between and after them, nobody needs anything."""
    row = bench.row(length=40)
    return bench.prepare({tile: [row, row] for tile in range(TILES)}, TILES, after=AFTER)


def test_a_break_ends_the_run_and_the_next_goes_on(bench: "Bench") -> None:
    whole = two_phases(bench).go()
    run = two_phases(bench)
    inspector = Inspector(OBSERVED)
    inspector.breakpoints.append(Breakpoint(ROW))
    run.chip.observe(OBSERVED, inspector)
    outcome = run.chip.run()
    assert outcome.end is End.BREAK
    assert outcome.broken is not None
    tile, stopped = outcome.broken
    assert (tile, stopped.pc, outcome.cycle) == (OBSERVED, ROW, stopped.cycle)
    assert "tile 5, supervisor at pc 0x4c800" in str(outcome)
    assert int(run.chip.state(OBSERVED)["supervisor"]["pc"]) == ROW
    assert str(run.chip.run()) == str(whole.outcome)
    assert np.array_equal(run.chip.memory.bytes, whole.chip.memory.bytes)
    for tile in range(TILES):
        assert run.chip.state(tile) == whole.chip.state(tile)


def test_steps_cross_barriers_and_rows(bench: "Bench") -> None:
    """Stepping through a tile executes what running does, whatever the others have to do."""
    whole = two_phases(bench)
    all_at_once = Inspector(OBSERVED, traced=[0])
    whole.chip.observe(OBSERVED, all_at_once)
    whole.go()
    run = two_phases(bench)
    inspector = Inspector(OBSERVED, traced=[0])
    run.chip.observe(OBSERVED, inspector)
    count = 0
    while (outcome := inspector.step(run.chip)).end is End.BREAK:
        count += 1
        assert len(inspector.trace) == count
    assert [each.text for each in inspector.trace].count("sync 3") == 2
    assert {each.tile for each in inspector.trace} == {OBSERVED}
    assert list(inspector.trace) == list(all_at_once.trace)
    assert str(outcome) == str(whole.outcome)


def test_observing_can_end(bench: "Bench") -> None:
    run = two_phases(bench)
    inspector = Inspector(OBSERVED, traced=[0])
    inspector.breakpoints.append(Breakpoint(ROW))
    run.chip.observe(OBSERVED, inspector)
    run.chip.observe(OBSERVED, None)
    assert run.chip.run().end is End.STOPPED
    assert not inspector.trace


def test_a_tile_without_a_program_cannot_be_observed(bench: "Bench") -> None:
    chip = two_phases(bench).chip
    with pytest.raises(ChipError, match="there is no tile 8"):
        chip.observe(TILES, Inspector())
