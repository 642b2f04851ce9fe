"""Addresses of a schedule's buffers.

Groups of tiles start at tile 0, so tile 0 has every buffer: where they fit there, they fit on all
tiles, and one address serves all.
"""

from collections.abc import Callable

import numpy as np

from tilewright.codegen.low import Block, BufferKind, TileSchedule, lifetimes
from tilewright.codegen.mid import MemoryClass
from tilewright.codegen.mid.orders import Indices
from tilewright.codegen.place import (
    MemoryNeed,
    MemoryPolicy,
    Placement,
    PlacementError,
    Requests,
    Reservation,
    place,
)
from tilewright.codegen.place.policy import (
    DEFAULT_CUT,
    INTERLEAVED,
    ORDINARY_HIGH,
    ORDINARY_LOW,
    Arena,
)
from tilewright.target.geometry import MEMORY_BASE, MEMORY_END, REGION1_BASE, RUNTIME_STATE

CODE_LIMIT = RUNTIME_STATE[0]
"""Kernels, programs with their rows lie below; behind it is what the runtime keeps."""
NOWHERE = -1
"""The address of a buffer that is never used, or has no memory of its own."""


def place_buffers(schedule: TileSchedule) -> Indices:
    """The address of each buffer, or `NOWHERE`.

    Raises `PlacementError`, which tells what does not fit and what would help.
    """
    life = lifetimes(schedule)
    rows = [
        buffer.id
        for buffer in schedule.buffers
        if life.last[buffer.id] >= life.first[buffer.id] and not _is_current(buffer.block)
    ]
    buffers = [schedule.buffers[each] for each in rows]
    row_of = {each: row for row, each in enumerate(rows)}
    resident = np.array([buffer.kind is BufferKind.SOURCE for buffer in buffers])
    requests = Requests.of(
        tile=np.zeros(len(rows), np.int64),
        size=np.array([buffer.bytes for buffer in buffers], np.int64),
        alignment=np.array([max(buffer.alignment, 16) for buffer in buffers], np.int64),
        tail=np.array([buffer.tail for buffer in buffers], np.int64),
        first=life.first[rows],
        last=life.last[rows],
        resident=resident,
        initialised=resident,
        need=np.array([_need(buffer.memory) for buffer in buffers], np.int64),
        sequence=np.array([_sequence(buffer.block) for buffer in buffers], np.int64),
        value=np.array(rows, np.int64),
        separations=[
            (row_of[one], row_of[other])
            for one, other in schedule.apart
            if one in row_of and other in row_of
        ],
    )
    names = {buffer.id: buffer.name for buffer in buffers}
    placement = _placed(requests, lambda value: names[value])
    addresses = np.full(len(schedule.buffers), NOWHERE, np.int64)
    addresses[rows] = placement.address
    return addresses


def _placed(requests: Requests, name: Callable[[int], str]) -> Placement:
    """With some of region 1 for what need not be interleaved, or else with all of it for both.

    Raises the first attempt's `PlacementError` if no attempt finds places.
    """
    try:
        return place(requests, _policy(DEFAULT_CUT), name)
    except PlacementError as fault:
        try:
            return place(requests, _policy(MEMORY_END), name)
        except PlacementError:
            raise fault from None


def _policy(cut: int) -> MemoryPolicy:
    """Region 1 is one arena up to `cut`, and another behind it."""
    arenas = (
        Arena(ORDINARY_LOW, MEMORY_BASE, REGION1_BASE),
        Arena(INTERLEAVED, REGION1_BASE, cut),
        *([Arena(ORDINARY_HIGH, cut, MEMORY_END)] if cut < MEMORY_END else []),
    )
    names = [arena.name for arena in arenas]
    resident = (ORDINARY_HIGH, ORDINARY_LOW, INTERLEAVED)
    transient = (ORDINARY_LOW, INTERLEAVED, ORDINARY_HIGH)
    return MemoryPolicy(
        arenas,
        resident=tuple(each for each in resident if each in names),
        transient=tuple(each for each in transient if each in names),
        reserved=(Reservation("program", MEMORY_BASE, RUNTIME_STATE[1]),),
    )


def _is_current(block: Block | None) -> bool:
    return block is not None and block.number is None


def _sequence(block: Block | None) -> int:
    return -1 if block is None else block.sequence


def _need(memory: MemoryClass) -> MemoryNeed:
    return MemoryNeed.INTERLEAVED if memory is MemoryClass.INTERLEAVED else MemoryNeed.ANY
