"""The choice of engine for tiles: compiled, or the reference."""

from collections.abc import Callable
from enum import Enum
from functools import lru_cache

from tilewright.emulator.llvm import LlvmWorkers
from tilewright.emulator.llvm.supervisor import LlvmSupervisors
from tilewright.emulator.reference.tile import ReferenceTile
from tilewright.emulator.supervised import FullyCompiledTile

MakeTile = Callable[..., ReferenceTile]
"""Gives the tile of a number, whose memory is in a `TileMemory`: `(memory, number, records=None)`;
its registers are in its own `TileRecords`, unless given."""


class Engine(Enum):
    """How code is executed; results and cycles are the same."""

    LLVM = "llvm"
    """Worker code compiled by LLVM, shared by tiles, cached on disk; supervisor code by a compiled
    interpreter."""
    REFERENCE = "reference"
    """One instruction at a time in Python."""


def tile_maker(engine: Engine) -> MakeTile:
    """What makes tiles that run on `engine`."""
    if engine is Engine.REFERENCE:
        return ReferenceTile
    workers, supervisors = shared_workers(), shared_supervisors()
    return lambda memory, tile, records=None: FullyCompiledTile(
        memory, tile, workers, supervisors, records
    )


@lru_cache(maxsize=1)
def shared_workers() -> LlvmWorkers:
    """Code is translated once for all tiles of this process."""
    return LlvmWorkers()


@lru_cache(maxsize=1)
def shared_supervisors() -> LlvmSupervisors:
    """The interpreter is made once for all tiles of this process."""
    return LlvmSupervisors()
