"""Tiles in compiled code, as LLVM IR: turns of supervisors and of workers, in order of cycles.

The function is

    run(states, memory, schedules, tiles, count, limit, translations, mask)

with addresses of the records of all tiles, of their memory, and of the numbers of `count` tiles,
and a table of translations with the mask of its places. Each of the tiles runs up to cycle `limit`,
a barrier, the end of a row, or something that is left to Python; its schedule tells which it was
(`Ending`).

The supervisor goes through its interpreter loop up to the cycle in which a worker is due. A worker
whose code has been translated runs to its end when it is first due, and what it did counts from
then on (`data-race`); its exit takes effect in the cycle in which it would have come to it.
"""

from typing import Any

from llvmlite import ir

from tilewright.emulator.llvm.frame import ENTRY_NAME, Reason
from tilewright.emulator.llvm.lanes import BIT, BYTE, LONG, POINTER, WORD, Emitted
from tilewright.emulator.llvm.lanes import same_type_intrinsic as intrinsic
from tilewright.emulator.llvm.layout import OFFSETS, WORKER_SIZE, WORKERS_OFFSET
from tilewright.emulator.llvm.supervisor_loop import emit_loop
from tilewright.emulator.llvm.supervisor_machine import is_executable
from tilewright.emulator.llvm.translations import CONTROLS, TRANSLATION
from tilewright.emulator.records import SCHEDULE, Ahead, Ending
from tilewright.emulator.state import SUPERVISOR, TILE
from tilewright.target import timing
from tilewright.target.csr import CSRS
from tilewright.target.geometry import MEMORY_SIZE, WORKERS

_PARAMETERS = [POINTER, POINTER, POINTER, POINTER, LONG, LONG, POINTER, LONG]
_TILE_PARAMETERS = [POINTER, POINTER, POINTER, LONG, POINTER, LONG]
_WORKER_PARAMETERS = [POINTER, POINTER, POINTER, WORD, LONG, LONG, POINTER]
_ALL_BUSY = (1 << WORKERS) - 1
_NEVER = (1 << 64) - 1


def _offset(kind: Any, name: str) -> int:
    return int(kind.fields[name][1])


_STATUS = _offset(TILE, "supervisor") + _offset(SUPERVISOR, "csr") + 4 * CSRS["SSR"].index


def build_tiles() -> ir.Module:
    """The module that holds the function."""
    module = ir.Module(name="tiles")
    of_tile = _Turns(module, emit_loop(module)).emit()
    function = ir.Function(module, ir.FunctionType(WORD, _PARAMETERS), name=ENTRY_NAME)
    function.attributes.add("nounwind")
    states, memory, schedules, tiles, count, limit, table, mask = function.args
    entry, head, body, done = (function.append_basic_block() for _ in range(4))
    ir.IRBuilder(entry).branch(head)
    builder = ir.IRBuilder(head)
    place = builder.phi(LONG)
    place.add_incoming(LONG(0), entry)
    builder.cbranch(builder.icmp_unsigned("<", place, count), body, done)
    builder = ir.IRBuilder(body)
    number = builder.load(builder.gep(tiles, [place], source_etype=WORD), typ=WORD)
    tile = builder.zext(number, LONG)
    sizes = ((states, TILE.itemsize), (memory, MEMORY_SIZE), (schedules, SCHEDULE.itemsize))
    records = [
        builder.gep(array, [builder.mul(tile, LONG(size))], source_etype=BYTE)
        for array, size in sizes
    ]
    builder.call(of_tile, [*records, limit, table, mask])
    place.add_incoming(builder.add(place, LONG(1)), body)
    builder.branch(head)
    ir.IRBuilder(done).ret(WORD(0))
    return module


class _Turns:
    """The function for one tile, under construction. Between blocks, values are in variables."""

    def __init__(self, module: ir.Module, supervise: ir.Function) -> None:
        kind = ir.FunctionType(ir.VoidType(), _TILE_PARAMETERS)
        self._function = ir.Function(module, kind, name="run_tile")
        self._function.linkage = "internal"
        self._function.attributes.add("nounwind")
        self._supervise = supervise
        self._tile, self._memory, self._schedule, self._limit, self._table, self._mask = (
            self._function.args
        )
        entry = self._block("entry")
        self._head, self._turn = self._block("head"), self._block("turn")
        builder = ir.IRBuilder(entry)
        self._due = builder.alloca(LONG)
        self._worker = builder.alloca(WORD)
        self._steps = builder.alloca(LONG)
        self._count = builder.alloca(LONG)
        self._place = builder.alloca(LONG)
        self._index = builder.alloca(LONG)
        builder.branch(self._head)

    def emit(self) -> ir.Function:
        self._emit_head()
        self._emit_turn()
        return self._function

    # -- whose turn it is ---------------------------------------------------------------------

    def _emit_head(self) -> None:
        """Let the supervisor go on, if it can, up to the cycle in which a worker is due."""
        builder = ir.IRBuilder(self._head)
        busy = self._load(builder, "busy", WORD)
        awaits = builder.icmp_unsigned("!=", self._load(builder, "awaits_workers", WORD), WORD(0))
        none_left = builder.icmp_unsigned("==", busy, WORD(0))
        with builder.if_then(builder.and_(awaits, none_left)):
            self._end_wait(builder)
        self._find_next(builder, busy)
        is_blocked = builder.or_(
            builder.and_(awaits, builder.not_(none_left)),
            builder.icmp_unsigned("==", busy, WORD(_ALL_BUSY)),
        )
        goes_on = self._block("supervisor")
        builder.cbranch(is_blocked, self._turn, goes_on)
        builder = ir.IRBuilder(goes_on)
        until = intrinsic(builder, "umin", self._limit, builder.load(self._due, typ=LONG))
        builder.call(self._supervise, [self._tile, self._memory, self._schedule, until])
        done = self._block("done")
        ending = self._load(builder, "ending", WORD)
        switch = builder.switch(ending, done)
        switch.add_case(WORD(Ending.LIMIT), self._turn)
        switch.add_case(WORD(Ending.LAUNCHED), self._head)
        ir.IRBuilder(done).ret_void()

    def _end_wait(self, builder: ir.IRBuilder) -> None:
        """All workers have come to a local barrier."""
        own = builder.add(self._load(builder, "synced_at", LONG), LONG(timing.SYNC.value))
        exit_cycle = self._load(builder, "last_exit", LONG)
        free = builder.add(exit_cycle, LONG(timing.WORKER_EXIT.value))
        known = self._load(builder, "supervisor", LONG)
        end = intrinsic(builder, "smax", known, intrinsic(builder, "smax", own, free))
        self._store(builder, "supervisor", end)
        self._store(builder, "awaits_workers", WORD(0))

    def _find_next(self, builder: ir.IRBuilder, busy: Emitted) -> None:
        """The worker that is due next, and when; never if none is busy."""
        first, which = LONG(_NEVER), WORD(0)
        for worker in range(WORKERS):
            is_busy = builder.trunc(builder.lshr(busy, WORD(worker)), BIT)
            cycle = builder.load(self._of_worker(builder, "due", WORD(worker), 8), typ=LONG)
            is_first = builder.and_(is_busy, builder.icmp_unsigned("<", cycle, first))
            first = builder.select(is_first, cycle, first)
            which = builder.select(is_first, WORD(worker), which)
        builder.store(first, self._due)
        builder.store(which, self._worker)

    # -- a worker's turn ----------------------------------------------------------------------

    def _emit_turn(self) -> None:
        beyond, within = self._block("beyond"), self._block("within")
        builder = ir.IRBuilder(self._turn)
        cycle = builder.load(self._due, typ=LONG)
        builder.cbranch(builder.icmp_unsigned(">=", cycle, self._limit), beyond, within)
        self._emit_ending(beyond, Ending.LIMIT)
        builder = ir.IRBuilder(within)
        worker = builder.load(self._worker, typ=WORD)
        ahead = builder.load(self._of_worker(builder, "ahead", worker, 4), typ=WORD)
        starts, left = self._block("starts"), self._block("left")
        self._emit_ending(left, Ending.WORKER)
        switch = builder.switch(ahead, left)
        switch.add_case(WORD(Ahead.NONE), starts)
        for status in (Ahead.EXITS_FALSE, Ahead.EXITS_TRUE):
            ends = self._block(status.name)
            switch.add_case(WORD(status), ends)
            self._emit_exit(ir.IRBuilder(ends), is_true=status is Ahead.EXITS_TRUE)
        self._emit_start(ir.IRBuilder(starts), left)

    def _emit_ending(self, block: Any, ending: Ending) -> None:
        builder = ir.IRBuilder(block)
        self._store(builder, "ending", WORD(ending))
        builder.ret_void()

    def _emit_exit(self, builder: ir.IRBuilder, is_true: bool) -> None:
        """As the reference's `_end_worker`."""
        cycle = builder.load(self._due, typ=LONG)
        worker = builder.load(self._worker, typ=WORD)
        builder.store(cycle, self._at(builder, self._tile, _offset(TILE, "cycle")))
        if not is_true:
            place = self._at(builder, self._tile, _STATUS)
            status = builder.load(place, typ=WORD)
            builder.store(builder.and_(status, WORD(0xFFFF_FFFE)), place)
        record = self._record(builder, worker)
        builder.store(WORD(0), self._at(builder, record, OFFSETS["is_active"]))
        busy = self._load(builder, "busy", WORD)
        self._store(builder, "busy", builder.xor(busy, builder.shl(WORD(1), worker)))
        self._store(builder, "last_exit", cycle)
        builder.store(WORD(Ahead.NONE), self._of_worker(builder, "ahead", worker, 4))
        before = self._load(builder, "supervisor", LONG)
        after = intrinsic(builder, "umax", before, builder.add(cycle, LONG(1)))
        self._store(builder, "supervisor", after)
        builder.branch(self._head)

    def _emit_start(self, builder: ir.IRBuilder, left: Any) -> None:
        """Run the worker as far as it goes before the limit, and note when that takes effect."""
        builder.store(LONG(0), self._steps)
        search, found = self._block("search"), self._block("found")
        part, pauses = self._block("part"), self._block("pauses")
        onward = self._block("onward")
        builder.branch(onward)
        self._emit_search(ir.IRBuilder(onward), search, found, part)
        reason, builder = self._emit_call(ir.IRBuilder(found))
        faults = self._block("faults")
        switch = builder.switch(reason, faults)
        switch.add_case(WORD(Reason.LIMIT), pauses)
        for code, status in (
            (Reason.EXIT_FALSE, Ahead.EXITS_FALSE),
            (Reason.EXIT_TRUE, Ahead.EXITS_TRUE),
        ):
            exits = self._block(code.name)
            switch.add_case(WORD(code), exits)
            self._emit_due(ir.IRBuilder(exits), status, LONG(-1))
        goes_on = self._block("goes_on")
        switch.add_case(WORD(Reason.CONTINUE), goes_on)
        builder = ir.IRBuilder(goes_on)
        steps = builder.load(self._steps, typ=LONG)
        is_over = builder.icmp_unsigned(">=", steps, self._step_limit(builder))
        builder.cbranch(is_over, pauses, onward)
        self._emit_due(ir.IRBuilder(faults), Ahead.FAULTS, LONG(0))
        self._emit_due(ir.IRBuilder(pauses), Ahead.NONE, LONG(0))
        # There is no translation: Python goes on, now or when the worker is due again.
        builder = ir.IRBuilder(part)
        is_first = builder.icmp_unsigned("==", builder.load(self._steps, typ=LONG), LONG(0))
        builder.cbranch(is_first, left, pauses)

    def _emit_search(self, builder: ir.IRBuilder, search: Any, found: Any, missing: Any) -> None:
        """Find the translation for what the worker would execute next: `_place` is its place."""
        record = self._record(builder, builder.load(self._worker, typ=WORD))
        repeats = builder.load(self._at(builder, record, OFFSETS["repeat_count"]), typ=WORD)
        pc = builder.load(self._at(builder, record, OFFSETS["pc"]), typ=WORD)
        is_fit = builder.and_(
            builder.icmp_unsigned("==", repeats, WORD(0)), is_executable(builder, pc)
        )
        first = builder.zext(builder.lshr(pc, WORD(2)), LONG)
        builder.store(builder.and_(first, self._mask), self._place)
        builder.cbranch(is_fit, search, missing)
        builder = ir.IRBuilder(search)
        entry = self._entry(builder)
        function = self._entry_field(builder, entry, "function", LONG)
        used, other = self._block("used"), self._block("other")
        builder.cbranch(builder.icmp_unsigned("==", function, LONG(0)), missing, used)
        builder = ir.IRBuilder(used)
        is_same = builder.icmp_unsigned("==", self._entry_field(builder, entry, "pc", WORD), pc)
        for number, name in enumerate(CONTROLS):
            place = self._at(builder, entry, _offset(TRANSLATION, "controls") + 4 * number)
            expected = builder.load(place, typ=WORD)
            control = builder.load(self._at(builder, record, OFFSETS[name]), typ=WORD)
            is_same = builder.and_(is_same, builder.icmp_unsigned("==", expected, control))
        words, more = self._block("words"), self._block("more")
        builder.store(LONG(0), self._index)
        builder.cbranch(is_same, words, other)
        builder = ir.IRBuilder(words)
        index = builder.load(self._index, typ=LONG)
        size = self._entry_field(builder, entry, "size", LONG)
        builder.cbranch(builder.icmp_unsigned("<", index, size), more, found)
        builder = ir.IRBuilder(more)
        offset = self._item(builder, entry, "places", index, LONG)
        expected = self._item(builder, entry, "words", index, WORD)
        word = builder.load(builder.gep(self._memory, [offset], source_etype=WORD), typ=WORD)
        builder.store(builder.add(index, LONG(1)), self._index)
        builder.cbranch(builder.icmp_unsigned("==", word, expected), words, other)
        builder = ir.IRBuilder(other)
        following = builder.add(builder.load(self._place, typ=LONG), LONG(1))
        builder.store(builder.and_(following, self._mask), self._place)
        builder.branch(search)

    def _emit_call(self, builder: ir.IRBuilder) -> tuple[Emitted, ir.IRBuilder]:
        """Call the translation that was found, and count its steps; why it returned."""
        entry = self._entry(builder)
        address = self._entry_field(builder, entry, "function", LONG)
        kind = ir.FunctionType(WORD, _WORKER_PARAMETERS)
        function = builder.inttoptr(address, kind.as_pointer())
        steps = builder.load(self._steps, typ=LONG)
        arguments = [
            self._tile,
            self._memory,
            builder.inttoptr(self._entry_field(builder, entry, "support", LONG), POINTER),
            builder.load(self._worker, typ=WORD),
            self._cycle_after(builder, steps),
            builder.sub(self._step_limit(builder), steps),
            self._count,
        ]
        reason = builder.call(function, arguments)
        taken = builder.load(self._count, typ=LONG)
        builder.store(builder.add(steps, taken), self._steps)
        return reason, builder

    def _emit_due(self, builder: ir.IRBuilder, ahead: Ahead, steps: Emitted) -> None:
        """Note how a worker ends that has been run, and after how many steps, plus `steps`."""
        worker = builder.load(self._worker, typ=WORD)
        cycle = builder.load(self._due, typ=LONG)
        builder.store(cycle, self._at(builder, self._tile, _offset(TILE, "cycle")))
        taken = builder.add(builder.load(self._steps, typ=LONG), steps)
        due = self._of_worker(builder, "due", worker, 8)
        builder.store(self._cycle_after(builder, taken), due)
        builder.store(WORD(ahead), self._of_worker(builder, "ahead", worker, 4))
        builder.branch(self._head)

    def _step_limit(self, builder: ir.IRBuilder) -> Emitted:
        """Steps that begin before the limit."""
        left = builder.sub(self._limit, builder.load(self._due, typ=LONG))
        before = builder.udiv(builder.sub(left, LONG(1)), LONG(timing.WORKER_STEP.value))
        return builder.add(before, LONG(1))

    def _cycle_after(self, builder: ir.IRBuilder, steps: Emitted) -> Emitted:
        taken = builder.mul(steps, LONG(timing.WORKER_STEP.value))
        return builder.add(builder.load(self._due, typ=LONG), taken)

    # -- places -------------------------------------------------------------------------------

    def _block(self, name: str) -> Any:
        return self._function.append_basic_block(name)

    def _at(self, builder: ir.IRBuilder, record: Emitted, offset: int) -> Emitted:
        return builder.gep(record, [WORD(offset)], source_etype=BYTE)

    def _load(self, builder: ir.IRBuilder, name: str, kind: Any) -> Emitted:
        return builder.load(self._at(builder, self._schedule, _offset(SCHEDULE, name)), typ=kind)

    def _store(self, builder: ir.IRBuilder, name: str, value: Emitted) -> None:
        builder.store(value, self._at(builder, self._schedule, _offset(SCHEDULE, name)))

    def _of_worker(self, builder: ir.IRBuilder, name: str, worker: Emitted, size: int) -> Emitted:
        """The place of a worker's item in an array of the schedule."""
        array = self._at(builder, self._schedule, _offset(SCHEDULE, name))
        return builder.gep(array, [builder.mul(worker, WORD(size))], source_etype=BYTE)

    def _record(self, builder: ir.IRBuilder, worker: Emitted) -> Emitted:
        offset = builder.add(builder.mul(worker, WORD(WORKER_SIZE)), WORD(WORKERS_OFFSET))
        return builder.gep(self._tile, [offset], source_etype=BYTE)

    def _entry(self, builder: ir.IRBuilder) -> Emitted:
        place = builder.load(self._place, typ=LONG)
        offset = builder.mul(place, LONG(TRANSLATION.itemsize))
        return builder.gep(self._table, [offset], source_etype=BYTE)

    def _entry_field(self, builder: ir.IRBuilder, entry: Emitted, name: str, kind: Any) -> Emitted:
        return builder.load(self._at(builder, entry, _offset(TRANSLATION, name)), typ=kind)

    def _item(
        self, builder: ir.IRBuilder, entry: Emitted, name: str, index: Emitted, kind: Any
    ) -> Emitted:
        """An item of an array whose address is in a translation."""
        array = builder.inttoptr(self._entry_field(builder, entry, name, LONG), POINTER)
        return builder.load(builder.gep(array, [index], source_etype=kind), typ=kind)
