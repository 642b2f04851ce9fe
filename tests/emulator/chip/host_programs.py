"""Programs that exchange packets with the host, and a chip beside attached memory to run them.

Headers of packets are made from the documented fields, not by what is tested.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.emulator.chip.conftest import code
from tilewright.emulator.chip import Chip, End, Outcome
from tilewright.emulator.faults import ExchangeFault
from tilewright.emulator.host_port import HostLink
from tilewright.emulator.images import Piece, TileImage
from tilewright.target.csr import CSRS

CODE, TABLE, STAGING, SOURCE = 0x4C100, 0x50160, 0x50180, 0x60000
TABLE_ITEM = TABLE // 4
HOST = 0x1000

FOLLOW = "sans 1\n sync 1"
END = 0b11 << 26


def listen(tile: int) -> str:
    return f"setzi $m8, {0x600 | tile & 0x3D:#x}\n put $INCOMING_MUX, $m8"


def expect(words: int) -> str:
    return f"setzi $m8, {words}\n put $INCOMING_DCOUNT, $m8"


NEUTRAL = "setzi $m8, 0x640\n put $INCOMING_MUX, $m8"


def read(
    tile: int, address: int, offset: int, size: int, *, end: bool = True, long: bool = False
) -> list[int]:
    """The header of a read, from the documented fields."""
    unit = 64 if long else 4
    form = 7 if long else 6
    first = form << 29 | tile << 15 | (address - 0x4C000) // 32 | (END if end else 0)
    return [first, (tile & 1) << 31 | offset // unit << 4 | size // unit & 15]


def write(tile: int, offset: int, size: int, *, long: bool = False) -> list[int]:
    unit = 64 if long else 4
    first = (5 if long else 4) << 29 | tile << 15
    return [first, (tile & 1) << 31 | offset // unit << 4 | size // unit & 15]


def row(*sends: tuple[int, int]) -> str:
    """Sends of so many words from items of tile memory; payloads, from `SOURCE` on, last 18 events
    at least."""
    lines = []
    for item, words in sends:
        lines.append(f"send {words - 1}, {item:#x}, 3")
        if item >= SOURCE // 4 and words < 18:
            lines.append(f"delay {18 - words - 1}")
    return "\n".join(lines)


READS = row((TABLE_ITEM + 2, 2))
"""The header of a read, after a request."""


@dataclass
class Bed:
    """A chip of 4 tiles, host memory of two pages, and what tiles run; others follow."""

    tiles: int = 4
    link: HostLink = field(default_factory=HostLink)
    memory: NDArray[np.uint8] = field(init=False)
    chip: Chip = field(init=False)

    def __post_init__(self) -> None:
        self.chip = Chip(self.tiles, host=self.link)
        self.memory = np.random.default_rng(7).integers(0, 256, 0x2000, np.uint8)
        self.link.attach(0, self.memory)

    def load(self, programs: Mapping[int, tuple[str, list[int]]], follow: str = FOLLOW) -> "Bed":
        """Programs, with the words of their packets; `follow` is that of all other tiles."""
        for tile in range(self.tiles):
            text, words = programs.get(tile, (follow, []))
            table = b"".join(word.to_bytes(4, "little") for word in words)
            pieces = (code(text + "\n trap 0", CODE), Piece(TABLE, table))
            self.chip.load(tile, TileImage(pieces, CODE))
            if tile in programs:
                content = np.random.default_rng(tile).bytes(0x1000)
                self.chip.memory.write(tile, SOURCE, content)
        return self

    def run(self, marks: int = 2) -> "Bed":
        """The host answers so many barriers of group 2; then all tiles have stopped."""
        for _ in range(marks):
            outcome = self.chip.run()
            assert outcome.end is End.HOST, str(outcome)
            self.link.set_mark(2, 1)
        outcome = self.chip.run()
        assert outcome.end is End.STOPPED, str(outcome)
        return self

    def go(self, marks: int = 2) -> Outcome:
        """Run with so many answers of the host, wherever that leads."""
        for _ in range(marks):
            self.chip.run()
            self.link.set_mark(2, 1)
        return self.chip.run()

    def fails(self) -> ExchangeFault:
        with pytest.raises(ExchangeFault) as raised:
            self.run()
        return raised.value

    def words(self, tile: int, address: int, count: int) -> list[int]:
        content = self.chip.memory.read(tile, address, 4 * count)
        return list(map(int, np.frombuffer(content, np.uint32)))

    def host_words(self, offset: int, count: int) -> list[int]:
        return list(map(int, self.memory[offset : offset + 4 * count].view(np.uint32)))

    def count(self, tile: int) -> int:
        csr = self.chip.state(tile)["supervisor"]["csr"]
        return int(csr[CSRS["INCOMING_DCOUNT"].index])


def owner_and_target(
    packets: str, count: int, tile: int = 0, entry: int = 15, request: bool = True
) -> str:
    """A phase of one tile; its request is the first packet of the table."""
    asked = row((TABLE_ITEM, 2)) if request else ""
    return "\n".join(
        [listen(tile), f"sync {entry}", expect(count), asked, packets, "sync 0", "sync 7", NEUTRAL]
    )


def target(packets: str, count: int, tile: int) -> str:
    return owner_and_target(packets, count, tile, entry=7, request=False)


def bed(programs: Mapping[int, tuple[str, list[int]]], tiles: int = 4) -> Bed:
    """A bed with programs loaded."""
    return Bed(tiles).load(programs)
