"""The abstract machine as a builder of LLVM IR whose operands are known at run time only.

A meaning is emitted once per instruction form, with code that takes register numbers and immediates
from the instruction word. Where a meaning branches on an immediate, both ways are emitted: it is
run once for each (`Number`). Where it faults, it is left to the interpreter in Python.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir

from tilewright.emulator.events import EventKind
from tilewright.emulator.llvm.access import is_accessible, offset_in_memory
from tilewright.emulator.llvm.effects import Jump
from tilewright.emulator.llvm.integers import IntegerOperations
from tilewright.emulator.llvm.lanes import (
    BIT,
    BYTE,
    LONG,
    WORD,
    Emitted,
    intrinsic,
    same_type_intrinsic,
)
from tilewright.emulator.reference.machine import ANS_LIMIT
from tilewright.emulator.state import WEIGHTS
from tilewright.isa import Field, Kind, Operand
from tilewright.target.csr import CSRS
from tilewright.target.flags import SYNC_ZONES
from tilewright.target.geometry import EXECUTABLE_END, MEMORY_BASE, WORKERS

_ANS_COUNT = CSRS["ANS_DCOUNT"].index
_ZONE_BITS = sum(1 << zone for zone in SYNC_ZONES.values())
_LIKELY = [1 << 20, 1]


class LeftToPython(Exception):
    """A way through a meaning that certainly faults, and so is not executed in compiled code."""


@dataclass(frozen=True, slots=True)
class RuntimeOperand:
    """As `tilewright.isa.meaning.Bound`, with a value that the word holds at run time."""

    operand: Operand
    value: Emitted


def operand_value(builder: ir.IRBuilder, operand: Operand, word: Emitted) -> Emitted:
    """As `Operand.decode`."""
    value = _extracted(builder, operand.field, word)
    if operand.kind is Kind.SIGNED:
        unused = WORD(32 - operand.field.width)
        value = builder.ashr(builder.shl(value, unused), unused)
    return builder.shl(value, WORD(operand.stored_shift)) if operand.stored_shift else value


def _extracted(builder: ir.IRBuilder, place: Field, word: Emitted) -> Emitted:
    value = WORD(0)
    for high, low in place.pieces:
        size = high - low + 1
        piece = builder.and_(builder.lshr(word, WORD(low)), WORD((1 << size) - 1))
        value = builder.or_(builder.shl(value, WORD(size % 32)), piece)
    return value


def is_executable(builder: ir.IRBuilder, address: Emitted) -> Emitted:
    """As the reference's `check_code_address`: rotated, one comparison sees to it all."""
    offset = builder.sub(address, WORD(MEMORY_BASE))
    words = same_type_intrinsic(builder, "fshr", offset, offset, WORD(2))
    return builder.icmp_unsigned("<", words, WORD((EXECUTABLE_END - MEMORY_BASE) >> 2))


class Number:
    """An immediate, or what was computed from one: an int for meanings, emitted arithmetic here.

    It holds 32 unsigned bits. Its truth is decided at run time.
    """

    def __init__(self, machine: "SupervisorMachine", value: Emitted) -> None:
        self._machine = machine
        self.value = value

    def __add__(self, other: int) -> "Number":
        return self._of(self._machine.builder.add, other)

    def __radd__(self, other: int) -> "Number":
        return self + other

    def __sub__(self, other: int) -> "Number":
        return self._of(self._machine.builder.sub, other)

    def __and__(self, other: int) -> "Number":
        return self._of(self._machine.builder.and_, other)

    def __rmul__(self, other: int) -> "Number":
        return self._of(self._machine.builder.mul, other)

    def __mod__(self, other: int) -> "Number":
        return self._of(self._machine.builder.urem, other)

    def __rshift__(self, other: int) -> "Number":
        return self._of(self._machine.builder.lshr, other)

    def __lt__(self, other: int) -> bool:
        builder = self._machine.builder
        return self._machine.decide(builder.icmp_unsigned("<", self.value, WORD(other)))

    def __bool__(self) -> bool:
        builder = self._machine.builder
        return self._machine.decide(builder.icmp_unsigned("!=", self.value, WORD(0)))

    def _of(self, operation: Callable[..., Emitted], other: int) -> "Number":
        return Number(self._machine, operation(self.value, WORD(other)))


def as_word(number: "int | Number") -> Emitted:
    """A number of either kind as a value of 32 bits."""
    return number.value if isinstance(number, Number) else WORD(number & 0xFFFF_FFFF)


@dataclass(slots=True)
class SupervisorEffects:
    """What one way through a meaning does; see the reference engine's `Effects`."""

    registers: list[tuple[Emitted, Emitted]] = field(default_factory=list)
    """(number, word)"""
    stores: list[tuple[Emitted, Emitted]] = field(default_factory=list)
    csrs: list[tuple[Emitted, Emitted]] = field(default_factory=list)
    weights: list[tuple[Emitted, Emitted]] = field(default_factory=list)
    jump: Jump | None = None
    launches: list["Launch"] = field(default_factory=list)
    events: list[tuple[EventKind, tuple["int | Number | None", ...]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Launch:
    """A worker to start."""

    worker: Emitted
    entry: Emitted
    vertex_base: Emitted


@dataclass(frozen=True, slots=True)
class Issue:
    """What is known when an instruction issues. `stop` is where the loop ends, nothing changed."""

    memory: Emitted
    pc: Emitted
    cycle: Emitted
    following: Emitted
    busy: Emitted
    stop: Any
    read_register: Callable[[ir.IRBuilder, Emitted], Emitted]
    read_csr: Callable[["SupervisorMachine", Emitted], Emitted]
    check_writable: Callable[["SupervisorMachine", Emitted], None]


class SupervisorMachine(IntegerOperations):
    """Implements `tilewright.isa.meaning.Machine` for one way through one form's meaning.

    `decisions` are the truths of the first numbers whose truth is asked for. Where more are asked
    for, the way goes on as if they held, and `others` takes what must be emitted too: the block in
    which the other way starts, and its decisions.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        issue: Issue,
        decisions: Sequence[bool],
        others: list[tuple[Any, list[bool]]],
    ) -> None:
        self.builder = builder
        self.effects = SupervisorEffects()
        self.issue = issue
        self._decisions = list(decisions)
        self._decided = 0
        self._others = others

    def decide(self, condition: Emitted) -> bool:
        """Whether a condition holds on this way."""
        if self._decided == len(self._decisions):
            holds, fails = (self.builder.append_basic_block() for _ in range(2))
            self.builder.cbranch(condition, holds, fails)
            self._others.append((fails, [*self._decisions, False]))
            self._decisions.append(True)
            self.builder.position_at_end(holds)
        self._decided += 1
        return self._decisions[self._decided - 1]

    def check(self, condition: Emitted) -> None:
        """Leave it to Python unless the condition holds."""
        onward = self.builder.append_basic_block()
        branch = self.builder.cbranch(condition, onward, self.issue.stop)
        branch.set_weights(_LIKELY)
        self.builder.position_at_end(onward)

    # -- operands -----------------------------------------------------------------------------

    def get(self, operand: RuntimeOperand) -> Emitted:
        if not operand.operand.is_register:
            return operand.value
        return self.issue.read_register(self.builder, operand.value)

    def set(self, operand: RuntimeOperand, value: Emitted) -> None:
        assert value.type.width == 32 * operand.operand.count, "a value as wide as its group"
        self.effects.registers.append((operand.value, value))

    def immediate(self, operand: RuntimeOperand) -> Number:
        return Number(self, operand.value)

    def const(self, number: "int | Number", width: int = 32) -> Emitted:
        return number.value if isinstance(number, Number) else super().const(number, width)

    # -- memory -------------------------------------------------------------------------------

    def load(self, address: Emitted, width: int) -> Emitted:
        size = width // 8
        self.check(is_accessible(self.builder, address, size))
        return self.builder.load(self.place(address), typ=ir.IntType(width), align=size)

    def store(self, address: Emitted, value: Emitted) -> None:
        self.check(is_accessible(self.builder, address, value.type.width // 8))
        self.effects.stores.append((address, value))

    def second_word(self) -> Number:
        """The code must lie where it can be fetched, which the loop sees to."""
        after = self.builder.add(self.issue.pc, WORD(4))
        return Number(self, self.builder.load(self.place(after), typ=WORD, align=4))

    def place(self, address: Emitted) -> Emitted:
        """The host's address of an address of tile memory."""
        offset = self.builder.zext(offset_in_memory(self.builder, address), LONG)
        return self.builder.gep(self.issue.memory, [offset], source_etype=BYTE)

    # -- control ------------------------------------------------------------------------------

    def next_pc(self) -> Emitted:
        return self.issue.following

    def jump(self, target: Emitted) -> None:
        self.effects.jump = Jump(target, BIT(1))

    def jump_if(self, condition: Emitted, target: Emitted) -> None:
        self.effects.jump = Jump(target, condition)

    def invalid_operands(self, cause: str) -> None:
        raise LeftToPython

    # -- control and status registers, weights ------------------------------------------------

    def read_csr(self, index: "int | Number") -> Emitted:
        return self.issue.read_csr(self, as_word(index))

    def write_csr(self, index: "int | Number", value: Emitted) -> None:
        self.issue.check_writable(self, as_word(index))
        self.effects.csrs.append((as_word(index), value))

    def set_weight(self, index: Number, value: Emitted) -> None:
        self.check(self.builder.icmp_unsigned("<", index.value, WORD(WEIGHTS)))
        self.effects.weights.append((index.value, value))

    # -- synchronisation and exchange ---------------------------------------------------------

    def launch(self, entry: Emitted, vertex_base: Emitted) -> None:
        busy = self.issue.busy
        self.check(self.builder.icmp_unsigned("!=", busy, WORD((1 << WORKERS) - 1)))
        idle = self.builder.not_(busy)
        lowest = intrinsic(self.builder, "llvm.cttz.i32", WORD, [idle, BIT(1)])
        self._launch(lowest, entry, vertex_base)

    def launch_all(self, entry: Emitted, vertex_base: Emitted, stride: Number) -> None:
        self.check(self.builder.icmp_unsigned("==", self.issue.busy, WORD(0)))
        for worker in range(WORKERS):
            self._launch(WORD(worker), entry, vertex_base)
            vertex_base = self.builder.add(vertex_base, stride.value)

    def _launch(self, worker: Emitted, entry: Emitted, vertex_base: Emitted) -> None:
        low_bits = self.builder.and_(vertex_base, WORD(3))
        self.check(self.builder.icmp_unsigned("==", low_bits, WORD(0)))
        self.check(is_executable(self.builder, entry))
        self.effects.launches.append(Launch(worker, entry, vertex_base))

    def sync(self, zone: Number) -> None:
        """While workers are active, all but the local barrier is left to Python."""
        builder = self.builder
        self.check(builder.icmp_unsigned("<", zone.value, WORD(32)))
        is_known = builder.trunc(builder.lshr(WORD(_ZONE_BITS), self._low_bits(zone)), BIT)
        self.check(is_known)
        has_none = builder.icmp_unsigned("==", self.read_csr(_ANS_COUNT), WORD(0))
        is_ans = builder.icmp_unsigned("==", zone.value, WORD(SYNC_ZONES["ANS"]))
        self.check(self.builder.or_(has_none, is_ans))
        is_alone = self.builder.icmp_unsigned("==", self.issue.busy, WORD(0))
        is_local = self.builder.icmp_unsigned("==", zone.value, WORD(SYNC_ZONES["LOCAL"]))
        self.check(self.builder.or_(is_alone, is_local))
        self.effects.events.append((EventKind.SYNC, (zone,)))

    def sans(self, count: Number) -> None:
        builder = self.builder
        before = self.read_csr(_ANS_COUNT)
        participations = builder.add(before, (count + 1).value)
        for number in (before, participations):
            self.check(builder.icmp_unsigned("<", number, WORD(ANS_LIMIT)))
        self.effects.csrs.append((WORD(_ANS_COUNT), participations))
        self.effects.events.append((EventKind.SANS, (count,)))

    def _low_bits(self, zone: Number) -> Emitted:
        return self.builder.and_(zone.value, WORD(31))

    def delay(self, events: Number) -> None:
        self.effects.events.append((EventKind.DELAY, (events,)))

    def send(
        self,
        items: Number,
        address: Number | None,
        control: Number | None,
        advance: "int | Number" = 0,
    ) -> None:
        self.effects.events.append((EventKind.SEND, (items, address, control, advance)))

    def receive_pointer(self, selector: Number, value: Number, at_last: bool) -> None:
        self.effects.events.append((EventKind.POINTER, (selector, value, at_last)))

    def receive_source(self, selector: Number, value: Number, at_last: bool) -> None:
        self.effects.events.append((EventKind.SOURCE, (selector, value, at_last)))
