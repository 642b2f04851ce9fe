"""A tile that runs compiled code throughout: workers as in `CompiledTile`, and the supervisor.

The supervisor goes through a compiled interpreter loop up to the next instruction that concerns
others (a barrier, the start of a worker), ends a row, or faults; the reference engine executes that
one. Cycles and events are those of the reference engine. While somebody observes a tile, all of it
is interpreted.
"""

from tilewright.emulator.compiled import CompiledTile
from tilewright.emulator.llvm import LlvmWorkers
from tilewright.emulator.llvm.supervisor import LlvmSupervisors, TileAddresses
from tilewright.emulator.llvm.supervisor_events import AWAITS_ROW, NO_ROW, ROW_IS_OPEN
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.tile import Stopped
from tilewright.target.timing import SLOTS


class FullyCompiledTile(CompiledTile):
    """As `CompiledTile`, with `supervisors` for the supervisor; tiles share one."""

    def __init__(
        self,
        memory: TileMemory,
        tile_number: int,
        engine: LlvmWorkers,
        supervisors: LlvmSupervisors,
    ) -> None:
        super().__init__(memory, tile_number, engine)
        self._supervisors = supervisors
        self._addresses = TileAddresses.of(self.state, memory, tile_number)
        self._limit = 0
        self._left: int | None = None
        """Where the supervisor was last left to the reference engine, which then takes one step."""

    def run(self, limit: int) -> Stopped:
        self._limit = limit
        return super().run(limit)

    def _next_issue(self) -> tuple[int | None, int | None]:
        if self.observer is None:
            self._advance_supervisor()
        return super()._next_issue()

    def _advance_supervisor(self) -> None:
        """Let the supervisor run up to what is left to the reference engine, or a worker's turn."""
        schedule = self._schedule
        active = schedule.workers
        if schedule.waits_for_workers or len(active) == SLOTS:
            return
        limit = min([self._limit, *active.values()])
        if schedule.supervisor >= limit or self._supervisor.pc == self._left:
            return
        done = self._supervisors.run(
            self._addresses,
            schedule.supervisor,
            limit,
            schedule.ready,
            self._row,
            busy=sum(1 << worker for worker in active),
        )
        schedule.supervisor, schedule.ready = done.supervisor, done.ready
        self._awaits_row, self._row_is_open = done.row == AWAITS_ROW, done.row == ROW_IS_OPEN
        self.events += done.events
        self._left = self._supervisor.pc if done.is_left else None

    @property
    def _row(self) -> int:
        if self._row_is_open:
            return ROW_IS_OPEN
        return AWAITS_ROW if self._awaits_row else NO_ROW
