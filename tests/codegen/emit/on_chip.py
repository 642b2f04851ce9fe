"""Emitted programs on the emulated chip."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tilewright.codegen.emit import Program, read_outputs, source_contents
from tilewright.codegen.mid import MidGraph
from tilewright.emulator.chip import Chip, End, Outcome
from tilewright.emulator.images import Piece, TileImage
from tilewright.target.geometry import LOADER_FRAME_END, TILES
from tilewright.target.topology import physical_tiles


def loaded(
    planned: MidGraph,
    program: Program,
    given: Mapping[str, ArrayLike],
    threads: int | None = None,
) -> Chip:
    """A chip with a program and its sources."""
    chip = Chip(threads=threads)
    for tile, physical in enumerate(physical_tiles(np.arange(TILES)).tolist()):
        pieces = tuple(Piece(each.address, each.data) for each in program.code(tile))
        chip.load(physical, TileImage(pieces, LOADER_FRAME_END))
    for tile, address, content in source_contents(planned, program, given):
        chip.memory.write(tile, address, content)
    return chip


def finished(chip: Chip) -> Outcome:
    """How a run of all tiles ended: at their last instruction."""
    outcome = chip.run()
    assert outcome.end is End.STOPPED, str(outcome)
    assert all("trap 0" in each for each in outcome.descriptions.values()), str(outcome)
    return outcome


def run(
    planned: MidGraph,
    program: Program,
    given: Mapping[str, ArrayLike],
    threads: int | None = None,
) -> dict[str, NDArray[np.float64]]:
    """The outputs of a program whose sources are loaded with given values, by name."""
    chip = loaded(planned, program, given, threads)
    finished(chip)
    return read_outputs(planned, program, chip.memory.read)
