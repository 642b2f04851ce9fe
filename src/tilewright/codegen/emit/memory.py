"""The memory of a tile: where code may lie, and the addresses of a schedule's buffers behind it.

Code fills three regions, in this order, as far as it needs them:

    0x4c010-0x50000   entry, runtime, kernels, the tile's program
    0x54000-0x58000   more of it
    0x5c000-0x80000   still more; data begin at the next memory element

Between them lie what packets of the host fill, and what the runtime keeps. Rows of the exchange
are code, and neither they nor what is fetched ahead of them may share a memory element with what
they move: so code ends a little before the others, and data begin where an element does.

Groups of tiles start at tile 0, so tile 0 has every buffer: where they fit there, they fit on all
tiles, and one address serves all.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from tilewright.codegen.low import (
    Block,
    BufferKind,
    Lifetimes,
    RepeatStep,
    TileSchedule,
    lifetimes,
    taken_over,
)
from tilewright.codegen.low.schedule import LowStep, uses
from tilewright.codegen.mid import MemoryClass
from tilewright.codegen.mid.orders import Indices
from tilewright.codegen.mid.storage import WORD
from tilewright.codegen.place import (
    MemoryNeed,
    MemoryPolicy,
    Placement,
    PlacementError,
    Requests,
    Reservation,
    joined_aliases,
    place,
)
from tilewright.codegen.place.policy import (
    DEFAULT_CUT,
    INTERLEAVED,
    ORDINARY_HIGH,
    ORDINARY_LOW,
    Arena,
)
from tilewright.codegen.place.requests import NONE
from tilewright.elf.arenas import ENTRY_STUB_SIZE
from tilewright.target.geometry import (
    ELEMENT_SIZE,
    EXECUTABLE_END,
    LOADER_FRAME_END,
    MEMORY_BASE,
    MEMORY_END,
    REGION1_BASE,
    RUNTIME_STATE,
    SUPERVISOR_FETCH_AHEAD,
)
from tilewright.target.host import PACKET_WINDOW

Region = tuple[int, int]
"""Addresses, half open."""

CODE_REGIONS: tuple[Region, ...] = (
    (LOADER_FRAME_END + ENTRY_STUB_SIZE, PACKET_WINDOW[0] - SUPERVISOR_FETCH_AHEAD),
    (PACKET_WINDOW[1], RUNTIME_STATE[0] - SUPERVISOR_FETCH_AHEAD),
    (RUNTIME_STATE[1], EXECUTABLE_END),
)
KERNEL_STATE: Region = (RUNTIME_STATE[0] + 0x100, RUNTIME_STATE[0] + 0x1000)
"""Where variables of kernels lie: behind the completion word and counters of repeats, below the
supervisor's stack."""
FIRST_DATA = RUNTIME_STATE[1]
"""Where data begin if the code is short enough."""
_ALIGNMENT = 16
NOWHERE = -1
"""The address of a buffer that is never used, or has no memory of its own."""


def data_start(code_end: int) -> int:
    """Where data may begin behind code that ends here, with what is fetched beyond its end."""
    elements = -(-(code_end - MEMORY_BASE) // ELEMENT_SIZE)
    return max(FIRST_DATA, MEMORY_BASE + elements * ELEMENT_SIZE)


@dataclass(frozen=True, slots=True, eq=False)
class DataMemory:
    """Where data lie: the address of each buffer, or `NOWHERE`, and that of cycle samples."""

    addresses: Indices
    samples: int


def place_buffers(
    schedule: TileSchedule,
    start: int = FIRST_DATA,
    *,
    inputs: Collection[int] = (),
    samples: int = 0,
    seed: int = 0,
) -> DataMemory:
    """Addresses, `start` or beyond, for all buffers, and for so many cycle samples.

    `inputs` are source buffers that are filled before each run: they need no memory once nothing
    reads them any more. All other sources keep theirs. `seed` is that of the policy.

    Raises `PlacementError`, which tells what does not fit and what would help.
    """
    life = lifetimes(schedule)
    ordered = _in_block_order(schedule, [*_buffer_wants(schedule, life, frozenset(inputs))])
    wants = {each.id: each for each in ordered}
    if samples:
        wants[len(schedule.buffers)] = _Want(len(schedule.buffers), WORD * samples, "cycle samples")
    rows = {each: row for row, each in enumerate(wants)}
    separations = _separations(schedule, rows)
    requests = Requests.of(
        tile=np.zeros(len(wants), np.int64),
        value=np.array([*wants], np.int64),
        separations=separations,
        alias=_aliases(taken_over(schedule, life), wants, rows, separations),
        **{
            name: np.array([getattr(each, name) for each in wants.values()], np.int64)
            for name in _COLUMNS
        },
    )
    placement = _placed(requests, start, seed, lambda value: wants[value].name)
    addresses = np.full(len(schedule.buffers) + 1, NOWHERE, np.int64)
    addresses[[*wants]] = placement.address
    return DataMemory(addresses[:-1], int(addresses[-1]))


def _separations(schedule: TileSchedule, rows: Mapping[int, int]) -> list[tuple[int, int]]:
    """Pairs of requests that may share no memory element; `rows` are those of buffers.

    What is kept apart from the current block of a sequence is kept apart from all of its blocks.
    """
    blocks: dict[int, list[int]] = {}
    for buffer in schedule.buffers:
        if buffer.block is not None and buffer.id in rows:
            blocks.setdefault(buffer.block.sequence, []).append(rows[buffer.id])

    def requests(id: int) -> list[int]:
        block = schedule.buffers[id].block
        if id in rows or block is None:
            return [rows[id]] if id in rows else []
        return blocks.get(block.sequence, [])

    return [
        (first, second)
        for one, other in schedule.apart
        for first, second in product(requests(one), requests(other))
    ]


@dataclass(frozen=True, slots=True)
class _Want:
    """What one buffer asks for; residents keep it throughout."""

    id: int
    size: int
    name: str
    alignment: int = _ALIGNMENT
    tail: int = 0
    first: int = 0
    last: int = 0
    resident: bool = True
    initialised: bool = False
    need: MemoryNeed = MemoryNeed.ANY
    sequence: int = NONE


_COLUMNS = (
    "size", "alignment", "tail", "first", "last", "resident", "initialised", "need", "sequence"
)  # fmt: skip


def _buffer_wants(
    schedule: TileSchedule, life: Lifetimes, inputs: frozenset[int]
) -> Iterator[_Want]:
    """What all buffers ask for that have memory of their own and are used."""
    makers = dict(_makers(schedule.steps))
    for buffer in schedule.buffers:
        first, last = int(life.first[buffer.id]), int(life.last[buffer.id])
        if last < first or _is_current(buffer.block):
            continue
        is_kept = buffer.kind is BufferKind.SOURCE and buffer.id not in inputs
        yield _Want(
            buffer.id,
            buffer.bytes,
            f"{buffer.name} of {makers[buffer.id]}" if buffer.id in makers else buffer.name,
            max(buffer.alignment, _ALIGNMENT),
            buffer.tail,
            first,
            last,
            resident=is_kept,
            initialised=is_kept,
            need=_need(buffer.memory),
            sequence=_sequence(buffer.block),
        )


def _aliases(
    pairs: Iterable[tuple[int, int]],
    wants: Mapping[int, _Want],
    rows: Mapping[int, int],
    separations: Collection[tuple[int, int]],
) -> Indices:
    """Requests of results join those of operands, where all that are joined may lie together."""
    apart = {frozenset(pair) for pair in separations}
    members = {row: [row] for row in rows.values()}
    joined = []
    for pair in pairs:
        if any(each not in wants or wants[each].resident for each in pair):
            continue
        result, operand = (rows[each] for each in pair)
        if any(frozenset(two) in apart for two in product(members[result], members[operand])):
            continue
        together = members[operand] + members[result]
        members |= dict.fromkeys(together, together)
        joined.append((result, operand))
    return joined_aliases(len(rows), np.array(joined, np.int64).reshape(-1, 2))


def _in_block_order(schedule: TileSchedule, wants: list[_Want]) -> list[_Want]:
    """With blocks of a sequence in their own order, in the places that they have among others."""
    rows: dict[int, list[int]] = {}
    for row, want in enumerate(wants):
        if want.sequence != NONE:
            rows.setdefault(want.sequence, []).append(row)
    order = [*range(len(wants))]
    for sequence, taken in rows.items():
        number = {id: place for place, id in enumerate(schedule.sequences[sequence].blocks)}
        in_order = sorted(taken, key=lambda row: number[wants[row].id])
        for row, member in zip(taken, in_order, strict=True):
            order[row] = member
    return [wants[row] for row in order]


def _makers(steps: Iterable[LowStep]) -> Iterator[tuple[int, str]]:
    """Buffers that steps fill, with the operations; the first to fill one comes last."""
    for step in reversed([*steps]):
        if isinstance(step, RepeatStep):
            yield from _makers(step.body)
        else:
            yield from ((each, step.provenance.operation) for each in uses(step).writes)


def _placed(requests: Requests, start: int, seed: int, name: Callable[[int], str]) -> Placement:
    """With some of region 1 for what need not be interleaved, or else with all of it for both.

    Raises the first attempt's `PlacementError` if no attempt finds places.
    """
    try:
        return place(requests, _policy(start, DEFAULT_CUT, seed), name)
    except PlacementError as fault:
        try:
            return place(requests, _policy(start, MEMORY_END, seed), name)
        except PlacementError:
            raise fault from None


def _policy(start: int, cut: int, seed: int) -> MemoryPolicy:
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
        reserved=(Reservation("program", MEMORY_BASE, start),),
        seed=seed,
    )


def _is_current(block: Block | None) -> bool:
    return block is not None and block.number is None


def _sequence(block: Block | None) -> int:
    return NONE if block is None else block.sequence


def _need(memory: MemoryClass) -> MemoryNeed:
    return MemoryNeed.INTERLEAVED if memory is MemoryClass.INTERLEAVED else MemoryNeed.ANY
