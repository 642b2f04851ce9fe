"""Memory of tiles set aside and put back: only pages that differ from unwritten ones are kept."""

import mmap
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.emulator.memory import UNWRITTEN_WORD, TileMemory
from tilewright.errors import TilewrightError


class SnapshotError(TilewrightError):
    """A snapshot put back where it does not fit."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Pages of one tile: their numbers, and their bytes as `[page, offset]`."""

    numbers: NDArray[np.intp]
    content: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """The memory of `tiles` tiles; those in `pages` have been written."""

    tiles: int
    pages: Mapping[int, Pages]


def save_memory(memory: TileMemory) -> MemorySnapshot:
    """What memory holds now.

    Looking maps the pattern's pages of all tiles: they count as resident, but take up nothing.
    """
    saved = {}
    for tile, content in enumerate(memory.bytes):
        pages = content.reshape(-1, mmap.PAGESIZE)
        numbers = np.flatnonzero((pages.view(np.uint32) != UNWRITTEN_WORD).any(axis=1))
        if numbers.size:
            saved[tile] = Pages(numbers, pages[numbers])
    return MemorySnapshot(len(memory.bytes), saved)


def restore_memory(memory: TileMemory, snapshot: MemorySnapshot) -> None:
    """Make memory what it was. Raises `SnapshotError` if it is that of another number of tiles."""
    if len(memory.bytes) != snapshot.tiles:
        raise SnapshotError(
            f"a snapshot of {snapshot.tiles} tiles cannot be put back into {len(memory.bytes)}"
        )
    memory.clear()
    for tile, pages in snapshot.pages.items():
        memory.bytes[tile].reshape(-1, mmap.PAGESIZE)[pages.numbers] = pages.content
