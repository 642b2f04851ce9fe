"""The emulated tile loaders: how often they wait for the host, and what they load."""

import numpy as np
from numpy.typing import NDArray

from tilewright.driver.emulated.tile_loader import TileLoaders
from tilewright.driver.frames import write_batch
from tilewright.emulator.memory import TileMemory


class Chip:
    """Memory, and which tiles were started where."""

    def __init__(self, tiles: int) -> None:
        self.memory = TileMemory(tiles)
        self.started: dict[int, int] = {}

    def start(self, tile: int, entry: int) -> None:
        self.started[tile] = entry


def image(tile: int) -> NDArray[np.uint8]:
    return np.random.default_rng(tile).integers(0, 256, 100 + 23 * tile, np.uint8)


def test_a_whole_device() -> None:
    """The counts are those of a third party's stack: 23 batches, an order to execute by mark 1, and
    mark 23, which lets 22 syncs of the second pass by and holds the last."""
    tiles = 1472
    chip = Chip(tiles)
    buffer = np.zeros(0x2842000, np.uint8)
    loaders = TileLoaders(tiles, chip, lambda: {0: buffer})
    for row in range(23):
        assert loaders.mark == 0
        write_batch(buffer, 64 * row, [image(tile) for tile in range(64 * row, 64 * row + 64)])
        loaders.write_mark(1)
    assert loaders.mark == 0
    buffer[:] = 0xFF
    loaders.write_mark(1)
    assert (loaders.mark, chip.started) == (0, {})
    loaders.write_mark(23)
    assert (loaders.mark, chip.started, loaders.is_done) == (0, {}, False)
    loaders.write_mark(1)
    assert loaders.is_done
    assert loaders.mark == 1
    assert chip.started == dict.fromkeys(range(tiles), 0x4C010)
    for tile in (0, 63, 64, 1471):
        given = image(tile)
        found = chip.memory.read(tile, 0x4C010, given.size)
        assert found == given.tobytes()


def test_a_mark_that_is_too_large_lets_tiles_begin_too_early() -> None:
    """So a package for fewer rows needs another mark."""
    chip = Chip(64)
    buffer = np.zeros(0x200000, np.uint8)
    loaders = TileLoaders(64, chip, lambda: {0: buffer})
    write_batch(buffer, 0, [image(tile) for tile in range(64)])
    loaders.write_mark(1)
    buffer[:] = 0xFF
    loaders.write_mark(1)
    loaders.write_mark(23)
    assert loaders.is_done
    assert loaders.mark == 22
