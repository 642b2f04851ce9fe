"""Everything about the host of a program: the plan for the host, tables and code for the tiles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tilewright.codegen.host.command import COMMAND_OFFSET, STOP, STOP_CALL, command_piece
from tilewright.codegen.host.faults import HostError
from tilewright.codegen.host.packets import MOST_SENT
from tilewright.codegen.host.pages import (
    COMMAND_PAGE,
    DATA_START,
    in_host_memory,
    slices,
)
from tilewright.codegen.host.parts import Parts, fetched_parts, sent_parts
from tilewright.codegen.host.phases import HostPhase, host_phase
from tilewright.codegen.host.pieces import (
    Pieces,
    cut_fetched,
    cut_sent,
    joined,
    staging_room,
)
from tilewright.codegen.host.spreading import Spreading, spread
from tilewright.codegen.host.tables import Packets, Tables, packets, tables
from tilewright.exchange import Rows, encode, schedule
from tilewright.package import (
    Batches,
    Call,
    CommandWord,
    Direction,
    EntryPoint,
    Group,
    HostPlan,
    Pages,
    Shards,
)
from tilewright.target.host import HOST_PAGE, HOST_SPACE


@dataclass(frozen=True, slots=True, eq=False)
class HostCall:
    """A command of the program: what the host sends before its work, and fetches after it.

    Shards name physical tiles, and tensors by their number in the package.
    """

    name: str
    command: int
    sent: Shards = field(default_factory=Shards)
    fetched: Shards = field(default_factory=Shards)
    group: Group = Group.RUN


@dataclass(frozen=True, slots=True)
class CallPhases:
    """The phases of a call, in order: those behind the command's, and those behind the work.

    `spread` is an exchange of the chip, behind all that is `sent`: it brings to more tiles what the
    host has sent to one. None if there is no such thing.
    """

    sent: tuple[HostPhase, ...]
    spread: Rows | None
    fetched: tuple[HostPhase, ...]


@dataclass(frozen=True, slots=True, eq=False)
class HostExchange:
    """The host's side of a program, `plan`, and the tiles' side.

    `command` brings the command word to the tile that asks for it. All calls begin with that phase;
    `calls` are those of `plan_exchange`, in its order.
    """

    plan: HostPlan
    tables: Tables
    packets: Packets
    pieces: Pieces
    command: HostPhase
    calls: tuple[CallPhases, ...]


def plan_exchange(calls: Sequence[HostCall], *, host_memory: int = HOST_SPACE) -> HostExchange:
    """How calls exchange what they send and fetch, in as few batches as memory allows.

    `host_memory` is how many bytes of the host they may use. Raises `HostError` for shards that
    cannot be exchanged, or more than there is memory for.
    """
    data_end = min(host_memory, HOST_SPACE) // HOST_PAGE * HOST_PAGE
    spreading = [spread(sent_parts(call.sent)) for call in calls]
    sent = [each.sent for each in spreading]
    fetched = [_fetched(fetched_parts(call.fetched), data_end - DATA_START) for call in calls]
    command = command_piece(0)
    straight = [command, *fetched]
    room = staging_room(sent, straight, sum(_batches(each) for each in straight))
    phases, listed = 1, [command]
    is_sending, counts, page_end = [True], [], DATA_START
    for of_sent, of_fetched in zip(sent, fetched, strict=True):
        there = cut_sent(of_sent, room)
        count = (_batches(there), _batches(of_fetched))
        back = replace(of_fetched, batch=of_fetched.batch + count[0])
        placed, end = _in_host_memory(joined([there, back]), sum(count), data_end)
        listed.append(replace(placed, batch=placed.batch + phases))
        counts.append(count)
        is_sending += [True] * count[0] + [False] * count[1]
        page_end = max(page_end, end)
        phases += sum(count)
    pieces = joined(listed)
    found = packets(pieces, np.array(is_sending))
    table = tables(found, phases)
    written = [host_phase(found, table, phase, pieces) for phase in range(phases)]
    return HostExchange(
        _host_plan(calls, counts, pieces, page_end),
        table,
        found,
        pieces,
        written[0],
        tuple(_of_calls(written[1:], counts, spreading)),
    )


def _fetched(parts: Parts, room: int) -> Pieces:
    """Pieces of as few batches as `room` bytes of host memory allow."""
    pieces = cut_fetched(parts, HOST_SPACE)
    _, end = in_host_memory(pieces, 0)
    if end <= room:
        return pieces
    # Where a batch begins or ends on a tile, slots may be up to a packet longer.
    of_tile = room // len(np.unique(parts.tile)) // MOST_SENT * MOST_SENT - 2 * MOST_SENT
    return cut_fetched(parts, max(of_tile, MOST_SENT))


def _batches(pieces: Pieces) -> int:
    return int(pieces.batch.max(initial=-1)) + 1


def _in_host_memory(pieces: Pieces, batches: int, limit: int) -> tuple[Pieces, int]:
    """The pieces of a call with their places in host memory, up to `limit`, and its end.

    Batches lie behind each other if there is room for all, else each takes the place of the last.
    """
    listed = [pieces[np.flatnonzero(pieces.batch == batch)] for batch in range(batches)]
    for follows in (True, False):
        start, last, placed = DATA_START, DATA_START, [Pieces.none()]
        for each in listed:
            put, end = in_host_memory(each, start)
            placed.append(put)
            last = max(last, end)
            start = end if follows else start
        if last <= limit:
            return joined(placed), last
    raise HostError(f"a batch takes {last:,} bytes of host memory, of which there are {limit:,}")


def _of_calls(
    written: Sequence[HostPhase],
    counts: Sequence[tuple[int, int]],
    spreading: Sequence[Spreading],
) -> Iterator[CallPhases]:
    start = 0
    for (sent, fetched), each in zip(counts, spreading, strict=True):
        middle, end = start + sent, start + sent + fetched
        rows = None if each.phase is None else encode(schedule(each.phase))
        yield CallPhases(tuple(written[start:middle]), rows, tuple(written[middle:end]))
        start = end


def _host_plan(
    calls: Sequence[HostCall], counts: Sequence[tuple[int, int]], pieces: Pieces, page_end: int
) -> HostPlan:
    """Each call begins with a batch for the command, which has no slices; the last is to stop."""
    batch_call: list[int] = []
    directions: list[Direction] = []
    for number, (sent, fetched) in enumerate([*counts, (0, 0)]):
        directions += [Direction.TO_DEVICE] * (1 + sent) + [Direction.FROM_DEVICE] * fetched
        batch_call += [number] * (1 + sent + fetched)
    # The phases of the program count the command's once: before it, one more for each call.
    phase = np.cumsum([sum(count) for count in counts])
    data = pieces[np.flatnonzero(pieces.batch > 0)]
    earlier = np.searchsorted(phase, data.batch, side="left")
    data_size = page_end - DATA_START
    pages = [(0, HOST_PAGE), (DATA_START // HOST_PAGE, data_size)][: 2 if data_size else 1]
    index, size = zip(*pages, strict=True)
    return HostPlan(
        pages=Pages(index=index, size=size),
        calls=(
            *(Call(call.name, call.group) for call in calls),
            Call(STOP_CALL, Group.SAVE, ends_open=True),
        ),
        batches=Batches(call=batch_call, direction=directions),
        slices=slices(replace(data, batch=data.batch + earlier)),
        entry_points=(
            *(EntryPoint(call.name, (row,), call.command) for row, call in enumerate(calls)),
            EntryPoint(STOP_CALL, (len(calls),), STOP),
        ),
        command_word=CommandWord(COMMAND_PAGE, COMMAND_OFFSET),
    )
