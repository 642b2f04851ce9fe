"""The choice of engine for tiles: compiled, or the reference."""

from collections.abc import Callable
from enum import Enum
from functools import lru_cache

from tilewright.emulator.compiled import CompiledTile
from tilewright.emulator.llvm import LlvmWorkers
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.tile import ReferenceTile

MakeTile = Callable[[TileMemory, int], ReferenceTile]
"""Gives the tile of a number, whose memory is in a `TileMemory`."""


class Engine(Enum):
    """How worker code is executed; results and cycles are the same."""

    LLVM = "llvm"
    """Compiled by LLVM, shared by tiles, cached on disk."""
    REFERENCE = "reference"
    """One instruction at a time in Python."""


def tile_maker(engine: Engine) -> MakeTile:
    """What makes tiles that run on `engine`."""
    if engine is Engine.REFERENCE:
        return ReferenceTile
    workers = _shared_workers()
    return lambda memory, tile: CompiledTile(memory, tile, workers)


@lru_cache(maxsize=1)
def _shared_workers() -> LlvmWorkers:
    """Code is translated once for all tiles of this process."""
    return LlvmWorkers()
