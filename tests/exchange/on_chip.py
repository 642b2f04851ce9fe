"""Phases on an emulated chip: programs made of rows, and what memory must hold afterwards."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tilewright.elf.assembler import assemble
from tilewright.emulator.chip import Chip, End, Outcome
from tilewright.emulator.fabric import ClashRule
from tilewright.emulator.images import Piece, TileImage
from tilewright.emulator.memory import TileMemory
from tilewright.exchange import ExchangePhase, Rows
from tilewright.isa import Mode
from tilewright.target.geometry import MEMORY_BASE, TILES

CODE = MEMORY_BASE + 0x100
"""Programs lie from here to where `patterns` have their sources."""


@lru_cache
def _code(text: str) -> bytes:
    return bytes(assemble(text, mode=Mode.SUPERVISOR).sections[0].data)


_START = _code("setzi $m0, 0x640\n put $INCOMING_MUX, $m0\n setzi $m0, 1\n setzi $m0, 1")
# Rows start at even words, behind the barrier.
_ACTIVE = _code("put $INCOMING_DCOUNT, $m0\n setzi $m0, 1\n setzi $m0, 1\n sync 3")
_INACTIVE = _code("sans 0\n sync 1")
_PAD = _code("setzi $m0, 1")
_END = _code("trap 0")


def tile_image(
    tile: int,
    phases: Sequence[Rows],
    between: Callable[[int, int], bytes],
    before: Callable[[int], str],
) -> TileImage:
    """A program that runs a tile's rows; `between(tile, number)` is its code after a phase."""
    code = _START + _code(before(tile))
    code += _PAD if len(code) % 8 else b""
    for number, rows in enumerate(phases):
        row = rows.row(tile).astype("<u4").tobytes()
        code += _ACTIVE + row if row else _INACTIVE
        code += between(tile, number)
        code += _PAD if len(code) % 8 else b""
    return TileImage((Piece(CODE, code + _END),), CODE)


def no_code(tile: int, number: int) -> bytes:
    return b""


def no_preparation(tile: int) -> str:
    return "setzi $m1, 0"


@dataclass
class Run:
    """A chip that has run phases, and memory as it was before, programs included."""

    chip: Chip
    outcome: Outcome
    before: TileMemory


def run_on_chip(
    phases: Sequence[Rows],
    fill: Callable[[TileMemory], None],
    between: Callable[[int, int], bytes] = no_code,
    before: Callable[[int], str] = no_preparation,
) -> Run:
    """All tiles run their rows of all phases, judged by the rule for encoders."""
    chip, memory = Chip(clash_rule=ClashRule.WINDOW), TileMemory(TILES)
    fill(chip.memory)
    fill(memory)
    for tile in range(TILES):
        image = tile_image(tile, phases, between, before)
        chip.load(tile, image)
        memory.write(tile, CODE, image.pieces[0].content)
    return Run(chip, chip.run(), memory)


def fill_sources(phase: ExchangePhase, seed: int = 0) -> Callable[[TileMemory], None]:
    """Random words wherever a transfer reads and no other one writes."""
    rng = np.random.default_rng(seed)
    contents = [rng.bytes(4 * int(words)) for words in phase.words]

    def fill(memory: TileMemory) -> None:
        for tile, address, content in zip(
            phase.source_tile.tolist(), phase.source_address.tolist(), contents, strict=True
        ):
            memory.write(tile, address, content)

    return fill


def carry_out(phase: ExchangePhase, memory: TileMemory) -> None:
    """What a phase means, word by word: each transfer after those that write what it reads."""
    pending = list(range(phase.transfers))
    while pending:
        written = {
            (tile, address + 4 * word)
            for number in pending
            for tile, address in phase.transfer(number).receivers
            for word in range(int(phase.words[number]))
        }
        ready = []
        for number in pending:
            each = phase.transfer(number)
            reads = {(each.source, each.address + 4 * word) for word in range(each.words)}
            if not reads & written:
                ready.append(number)
        for number in ready:
            each = phase.transfer(number)
            content = memory.read(each.source, each.address, 4 * each.words)
            for tile, address in each.receivers:
                memory.write(tile, address, content)
        pending = [number for number in pending if number not in ready]


def words_of(memory: TileMemory, tile: int, address: int, words: int) -> NDArray[np.uint32]:
    return np.frombuffer(memory.read(tile, address, 4 * words), dtype="<u4")


def assert_memory(run: Run, expected: TileMemory) -> None:
    """All bytes of all tiles are as expected."""
    assert run.outcome.end is End.STOPPED, str(run.outcome)
    for tile in range(TILES):
        same = np.array_equal(run.chip.memory.bytes[tile], expected.bytes[tile])
        assert same, f"tile {tile} differs"


def assert_carried_out(phase: ExchangePhase, rows: Rows, seed: int = 0) -> None:
    """Rows move what the phase says, and leave every other byte of the chip as it was."""
    run = run_on_chip([rows], fill_sources(phase, seed))
    carry_out(phase, run.before)
    assert_memory(run, run.before)
