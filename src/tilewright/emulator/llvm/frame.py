"""The function that a translation becomes: its parameters, the worker's registers, its exits.

Registers live in slots: memory of the function that LLVM turns into values. A slot is filled from
the worker's record when the function begins, and written back when it ends. The function is

    reason = run(tile, memory, support, worker, start_cycle, step_limit, steps)

with addresses of a tile's record, of its memory, of a table of support addresses, and of the count
of steps, which it adds to.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from llvmlite import ir

from tilewright.emulator.faults import TileFault
from tilewright.emulator.llvm.lanes import (
    LONG,
    POINTER,
    WORD,
    Emitted,
    pick,
    vector,
)
from tilewright.emulator.llvm.layout import OFFSETS, WORKER_SIZE, WORKERS_OFFSET
from tilewright.emulator.state import A_REGISTERS, M_REGISTERS

ENTRY_NAME = "run"
_UNITS = 8


class Reason(IntEnum):
    """Why translated code returned; `FAULT` plus the exception's number for faults."""

    EXIT_FALSE = 0
    EXIT_TRUE = 1
    LIMIT = 2
    CONTINUE = 3
    """The worker goes on at its PC, in another translation."""
    FAULT = 16


_PARAMETERS = [POINTER, POINTER, POINTER, WORD, LONG, LONG, POINTER]

ACCUMULATOR_SLOTS = ("sums0", "chain0", "sums1", "chain1")


class Frame:
    """The function under construction. Its entry and exit blocks stay open until `finish`."""

    def __init__(self, module: ir.Module) -> None:
        self.function = ir.Function(module, ir.FunctionType(WORD, _PARAMETERS), name=ENTRY_NAME)
        self.function.attributes.add("nounwind")
        tile, memory, support, worker, start_cycle, step_limit, steps = self.function.args
        self.tile, self.memory, self.support = tile, memory, support
        self.worker, self.start_cycle, self.step_limit = worker, start_cycle, step_limit
        self._steps_out = steps
        # What a worker's code writes to memory is none of the records.
        for pointer in (tile, memory, support, steps):
            pointer.add_attribute("noalias")
        self.entry = ir.IRBuilder(self.function.append_basic_block("entry"))
        self._exit_block = self.function.append_basic_block("exit")
        self._record = self._worker_record()
        self._slots: dict[str, Emitted] = {}
        self._written: set[str] = set()
        self._prepared: dict[str, Emitted] = {}
        self._support_words: dict[int, Emitted] = {}
        self._support_pointers: dict[int, Emitted] = {}
        self._steps = self._local("steps", LONG, LONG(0))
        self._pc = self._local("pc", WORD, WORD(0))
        self._reason = self._local("reason", WORD, WORD(0))
        self.target = self._local("target", WORD, WORD(0))
        """Where a branch to a register goes, for the dispatch block."""

    def block(self, name: str = "") -> Any:
        return self.function.append_basic_block(name)

    # -- registers ----------------------------------------------------------------------------

    def read(self, builder: ir.IRBuilder, name: str) -> Emitted:
        if name in _IN_RECORD:
            return _load(builder, self._record, name)
        return builder.load(self._slot(name), typ=_kind(name))

    def write(self, builder: ir.IRBuilder, name: str, value: Emitted) -> None:
        if name in _IN_RECORD:
            _store(builder, self._record, name, value)
            return
        self._written.add(name)
        builder.store(value, self._slot(name))

    def steps(self, builder: ir.IRBuilder) -> Emitted:
        """Steps taken so far."""
        return builder.load(self._steps, typ=LONG)

    def take_steps(self, builder: ir.IRBuilder, steps: Emitted) -> None:
        builder.store(builder.add(self.steps(builder), steps), self._steps)

    # -- exits --------------------------------------------------------------------------------

    def leave(self, builder: ir.IRBuilder, pc: Emitted, reason: int | Emitted) -> None:
        """End the block: the worker stops before `pc`."""
        builder.store(pc, self._pc)
        builder.store(WORD(reason) if isinstance(reason, int) else reason, self._reason)
        builder.branch(self._exit_block)

    def fault(self, builder: ir.IRBuilder, pc: int, fault: type[TileFault]) -> None:
        self.leave(builder, WORD(pc), Reason.FAULT + fault.number)

    def finish(self, start: Any) -> None:
        """Close the function; it begins with block `start`."""
        builder = ir.IRBuilder(self._exit_block)
        for name in sorted(self._written):
            _store(builder, self._record, name, self.read(builder, name))
        place = _field(builder, self._record, OFFSETS["pc"])
        builder.store(builder.load(self._pc, typ=WORD), place)
        builder.store(self.steps(builder), self._steps_out)
        builder.ret(builder.load(self._reason, typ=WORD))
        self.entry.branch(start)

    # -- what is prepared when the function begins --------------------------------------------

    def prepared(
        self, name: str, kind: Any, count: int, align: int, emit: Callable[..., None]
    ) -> Emitted:
        """Memory for `count` items of a type, which `emit(builder, memory)` fills on entry."""
        if name not in self._prepared:
            memory = self.entry.alloca(kind, WORD(count))
            memory.align = align
            emit(self.entry, memory)
            self._prepared[name] = memory
        return self._prepared[name]

    def support_word(self, place: int) -> Emitted:
        """Entry `place` of the table of addresses, as a number."""
        if place not in self._support_words:
            entry = self.entry.gep(self.support, [WORD(place)], source_etype=LONG)
            self._support_words[place] = self.entry.load(entry, typ=LONG)
        return self._support_words[place]

    def support_pointer(self, place: int) -> Emitted:
        word = self.support_word(place)
        if place not in self._support_pointers:
            self._support_pointers[place] = self.entry.inttoptr(word, POINTER)
        return self._support_pointers[place]

    # -- inside -------------------------------------------------------------------------------

    def _worker_record(self) -> Emitted:
        size = self.entry.mul(self.worker, WORD(WORKER_SIZE))
        offset = self.entry.add(size, WORD(WORKERS_OFFSET))
        return self.entry.gep(self.tile, [offset], source_etype=ir.IntType(8))

    def _local(self, name: str, kind: Any, value: Emitted) -> Emitted:
        slot = self.entry.alloca(kind, name=name)
        self.entry.store(value, slot)
        return slot

    def _slot(self, name: str) -> Emitted:
        if name not in self._slots:
            value = _load(self.entry, self._record, name)
            self._slots[name] = self._local(name, value.type, value)
        return self._slots[name]


def pair_slot(number: int) -> str:
    """The slot of the pair of $a registers that holds register `number`.

    It is a vector of words, not one integer: in the code that LLVM 22.1 generates for x86, a word
    put together from halves of two integers of 64 bits, one of them in memory, and widened again
    keeps upper bits that should be 0.
    """
    return f"a{number & ~1}"


def accumulator_slot(index: int) -> tuple[str, int]:
    """The slot of an accumulator, and its lane."""
    group, place = divmod(index, 2 * _UNITS)
    return ACCUMULATOR_SLOTS[2 * group + place % 2], place // 2


def _kind(name: str) -> Any:
    if name in ACCUMULATOR_SLOTS:
        return vector(WORD, _UNITS)
    if name in _PAIRS:
        return vector(WORD, 2)
    return LONG if name.startswith("random") else WORD


_PAIRS = {f"a{number}" for number in range(0, A_REGISTERS, 2)}
_OFFSETS = (
    {f"m{number}": OFFSETS["m"] + 4 * number for number in range(M_REGISTERS)}
    | {f"a{number}": OFFSETS["a"] + 4 * number for number in range(0, A_REGISTERS, 2)}
    | {f"random{number}": OFFSETS["random"] + 8 * number for number in range(2)}
    | {name: offset for name, offset in OFFSETS.items() if name not in ("m", "a", "random")}
)
_IN_RECORD = frozenset({"float_status"})
"""What has no slot: it is rarely written, and a value that nearly every instruction might change
takes LLVM time that grows with the square of their number."""
_EVEN, _ODD = list(range(0, 2 * _UNITS, 2)), list(range(1, 2 * _UNITS, 2))


def _field(builder: ir.IRBuilder, record: Emitted, offset: int) -> Emitted:
    return builder.gep(record, [WORD(offset)], source_etype=ir.IntType(8))


def _load(builder: ir.IRBuilder, record: Emitted, name: str) -> Emitted:
    if name in ACCUMULATOR_SLOTS:
        place = _accumulators(builder, record, name)
        both = builder.load(place, typ=vector(WORD, 2 * _UNITS), align=4)
        return pick(builder, both, _ODD if name.startswith("chain") else _EVEN)
    return builder.load(_field(builder, record, _OFFSETS[name]), typ=_kind(name), align=4)


def _store(builder: ir.IRBuilder, record: Emitted, name: str, value: Emitted) -> None:
    if name not in ACCUMULATOR_SLOTS:
        builder.store(value, _field(builder, record, _OFFSETS[name]), align=4)
        return
    place = _accumulators(builder, record, name)
    old = builder.load(place, typ=vector(WORD, 2 * _UNITS), align=4)
    # Interleave with what the other slot of the set holds.
    wide = pick(builder, value, [lane // 2 for lane in range(2 * _UNITS)])
    is_mine = int(name.startswith("chain"))
    mask = ir.Constant(
        vector(ir.IntType(1), 2 * _UNITS), [int(lane % 2 == is_mine) for lane in range(2 * _UNITS)]
    )
    builder.store(builder.select(mask, wide, old), place, align=4)


def _accumulators(builder: ir.IRBuilder, record: Emitted, name: str) -> Emitted:
    offset = OFFSETS["accumulators"] + 4 * 2 * _UNITS * int(name[-1])
    return _field(builder, record, offset)
