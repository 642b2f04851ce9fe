"""One tile that runs programs, for the tests of what happens over time and between contexts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tilewright.elf.assembler import assemble
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.engine import Context
from tilewright.emulator.reference.registers import SupervisorRegisters, WorkerRegisters
from tilewright.emulator.reference.tile import ReferenceTile, Stop, Stopped
from tilewright.isa import Mode

SUPERVISOR_CODE = 0x4C100
WORKER_CODE = 0x4D000
"""Where code is loaded, multiples of 8. Branch targets are absolute."""


def machine_code(text: str, mode: Mode) -> bytes:
    """The words of a text that needs no linker."""
    (section,) = (each for each in assemble(text, mode=mode).sections if each.name == ".text")
    assert not section.relocations
    return bytes(section.data)


@dataclass(frozen=True, slots=True)
class Program:
    """A tile with code loaded. Registers are unsigned words; workers count from 0."""

    memory: TileMemory
    tile: ReferenceTile

    def run(self, limit: int = 100_000) -> Stopped:
        return self.tile.run(limit)

    def finish(self, limit: int = 100_000) -> Stopped:
        """Run up to the trap of the supervisor, which must be reached."""
        stopped = self.run(limit)
        assert (stopped.reason, stopped.context) == (Stop.FAULT, 0), stopped
        assert stopped.fault is not None
        assert stopped.fault.is_debug, stopped
        return stopped

    @property
    def supervisor(self) -> Any:
        return self.tile.state["supervisor"]

    @property
    def workers(self) -> Any:
        return self.tile.state["workers"]

    @property
    def m(self) -> list[int]:
        """The registers of the supervisor."""
        return [int(word) for word in self.supervisor["m"]]

    def worker_m(self, worker: int = 0) -> list[int]:
        return [int(word) for word in self.workers[worker]["m"]]

    def worker_a(self, worker: int = 0) -> list[int]:
        return [int(word) for word in self.workers[worker]["a"]]

    def context(self, mode: Mode = Mode.WORKER) -> Context:
        """Worker 0 or the supervisor at its code, apart from all timing."""
        if mode is Mode.SUPERVISOR:
            return Context(SupervisorRegisters(self.tile.state, 0), self.tile.state, self.memory, 0)
        self.workers[0]["pc"] = WORKER_CODE
        return Context(WorkerRegisters(self.tile.state, 0), self.tile.state, self.memory, 0)

    def read(self, address: int) -> int:
        """A word of memory."""
        return int.from_bytes(self.memory.read(0, address, 4), "little")

    def load(self, address: int, content: bytes) -> None:
        self.memory.write(0, address, content)


Registers = Mapping[str, int]
"""Such as `{"m3": 5, "a0": 1}`; two's complement for negative numbers."""
MakeProgram = Callable[..., Program]


def set_registers(context: Any, registers: Registers) -> None:
    for name, value in registers.items():
        context[name[0]][int(name[1:])] = value & 0xFFFF_FFFF


@pytest.fixture
def program() -> MakeProgram:
    """Makes a tile: code of the supervisor, of the workers, and registers before the start.

    The supervisor's $m0 holds the address of the workers' code, unless given; `worker` sets the
    registers of all workers.
    """

    def make(
        supervisor: str,
        workers: str = "exitz $mzero",
        *,
        registers: Registers | None = None,
        worker: Registers | None = None,
    ) -> Program:
        memory = TileMemory(tiles=1)
        memory.write(0, SUPERVISOR_CODE, machine_code(supervisor, Mode.SUPERVISOR))
        memory.write(0, WORKER_CODE, machine_code(workers, Mode.WORKER))
        tile = ReferenceTile(memory)
        tile.state["supervisor"]["pc"] = SUPERVISOR_CODE
        set_registers(tile.state["supervisor"], {"m0": WORKER_CODE} | dict(registers or {}))
        for each in tile.state["workers"]:
            set_registers(each, worker or {})
        return Program(memory, tile)

    return make
