"""Looking into a tile that runs: a trace of what it executes, breakpoints, watchpoints, steps.

    inspector = Inspector(tile=3, traced=[0, 1])
    inspector.breakpoints.append(Breakpoint(image.symbols["kernel"]))
    chip.observe(3, inspector)
    outcome = chip.run()        # End.BREAK, before the instruction
    inspector.step(chip)        # one issue of tile 3
    print(*inspector.trace, sep="\\n")

Contexts are numbered as in `Stopped`: 0 is the supervisor, 1 to 6 are the workers. A tile that is
observed interprets its workers, with any engine. A worker that compiled code has already run ahead
when the observer comes is seen from where it is then.

What the exchange writes to memory is no instruction's access: no watchpoint sees it.
"""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import Protocol, TypeVar

from tilewright.emulator.disassembly import fetched_text
from tilewright.emulator.reference.effects import Effects
from tilewright.emulator.reference.engine import Issued
from tilewright.emulator.reference.observing import Issue
from tilewright.emulator.reference.registers import ContextRegisters
from tilewright.emulator.state import A_REGISTERS, M_REGISTERS

_STORED = {"m": M_REGISTERS, "a": A_REGISTERS}
"""Registers from these numbers on discard what is written."""
_NO_LIMIT = 1 << 62

_Result_co = TypeVar("_Result_co", covariant=True)


class Access(Flag):
    """What an instruction does to memory."""

    READ = auto()
    WRITE = auto()


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """`size` bytes from `address` on, read or written by one instruction."""

    access: Access
    address: int
    size: int

    def __str__(self) -> str:
        assert self.access.name is not None
        return f"{self.access.name.lower()}s {self.size} bytes at {self.address:#x}"


@dataclass(frozen=True, slots=True)
class Traced:
    """An instruction or bundle that was executed.

    `registers` are those $m and $a registers that it wrote, with the values since; control
    registers, accumulators and weights are not among them.
    """

    cycle: int
    tile: int
    context: int
    pc: int
    text: str
    registers: tuple[tuple[str, int], ...]
    accesses: tuple[MemoryAccess, ...]

    def __str__(self) -> str:
        written = " ".join(f"{name}={value:#x}" for name, value in self.registers)
        place = f"{self.cycle:>8} {self.tile:>4}.{self.context} {self.pc:#x}"
        return f"{place}  {self.text:<40} {written}".rstrip()


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Stops before the instruction at `address`; `context` None: whoever comes to it."""

    address: int
    context: int | None = None

    def matches(self, issue: Issue) -> bool:
        return issue.pc == self.address and self.context in (None, issue.context)


@dataclass(frozen=True, slots=True)
class Watchpoint:
    """Stops after an instruction that accesses one of `size` bytes from `address` on."""

    address: int
    size: int = 4
    access: Access = Access.READ | Access.WRITE

    def matches(self, done: MemoryAccess) -> bool:
        overlaps = (
            done.address < self.address + self.size and self.address < done.address + done.size
        )
        return overlaps and bool(done.access & self.access)


class _Step(Enum):
    OFF = auto()
    BEFORE = auto()
    """The issue that makes up the step is to come."""
    AFTER = auto()
    """It has been; the next issue must not be."""


class Runnable(Protocol[_Result_co]):
    """A chip, or a tile alone."""

    def run(self, limit: int) -> _Result_co: ...


class Inspector:
    """Observes one tile. `traced` are the contexts whose instructions `trace` collects.

    Of the trace, the last `trace_length` instructions are kept, all if it is None. `hit` is what
    stopped the tile last; None: a step, or nothing has.
    """

    def __init__(
        self, tile: int = 0, *, traced: Collection[int] = (), trace_length: int | None = None
    ) -> None:
        self.trace: deque[Traced] = deque(maxlen=trace_length)
        self.breakpoints: list[Breakpoint] = []
        self.watchpoints: list[Watchpoint] = []
        self.hit: Breakpoint | Watchpoint | None = None
        self._tile = tile
        self._traced = frozenset(traced)
        self._step = _Step.OFF

    def step(self, machine: Runnable[_Result_co], limit: int = _NO_LIMIT) -> _Result_co:
        """Run until the tile has made one issue, and stop before its next.

        `machine` is the tile or its chip, whose other tiles run as far as they can; an observer of
        one of those may end the run before the step. Breakpoints are passed over. A tile alone also
        ends with the issue if that is a `sync`, and without one at the end of a row of exchange
        code.
        """
        self._step = _Step.BEFORE
        try:
            return machine.run(limit)
        finally:
            self._step = _Step.OFF

    def before(self, issue: Issue) -> bool:
        match self._step:
            case _Step.BEFORE:
                return False
            case _Step.AFTER:
                self.hit = None
                return True
        self.hit = next((each for each in self.breakpoints if each.matches(issue)), None)
        return self.hit is not None

    def after(self, issue: Issue, issued: Issued, registers: ContextRegisters) -> bool:
        if self._step is _Step.BEFORE:
            self._step = _Step.AFTER
        accesses = _accesses(issued.effects)
        if issue.context in self._traced:
            self.trace.append(
                Traced(
                    issue.cycle,
                    self._tile,
                    issue.context,
                    issue.pc,
                    fetched_text(issued.fetched),
                    _written(issued.effects, registers),
                    accesses,
                )
            )
        hits = (point for point in self.watchpoints for done in accesses if point.matches(done))
        self.hit = next(hits, None)
        return self.hit is not None


def _accesses(effects: Effects) -> tuple[MemoryAccess, ...]:
    reads = [MemoryAccess(Access.READ, address, size) for address, size in effects.loads]
    writes = [
        MemoryAccess(Access.WRITE, address, len(content)) for address, content in effects.stores
    ]
    return (*reads, *writes)


def _written(effects: Effects, registers: ContextRegisters) -> tuple[tuple[str, int], ...]:
    """In order of writing, each once."""
    places = dict.fromkeys((file, number) for file, number, _ in effects.registers)
    return tuple(
        (f"${file}{number}", registers.read(file, number))
        for file, number in places
        if number < _STORED[file]
    )
