"""One tile in time: six slots in rotation, workers in their own, the supervisor in what is left.

Cycle t belongs to slot t mod 6; worker n owns slot n while it is active (assumed, `slot-phase`). A
worker issues once in its slot; the supervisor issues in the first free slot in which its operands
are ready. The figures are those of `tilewright.target.timing`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import numpy as np

from tilewright.emulator import supervisor_time
from tilewright.emulator.events import EXCHANGE_CSRS, ROW_KINDS, EventArray, EventKind
from tilewright.emulator.events import NONE as NO_ARGUMENT
from tilewright.emulator.faults import OperandFault, TileFault
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.records import (
    SCHEDULE,
    RowState,
    TileRecords,
)
from tilewright.emulator.reference.effects import Launch
from tilewright.emulator.reference.engine import Context, Issued
from tilewright.emulator.reference.fetch import Decoded, check_code_address
from tilewright.emulator.reference.observing import Issue, Observer
from tilewright.emulator.reference.registers import SupervisorRegisters, WorkerRegisters
from tilewright.emulator.snapshots import SnapshotError
from tilewright.emulator.state import TILE
from tilewright.emulator.supervisor_time import Done, Resource
from tilewright.target import timing
from tilewright.target.csr import CSRS
from tilewright.target.flags import SYNC_ZONES
from tilewright.target.geometry import WORKERS
from tilewright.target.timing import SLOTS

_LOCAL = SYNC_ZONES["LOCAL"]
_STATUS = CSRS["SSR"].index
_NO_ROW, _AWAITED, _OPEN = (
    int(state) for state in (RowState.NONE, RowState.AWAITED, RowState.OPEN)
)
_ALL_BUSY = (1 << SLOTS) - 1


class Stop(Enum):
    """Why a tile stopped running."""

    SYNC = auto()
    """The supervisor waits at a barrier with other tiles or the host."""
    ROW_END = auto()
    """The supervisor has run a row of exchange code; what it does next may need what that brought.
    So words must be moved before the tile runs on. This is no wait: nothing has been issued."""
    FAULT = auto()
    """A context raised an exception."""
    LIMIT = auto()
    """The cycle limit was reached."""
    BREAK = auto()
    """The observer of the tile stopped it; it can run on."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """How a run ended. `context` is 0 for the supervisor, 1 to 6 for workers.

    `pc` is the address of the instruction at which it ended: the `sync`, the one that faulted, or
    the one before or after which an observer stopped it.
    """

    reason: Stop
    cycle: int
    context: int = 0
    pc: int = 0
    fault: TileFault | None = None
    zone: int = 0


@dataclass(frozen=True, slots=True)
class TileSnapshot:
    """A tile at a point between two issues, without its memory.

    `state` and `schedule` are bytes of the tile's records.
    """

    state: bytes
    schedule: bytes
    events: EventArray
    held: Issue | None

    @property
    def ahead(self) -> list[int]:
        """Workers whose ends compiled code knows already."""
        ahead = np.frombuffer(self.schedule, SCHEDULE)[0]["ahead"]
        return [worker for worker, end in enumerate(ahead.tolist()) if end]


class ReferenceTile:
    """A tile with its memory; `state` is laid out as `tilewright.emulator.state.TILE`.

    Its records are those of its number in `records`. `observer` watches all issues, if there is
    one.
    """

    _runs_ahead = False
    """Whether it can go on with workers that have been run ahead."""

    def __init__(
        self, memory: TileMemory, tile_number: int = 0, records: TileRecords | None = None
    ) -> None:
        self.records = records or TileRecords(len(memory.bytes))
        self.state = self.records.states[tile_number]
        self.schedule = self.records.schedules[tile_number]
        self.observer: Observer | None = None
        self._ready = self.schedule["ready"]
        self._memory = memory
        self._number = tile_number
        self._supervisor = Context(
            SupervisorRegisters(self.state, tile_number), self.state, memory, tile_number
        )
        self._workers = [
            Context(WorkerRegisters(self.state, number), self.state, memory, tile_number)
            for number in range(WORKERS)
        ]
        self._held: Issue | None = None
        """Where an observer stopped the tile; it will go past without asking again."""

    @property
    def cycle(self) -> int:
        """Cycles since the start."""
        return int(self.state["cycle"])

    @property
    def events(self) -> EventArray:
        """What the supervisor has logged, as a view of `tilewright.emulator.events.EVENT`."""
        return self.records.log(self._number)

    def run(self, limit: int) -> Stopped:
        """Run until the supervisor reaches a barrier or has run the row of exchange code after
        one, a context faults, the observer stops it, or cycle `limit`."""
        while True:
            stopped = self._go_ahead(limit)
            if stopped is not None:
                return stopped
            cycle, worker = self._next_issue()
            if cycle is None or cycle >= limit:
                return Stopped(Stop.LIMIT, limit)
            self.state["cycle"] = cycle
            context = self._supervisor if worker is None else self._workers[worker]
            if worker is None and self._row_is_open and self._ends_row():
                self.schedule["row"] = _NO_ROW
                return Stopped(Stop.ROW_END, cycle, pc=context.pc)
            pc = context.pc
            number = 0 if worker is None else worker + 1
            if self.observer is not None and self._holds(Issue(cycle, number, pc)):
                return Stopped(Stop.BREAK, cycle, number, pc)
            try:
                barrier = None
                if worker is not None:
                    issued = self._advance_worker(worker, cycle, limit)
                else:
                    issued = context.issue()
                    barrier = self._after_supervisor(issued, cycle, pc)
                breaks = (
                    self.observer is not None
                    and issued is not None
                    and self.observer.after(Issue(cycle, number, pc), issued, context.registers)
                )
                if barrier is not None:
                    return Stopped(Stop.SYNC, cycle, pc=pc, zone=barrier)
                if breaks:
                    return Stopped(Stop.BREAK, cycle, number, pc)
            except TileFault as fault:
                where = "supervisor" if worker is None else f"worker {worker}"
                place = f"{where} at pc {pc:#x}"
                return Stopped(Stop.FAULT, cycle, number, pc, fault.at(place))

    def resume(self, cycle: int) -> None:
        """Let the supervisor go on at `cycle`, past the barrier at which it stopped.

        The first row of exchange code from there on ends the next run.
        """
        self.records.resume(self._number, cycle)

    def save(self) -> TileSnapshot:
        """Everything but memory and the observer."""
        return TileSnapshot(
            self.state.tobytes(),
            self.schedule.tobytes(),
            self.events.copy(),
            self._held,
        )

    def restore(self, snapshot: TileSnapshot) -> None:
        """Go back to where a tile was. Its memory must be put back, too.

        Raises `SnapshotError` for workers that only compiled code can go on with.
        """
        if snapshot.ahead and not self._runs_ahead:
            raise SnapshotError("a snapshot of compiled workers; the reference engine has none")
        _fill(self.state, np.frombuffer(snapshot.state, TILE)[0])
        log, room = int(self.schedule["log"]), int(self.schedule["room"])
        _fill(self.schedule, np.frombuffer(snapshot.schedule, SCHEDULE)[0])
        self.schedule["log"], self.schedule["room"] = log, room
        self.records.replace_log(self._number, snapshot.events)
        self._held = snapshot.held

    # -- who issues next ----------------------------------------------------------------------

    def _go_ahead(self, limit: int) -> Stopped | None:
        """Do what need not be done one issue at a time; how the tile stopped, if it did."""
        return None

    def _next_issue(self) -> tuple[int | None, int | None]:
        """Cycle and worker of the next issue; worker None is the supervisor, cycle None nobody."""
        candidates: list[tuple[int, int | None]] = [
            (int(self.schedule["due"][worker]), worker) for worker in self._active()
        ]
        supervisor = self._supervisor_cycle()
        if supervisor is not None:
            candidates.append((supervisor, None))
        if not candidates:
            return None, None
        return min(candidates, key=lambda each: each[0])

    def _supervisor_cycle(self) -> int | None:
        """When the supervisor can issue, as far as is known now."""
        schedule = self.schedule
        if schedule["awaits_workers"]:
            if schedule["busy"]:
                return None
            schedule["awaits_workers"] = False
            after = timing.local_sync_end(int(schedule["synced_at"]), int(schedule["last_exit"]))
            schedule["supervisor"] = max(int(schedule["supervisor"]), after)
        if schedule["busy"] == _ALL_BUSY:
            return None
        supervisor = int(schedule["supervisor"])
        try:
            fetched = self._supervisor.fetched()
        except TileFault:
            return self._free_slot(supervisor)
        member = fetched.members[0]
        places = _places(member, supervisor_time.read_by(member.form))
        return self._free_slot(max([supervisor, *(int(self._ready[place]) for place in places)]))

    def _active(self) -> list[int]:
        busy = int(self.schedule["busy"])
        return [worker for worker in range(WORKERS) if busy >> worker & 1]

    @property
    def _row_is_open(self) -> bool:
        return bool(self.schedule["row"] == _OPEN)

    def _ends_row(self) -> bool:
        """Whether the supervisor's next instruction cannot belong to a row."""
        try:
            return supervisor_time.ends_row(self._supervisor.fetched().members[0].form)
        except TileFault:
            return True

    def _free_slot(self, cycle: int) -> int:
        busy = int(self.schedule["busy"])
        while busy >> cycle % SLOTS & 1:
            cycle += 1
        return cycle

    def _holds(self, issue: Issue) -> bool:
        """Whether the observer stops the tile before an issue, at which it has not done so yet."""
        assert self.observer is not None
        if issue == self._held or not self.observer.before(issue):
            return False
        self._held = issue
        return True

    # -- what follows from an issue -----------------------------------------------------------

    def _advance_worker(self, worker: int, cycle: int, limit: int) -> Issued | None:
        """Let a worker issue its next instruction, in `cycle`. Raises `TileFault`."""
        issued = self._workers[worker].issue()
        if issued.effects.exit_status is not None:
            self._end_worker(worker, issued.effects.exit_status, cycle)
            return issued
        special = issued.effects.divides_special
        steps = [
            timing.worker_steps(member.form.mnemonic, special_operand=special)
            for member in issued.fetched.members
        ]
        self.schedule["due"][worker] = cycle + timing.worker_cycles(max(steps))
        return issued

    def _end_worker(self, worker: int, status: bool, cycle: int) -> None:
        """Local consensus is the conjunction of the statuses since it was set (assumed, `lc`)."""
        csr = self.state["supervisor"]["csr"]
        csr[_STATUS] = int(csr[_STATUS]) & ~(0 if status else 1)
        self.state["workers"][worker]["is_active"] = 0
        schedule = self.schedule
        schedule["busy"] ^= 1 << worker
        schedule["last_exit"] = cycle
        # While six workers run, no time passes for the supervisor.
        schedule["supervisor"] = max(int(schedule["supervisor"]), cycle + 1)

    def _after_supervisor(self, issued: Issued, cycle: int, pc: int) -> int | None:
        """Take account of an instruction; returns the zone of a barrier that is not local."""
        schedule, effects = self.schedule, issued.effects
        member = issued.fetched.members[0]
        for place in _places(member, supervisor_time.written_by(member.form)):
            self._ready[place] = cycle + timing.SUPERVISOR_LATENCY.value
        put = None
        if member.form.mnemonic == "put":
            ((_, put, word),) = effects.csrs
            if put in EXCHANGE_CSRS:
                self.records.record(self._number, EventKind.PUT, cycle, pc, put, word)
        events = [(EventKind[name.upper()], arguments) for name, arguments in effects.events]
        for kind, arguments in events:
            words = [NO_ARGUMENT if each is None else int(each) for each in arguments]
            self.records.record(self._number, kind, cycle, pc, *words)
            if schedule["row"] == _AWAITED and kind.bit & ROW_KINDS:
                schedule["row"] = _OPEN
        if effects.launches:
            schedule["supervisor"] = cycle + timing.SUPERVISOR_ISSUE.value
            self._launch(effects.launches, cycle)
        event, arguments = events[-1] if events else (None, (None,))
        is_taken = effects.jump is not None
        done = Done(is_taken, put, bool(effects.launches), event, arguments[0])
        schedule["supervisor"] = cycle + supervisor_time.cost(done, int, int.__eq__, _choose)
        if event is not EventKind.SYNC:
            return None
        if arguments[0] == _LOCAL:
            schedule["awaits_workers"], schedule["synced_at"] = True, cycle
            return None
        return int(arguments[0])

    def _launch(self, launches: list[Launch], cycle: int) -> None:
        for launch in launches:
            active = self._active()
            worker = launch.worker
            if worker is None:
                idle = [number for number in range(WORKERS) if number not in active]
                if not idle:
                    raise OperandFault("run: all six workers are active")
                worker = idle[0]
            elif worker in active:
                raise OperandFault(f"runall: worker {worker} is active")
            if launch.vertex_base % 4:
                raise OperandFault(f"vertex base {launch.vertex_base:#x} is not aligned to 4 bytes")
            check_code_address(launch.entry)
            self._start_worker(worker, launch)
            self.schedule["due"][worker] = timing.first_worker_issue(cycle, worker)
            self.schedule["busy"] |= 1 << worker

    def _start_worker(self, worker: int, launch: Launch) -> None:
        """What a worker finds at its first instruction; everything else is as it left it."""
        csr = self.state["supervisor"]["csr"]
        state = self.state["workers"][worker]
        state["pc"] = launch.entry
        state["vertex_base"] = launch.vertex_base
        state["worker_base"] = csr[CSRS[f"WORKER{worker}_BASE"].index]
        state["float_control"] = csr[CSRS["FP_ICTL"].index]
        state["number_format"] = csr[CSRS["FP_INFMT"].index]
        state["number_scale"] = csr[CSRS["FP_ISCL"].index]
        state["float_status"] = 0
        state["is_active"] = 1


def _fill(record: Any, saved: Any) -> None:
    """Make a record what was saved, in place: contexts have views of it."""
    for name in record.dtype.names:
        record[name] = saved[name]


def _places(member: Decoded, resources: Iterable[Resource]) -> list[int]:
    """Places in a schedule's `ready`."""
    values = [bound.value for bound in member.operands]
    return [first if operand is None else first + values[operand] for first, operand in resources]


def _choose(condition: bool, one: int, other: int) -> int:
    return one if condition else other
