"""A tile whose workers run compiled code; the supervisor is interpreted.

A worker runs to its end when it is first due, and what it did counts from then on; its exit takes
effect in the cycle in which it would have come to it. So cycles are those of the reference engine.
What workers and the supervisor do to the same memory at the same time is not in its order of cycles
here (`data-race`): correct programs synchronise first.

While somebody observes a tile, its workers are interpreted, too.
"""

from tilewright.emulator.llvm import LlvmWorkers, WorkerResult
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.records import Ahead, TileRecords
from tilewright.emulator.reference.engine import Issued
from tilewright.emulator.reference.tile import ReferenceTile
from tilewright.target import timing


class CompiledTile(ReferenceTile):
    """As `ReferenceTile`, with `engine` for the workers; tiles share one."""

    _runs_ahead = True

    def __init__(
        self,
        memory: TileMemory,
        tile_number: int,
        engine: LlvmWorkers,
        records: TileRecords | None = None,
    ) -> None:
        super().__init__(memory, tile_number, records)
        self._engine = engine

    def _advance_worker(self, worker: int, cycle: int, limit: int) -> Issued | None:
        ahead = int(self.schedule["ahead"][worker])
        self.schedule["ahead"][worker] = Ahead.NONE
        if ahead == Ahead.NONE:
            if self.observer is not None:
                return super()._advance_worker(worker, cycle, limit)
            self._run_worker(worker, cycle, limit)
        elif ahead != Ahead.FAULTS:
            self._end_worker(worker, ahead == Ahead.EXITS_TRUE, cycle)
        else:
            self._workers[worker].issue()  # faults as before, and tells why
            raise AssertionError("the instruction faulted in compiled code, but does not here")
        return None

    def _run_worker(self, worker: int, cycle: int, limit: int) -> None:
        """Run a worker as far as it goes before `limit`, and note when that takes effect."""
        steps = max(1, -(-(limit - cycle) // timing.WORKER_STEP.value))
        ending = self._engine.run_worker(
            self.state, self._memory, self._number, worker, cycle, steps
        )
        self.schedule["ahead"][worker] = _ahead(ending)
        taken = ending.steps - 1 if ending.exit_status is not None else ending.steps
        self.schedule["due"][worker] = cycle + timing.worker_cycles(taken)


def _ahead(ending: WorkerResult) -> Ahead:
    if ending.at_limit:
        return Ahead.NONE
    if ending.exit_status is None:
        return Ahead.FAULTS
    return Ahead.EXITS_TRUE if ending.exit_status else Ahead.EXITS_FALSE
