"""Runs workers with translated code: translates on demand, and falls back where it cannot.

A worker that starts inside a repeat goes through the reference engine until the repeat is over.
"""

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.emulator.faults import TileFault
from tilewright.emulator.llvm.cache import CompiledCode, ObjectCache, cache_key, default_cache
from tilewright.emulator.llvm.compiler import Compiler, Loaded
from tilewright.emulator.llvm.control import FloatControl
from tilewright.emulator.llvm.frame import Reason
from tilewright.emulator.llvm.host import Host, this_host
from tilewright.emulator.llvm.layout import WEIGHTS_OFFSET
from tilewright.emulator.llvm.support import SUPPORT
from tilewright.emulator.llvm.translate import translate
from tilewright.emulator.llvm.translations import CONTROLS, Known, Translations
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.engine import Context, Issued
from tilewright.emulator.reference.fetch import check_code_address
from tilewright.emulator.reference.registers import WorkerRegisters
from tilewright.target import timing
from tilewright.target.geometry import MEMORY_BASE, MEMORY_END

UNLIMITED = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class WorkerResult:
    """How a run ended: with an exit, a fault, or, if neither is there, at the step limit.

    `steps` counts the issue slots of what was executed, an exit's included, a fault's not. The
    worker's PC is in its record: after an exit that of the instruction that follows.
    """

    steps: int
    exit_status: bool | None = None
    fault: type[TileFault] | None = None

    @property
    def at_limit(self) -> bool:
        return self.exit_status is None and self.fault is None


@dataclass(slots=True)
class _Code:
    """A loaded translation, the words that it depends on, and its table of addresses."""

    loaded: Loaded
    places: NDArray[np.int64]
    """Offsets of the words, in words from the start of tile memory."""
    words: NDArray[np.uint32]
    support: NDArray[np.uint64]
    support_address: int


class LlvmWorkers:
    """Runs workers of any tiles. Threads may share one: code is translated once for all of them."""

    def __init__(self, cache: ObjectCache | None = None, host: Host | None = None) -> None:
        """With a cache of its own, or for another host than this one's best."""
        self._host = host or this_host()
        self._compiler = Compiler(self._host)
        self._cache = default_cache() if cache is None else cache
        self._lock = threading.Lock()
        self._code: dict[tuple[int, ...], tuple[_Code, ...]] = {}
        self.translations = Translations.of([])
        """What is translated so far; another object with each that is added."""
        self._known: list[Known] = []
        self._earlier: list[Translations] = []
        """Kept, since code in other threads may be reading them."""

    def run_worker(
        self,
        tile_state: Any,
        memory: TileMemory,
        tile_number: int,
        worker: int,
        start_cycle: int = 0,
        step_limit: int = UNLIMITED,
    ) -> WorkerResult:
        """Run worker 0 to 5 from its PC until it exits or faults, or `step_limit` steps are over.

        `tile_state` is a record of `tilewright.emulator.state.TILE`. The first instruction issues
        in `start_cycle`. The limit is looked at where code branches back, so it may be exceeded by
        what lies between two such places. A fault changes nothing but ETYPE and sticky flags.

        A worker's stores to code that it runs are seen by the next run, not by this one.
        """
        record = tile_state["workers"][worker]
        run = _Run(tile_state, memory, tile_number, worker, start_cycle, step_limit)
        while True:
            if int(record["repeat_count"]):
                ended = _finish_repeat(run)
                if ended is not None:
                    return ended
            if run.steps >= step_limit:
                return WorkerResult(run.steps)
            ended = self._run_translated(run, record)
            if ended is not None:
                return ended

    def _run_translated(self, run: "_Run", record: Any) -> WorkerResult | None:
        pc = int(record["pc"])
        try:
            check_code_address(pc)
        except TileFault as fault:
            record["exception"] = fault.number
            return WorkerResult(run.steps, fault=type(fault))
        code = self._find((pc, *(int(record[name]) for name in CONTROLS)), run.words)
        reason = code.loaded.run(
            run.state_address,
            run.memory_address,
            code.support_address,
            run.worker,
            run.start_cycle + run.steps * timing.WORKER_STEP.value,
            run.step_limit - run.steps,
            run.count_address,
        )
        run.steps += run.count.value
        match reason:
            case Reason.CONTINUE:
                return None
            case Reason.LIMIT:
                return WorkerResult(run.steps)
            case Reason.EXIT_FALSE | Reason.EXIT_TRUE:
                return WorkerResult(run.steps, exit_status=reason == Reason.EXIT_TRUE)
        record["exception"] = reason - Reason.FAULT
        return WorkerResult(run.steps, fault=_FAULTS[reason - Reason.FAULT])

    # -- translations -------------------------------------------------------------------------

    def _find(self, key: tuple[int, ...], words: NDArray[np.uint32]) -> _Code:
        """The code for an address and control registers, made from what memory holds there now."""
        code = _matching(self._code.get(key, ()), words)
        if code is not None:
            return code
        with self._lock:
            code = _matching(self._code.get(key, ()), words)
            if code is None:
                code = self._load(self._compiled(key[0], FloatControl.of(*key[1:]), words))
                self._code[key] = (*self._code.get(key, ()), code)
                self._make_known(key, code)
            return code

    def _make_known(self, key: tuple[int, ...], code: _Code) -> None:
        known = Known(
            pc=key[0],
            controls=key[1:],
            function=code.loaded.address,
            support=code.support_address,
            places=int(code.places.ctypes.data),
            words=int(code.words.ctypes.data),
            size=len(code.words),
        )
        self._known.append(known)
        self._earlier.append(self.translations)
        self.translations = Translations.of(self._known)

    def _compiled(self, pc: int, control: FloatControl, words: NDArray[np.uint32]) -> CompiledCode:
        key = cache_key(pc, control, self._host)
        read_word = _reader(words)
        found = self._cache.find(
            key, lambda wanted: all(read_word(each) == word for each, word in wanted.items())
        )
        if found is not None:
            return found
        translation = translate(pc, read_word, control, self._host)
        content = self._compiler.compile(translation.module)
        code = CompiledCode(content, translation.requirements, translation.words)
        self._cache.store(key, code)
        return code

    def _load(self, code: CompiledCode) -> _Code:
        addresses = [SUPPORT.address(name) for name in code.requirements]
        support = np.array([*addresses, 0], np.uint64)
        inside = {at: word for at, word in code.words.items() if MEMORY_BASE <= at < MEMORY_END}
        return _Code(
            self._compiler.load(code.content),
            np.array([(at - MEMORY_BASE) // 4 for at in inside], np.int64),
            np.array(list(inside.values()), np.uint32),
            support,
            int(support.ctypes.data),
        )


def _matching(known: tuple[_Code, ...], words: NDArray[np.uint32]) -> _Code | None:
    for code in known:
        if (words[code.places] == code.words).all():
            return code
    return None


def _faults() -> dict[int, type[TileFault]]:
    return {fault.number: fault for fault in TileFault.__subclasses__()}


_FAULTS = _faults()


class _Run:
    """One run: what does not change in it, and the steps so far."""

    def __init__(
        self,
        tile_state: Any,
        memory: TileMemory,
        tile_number: int,
        worker: int,
        start_cycle: int,
        step_limit: int,
    ) -> None:
        self.tile_state = tile_state
        self.memory = memory
        self.tile_number = tile_number
        self.worker = worker
        self.start_cycle = start_cycle
        self.step_limit = step_limit
        self.steps = 0
        content = memory.bytes[tile_number]
        self.words: NDArray[np.uint32] = content.view(np.uint32)
        # A record has no address of its own that NumPy would tell, but its arrays have.
        self.state_address = int(tile_state["weights"].ctypes.data) - WEIGHTS_OFFSET
        self.memory_address = int(content.ctypes.data)
        self.count = ctypes.c_uint64()
        self.count_address = ctypes.addressof(self.count)


def _reader(words: NDArray[np.uint32]) -> Callable[[int], int]:
    def read_word(address: int) -> int:
        if not MEMORY_BASE <= address <= MEMORY_END - 4:
            return 0
        return int(words[(address - MEMORY_BASE) // 4])

    return read_word


def _finish_repeat(run: _Run) -> WorkerResult | None:
    """Go through the reference engine until no repeat is under way; None if the worker goes on."""
    state = run.tile_state
    record = state["workers"][run.worker]
    registers = WorkerRegisters(state, run.worker)
    context = Context(registers, state, run.memory, run.tile_number)
    cycle = int(state["cycle"])
    try:
        while int(record["repeat_count"]) and run.steps < run.step_limit:
            state["cycle"] = run.start_cycle + run.steps * timing.WORKER_STEP.value
            issued = context.issue()
            run.steps += issued_steps(issued)
            if issued.effects.exit_status is not None:
                return WorkerResult(run.steps, exit_status=issued.effects.exit_status)
    except TileFault as fault:
        return WorkerResult(run.steps, fault=type(fault))
    finally:
        state["cycle"] = cycle
    return None


def issued_steps(issued: Issued) -> int:
    """Steps of what the reference engine executed."""
    special = issued.effects.divides_special
    return max(
        timing.worker_steps(member.form.mnemonic, special_operand=special)
        for member in issued.fetched.members
    )
