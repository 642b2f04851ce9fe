"""Programs of several tiles, written by hand: a preamble, barriers, and rows as text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewright.elf.assembler import assemble
from tilewright.emulator.chip import Chip, End, Outcome
from tilewright.emulator.fabric import ClashRule
from tilewright.emulator.images import Piece, TileImage
from tilewright.emulator.memory import TileMemory
from tilewright.isa import Mode
from tilewright.target.geometry import MEMORY_BASE

CODE, ROWS, ROW_SPACING = 0x4C100, 0x4C800, 0x400
SOURCE = 0x50000

_NEUTRAL = """
    setzi $m0, 0x640
    put $INCOMING_MUX, $m0
"""
_ACTIVE = """
    setzi $m0, 1
    put $INCOMING_DCOUNT, $m0
    sync 3
    call $m10, {row:#x}
"""
_INACTIVE = """
    sans 0
    sync 1
"""


@lru_cache
def code(text: str, address: int, mode: Mode = Mode.SUPERVISOR) -> Piece:
    """Code at an address; branch targets are numbers."""
    return Piece(address, bytes(assemble(text, mode=mode).sections[0].data))


def program(*rows: str | None, before: str = "", after: str = "") -> TileImage:
    """A tile that runs a row per phase, called after the barrier; None: inactive in that phase."""
    return program_with_code([(row, "") for row in rows], before, after)


def program_with_code(
    phases: Sequence[tuple[str | None, str]], before: str = "", after: str = ""
) -> TileImage:
    """As `program`, with code between: what follows the row of each phase."""
    main = _NEUTRAL + before
    pieces = []
    for number, (row, following) in enumerate(phases):
        if row is None:
            main += _INACTIVE
        else:
            address = ROWS + number * ROW_SPACING
            main += _ACTIVE.format(row=address)
            pieces.append(code(row + "\n br $m10", address))
        main += following
    pieces.append(code(main + after + "\n trap 0", CODE))
    return TileImage(tuple(pieces), CODE)


_SELECTORS = {"source": ("delayxpic", 0), "pair": ("delayxpic", 1)} | {
    "pointer": ("delaypic", 0),
    "format": ("delaypic", 1),
}
_LONGEST = {"delayxpic": 4096, "delaypic": 128}

Step = tuple[Any, ...]
"""(event, "source" or "pair", mux number), (event, "pointer", byte address), (event, "format", f),
or (event, "send", items, byte address, control)."""


def row(*steps: Step, length: int) -> str:
    """Text of a row that does things in events and lasts for `length`."""
    lines, elapsed = [], 0
    for event, what, *values in sorted(steps, key=lambda step: int(step[0])):
        assert event > elapsed, f"two things in event {event}"
        if what == "send":
            items, address, control = values
            lines += _delay(event - 1 - elapsed)
            size = 8 if control & 4 else 4
            lines.append(f"send {min(items, 64) - 1}, {address // size}, {control}")
            if items > 64:
                lines.append(f"sendoff {items - 65}, 0, {control}")
            elapsed = event - 1 + items
            continue
        mnemonic, selector = _SELECTORS[what]
        value = values[0] // 4 if what == "pointer" else values[0]
        if event - elapsed > _LONGEST[mnemonic]:
            lines += _delay(event - 1 - elapsed)
            elapsed = event - 1
        lines.append(f"{mnemonic} {event - elapsed - 1}, {selector}, {value}")
        elapsed = event
    return "\n".join([*lines, *_delay(length - elapsed)])


def _delay(events: int) -> list[str]:
    return [f"delay {events - 1}"] if events > 0 else []


def words(text: str) -> str:
    """A row given by its words, in hexadecimal."""
    return "\n".join(f".long 0x{word}" for word in text.split())


Rows = Mapping[int, str | Sequence[str | None]]


@dataclass
class Run:
    """A chip, what memory of its tiles with rows held before, and what is expected of it since."""

    chip: Chip
    before: dict[int, NDArray[np.uint8]]
    outcome: Outcome | None = None
    phases: int = 1
    expected: dict[int, NDArray[np.uint8]] = field(init=False)

    def __post_init__(self) -> None:
        self.expected = {tile: memory.copy() for tile, memory in self.before.items()}

    def words(self, tile: int, address: int, count: int) -> NDArray[np.uint32]:
        """What memory held before."""
        start = address - MEMORY_BASE
        return self.before[tile][start : start + 4 * count].view(np.uint32)

    def now(self, tile: int, address: int, count: int) -> NDArray[np.uint32]:
        """What memory holds."""
        start = address - MEMORY_BASE
        return self.chip.memory.bytes[tile, start : start + 4 * count].view(np.uint32)

    def expect(self, tile: int, address: int, words: NDArray[np.uint32]) -> None:
        """Expect words in a tile's memory, in the end."""
        start = address - MEMORY_BASE
        self.expected[tile][start : start + words.nbytes] = words.view(np.uint8)

    def go(self) -> "Run":
        self.outcome = self.chip.run()
        return self

    def check(self) -> None:
        """Every byte that is expected to change has, and no other."""
        self.check_end()
        self.check_memory()

    def check_end(self) -> None:
        """Every tile has reached its end."""
        assert self.outcome is not None
        assert self.outcome.end is End.STOPPED, str(self.outcome)
        assert len(self.outcome.stopped) == len(self.chip.memory.bytes), str(self.outcome)

    def check_memory(self) -> None:
        memory = self.chip.memory.bytes
        for tile, expected in self.expected.items():
            wrong = np.flatnonzero(memory[tile] != expected)
            assert not wrong.size, (tile, [hex(MEMORY_BASE + place) for place in wrong[:8]])
        idle = [tile for tile in range(len(memory)) if tile not in self.expected]
        assert all(np.array_equal(memory[tile], memory[idle[0]]) for tile in idle)
        image = program(*[None] * self.phases)
        pristine = TileMemory(1)
        for address, content in image.pieces:
            pristine.write(0, address, content)
        assert not idle or np.array_equal(memory[idle[0]], pristine.bytes[0])


class Bench:
    """Makes chips whose tiles run given rows; all others are inactive."""

    program = staticmethod(program)
    program_with_code = staticmethod(program_with_code)
    code = staticmethod(code)
    row = staticmethod(row)
    words = staticmethod(words)

    def prepare(
        self,
        rows: Rows,
        tiles: int = 64,
        clash_rule: ClashRule = ClashRule.CYCLE,
        before: str | Mapping[int, str] = "",
        after: str | Mapping[int, str] = "",
        source: int = SOURCE,
    ) -> Run:
        """A chip that has not run yet. In tiles with rows, 16 KiB from `source` on are random.

        `before` and `after` are code around the phases, of tiles with rows.
        """
        phases = max(1 if isinstance(each, str) else len(each) for each in rows.values())
        chip = Chip(tiles, clash_rule=clash_rule)
        idle = program(*[None] * phases)
        random = np.random.default_rng(tiles)
        for tile in range(tiles):
            of_tile = rows.get(tile)
            if of_tile is None:
                chip.load(tile, idle)
                continue
            texts = [of_tile] if isinstance(of_tile, str) else of_tile
            around = [
                each if isinstance(each, str) else each.get(tile, "") for each in (before, after)
            ]
            chip.load(tile, program(*texts, before=around[0], after=around[1]))
            chip.memory.write(tile, source, random.bytes(0x4000))
        before_memory = {tile: chip.memory.bytes[tile].copy() for tile in rows}
        return Run(chip, before_memory, phases=phases)

    def run(self, rows: Rows, tiles: int = 64) -> Run:
        """Run such a chip to its end."""
        return self.prepare(rows, tiles).go()


@pytest.fixture
def bench() -> Bench:
    return Bench()
