"""A tile that runs compiled code throughout: workers as in `CompiledTile`, and the supervisor.

The supervisor goes through a compiled interpreter loop, and workers take their turns, up to a
barrier, the end of a row, an instruction that faults, or worker code that has not been translated
yet; the reference engine executes the one, `CompiledTile` sees to the other. Cycles and events are
those of the reference engine. While somebody observes a tile, all of it is interpreted.
"""

import numpy as np

from tilewright.emulator.compiled import CompiledTile
from tilewright.emulator.llvm import LlvmWorkers
from tilewright.emulator.llvm.supervisor import LlvmSupervisors
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.records import Ending, TileRecords
from tilewright.emulator.reference.tile import Stop, Stopped

_LEFT, _LIMIT, _SYNC, _ROW_END = (
    int(each) for each in (Ending.LEFT, Ending.LIMIT, Ending.SYNC, Ending.ROW_END)
)


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
        """Run up to a stop, or to what is left to the reference engine."""
        if self.observer is not None or self._is_left:
            return None
        translations = self._engine.translations
        self._supervisors.run(self.records, self._memory, self._this, limit, translations)
        ending = int(self.schedule["ending"])
        if ending == _LIMIT:
            return Stopped(Stop.LIMIT, limit)
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
