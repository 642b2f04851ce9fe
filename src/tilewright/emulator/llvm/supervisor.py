"""Runs supervisors with the compiled interpreter loop, as far as it goes without Python."""

import hashlib
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.emulator.llvm.cache import CompiledCode, ObjectCache, default_cache
from tilewright.emulator.llvm.compiler import Compiler
from tilewright.emulator.llvm.host import Host, this_host
from tilewright.emulator.llvm.layout import WEIGHTS_OFFSET
from tilewright.emulator.llvm.supervisor_events import EXCHANGED, RESULTS, timed_events
from tilewright.emulator.llvm.supervisor_loop import (
    READY_CSR,
    READY_M,
    READY_SIZE,
    Reason,
    build_loop,
)
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.tile import Resource, TimedEvent

_LAST_CYCLE = (1 << 64) - 1
_ROW = RESULTS.index("row")


@dataclass(frozen=True, slots=True)
class TileAddresses:
    """Where a tile's record and memory lie in this process; they must outlive their use."""

    state: int
    memory: int

    @classmethod
    def of(cls, state: Any, memory: TileMemory, tile_number: int) -> "TileAddresses":
        # A record has no address of its own that NumPy would tell, but its arrays have.
        start = int(state["weights"].ctypes.data) - WEIGHTS_OFFSET
        return cls(start, int(memory.bytes[tile_number].ctypes.data))


@dataclass(frozen=True, slots=True)
class SupervisorRun:
    """What a run did, beyond what is in the tile's record.

    `supervisor` is the cycle in which the supervisor may issue next, operands aside; `ready` holds
    the cycles of what can be read only later than that. If `is_left`, the next instruction is not
    for compiled code; if not, the run went up to its limit.
    """

    supervisor: int
    row: int
    ready: dict[Resource, int]
    events: list[TimedEvent]
    instructions: int
    is_left: bool


class LlvmSupervisors:
    """Runs supervisors of any tiles. Threads may share one."""

    def __init__(self, cache: ObjectCache | None = None, host: Host | None = None) -> None:
        """With a cache of its own, or for another host than this one's best."""
        host = host or this_host()
        content = _compiled_loop(default_cache() if cache is None else cache, host)
        self._loaded = Compiler(host).load(content)
        self._threads = threading.local()

    def run(
        self,
        tile: TileAddresses,
        supervisor: int,
        limit: int,
        ready: dict[Resource, int],
        row: int,
        busy: int = 0,
    ) -> SupervisorRun:
        """Execute what issues before cycle `limit`, up to what is left to Python.

        `busy` has bit n set if a worker owns slot n; one slot at least must be free. Nothing but
        the supervisor may run meanwhile.
        """
        assert busy & 0b111111 != 0b111111, "no slot is left for the supervisor"
        buffers = self._buffers()
        times, results = buffers.ready, buffers.results
        times.fill(0)
        for (file, number), cycle in ready.items():
            if cycle > supervisor:
                times[(READY_M if file == "m" else READY_CSR) + number] = cycle
        results[_ROW] = row
        events: list[TimedEvent] = []
        instructions = 0
        reason: int = Reason.FULL
        while reason == Reason.FULL:
            self._loaded.run(
                tile.state,
                tile.memory,
                buffers.ready_address,
                busy,
                supervisor,
                min(limit, _LAST_CYCLE),
                buffers.exchanged_address,
            )
            supervisor, row, count, executed, reason = results.tolist()
            instructions += executed
            if count:
                events += timed_events(buffers.events[:count])
        later = {
            _resource(place): int(times[place])
            for place in np.flatnonzero(times > supervisor).tolist()
        }
        is_left = reason == Reason.STOP
        return SupervisorRun(supervisor, row, later, events, instructions, is_left)

    def _buffers(self) -> "_Buffers":
        """One set for each thread."""
        if not hasattr(self._threads, "buffers"):
            self._threads.buffers = _Buffers.new()
        buffers: _Buffers = self._threads.buffers
        return buffers


@dataclass(frozen=True, slots=True)
class _Buffers:
    ready: NDArray[np.uint64]
    results: NDArray[np.uint64]
    events: NDArray[Any]
    ready_address: int
    exchanged_address: int

    @classmethod
    def new(cls) -> "_Buffers":
        ready = np.zeros(READY_SIZE, np.uint64)
        exchanged = np.zeros(1, EXCHANGED)
        return cls(
            ready,
            exchanged["results"][0],
            exchanged["events"][0],
            int(ready.ctypes.data),
            int(exchanged.ctypes.data),
        )


def _compiled_loop(cache: ObjectCache, host: Host) -> bytes:
    """The object file, kept under a hash of what it is compiled from."""
    module = build_loop()
    key = hashlib.sha256(f"{host.signature}\n{module}".encode()).hexdigest()[:32]
    found = cache.find(key, lambda words: True)
    if found is not None:
        return found.content
    content = Compiler(host).compile(module)
    cache.store(key, CompiledCode(content, (), {}))
    return content


def _resource(place: int) -> Resource:
    return ("m", place - READY_M) if place < READY_CSR else ("csr", place - READY_CSR)
