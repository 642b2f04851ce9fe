"""What a debugger sees of the contexts of tiles while they stand still, and how it stops them."""

from typing import Any

import numpy as np

from tilewright.emulator.faults import RetirementBreakFault
from tilewright.emulator.records import Tiles
from tilewright.emulator.reference.tile import Stop, Stopped
from tilewright.emulator.running import RUNNING, Runner
from tilewright.errors import TilewrightError
from tilewright.target.debug import CONTEXTS


class ContextError(TilewrightError):
    """A debugger asks for what the emulated chip does not model."""


class Contexts:
    """The contexts of all tiles; 0 is the supervisor, 1 to 6 are the workers.

    A tile goes on when none of its contexts shows an exception any more.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._breaks = np.zeros(len(runner.progress), np.uint32)
        """The contexts of each tile that are to break, as bits."""

    def tile(self, tile: int) -> Any:
        """All that a tile has, laid out as `tilewright.emulator.state.TILE`."""
        return self._runner.records.states[tile]

    def record(self, tile: int, context: int) -> Any:
        """What belongs to one context."""
        state = self.tile(tile)
        return state["workers"][context - 1] if context else state["supervisor"]

    def exception(self, tile: int, context: int) -> int:
        """The number of the exception that has stopped a context, 0 if none has."""
        return int(self.record(tile, context)["exception"])

    def is_active(self, tile: int, context: int) -> bool:
        """Whether a context executes something, and waits for no barrier."""
        if context:
            return bool(self.record(tile, context)["is_active"])
        at = self._runner.progress[tile]
        waits = self._runner.records.schedules[tile]["awaits_workers"]
        return bool(at["is_loaded"] and at["stop"] != Stop.SYNC.value and not waits)

    def set_breaks(self, tile: int, contexts: int) -> None:
        """Stop those contexts (a set of bits) that are active, and a supervisor at a barrier as
        soon as that completes. Workers that start later do not break."""
        self._breaks[tile] = contexts
        self._break(tile)

    def break_after_barrier(self, tiles: Tiles) -> None:
        """Stop what is to break of tiles that have just been let go."""
        for tile in tiles[self._breaks[tiles] != 0].tolist():
            self._break(tile)

    def clear_exceptions(self, tile: int, contexts: int) -> None:
        """Let those contexts (a set of bits) go on that an exception has stopped.

        Raises `ContextError` if one of them is to break: it would, after one instruction.
        """
        chosen = [
            context
            for context in range(CONTEXTS)
            if contexts >> context & 1 and self.exception(tile, context)
        ]
        if any(int(self._breaks[tile]) >> context & 1 for context in chosen):
            raise ContextError(
                f"tile {tile} would break again after one instruction, which is not modelled; "
                "take away its retirement breaks first"
            )
        for context in chosen:
            self.record(tile, context)["exception"] = 0
        is_excepted = any(self.exception(tile, context) for context in range(CONTEXTS))
        if tile in self._runner.stopped and not is_excepted:
            del self._runner.stopped[tile]
            self._runner.progress["stop"][tile] = RUNNING

    def _breaking(self, tile: int) -> list[int]:
        """The contexts of a tile that break now."""
        contexts = int(self._breaks[tile])
        return [
            context
            for context in range(CONTEXTS)
            if contexts >> context & 1
            and self.is_active(tile, context)
            and not self.exception(tile, context)
        ]

    def _break(self, tile: int) -> None:
        at = self._runner.progress[tile]
        for context in self._breaking(tile):
            fault = RetirementBreakFault("the debug port has asked for it")
            record = self.record(tile, context)
            record["exception"] = fault.number
            at["stop"] = Stop.FAULT.value
            at["cycle"] = max(int(at["released"]), int(self.tile(tile)["cycle"]))
            stopped = Stopped(Stop.FAULT, int(at["cycle"]), context, int(record["pc"]), fault)
            self._runner.stopped.setdefault(tile, stopped)
