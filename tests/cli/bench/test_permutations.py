"""The rows of the benchmark with many short messages: they bring what they say, on all tiles."""

import numpy as np
import pytest

from tilewright.cli.bench.permutations import DESTINATIONS, SOURCES, messages, rows
from tilewright.elf.assembler import assemble
from tilewright.emulator.chip import Chip, End
from tilewright.emulator.images import Piece, TileImage
from tilewright.isa import Mode
from tilewright.target.geometry import MEMORY_BASE, TILES
from tilewright.target.topology import NEUTRAL_MUX

CODE, ROW = 0x4C100, 0x4C200
PERMUTATIONS, WORDS = 12, 16
PROGRAM = f"""
    setzi $m0, {NEUTRAL_MUX}
    put $INCOMING_MUX, $m0
    sync 3
    call $m10, {ROW:#x}
    trap 0
"""


def code(text: str) -> bytes:
    return bytes(assemble(text, mode=Mode.SUPERVISOR).sections[0].data)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_message_arrives(threads: int) -> None:
    """There are more events than a tile has room for at first. Threads change nothing."""
    sent = messages(PERMUTATIONS, WORDS)
    assert len(sent) > 0.9 * PERMUTATIONS * TILES
    chip = Chip(threads=threads)
    program, end = code(PROGRAM), code("br $m10")
    random = np.random.default_rng(0)
    size = PERMUTATIONS * WORDS
    source, destination = (
        chip.memory.bytes.view(np.uint32)[:, start : start + size]
        for start in ((SOURCES - MEMORY_BASE) // 4, (DESTINATIONS - MEMORY_BASE) // 4)
    )
    source[:] = random.integers(0, 1 << 32, source.shape, np.uint32)
    expected = destination.copy()
    for each in sent:
        words = slice(each.number * WORDS, (each.number + 1) * WORDS)
        expected[each.receiver, words] = source[each.sender, words]
    for tile, row in enumerate(rows(sent, WORDS)):
        chip.load(tile, TileImage((Piece(CODE, program), Piece(ROW, row + end)), CODE))
    assert chip.run().end is End.STOPPED
    assert np.array_equal(destination, expected)
