"""The supervisor's interpreter loop as LLVM IR, made from the table and the meanings.

The function is

    run(tile, memory, ready, busy, supervisor, limit, exchanged)

with addresses of a tile's record, of its memory, of the cycles from which on registers can be read
(`READY_M`, `READY_CSR`), and of a record `EXCHANGED`; `busy` has bit n set if slot n is a worker's,
`supervisor` is the cycle in which the supervisor may issue next. It executes what would issue
before cycle `limit`, with the cycles of the reference engine, and stops before the first
instruction that is left to Python.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from llvmlite import ir

from tilewright.emulator.llvm.access import offset_in_memory
from tilewright.emulator.llvm.frame import ENTRY_NAME
from tilewright.emulator.llvm.lanes import BIT, BYTE, LONG, POINTER, WORD, Emitted
from tilewright.emulator.llvm.lanes import same_type_intrinsic as intrinsic
from tilewright.emulator.llvm.layout import WEIGHTS_OFFSET
from tilewright.emulator.llvm.supervisor_events import (
    AWAITS_ROW,
    EVENT,
    EVENT_CAPACITY,
    EVENT_NAMES,
    EVENTS_PER_INSTRUCTION,
    EXCHANGED,
    NONE,
    RESULTS,
    ROW_IS_OPEN,
)
from tilewright.emulator.llvm.supervisor_machine import (
    Issue,
    LeftToPython,
    RuntimeOperand,
    SupervisorMachine,
    as_word,
    operand_value,
)
from tilewright.emulator.memory import UNWRITTEN_WORD
from tilewright.emulator.reference.registers import WRITABLE_BITS
from tilewright.emulator.state import M_REGISTERS, SUPERVISOR, TILE
from tilewright.isa import FORMS, Form, Kind, Mode
from tilewright.isa.meaning import MEANINGS
from tilewright.target import timing
from tilewright.target.csr import CSRS, Space
from tilewright.target.geometry import EXECUTABLE_END, MEMORY_BASE

_PARAMETERS = [POINTER, POINTER, POINTER, WORD, LONG, LONG, POINTER]
_M_NUMBERS, _CSR_NUMBERS = 16, 256
_DISCARDED = _M_NUMBERS
"""Where writes of registers go that are read-only."""
READY_M, READY_CSR, READY_SIZE = 0, _M_NUMBERS, _M_NUMBERS + _CSR_NUMBERS
"""Places of registers and CSRs in the array of cycles from which on they can be read."""

_BASES = (CSRS["INCOMING_BASE"].index, CSRS["OUTGOING_BASE"].index)
_FIRST_EXCHANGE, _LAST_EXCHANGE = CSRS["INCOMING_MUX"].index, CSRS["EXCHANGE_ADJ"].index
_COUNTER_LOW, _COUNTER_HIGH = CSRS["SCOUNT_L"].index, CSRS["SCOUNT_U"].index
_WEIGHT_ADDRESS = CSRS["CCCSLOAD"].index
_NOT_STORAGE = ("PC", "TILE_ID", "SCOUNT_L", "SCOUNT_U", "SSR", "CR")
_STORAGE = {
    csr.index: csr.name
    for csr in CSRS.values()
    if csr.space in (Space.COMMON, Space.SUPERVISOR) and csr.name not in _NOT_STORAGE
}
"""Supervisor CSRs that are plain storage, by index."""
_OPCODE_SHIFT = 24
_LIKELY = [1 << 20, 1]


class Reason(IntEnum):
    """Why the loop ended."""

    STOP = 0
    """The next instruction is left to Python."""
    LIMIT = 1
    FULL = 2
    """There is no more room for events."""


def _offset(kind: Any, name: str) -> int:
    return int(kind.fields[name][1])


_SUPERVISOR_OFFSET = _offset(TILE, "supervisor")
_M_OFFSET, _CSR_OFFSET, _PC_OFFSET = (
    _SUPERVISOR_OFFSET + _offset(SUPERVISOR, name) for name in ("m", "csr", "pc")
)


def build_loop() -> ir.Module:
    """The module that holds the function."""
    module = ir.Module(name="supervisor")
    _Loop(module).emit()
    return module


class _Loop:
    """The function under construction."""

    def __init__(self, module: ir.Module) -> None:
        self._function = ir.Function(module, ir.FunctionType(WORD, _PARAMETERS), name=ENTRY_NAME)
        self._function.attributes.add("nounwind")
        arguments = self._function.args
        self._tile, self._memory, self._ready, self._busy, start, self._limit, out = arguments
        for pointer in (self._tile, self._memory, self._ready, out):
            pointer.add_attribute("noalias")
        self._exchanged = out
        self._masks = _csr_masks(module)
        entry = ir.IRBuilder(self._function.append_basic_block("entry"))
        self._entry = entry
        self._head = self._function.append_basic_block("head")
        self._stop = self._function.append_basic_block("stop")
        self._beyond = self._function.append_basic_block("beyond")
        self._full = self._function.append_basic_block("full")
        self._leave = self._function.append_basic_block("leave")
        self._m = entry.alloca(WORD, WORD(_M_NUMBERS + 1))
        self._pc = self._variable(WORD, entry.load(self._field(entry, _PC_OFFSET), typ=WORD))
        cycle_place = self._field(entry, _offset(TILE, "cycle"))
        self._cycle = self._variable(LONG, entry.load(cycle_place, typ=LONG))
        self._supervisor = self._variable(LONG, start)
        row = entry.load(self._result(entry, "row"), typ=LONG)
        self._row = self._variable(LONG, row)
        self._count = self._variable(LONG, LONG(0))
        self._instructions = self._variable(LONG, LONG(0))
        self._reason = self._variable(LONG, LONG(Reason.STOP))
        self._word: Emitted = None

    def emit(self) -> None:
        for number in range(_M_NUMBERS):
            word = WORD(0)
            if number < M_REGISTERS:
                place = self._field(self._entry, _M_OFFSET + 4 * number)
                word = self._entry.load(place, typ=WORD)
            self._entry.store(word, _item(self._entry, self._m, WORD, WORD(number)))
        self._entry.branch(self._head)
        self._emit_exits()
        self._emit_decoder()

    def _emit_exits(self) -> None:
        for block, reason in (
            (self._stop, Reason.STOP),
            (self._beyond, Reason.LIMIT),
            (self._full, Reason.FULL),
        ):
            builder = ir.IRBuilder(block)
            builder.store(LONG(reason), self._reason)
            builder.branch(self._leave)
        builder = ir.IRBuilder(self._leave)
        for number in range(M_REGISTERS):
            word = builder.load(_item(builder, self._m, WORD, WORD(number)), typ=WORD)
            builder.store(word, self._field(builder, _M_OFFSET + 4 * number))
        builder.store(builder.load(self._pc, typ=WORD), self._field(builder, _PC_OFFSET))
        cycle = builder.load(self._cycle, typ=LONG)
        builder.store(cycle, self._field(builder, _offset(TILE, "cycle")))
        for name, variable in (
            ("supervisor", self._supervisor),
            ("row", self._row),
            ("count", self._count),
            ("instructions", self._instructions),
            ("reason", self._reason),
        ):
            builder.store(builder.load(variable, typ=LONG), self._result(builder, name))
        builder.ret(WORD(0))

    # -- fetch and decode ---------------------------------------------------------------------

    def _emit_decoder(self) -> None:
        builder = ir.IRBuilder(self._head)
        pc = builder.load(self._pc, typ=WORD)
        self._require(builder, is_executable(builder, pc))
        offset = builder.zext(offset_in_memory(builder, pc), LONG)
        place = builder.gep(self._memory, [offset], source_etype=BYTE)
        self._word = builder.load(place, typ=WORD, align=4)
        switch = builder.switch(builder.lshr(self._word, WORD(_OPCODE_SHIFT)), self._stop)
        blocks = {form: self._emit_form(form, pc) for form in executed_forms()}
        decoders: dict[tuple[int, ...], Any] = {}
        for opcode in range(1 << 8):
            forms = [form for form in blocks if _has_opcode(form, opcode)]
            key = tuple(form.index for form in forms)
            if not forms:
                continue
            if key not in decoders:
                decoders[key] = self._emit_choice(forms, blocks)
            switch.add_case(WORD(opcode), decoders[key])

    def _emit_choice(self, forms: Sequence[Form], blocks: dict[Form, Any]) -> Any:
        """The block that tells forms of one opcode apart; masks are tried one after the other."""
        by_mask: dict[int, list[Form]] = {}
        for form in forms:
            by_mask.setdefault(form.mask & 0xFF_FFFF, []).append(form)
        first = following = self._function.append_basic_block()
        groups = list(by_mask.items())
        for place, (mask, group) in enumerate(groups):
            builder = ir.IRBuilder(following)
            is_last = place == len(groups) - 1
            following = self._stop if is_last else self._function.append_basic_block()
            switch = builder.switch(builder.and_(self._word, WORD(mask)), following)
            for form in group:
                switch.add_case(WORD(form.base & mask), blocks[form])
        return first

    # -- one form -----------------------------------------------------------------------------

    def _emit_form(self, form: Form, pc: Emitted) -> Any:
        block = self._function.append_basic_block(form.mnemonic)
        builder = ir.IRBuilder(block)
        if UNWRITTEN_WORD & form.mask == form.base:
            is_written = builder.icmp_unsigned("!=", self._word, WORD(UNWRITTEN_WORD))
            self._require(builder, is_written)
        if form.words == 2:
            self._require_second_word(builder, pc)
        operands = [
            RuntimeOperand(operand, operand_value(builder, operand, self._word))
            for operand in form.operands
        ]
        if ends_row(form):
            row = builder.load(self._row, typ=LONG)
            self._require(builder, builder.icmp_unsigned("!=", row, LONG(ROW_IS_OPEN)))
        cycle = self._issue_cycle(builder, form, operands)
        following = builder.add(pc, WORD(4 * form.words))
        issue = Issue(
            self._memory,
            pc,
            cycle,
            following,
            self._stop,
            self._read_register,
            self._read_csr,
            self._check_writable,
        )
        ways: list[tuple[Any, list[bool]]] = [(builder.block, [])]
        while ways:
            start, decisions = ways.pop()
            machine = SupervisorMachine(ir.IRBuilder(start), issue, decisions, ways)
            try:
                MEANINGS[form.mnemonic](machine, *operands)
            except LeftToPython:
                machine.builder.branch(self._stop)
                continue
            self._commit(machine, form, operands)
        return block

    def _require_second_word(self, builder: ir.IRBuilder, pc: Emitted) -> None:
        self._require(builder, is_executable(builder, builder.add(pc, WORD(4))))
        odd = builder.and_(pc, WORD(7))
        self._require(builder, builder.icmp_unsigned("==", odd, WORD(0)))

    def _issue_cycle(
        self, builder: ir.IRBuilder, form: Form, operands: Sequence[RuntimeOperand]
    ) -> Emitted:
        """When the instruction issues; the loop ends if that is not before the limit."""
        cycle = builder.load(self._supervisor, typ=LONG)
        for place in self._resources(builder, form, operands, reads=True):
            cycle = intrinsic(builder, "umax", cycle, builder.load(place, typ=LONG))
        cycle = self._free_slot(builder, cycle)
        is_before = builder.icmp_unsigned("<", cycle, self._limit)
        self._require(builder, is_before, otherwise=self._beyond)
        return cycle

    def _free_slot(self, builder: ir.IRBuilder, cycle: Emitted) -> Emitted:
        """The first cycle from `cycle` on whose slot is no worker's; there must be one."""
        before = builder.block
        search, done = (self._function.append_basic_block() for _ in range(2))
        is_alone = builder.icmp_unsigned("==", self._busy, WORD(0))
        builder.cbranch(is_alone, done, search).set_weights(_LIKELY)
        builder.position_at_end(search)
        tried = builder.phi(LONG)
        tried.add_incoming(cycle, before)
        slot = builder.trunc(builder.urem(tried, LONG(timing.SLOTS)), WORD)
        is_busy = builder.trunc(builder.lshr(self._busy, slot), BIT)
        tried.add_incoming(builder.add(tried, LONG(1)), search)
        builder.cbranch(is_busy, search, done)
        builder.position_at_end(done)
        found = builder.phi(LONG)
        found.add_incoming(cycle, before)
        found.add_incoming(tried, search)
        return found

    def _resources(
        self, builder: ir.IRBuilder, form: Form, operands: Sequence[RuntimeOperand], reads: bool
    ) -> list[Emitted]:
        """Places of the cycles from which on what the form reads or writes can be read."""
        found = []
        for each in operands:
            described = each.operand
            if described.is_register and (described.reads if reads else described.writes):
                found.append(_item(builder, self._ready, LONG, each.value))
            elif described.kind is Kind.CSR and form.mnemonic == ("get" if reads else "put"):
                index = builder.add(each.value, WORD(READY_CSR))
                found.append(_item(builder, self._ready, LONG, index))
        if reads and form.mnemonic in ("ld64putcs", "ld128putcs"):
            found.append(_item(builder, self._ready, LONG, WORD(READY_CSR + _WEIGHT_ADDRESS)))
        return found

    # -- registers ----------------------------------------------------------------------------

    def _read_register(self, builder: ir.IRBuilder, number: Emitted) -> Emitted:
        return builder.load(_item(builder, self._m, WORD, number), typ=WORD)

    def _read_csr(self, machine: SupervisorMachine, index: Emitted) -> Emitted:
        builder = machine.builder
        cycle = machine.issue.cycle
        is_low = builder.icmp_unsigned("==", index, WORD(_COUNTER_LOW))
        is_high = builder.icmp_unsigned("==", index, WORD(_COUNTER_HIGH))
        is_storage = builder.icmp_unsigned("!=", self._mask(builder, index), WORD(0))
        machine.check(builder.or_(is_storage, builder.or_(is_low, is_high)))
        stored = builder.load(self._csr(machine.builder, index), typ=WORD)
        low, high = (builder.trunc(each, WORD) for each in (cycle, builder.lshr(cycle, LONG(32))))
        builder = machine.builder
        return builder.select(is_low, low, builder.select(is_high, high, stored))

    def _check_writable(self, machine: SupervisorMachine, index: Emitted) -> None:
        mask = self._mask(machine.builder, index)
        machine.check(machine.builder.icmp_unsigned("!=", mask, WORD(0)))

    def _mask(self, builder: ir.IRBuilder, index: Emitted) -> Emitted:
        """The bits of a CSR that exist; none if it is not plain storage."""
        place = builder.gep(self._masks, [WORD(0), index], inbounds=True)
        return builder.load(place, typ=WORD)

    def _csr(self, builder: ir.IRBuilder, index: Emitted) -> Emitted:
        return _item(builder, self._field(builder, _CSR_OFFSET), WORD, index)

    # -- the end of an instruction ------------------------------------------------------------

    def _commit(
        self, machine: SupervisorMachine, form: Form, operands: Sequence[RuntimeOperand]
    ) -> None:
        """Let all writes land, take account of the time, and go on with the next instruction."""
        builder, effects, issue = machine.builder, machine.effects, machine.issue
        is_put = form.mnemonic == "put"
        if effects.events or is_put:
            self._require_room(builder)
        for number, word in effects.registers:
            exists = builder.icmp_unsigned("<", number, WORD(M_REGISTERS))
            place = builder.select(exists, number, WORD(_DISCARDED))
            builder.store(word, _item(builder, self._m, WORD, place))
        for index, word in effects.csrs:
            kept = builder.and_(word, self._mask(builder, index))
            builder.store(kept, self._csr(builder, index))
        for index, item in effects.weights:
            builder.store(item, _item(builder, self._field(builder, WEIGHTS_OFFSET), LONG, index))
        for address, value in effects.stores:
            builder.store(value, machine.place(address), align=value.type.width // 8)
        ready = builder.add(issue.cycle, LONG(timing.SUPERVISOR_LATENCY.value))
        for place in self._resources(builder, form, operands, reads=False):
            builder.store(ready, place)
        cost = WORD(timing.SUPERVISOR_ISSUE.value)
        target = issue.following
        if effects.jump is not None:
            taken = effects.jump.condition
            cost = builder.select(taken, WORD(timing.TAKEN_BRANCH.value), cost)
            target = builder.select(taken, effects.jump.target, target)
        if is_put:
            ((index, word),) = effects.csrs
            cost = self._record_put(builder, issue, index, word, cost)
        for name, arguments in effects.events:
            words = [WORD(NONE) if each is None else as_word(each) for each in arguments]
            self._record(builder, issue, name, words)
            if name in ("delay", "send"):
                cost = words[0]
        if effects.events:
            row = builder.load(self._row, typ=LONG)
            opens = builder.icmp_unsigned("==", row, LONG(AWAITS_ROW))
            builder.store(builder.select(opens, LONG(ROW_IS_OPEN), row), self._row)
        builder.store(issue.cycle, self._cycle)
        builder.store(builder.add(issue.cycle, builder.zext(cost, LONG)), self._supervisor)
        builder.store(target, self._pc)
        done = builder.load(self._instructions, typ=LONG)
        builder.store(builder.add(done, LONG(1)), self._instructions)
        builder.branch(self._head)

    def _record_put(
        self, builder: ir.IRBuilder, issue: Issue, index: Emitted, word: Emitted, cost: Emitted
    ) -> Emitted:
        """The event of a write of the exchange's registers; returns what the write costs."""
        place = builder.sub(index, WORD(_FIRST_EXCHANGE))
        count = WORD(_LAST_EXCHANGE - _FIRST_EXCHANGE + 1)
        with builder.if_then(builder.icmp_unsigned("<", place, count)):
            self._record(builder, issue, "put", [index, word])
        for base in _BASES:
            is_base = builder.icmp_unsigned("==", index, WORD(base))
            cost = builder.select(is_base, WORD(timing.BASE_WRITE.value), cost)
        return cost

    def _require_room(self, builder: ir.IRBuilder) -> None:
        most = LONG(EVENT_CAPACITY - EVENTS_PER_INSTRUCTION)
        count = builder.load(self._count, typ=LONG)
        has_room = builder.icmp_unsigned("<=", count, most)
        self._require(builder, has_room, otherwise=self._full)

    def _record(
        self, builder: ir.IRBuilder, issue: Issue, name: str, words: Sequence[Emitted]
    ) -> None:
        count = builder.load(self._count, typ=LONG)
        within = builder.mul(count, LONG(EVENT.itemsize))
        offset = builder.add(within, LONG(_offset(EXCHANGED, "events")))
        event = builder.gep(self._exchanged, [offset], source_etype=BYTE)

        def place(field: str, index: int = 0) -> Emitted:
            within = WORD(_offset(EVENT, field) + 4 * index)
            return builder.gep(event, [within], source_etype=BYTE)

        builder.store(issue.cycle, place("cycle"))
        builder.store(WORD(EVENT_NAMES.index(name)), place("kind"))
        builder.store(issue.pc, place("pc"))
        for index, word in enumerate(words):
            builder.store(word, place("arguments", index))
        builder.store(builder.add(count, LONG(1)), self._count)

    # -- inside -------------------------------------------------------------------------------

    def _require(
        self, builder: ir.IRBuilder, condition: Emitted, otherwise: Any | None = None
    ) -> None:
        """End the loop, with nothing changed, unless the condition holds."""
        onward = self._function.append_basic_block()
        branch = builder.cbranch(condition, onward, otherwise or self._stop)
        branch.set_weights(_LIKELY)
        builder.position_at_end(onward)

    def _variable(self, kind: Any, value: Emitted) -> Emitted:
        variable = self._entry.alloca(kind)
        self._entry.store(value, variable)
        return variable

    def _field(self, builder: ir.IRBuilder, offset: int) -> Emitted:
        return builder.gep(self._tile, [WORD(offset)], source_etype=BYTE)

    def _result(self, builder: ir.IRBuilder, name: str) -> Emitted:
        offset = _offset(EXCHANGED, "results") + 8 * RESULTS.index(name)
        return builder.gep(self._exchanged, [WORD(offset)], source_etype=BYTE)


def is_executable(builder: ir.IRBuilder, address: Emitted) -> Emitted:
    """As the reference's `check_code_address`: rotated, one comparison sees to it all."""
    offset = builder.sub(address, WORD(MEMORY_BASE))
    words = intrinsic(builder, "fshr", offset, offset, WORD(2))
    return builder.icmp_unsigned("<", words, WORD((EXECUTABLE_END - MEMORY_BASE) >> 2))


def ends_row(form: Form) -> bool:
    """Whether the form cannot belong to a row, as in the reference."""
    return form.mnemonic == "get" or form.mnemonic.startswith(("ld", "st"))


LEFT_TO_PYTHON = ("trap", "run", "runall", "sync", "sans")
"""What concerns workers or other tiles."""


def executed_forms() -> list[Form]:
    """The forms that compiled code executes, as long as they do not fault."""
    found = [form for form in FORMS if form.mode.allows(Mode.SUPERVISOR)]
    forms = [form for form in found if form.mnemonic not in LEFT_TO_PYTHON]
    for form in forms:
        registers = [each for each in form.operands if each.is_register]
        assert all((each.file, each.count) == ("m", 1) for each in registers)
    return forms


def _has_opcode(form: Form, opcode: int) -> bool:
    """Whether words with `opcode` in bits 31:24 can be of the form, outside bundles."""
    if opcode >> 7 and not form.is_solo:
        return False
    return (opcode << _OPCODE_SHIFT ^ form.base) & form.mask >> _OPCODE_SHIFT << _OPCODE_SHIFT == 0


def _csr_masks(module: ir.Module) -> Emitted:
    """For each index the bits that exist in a CSR that is plain storage, else 0."""
    kind = ir.ArrayType(WORD, _CSR_NUMBERS)
    masks = [0] * _CSR_NUMBERS
    for index, name in _STORAGE.items():
        masks[index] = WRITABLE_BITS.get(name, 0xFFFF_FFFF)
    table = ir.GlobalVariable(module, kind, name="csr_masks")
    table.global_constant = True
    table.linkage = "internal"
    table.initializer = ir.Constant(kind, masks)
    return table


def _item(builder: ir.IRBuilder, array: Emitted, kind: Any, index: Emitted) -> Emitted:
    wide = builder.zext(index, LONG)
    return builder.gep(array, [wide], source_etype=kind)
