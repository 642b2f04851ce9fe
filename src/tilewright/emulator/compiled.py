"""A tile whose workers run compiled code; the supervisor is interpreted.

A worker runs to its end when it is first due, and what it did counts from then on; its exit takes
effect in the cycle in which it would have come to it. So cycles are those of the reference engine.
What workers and the supervisor do to the same memory at the same time is not in its order of cycles
here (`data-race`): correct programs synchronise first.

While somebody observes a tile, its workers are interpreted, too.
"""

from dataclasses import replace

from tilewright.emulator.llvm import LlvmWorkers, WorkerResult
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.records import TileRecords
from tilewright.emulator.reference.engine import Issued
from tilewright.emulator.reference.tile import ReferenceTile, TileSnapshot
from tilewright.target import timing


class CompiledTile(ReferenceTile):
    """As `ReferenceTile`, with `engine` for the workers; tiles share one."""

    def __init__(
        self,
        memory: TileMemory,
        tile_number: int,
        engine: LlvmWorkers,
        records: TileRecords | None = None,
    ) -> None:
        super().__init__(memory, tile_number, records)
        self._engine = engine
        self._endings: dict[int, WorkerResult] = {}

    def save(self) -> TileSnapshot:
        return replace(super().save(), ahead=dict(self._endings))

    def restore(self, snapshot: TileSnapshot) -> None:
        super().restore(replace(snapshot, ahead={}))
        self._endings = dict(snapshot.ahead)

    def _advance_worker(self, worker: int, cycle: int, limit: int) -> Issued | None:
        ending = self._endings.pop(worker, None)
        if ending is None or ending.at_limit:
            if self.observer is not None:
                return super()._advance_worker(worker, cycle, limit)
            self._run_worker(worker, cycle, limit)
        elif ending.exit_status is not None:
            self._end_worker(worker, ending.exit_status, cycle)
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
        self._endings[worker] = ending
        taken = ending.steps - 1 if ending.exit_status is not None else ending.steps
        self._running.due[worker] = cycle + timing.worker_cycles(taken)
