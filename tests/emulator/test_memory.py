"""Memory of tiles: what unwritten words are, that tiles are apart, and what it takes up."""

from pathlib import Path

import numpy as np
import pytest

from tilewright.emulator.memory import UNWRITTEN_WORD, TileMemory
from tilewright.target.geometry import TILES

FIRST, END, SIZE = 0x4C000, 0xE8000, 624 * 1024


@pytest.fixture
def memory() -> TileMemory:
    return TileMemory(tiles=3)


def anonymous_kilobytes() -> int:
    """Memory of this process that holds data of its own, no file's."""
    status = Path("/proc/self/status").read_text()
    (line,) = (each for each in status.splitlines() if each.startswith("RssAnon:"))
    return int(line.split()[1])


def test_shape(memory: TileMemory) -> None:
    assert memory.bytes.shape == (3, SIZE)
    assert memory.bytes.dtype == np.uint8


def test_unwritten_memory_is_not_a_number(memory: TileMemory) -> None:
    for tile in range(3):
        assert np.isnan(memory.bytes[tile].view(np.float32)).all()
        assert np.isnan(memory.bytes[tile].view(np.float16)).all()
    word = memory.read(1, END - 4, 4)
    assert int.from_bytes(word, "little") == UNWRITTEN_WORD


def test_unwritten_nans_are_quiet() -> None:
    """So that computing with them raises no exception."""
    assert UNWRITTEN_WORD >> 22 & 1
    assert UNWRITTEN_WORD >> 9 & 1
    assert UNWRITTEN_WORD >> 25 & 1


@pytest.mark.parametrize("address", [FIRST, FIRST + 5, 0x7FFFE, END - 4])
def test_what_is_written_is_read(memory: TileMemory, address: int) -> None:
    memory.write(1, address, b"\x01\x02\x03\x04")
    assert memory.read(1, address, 4) == b"\x01\x02\x03\x04"
    assert memory.read(1, address + 1, 2) == b"\x02\x03"
    assert memory.bytes[1, address - FIRST] == 1


def test_tiles_are_apart(memory: TileMemory) -> None:
    before = memory.bytes.copy()
    memory.write(1, FIRST, bytes(SIZE))
    assert not memory.bytes[1].any()
    assert np.array_equal(memory.bytes[[0, 2]], before[[0, 2]])
    memory.write(0, END - 4, b"abcd")
    memory.write(2, FIRST, b"efgh")
    assert not memory.bytes[1].any()
    assert memory.read(0, FIRST, 4) == UNWRITTEN_WORD.to_bytes(4, "little")


def test_memories_are_apart(memory: TileMemory) -> None:
    other = TileMemory(tiles=1)
    memory.write(0, FIRST, b"\0\0\0\0")
    assert other.read(0, FIRST, 4) == UNWRITTEN_WORD.to_bytes(4, "little")
    other.write(0, FIRST + 4, b"\1\1\1\1")
    assert memory.read(0, FIRST + 4, 4) == UNWRITTEN_WORD.to_bytes(4, "little")


def test_writing_nothing(memory: TileMemory) -> None:
    memory.write(0, END, b"")
    assert memory.read(0, END, 0) == b""


def test_a_whole_chip_takes_up_only_what_is_written() -> None:
    """1,472 tiles have 897 MiB; a page written on every tile is 4 KiB each."""
    before = anonymous_kilobytes()
    chip = TileMemory(tiles=TILES)
    started = anonymous_kilobytes() - before
    assert started < 16 * 1024
    for tile in range(TILES):
        chip.write(tile, 0x60000, tile.to_bytes(4, "little"))
    written = anonymous_kilobytes() - before
    assert written < 16 * 1024 + TILES * 4
    firsts = chip.bytes[:, 0x60000 - FIRST : 0x60004 - FIRST].copy().view(np.uint32)
    assert firsts[:, 0].tolist() == list(range(TILES))


def test_reading_a_whole_chip_takes_up_nothing() -> None:
    before = anonymous_kilobytes()
    chip = TileMemory(tiles=256)
    assert int(chip.bytes[:, ::4096].max()) <= 0x7F
    assert anonymous_kilobytes() - before < 16 * 1024


def test_memory_is_given_back() -> None:
    before = anonymous_kilobytes()
    for _ in range(8):
        TileMemory(tiles=32).bytes[:] = 0
    assert anonymous_kilobytes() - before < 2 * 32 * SIZE // 1024
