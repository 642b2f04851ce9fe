"""Tiles that run alone, each up to a barrier, the end of its row, a fault or a limit of cycles.

Where code is compiled, one call runs many tiles, one after the other. What is left to do by Python
is done tile by tile.
"""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.emulator.engines import Engine, shared_supervisors, shared_workers, tile_maker
from tilewright.emulator.events import EXCHANGE_CSRS
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.records import Ending, TileRecords, Tiles
from tilewright.emulator.reference.observing import Observer
from tilewright.emulator.reference.tile import ReferenceTile, Stop, Stopped


class Phase(IntEnum):
    """What kind of barrier a tile has passed; rows of exchange code belong to it."""

    NONE = 0
    INTERNAL = 1
    """There is one row, and the phase ends with it."""
    GROUP = 2
    """With the host: there may be several, and the phase ends with the next barrier of all."""


RUNNING = 0
"""Stands for no stop."""

PROGRESS = np.dtype(
    [
        ("is_loaded", np.bool_),
        ("stop", np.uint8),
        ("zone", np.uint32),
        ("pc", np.uint32),
        ("cycle", np.uint64),
        ("phase", np.uint8),
        ("released", np.uint64),
        ("received", np.uint64),
        ("kinds", np.uint32),
        ("seen", np.int64),
        ("registers", np.uint32, len(EXCHANGE_CSRS)),
    ],
    align=True,
)
"""How far a tile is. `stop` is the value of a `Stop`, or `RUNNING`; `cycle`, `pc` and `zone` are
those of the stop.

`released` is the cycle in which a barrier has let it go, `phase` what kind of barrier that was, and
`registers` the control registers of the exchange at that moment. Of the events since then, `seen`
have been looked at; `kinds` has the bits of their kinds. `received` is the cycle in which the last
word of the host has come.
"""

_TO_PYTHON = (Ending.LEFT, Ending.WORKER)
_STOPS = {Ending.SYNC: Stop.SYNC, Ending.ROW_END: Stop.ROW_END}


class Runner:
    """Runs the tiles of a chip; `tiles` holds those that have a program, by number.

    It runs them in `threads` threads. While a tile is observed, tiles that are left to Python run
    one after the other.
    """

    def __init__(self, memory: TileMemory, engine: Engine, threads: int | None) -> None:
        count = len(memory.bytes)
        self.records = TileRecords(count)
        self.progress = np.zeros(count, PROGRESS)
        self.tiles: dict[int, ReferenceTile] = {}
        self.stopped: dict[int, Stopped] = {}
        """How tiles have stopped that have faulted."""
        self._observed: set[int] = set()
        self._memory = memory
        self._make_tile = tile_maker(engine)
        self._supervisors = shared_supervisors() if engine is Engine.LLVM else None
        self._threads = len(os.sched_getaffinity(0)) if threads is None else threads
        self._pool = ThreadPoolExecutor(self._threads) if self._threads > 1 else None

    def add(self, tile: int) -> ReferenceTile:
        """A tile after a reset, which can be run from now on."""
        self.records.reset(tile)
        self.stopped.pop(tile, None)
        self._observed.discard(tile)
        self.progress[tile] = np.zeros(1, PROGRESS)[0]
        self.progress["is_loaded"][tile] = True
        self.tiles[tile] = self._make_tile(self._memory, tile, self.records)
        return self.tiles[tile]

    def observe(self, tile: int, observer: Observer | None) -> None:
        """Let an observer watch a tile, or nobody."""
        self.tiles[tile].observer = observer
        self._observed.discard(tile)
        if observer is not None:
            self._observed.add(tile)

    def run(self, tiles: Tiles, limit: int) -> tuple[int, Stopped] | None:
        """Run each tile up to a stop or cycle `limit`; how they stopped is noted in `progress`.

        Ends early, and returns the tile, if an observer stops one.
        """
        left = self._run_together(tiles, limit)
        for tile, stopped in zip(left, self._run_alone(left, limit), strict=True):
            if stopped.reason is Stop.BREAK:
                return tile, stopped
            if stopped.reason is Stop.FAULT:
                self.stopped[tile] = stopped
            if stopped.reason is not Stop.LIMIT:
                at = self.progress[tile]
                at["stop"], at["cycle"] = stopped.reason.value, stopped.cycle
                at["pc"], at["zone"] = stopped.pc, stopped.zone
        return None

    def _run_together(self, tiles: Tiles, limit: int) -> list[int]:
        """Run tiles in compiled code; returns those that are not done with that."""
        if self._supervisors is None:
            return list(map(int, tiles))
        is_fit = ~np.isin(tiles, list(self._observed))
        self._run_compiled(tiles[is_fit], limit)
        ending = self.records.schedules["ending"][tiles]
        for reason, stop in _STOPS.items():
            self._stop(tiles[is_fit & (ending == reason)], stop)
        return list(map(int, tiles[~is_fit | np.isin(ending, _TO_PYTHON)]))

    def _run_compiled(self, tiles: Tiles, limit: int) -> None:
        translations = shared_workers().translations

        def run(part: Tiles) -> None:
            assert self._supervisors is not None
            self._supervisors.run(self.records, self._memory, part, limit, translations)

        if self._pool is None:
            run(tiles)
        else:
            list(self._pool.map(run, np.array_split(tiles, self._threads)))

    def _stop(self, tiles: Tiles, stop: Stop) -> None:
        schedules, states = self.records.schedules, self.records.states
        at_barrier = stop is Stop.SYNC
        progress = self.progress
        progress["stop"][tiles] = stop.value
        progress["cycle"][tiles] = states["cycle"][tiles]
        progress["pc"][tiles] = (schedules if at_barrier else states["supervisor"])["pc"][tiles]
        progress["zone"][tiles] = schedules["zone"][tiles] if at_barrier else 0

    def _run_alone(self, tiles: list[int], limit: int) -> Iterable[Stopped]:
        engines = [self.tiles[tile] for tile in tiles]
        if self._pool is None or any(engine.observer for engine in engines):
            return map(_run, engines, repeat(limit))
        return self._pool.map(_run, engines, repeat(limit))

    def csr(self, index: int) -> NDArray[np.uint32]:
        """A control register of all tiles, as a view."""
        registers: NDArray[Any] = self.records.states["supervisor"]["csr"]
        return registers[:, index]


def _run(tile: ReferenceTile, limit: int) -> Stopped:
    return tile.run(limit)
