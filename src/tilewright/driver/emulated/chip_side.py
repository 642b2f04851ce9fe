"""The chip of an emulated device with the host's side of it, run while the host waits."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from tilewright.driver.emulated.clock import EmulatedClock
from tilewright.driver.errors import TransportError
from tilewright.emulator.chip import Chip, End, ExchangeFault, Outcome
from tilewright.emulator.debug_port import DebugPort
from tilewright.emulator.engines import Engine
from tilewright.emulator.host_port import HostLink
from tilewright.emulator.images import TileImage
from tilewright.emulator.memory import TileMemory
from tilewright.errors import TilewrightError
from tilewright.target.debug import DebugRegister
from tilewright.target.host import HOST_PAGE
from tilewright.target.timing import CLOCK
from tilewright.tracing import span

LEAST_CYCLES = 100_000
"""Cycles that the chip runs at a time, at least: to start and stop all tiles takes a while."""
_FEW_TILES = 4
_LETS_GO = (DebugRegister.RETIREMENT_BREAK, DebugRegister.EXCEPTION_CLEAR)
"""Registers of tiles whose writing may let contexts go on."""


class ChipSide:
    """A chip after a reset, its tiles without programs.

    It runs only when the host looks: for as long as time has passed since, or until all tiles stand
    still. So whoever waits for it can be interrupted. `finding` tells why it will never go on.
    """

    def __init__(
        self, tiles: int, engine: Engine, threads: int | None, clock: EmulatedClock
    ) -> None:
        self._link = HostLink()
        _compile_ahead()
        self._chip = Chip(tiles, host=self._link, engine=engine, threads=threads)
        self._debug = DebugPort(self._chip)
        self._clock = clock
        self._has_program = [False] * tiles
        self._may_move = False
        self._seen = clock.now()
        """Until when the chip has run, while it may move."""
        self.cycle = 0
        self.finding: str | None = None

    @property
    def memory(self) -> TileMemory:
        return self._chip.memory

    def start(self, tile: int, entry: int) -> None:
        """Let a tile execute what its memory holds, from `entry` on."""
        self._chip.load(tile, TileImage((), entry))
        self._has_program[tile] = True
        self._let_go()

    # -- host memory and marks --------------------------------------------------------------------

    def attach(self, index: int, memory: NDArray[np.uint8]) -> None:
        try:
            self._link.attach(index * HOST_PAGE, memory)
        except TilewrightError as error:
            raise TransportError(f"page {index}: {error}") from None

    def detach(self, index: int) -> None:
        self._link.detach(index * HOST_PAGE)

    def mark(self, group: int) -> int:
        return self._link.mark(group)

    def set_mark(self, group: int, value: int) -> None:
        self._link.set_mark(group, value)
        self._let_go()

    # -- tiles ------------------------------------------------------------------------------------

    def has_program(self, tile: int) -> bool:
        return self._has_program[tile]

    def read_tile(self, tile: int, register: int) -> int:
        return self._debug.read(tile, register)

    def write_tile(self, tile: int, register: int, value: int) -> None:
        try:
            self._debug.write(tile, register, value)
        except TilewrightError as error:
            raise TransportError(f"a debug register of tile {tile}: {error}") from None
        if register in _LETS_GO:
            self._let_go()

    # -- time -------------------------------------------------------------------------------------

    def _let_go(self) -> None:
        """Something may move from now on."""
        if not self._may_move:
            self._seen = self._clock.now()
        self._may_move = True

    def advance(self) -> None:
        """Let the chip run up to now, if it can, unless that is not long."""
        cycles = int((self._clock.now() - self._seen) * CLOCK.value)
        if not self._may_move or self.finding is not None or cycles < LEAST_CYCLES:
            return
        self._seen = self._clock.now()
        outcome = self._run(cycles)
        if outcome is None:
            return
        self.cycle = max(outcome.cycle, self.cycle)
        self._may_move = outcome.end is End.LIMIT
        if outcome.end is End.STUCK:
            self.finding = str(outcome)

    def _run(self, cycles: int) -> Outcome | None:
        try:
            return self._chip.run(self.cycle + cycles)
        except ExchangeFault as fault:
            self.finding = str(fault)
            return None
        except BaseException:
            self.finding = "the emulation was interrupted"
            raise


@cache
def _compile_ahead() -> None:
    """So that loading, not the first run, waits for what an installation compiles once."""
    with span("emulator.compile"):
        Chip(_FEW_TILES).compile_ahead()
