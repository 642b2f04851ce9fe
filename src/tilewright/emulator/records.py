"""What both engines read and write of tiles, in fixed layouts: registers, schedules, event logs."""

from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.emulator.events import EVENT, EVENTS_PER_INSTRUCTION, EventArray, EventKind
from tilewright.emulator.state import TILE
from tilewright.target.geometry import WORKERS
from tilewright.target.timing import SLOTS

_M_NUMBERS, _CSR_NUMBERS = 16, 256
READY_M, READY_CSR, READY_SIZE = 0, _M_NUMBERS, _M_NUMBERS + _CSR_NUMBERS
"""Places of registers and CSRs in the array of cycles from which on they can be read."""


class RowState(IntEnum):
    """Where the supervisor is between a barrier and the end of the row of exchange code after it.

    The row ends before the first instruction that may depend on what it has brought (`row-end`).
    """

    NONE = 0
    AWAITED = 1
    OPEN = 2


class Ahead(IntEnum):
    """How a worker ends in the cycle in which it is due, after compiled code has run it ahead."""

    NONE = 0
    """It has not ended yet, or has not been run ahead."""
    EXITS_FALSE = 1
    EXITS_TRUE = 2
    FAULTS = 3


class Ending(IntEnum):
    """Why the compiled interpreter loop ended."""

    LEFT = 0
    """The supervisor's next instruction is left to Python."""
    LIMIT = 1
    FULL = 2
    """There is no more room for events."""
    SYNC = 3
    """The supervisor waits at a barrier."""
    ROW_END = 4
    LAUNCHED = 5
    """Workers have been started; it goes on at once."""
    WORKER = 6
    """The turn of the worker that is due next is left to Python."""


SCHEDULE = np.dtype(
    [
        ("supervisor", np.uint64),
        ("last_exit", np.int64),
        ("synced_at", np.int64),
        ("due", np.uint64, WORKERS),
        ("ahead", np.uint32, WORKERS),
        ("row", np.uint32),
        ("busy", np.uint32),
        ("awaits_workers", np.uint32),
        ("kinds", np.uint32),
        ("log", np.uint64),
        ("room", np.uint64),
        ("count", np.uint64),
        ("ending", np.uint32),
        ("pc", np.uint32),
        ("zone", np.uint32),
        ("instructions", np.uint64),
        ("ready", np.uint64, READY_SIZE),
    ],
    align=True,
)
"""When a tile's supervisor may issue next, and what it has logged.

`supervisor` is that cycle, operands aside; `ready` has the cycles from which on registers can be
read. `row` is a `RowState`. `busy` has bit n set if worker n owns its slot; `due` has the cycles in
which workers issue next, `ahead` an `Ahead` for each. `last_exit` is the cycle of the last exit of
one. `awaits_workers` is set by a local barrier, in cycle `synced_at`, until all have come to it.

`log` is the address of the events, of which there are `count`, with room for `room`; `kinds` has
the bits of their kinds (since it was last cleared). `ending` tells why the compiled loop ended
last, `pc` at which instruction, `zone` at which barrier; `instructions` counts what it has
executed.
"""

_FIRST_ROOM = 1024
"""Events of a tile for which there is room from the start. It is doubled when it is full.

Most tiles stay within it, whose logs are gathered together; memory is taken when it is written."""

_EVENT_NUMBERS = EVENT.itemsize // 8

Tiles: TypeAlias = NDArray[np.uint32]
"""Numbers of tiles, in ascending order."""


class TileRecords:
    """The records of `tiles` tiles, as arrays `states` of `TILE` and `schedules` of `SCHEDULE`."""

    def __init__(self, tiles: int) -> None:
        self.states = np.zeros(tiles, TILE)
        self.schedules = np.zeros(tiles, SCHEDULE)
        self._rooms = np.zeros((tiles, _FIRST_ROOM), EVENT)
        self._larger: dict[int, EventArray] = {}
        self.schedules["last_exit"] = -SLOTS
        first = int(self._rooms.ctypes.data)
        self.schedules["log"] = first + self._rooms.strides[0] * np.arange(tiles, dtype=np.uint64)
        self.schedules["room"] = _FIRST_ROOM

    def reset(self, tile: int) -> None:
        """Make a tile what it is after a reset, with nothing in its log."""
        self.states[tile] = np.zeros(1, TILE)[0]
        schedule = self.schedules[tile]
        log, room = int(schedule["log"]), int(schedule["room"])
        self.schedules[tile] = np.zeros(1, SCHEDULE)[0]
        schedule["last_exit"], schedule["log"], schedule["room"] = -SLOTS, log, room

    # -- event logs ---------------------------------------------------------------------------

    def log(self, tile: int) -> EventArray:
        """The events of a tile, oldest first: a view."""
        return self._buffer(tile)[: int(self.schedules[tile]["count"])]

    def record(self, tile: int, kind: EventKind, cycle: int, pc: int, *arguments: int) -> None:
        """Add an event to a tile's log."""
        self.make_room(tile)
        schedule = self.schedules[tile]
        event = self._buffer(tile)[int(schedule["count"])]
        event["cycle"], event["kind"], event["pc"] = cycle, kind, pc
        event["arguments"] = 0
        event["arguments"][: len(arguments)] = arguments
        schedule["count"] += 1
        schedule["kinds"] |= kind.bit

    def replace_log(self, tile: int, events: EventArray) -> None:
        """Make `events` all that a tile has logged."""
        while int(self.schedules[tile]["room"]) < len(events):
            self._grow(tile)
        self._buffer(tile)[: len(events)] = events
        self.schedules[tile]["count"] = len(events)

    def make_room(self, tile: int) -> None:
        """See to it that the events of one more instruction can be recorded."""
        schedule = self.schedules[tile]
        if int(schedule["count"]) + EVENTS_PER_INSTRUCTION > int(schedule["room"]):
            self._grow(tile)

    def gather(
        self, tiles: Tiles, first: NDArray[np.int64]
    ) -> tuple[EventArray, NDArray[np.int64]]:
        """The events of tiles one after the other, each tile's from its `first` one on.

        Returns them, and where those of each tile begin, with the end as the last entry.
        """
        counts = self.schedules["count"][tiles].astype(np.int64) - first
        bounds = np.concatenate([[0], np.cumsum(counts)])
        events = np.empty(int(bounds[-1]), EVENT)
        is_small = self.schedules["room"][tiles] == _FIRST_ROOM
        self._gather_small(
            events, tiles[is_small], first[is_small], counts[is_small], bounds[:-1][is_small]
        )
        for index in np.flatnonzero(~is_small & (counts > 0)).tolist():
            log = self.log(int(tiles[index]))
            events[bounds[index] : bounds[index + 1]] = log[first[index] :]
        return events, bounds

    def _gather_small(
        self,
        events: EventArray,
        tiles: Tiles,
        first: NDArray[np.int64],
        counts: NDArray[np.int64],
        starts: NDArray[np.int64],
    ) -> None:
        """Put what tiles have in their first rooms into `events`, each tile's from its start on."""
        skipped = np.cumsum(counts) - counts
        places = np.arange(int(counts.sum()))
        sources = places + np.repeat(tiles * np.int64(_FIRST_ROOM) + first - skipped, counts)
        # As rows of numbers, which are copied faster than records.
        taken = np.take(self._rooms.view(np.uint64).reshape(-1, _EVENT_NUMBERS), sources, axis=0)
        if len(taken) == len(events):
            events[:] = taken.view(EVENT)[:, 0]
        else:
            events[places + np.repeat(starts - skipped, counts)] = taken.view(EVENT)[:, 0]

    def _buffer(self, tile: int) -> EventArray:
        larger = self._larger.get(tile)
        return self._rooms[tile] if larger is None else larger

    def _grow(self, tile: int) -> None:
        old = self._buffer(tile)
        larger = np.zeros(2 * len(old), EVENT)
        larger[: len(old)] = old
        self._larger[tile] = larger
        schedule = self.schedules[tile]
        schedule["log"], schedule["room"] = int(larger.ctypes.data), len(larger)

    # -- barriers -----------------------------------------------------------------------------

    def resume(self, tiles: Tiles | int, cycle: Any) -> None:
        """Let supervisors go on at a cycle, past the barriers at which they stopped.

        The first row of exchange code from there on will end where what follows may depend on it.
        """
        self.schedules["supervisor"][tiles] = cycle
        self.await_row(tiles)

    def await_row(self, tiles: Tiles | int) -> None:
        """Stop tiles where what follows their next row of exchange code may depend on it."""
        self.schedules["row"][tiles] = RowState.AWAITED

    def clear_logs(self, tiles: Tiles) -> None:
        """Forget what tiles have logged."""
        self.schedules["count"][tiles] = 0
