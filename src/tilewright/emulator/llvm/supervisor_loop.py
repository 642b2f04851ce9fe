"""The supervisor's interpreter loop as LLVM IR, made from the table and the meanings.

The function is

    supervise(tile, memory, schedule, limit)

with addresses of a tile's record, memory and schedule. It executes what the supervisor would issue
before cycle `limit`, with the cycles of the reference engine, up to a barrier, the start of workers
or the end of a row, and stops before the first instruction that is left to Python. The schedule
tells which it was (`Ending`).
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from llvmlite import ir

from tilewright.emulator.events import (
    EVENT,
    EVENT_ARGUMENTS,
    EVENTS_PER_INSTRUCTION,
    EXCHANGE_CSRS,
    NONE,
    ROW_KINDS,
    EventKind,
)
from tilewright.emulator.llvm.access import offset_in_memory
from tilewright.emulator.llvm.lanes import BIT, BYTE, LONG, POINTER, WORD, Emitted
from tilewright.emulator.llvm.lanes import same_type_intrinsic as intrinsic
from tilewright.emulator.llvm.layout import (
    OFFSETS,
    WEIGHTS_OFFSET,
    WORKER_SIZE,
    WORKERS_OFFSET,
)
from tilewright.emulator.llvm.supervisor_machine import (
    Issue,
    Launch,
    LeftToPython,
    RuntimeOperand,
    SupervisorMachine,
    as_word,
    is_executable,
    operand_value,
)
from tilewright.emulator.memory import UNWRITTEN_WORD
from tilewright.emulator.records import SCHEDULE, Ending, RowState
from tilewright.emulator.reference.registers import WRITABLE_BITS
from tilewright.emulator.state import M_REGISTERS, SUPERVISOR, TILE
from tilewright.emulator.supervisor_time import (
    Done,
    Resource,
    cost,
    ends_row,
    read_by,
    written_by,
)
from tilewright.isa import FORMS, Form, Mode
from tilewright.isa.meaning import MEANINGS
from tilewright.target import timing
from tilewright.target.csr import CSRS, Space
from tilewright.target.flags import SYNC_ZONES

_PARAMETERS = [POINTER, POINTER, POINTER, LONG]
_M_NUMBERS, _CSR_NUMBERS = 16, 256
_DISCARDED = _M_NUMBERS
"""Where writes of registers go that are read-only."""

_COUNTER_LOW, _COUNTER_HIGH = CSRS["SCOUNT_L"].index, CSRS["SCOUNT_U"].index
_NOT_STORAGE = ("PC", "TILE_ID", "SCOUNT_L", "SCOUNT_U", "SSR", "CR")
_STORAGE = {
    csr.index: csr.name
    for csr in CSRS.values()
    if csr.space in (Space.COMMON, Space.SUPERVISOR) and csr.name not in _NOT_STORAGE
}
"""Supervisor CSRs that are plain storage, by index."""
_LOCAL = SYNC_ZONES["LOCAL"]
_VARIABLES = (
    ("supervisor", LONG),
    ("row", WORD),
    ("busy", WORD),
    ("count", LONG),
    ("kinds", WORD),
    ("instructions", LONG),
)
"""Fields of a schedule that are kept in registers while the loop runs."""
_WORKER_BASE = CSRS["WORKER0_BASE"].index
_INITIAL_CONTROLS = {
    "float_control": CSRS["FP_ICTL"].index,
    "number_format": CSRS["FP_INFMT"].index,
    "number_scale": CSRS["FP_ISCL"].index,
}
"""Fields of a worker's record → CSRs of the supervisor that they start as."""
_OPCODE_SHIFT = 24
_LIKELY = [1 << 20, 1]


def _offset(kind: Any, name: str) -> int:
    return int(kind.fields[name][1])


_SUPERVISOR_OFFSET = _offset(TILE, "supervisor")
_M_OFFSET, _CSR_OFFSET, _PC_OFFSET = (
    _SUPERVISOR_OFFSET + _offset(SUPERVISOR, name) for name in ("m", "csr", "pc")
)


def emit_loop(module: ir.Module) -> ir.Function:
    """Add the function to a module."""
    return _Loop(module).emit()


class _Loop:
    """The function for one tile, under construction."""

    def __init__(self, module: ir.Module) -> None:
        kind = ir.FunctionType(ir.VoidType(), _PARAMETERS)
        self._function = ir.Function(module, kind, name="supervise")
        self._function.linkage = "internal"
        self._function.attributes.add("nounwind")
        self._tile, self._memory, self._schedule, self._limit = self._function.args
        for pointer in (self._tile, self._memory, self._schedule):
            pointer.add_attribute("noalias")
        self._masks = _csr_masks(module)
        entry = ir.IRBuilder(self._function.append_basic_block("entry"))
        self._entry = entry
        self._head = self._function.append_basic_block("head")
        self._exits = {ending: self._function.append_basic_block(ending.name) for ending in Ending}
        self._stop = self._exits[Ending.LEFT]
        self._leave = self._function.append_basic_block("leave")
        self._m = entry.alloca(WORD, WORD(_M_NUMBERS + 1))
        self._pc = self._variable(WORD, entry.load(self._field(entry, _PC_OFFSET), typ=WORD))
        cycle_place = self._field(entry, _offset(TILE, "cycle"))
        self._cycle = self._variable(LONG, entry.load(cycle_place, typ=LONG))
        self._variables = {
            name: self._variable(kind, entry.load(self._scheduled(entry, name), typ=kind))
            for name, kind in _VARIABLES
        }
        self._ready = self._scheduled(entry, "ready")
        # No worker comes to its end while the loop runs.
        self._room, self._last_exit = (
            entry.load(self._scheduled(entry, name), typ=LONG) for name in ("room", "last_exit")
        )
        self._log = entry.load(self._scheduled(entry, "log"), typ=POINTER)
        self._at = self._variable(WORD, WORD(0))
        self._ending = self._variable(WORD, WORD(Ending.LEFT))
        self._word: Emitted = None

    def emit(self) -> ir.Function:
        for number in range(_M_NUMBERS):
            word = WORD(0)
            if number < M_REGISTERS:
                place = self._field(self._entry, _M_OFFSET + 4 * number)
                word = self._entry.load(place, typ=WORD)
            self._entry.store(word, _item(self._entry, self._m, WORD, WORD(number)))
        self._entry.branch(self._head)
        self._emit_exits()
        self._emit_decoder()
        return self._function

    def _emit_exits(self) -> None:
        for ending, block in self._exits.items():
            builder = ir.IRBuilder(block)
            builder.store(WORD(ending), self._ending)
            builder.branch(self._leave)
        builder = ir.IRBuilder(self._leave)
        for number in range(M_REGISTERS):
            word = builder.load(_item(builder, self._m, WORD, WORD(number)), typ=WORD)
            builder.store(word, self._field(builder, _M_OFFSET + 4 * number))
        builder.store(builder.load(self._pc, typ=WORD), self._field(builder, _PC_OFFSET))
        cycle = builder.load(self._cycle, typ=LONG)
        builder.store(cycle, self._field(builder, _offset(TILE, "cycle")))
        for name, kind in _VARIABLES:
            word = builder.load(self._variables[name], typ=kind)
            builder.store(word, self._scheduled(builder, name))
        ending = builder.load(self._ending, typ=WORD)
        builder.store(ending, self._scheduled(builder, "ending"))
        builder.store(builder.load(self._at, typ=WORD), self._scheduled(builder, "pc"))
        builder.ret_void()

    # -- fetch and decode ---------------------------------------------------------------------

    def _emit_decoder(self) -> None:
        builder = ir.IRBuilder(self._head)
        pc = builder.load(self._pc, typ=WORD)
        builder.store(pc, self._at)
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
        cycle = self._issue_cycle(builder, form, operands)
        if ends_row(form):
            self._end_row(builder, cycle)
        following = builder.add(pc, WORD(4 * form.words))
        issue = Issue(
            self._memory,
            pc,
            cycle,
            following,
            builder.load(self._variables["busy"], typ=WORD),
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

    def _end_row(self, builder: ir.IRBuilder, cycle: Emitted) -> None:
        """End the loop before an instruction in `cycle` that cannot belong to the open row."""
        row = builder.load(self._variables["row"], typ=WORD)
        is_open = builder.icmp_unsigned("==", row, WORD(RowState.OPEN))
        ends, onward = (self._function.append_basic_block() for _ in range(2))
        builder.cbranch(is_open, ends, onward)
        builder.position_at_end(ends)
        builder.store(WORD(RowState.NONE), self._variables["row"])
        builder.store(cycle, self._cycle)
        builder.branch(self._exits[Ending.ROW_END])
        builder.position_at_end(onward)

    def _require_second_word(self, builder: ir.IRBuilder, pc: Emitted) -> None:
        self._require(builder, is_executable(builder, builder.add(pc, WORD(4))))
        odd = builder.and_(pc, WORD(7))
        self._require(builder, builder.icmp_unsigned("==", odd, WORD(0)))

    def _issue_cycle(
        self, builder: ir.IRBuilder, form: Form, operands: Sequence[RuntimeOperand]
    ) -> Emitted:
        """When the instruction issues; the loop ends if that is not before the limit."""
        cycle = builder.load(self._variables["supervisor"], typ=LONG)
        for place in self._places(builder, read_by(form), operands):
            cycle = intrinsic(builder, "umax", cycle, builder.load(place, typ=LONG))
        cycle = self._free_slot(builder, cycle)
        is_before = builder.icmp_unsigned("<", cycle, self._limit)
        self._require(builder, is_before, otherwise=self._exits[Ending.LIMIT])
        return cycle

    def _free_slot(self, builder: ir.IRBuilder, cycle: Emitted) -> Emitted:
        """The first cycle from `cycle` on whose slot is no worker's; there must be one."""
        before = builder.block
        search, done = (self._function.append_basic_block() for _ in range(2))
        busy = builder.load(self._variables["busy"], typ=WORD)
        is_alone = builder.icmp_unsigned("==", busy, WORD(0))
        builder.cbranch(is_alone, done, search).set_weights(_LIKELY)
        builder.position_at_end(search)
        tried = builder.phi(LONG)
        tried.add_incoming(cycle, before)
        slot = builder.trunc(builder.urem(tried, LONG(timing.SLOTS)), WORD)
        is_busy = builder.trunc(builder.lshr(busy, slot), BIT)
        tried.add_incoming(builder.add(tried, LONG(1)), search)
        builder.cbranch(is_busy, search, done)
        builder.position_at_end(done)
        found = builder.phi(LONG)
        found.add_incoming(cycle, before)
        found.add_incoming(tried, search)
        return found

    def _places(
        self,
        builder: ir.IRBuilder,
        resources: Iterable[Resource],
        operands: Sequence[RuntimeOperand],
    ) -> list[Emitted]:
        """Places of the cycles from which on resources can be read."""
        found = []
        for first, operand in resources:
            index = WORD(first)
            if operand is not None:
                index = builder.add(operands[operand].value, index)
            found.append(_item(builder, self._ready, LONG, index))
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
        for place in self._places(builder, written_by(form), operands):
            builder.store(ready, place)
        taken, put, target = None, None, issue.following
        if effects.jump is not None:
            taken = effects.jump.condition
            target = builder.select(taken, effects.jump.target, target)
        if is_put:
            ((put, word),) = effects.csrs
            self._record_put(builder, issue, put, word)
        for launch in effects.launches:
            self._launch(builder, issue, launch)
        event, words = None, [None]
        for event, arguments in effects.events:
            words = [WORD(NONE) if each is None else as_word(each) for each in arguments]
            self._record(builder, issue, event, words)
        done = Done(taken, put, bool(effects.launches), event, words[0])
        lasts = cost(done, WORD, partial(_is_equal, builder), builder.select)
        if any(event.bit & ROW_KINDS for event, _ in effects.events):
            self._open_row(builder)
        builder.store(issue.cycle, self._cycle)
        after = builder.add(issue.cycle, builder.zext(lasts, LONG))
        builder.store(after, self._variables["supervisor"])
        builder.store(target, self._pc)
        self._add(builder, "instructions", LONG(1))
        if event is EventKind.SYNC:
            self._wait(builder, issue, words[0], after)
        builder.branch(self._exits[Ending.LAUNCHED] if effects.launches else self._head)

    def _launch(self, builder: ir.IRBuilder, issue: Issue, launch: Launch) -> None:
        """As the reference's `_start_worker`, and when the worker is due first."""
        worker = launch.worker
        offset = builder.add(builder.mul(worker, WORD(WORKER_SIZE)), WORD(WORKERS_OFFSET))
        record = builder.gep(self._tile, [offset], source_etype=BYTE)
        base = self._csr(builder, builder.add(WORD(_WORKER_BASE), worker))
        values = {
            "pc": launch.entry,
            "vertex_base": launch.vertex_base,
            "worker_base": builder.load(base, typ=WORD),
            "float_status": WORD(0),
            "is_active": WORD(1),
        }
        for name, index in _INITIAL_CONTROLS.items():
            values[name] = builder.load(self._csr(builder, WORD(index)), typ=WORD)
        for name, value in values.items():
            builder.store(value, builder.gep(record, [WORD(OFFSETS[name])], source_etype=BYTE))
        earliest = builder.add(issue.cycle, LONG(timing.WORKER_LAUNCH.value))
        slots = LONG(timing.SLOTS)
        number = builder.zext(worker, LONG)
        turn = builder.sub(builder.add(number, slots), builder.urem(earliest, slots))
        due = builder.add(earliest, builder.urem(turn, slots))
        builder.store(due, _item(builder, self._scheduled(builder, "due"), LONG, worker))
        busy = builder.load(self._variables["busy"], typ=WORD)
        busy = builder.or_(busy, builder.shl(WORD(1), worker))
        builder.store(busy, self._variables["busy"])

    def _open_row(self, builder: ir.IRBuilder) -> None:
        row = builder.load(self._variables["row"], typ=WORD)
        opens = builder.icmp_unsigned("==", row, WORD(RowState.AWAITED))
        row = builder.select(opens, WORD(RowState.OPEN), row)
        builder.store(row, self._variables["row"])

    def _wait(self, builder: ir.IRBuilder, issue: Issue, zone: Emitted, after: Emitted) -> None:
        """End the loop at a barrier; go on after a local one if no worker is active."""
        local, others, alone, waits = (self._function.append_basic_block() for _ in range(4))
        builder.cbranch(builder.icmp_unsigned("==", zone, WORD(_LOCAL)), local, others)
        builder.position_at_end(others)
        builder.store(zone, self._scheduled(builder, "zone"))
        builder.branch(self._exits[Ending.SYNC])
        builder.position_at_end(local)
        builder.cbranch(builder.icmp_unsigned("==", issue.busy, WORD(0)), alone, waits)
        builder.position_at_end(waits)
        builder.store(WORD(1), self._scheduled(builder, "awaits_workers"))
        builder.store(issue.cycle, self._scheduled(builder, "synced_at"))
        builder.branch(self._exits[Ending.LAUNCHED])
        builder.position_at_end(alone)
        is_free = builder.add(self._last_exit, LONG(timing.WORKER_EXIT.value))
        later = intrinsic(builder, "smax", after, is_free)
        builder.store(later, self._variables["supervisor"])

    def _record_put(
        self, builder: ir.IRBuilder, issue: Issue, index: Emitted, word: Emitted
    ) -> None:
        """The event of a write of the exchange's registers."""
        place = builder.sub(index, WORD(EXCHANGE_CSRS.start))
        count = WORD(len(EXCHANGE_CSRS))
        with builder.if_then(builder.icmp_unsigned("<", place, count)):
            self._record(builder, issue, EventKind.PUT, [index, word])

    def _require_room(self, builder: ir.IRBuilder) -> None:
        count = builder.load(self._variables["count"], typ=LONG)
        needed = builder.add(count, LONG(EVENTS_PER_INSTRUCTION))
        has_room = builder.icmp_unsigned("<=", needed, self._room)
        self._require(builder, has_room, otherwise=self._exits[Ending.FULL])

    def _record(
        self, builder: ir.IRBuilder, issue: Issue, kind: EventKind, words: Sequence[Emitted]
    ) -> None:
        count = builder.load(self._variables["count"], typ=LONG)
        offset = builder.mul(count, LONG(EVENT.itemsize))
        event = builder.gep(self._log, [offset], source_etype=BYTE)

        def place(field: str, index: int = 0) -> Emitted:
            within = WORD(_offset(EVENT, field) + 4 * index)
            return builder.gep(event, [within], source_etype=BYTE)

        builder.store(issue.cycle, place("cycle"))
        builder.store(WORD(kind), place("kind"))
        builder.store(issue.pc, place("pc"))
        unused = [WORD(0)] * (EVENT_ARGUMENTS - len(words))
        for index, word in enumerate([*words, *unused]):
            builder.store(word, place("arguments", index))
        self._add(builder, "count", LONG(1))
        kinds = builder.load(self._variables["kinds"], typ=WORD)
        builder.store(builder.or_(kinds, WORD(kind.bit)), self._variables["kinds"])

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

    def _scheduled(self, builder: ir.IRBuilder, name: str) -> Emitted:
        """The place of a field of the tile's schedule."""
        return builder.gep(self._schedule, [WORD(_offset(SCHEDULE, name))], source_etype=BYTE)

    def _add(self, builder: ir.IRBuilder, name: str, number: Emitted) -> None:
        before = builder.load(self._variables[name], typ=LONG)
        builder.store(builder.add(before, number), self._variables[name])


LEFT_TO_PYTHON = ("trap",)
"""What always faults."""


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


def _is_equal(builder: ir.IRBuilder, value: Emitted, number: int) -> Emitted:
    return builder.icmp_unsigned("==", value, WORD(number))


def _item(builder: ir.IRBuilder, array: Emitted, kind: Any, index: Emitted) -> Emitted:
    wide = builder.zext(index, LONG)
    return builder.gep(array, [wide], source_etype=kind)
