"""A tile that runs compiled code throughout: workers as in `CompiledTile`, and the supervisor.

The supervisor goes through a compiled interpreter loop up to a barrier, the end of a row, or the
next instruction that concerns workers or faults; the reference engine executes that one. Cycles and
events are those of the reference engine. While somebody observes a tile, all of it is interpreted.
"""

import numpy as np

from tilewright.emulator.compiled import CompiledTile
from tilewright.emulator.llvm import LlvmWorkers
from tilewright.emulator.llvm.supervisor import LlvmSupervisors
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.records import Ending, TileRecords
from tilewright.emulator.reference.tile import Stop, Stopped
from tilewright.target.timing import SLOTS

_LEFT, _SYNC, _ROW_END = (int(each) for each in (Ending.LEFT, Ending.SYNC, Ending.ROW_END))


class FullyCompiledTile(CompiledTile):
    """As `CompiledTile`, with `supervisors` for the supervisor; tiles share one."""

    def __init__(
        self,
        memory: TileMemory,
        tile_number: int,
        engine: LlvmWorkers,
        supervisors: LlvmSupervisors,
        records: TileRecords | None = None,
    ) -> None:
        super().__init__(memory, tile_number, engine, records)
        self._supervisors = supervisors
        self._this = np.array([tile_number], np.uint32)

    def _go_ahead(self, limit: int) -> Stopped | None:
        """Let the supervisor run up to what is left to the reference engine, or a worker's turn."""
        due = self._running.due
        if self.observer is not None or self.schedule["awaits_workers"] or len(due) == SLOTS:
            return None
        limit = min([limit, *due.values()])
        if int(self.schedule["supervisor"]) >= limit or self._is_left:
            return None
        self._supervisors.run(self.records, self._memory, self._this, limit)
        ending = int(self.schedule["ending"])
        if ending == _SYNC:
            pc, zone = int(self.schedule["pc"]), int(self.schedule["zone"])
            return Stopped(Stop.SYNC, self.cycle, pc=pc, zone=zone)
        if ending == _ROW_END:
            return Stopped(Stop.ROW_END, self.cycle, pc=self._supervisor.pc)
        return None

    @property
    def _is_left(self) -> bool:
        """Whether the supervisor is where it was left to the reference engine, which then takes one
        step."""
        schedule = self.schedule
        return bool(schedule["ending"] == _LEFT and schedule["pc"] == self._supervisor.pc)
