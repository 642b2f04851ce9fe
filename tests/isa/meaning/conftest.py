"""A context that issues single instructions, for the tests of what each of them means."""

from collections.abc import Sequence
from functools import cache

import pytest

from tilewright.elf.assembler import assemble
from tilewright.emulator.faults import TileFault
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.engine import Context, Issued
from tilewright.emulator.reference.registers import SupervisorRegisters, WorkerRegisters
from tilewright.emulator.state import new_tile
from tilewright.isa import FORM_BY_NAME, Mode, encode

CODE = 0x4C100
"""Where the instruction is, a multiple of 8."""
TILE = 1234
"""The number of the tile."""
NUMBER = 3
"""The number of the worker, from 0."""


@cache
def machine_code(text: str, mode: Mode) -> bytes:
    """The words of a text that needs no linker."""
    (section,) = (each for each in assemble(text, mode=mode).sections if each.name == ".text")
    assert not section.relocations
    return bytes(section.data)


class Bench:
    """One context of a tile of its own. Registers are given and read as unsigned words."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self.memory = TileMemory(tiles=1)
        self.tile = new_tile()
        registers = (
            WorkerRegisters(self.tile, NUMBER)
            if mode is Mode.WORKER
            else SupervisorRegisters(self.tile, TILE)
        )
        self.context = Context(registers, self.tile, self.memory, 0)
        self.state = registers.state

    def set(self, **registers: int) -> None:
        """`m3=…`, `a0=…`: two's complement for negative numbers."""
        for name, value in registers.items():
            self.state[name[0]][int(name[1:])] = value & 0xFFFF_FFFF

    def issue(self, text: str, **registers: int) -> Issued:
        """Execute an instruction or bundle at `CODE`. Raises `TileFault`."""
        return self._issue(machine_code(text, self.mode), registers)

    def issue_form(self, form: str, values: Sequence[int], **registers: int) -> Issued:
        """The same with a form of the table, such as `add m,m,s16`, and its operands."""
        word = encode(FORM_BY_NAME[form], values)
        return self._issue(word.to_bytes(4, "little"), registers)

    def check_fault(
        self, kind: type[TileFault], cause: str, text: str, **registers: int
    ) -> TileFault:
        """The instruction must fault so, and change nothing but ETYPE."""
        self.set(**registers)
        self._place(machine_code(text, self.mode))
        tile, memory = self.tile.copy(), self.memory.bytes.copy()
        with pytest.raises(TileFault) as caught:
            self.context.issue()
        assert type(caught.value) is kind
        assert cause in caught.value.cause
        assert int(self.state["exception"]) == kind.number
        assert self.pc == CODE
        self.state["exception"] = 0
        assert self.tile == tile
        assert (self.memory.bytes == memory).all()
        return caught.value

    @property
    def pc(self) -> int:
        return self.context.pc

    @property
    def m(self) -> list[int]:
        return [int(word) for word in self.state["m"]]

    @property
    def a(self) -> list[int]:
        return [int(word) for word in self.state["a"]]

    def group(self, first: int, count: int) -> int:
        """The value of a group of $a registers."""
        return sum(word << 32 * place for place, word in enumerate(self.a[first : first + count]))

    def read(self, address: int, size: int) -> int:
        return int.from_bytes(self.memory.read(0, address, size), "little")

    def write(self, address: int, value: int, size: int) -> None:
        self.memory.write(0, address, value.to_bytes(size, "little"))

    def _issue(self, code: bytes, registers: dict[str, int]) -> Issued:
        self.set(**registers)
        self._place(code)
        return self.context.issue()

    def _place(self, code: bytes) -> None:
        self.memory.write(0, CODE, code)
        self.state["pc"] = CODE


@pytest.fixture
def worker() -> Bench:
    return Bench(Mode.WORKER)


@pytest.fixture
def supervisor() -> Bench:
    return Bench(Mode.SUPERVISOR)


@pytest.fixture(params=[Mode.WORKER, Mode.SUPERVISOR], ids=lambda mode: mode.value)
def either(request: pytest.FixtureRequest) -> Bench:
    """A worker, then a supervisor."""
    return Bench(request.param)
