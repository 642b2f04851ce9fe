"""Everything about the host of a program: the plan for the host, tables and code for the tiles."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from tilewright.codegen.host.columns import Ints
from tilewright.codegen.host.command import command_piece
from tilewright.codegen.host.faults import HostError
from tilewright.codegen.host.packets import MOST_SENT
from tilewright.codegen.host.pages import DATA_START, in_host_memory
from tilewright.codegen.host.parts import Parts, fetched_parts, sent_parts
from tilewright.codegen.host.phases import HostPhase, host_phase
from tilewright.codegen.host.pieces import Pieces, cut_fetched, cut_sent, staging_room
from tilewright.codegen.host.plan import CallPieces, HostCall, host_plan
from tilewright.codegen.host.spreading import spread
from tilewright.codegen.host.tables import Tables, packets, tables
from tilewright.exchange import Rows, encode, schedule
from tilewright.package import HostPlan
from tilewright.target.host import HOST_PAGE, HOST_SPACE


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

    All calls begin with the phase `command`, which brings the command word to the tile that asks
    for it; `calls` are those of `plan_exchange`, in its order. `tables` are loaded with the images.
    """

    plan: HostPlan
    tables: Tables
    command: HostPhase
    calls: tuple[CallPhases, ...]


def plan_exchange(calls: Sequence[HostCall], *, host_memory: int = HOST_SPACE) -> HostExchange:
    """How calls exchange what they send and fetch, in as few batches as memory allows.

    `host_memory` is how many bytes of the host they may use. Raises `HostError` for shards that
    cannot be exchanged, or more than there is memory for.
    """
    limit = min(host_memory, HOST_SPACE) // HOST_PAGE * HOST_PAGE
    spreading = [spread(sent_parts(call.sent)) for call in calls]
    fetched = [_fetched(fetched_parts(call.fetched), limit - DATA_START) for call in calls]
    command = command_piece(0)
    straight = [command, *fetched]
    room = staging_room([each.sent for each in spreading], straight, sum(map(_batches, straight)))
    cut = [
        _call_pieces(each.sent, back, room, limit)
        for each, back in zip(spreading, fetched, strict=True)
    ]
    listed, is_sending = [command], [True]
    for each in cut:
        listed.append(each.from_batch(len(is_sending)))
        is_sending += [True] * each.sent + [False] * each.fetched
    pieces = Pieces.joined(listed)
    found = packets(pieces, np.array(is_sending))
    table = tables(found, len(is_sending))
    phases = (host_phase(found, table, batch, pieces) for batch in range(len(is_sending)))
    return HostExchange(
        host_plan(calls, cut),
        table,
        next(phases),
        tuple(
            CallPhases(
                tuple(islice(phases, of_call.sent)),
                None if each.phase is None else encode(schedule(each.phase)),
                tuple(islice(phases, of_call.fetched)),
            )
            for each, of_call in zip(spreading, cut, strict=True)
        ),
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


def _call_pieces(sent: Parts, fetched: Pieces, room: Ints, limit: int) -> CallPieces:
    """The pieces of a call with their places in host memory, up to `limit`.

    Batches lie behind each other if there is room for all, else each takes the place of the last.
    """
    there = cut_sent(sent, room)
    count = _batches(there), _batches(fetched)
    pieces = Pieces.joined([there, replace(fetched, batch=fetched.batch + count[0])])
    listed = [pieces[pieces.batch == batch] for batch in range(sum(count))]
    for follows in (True, False):
        start, last, placed = DATA_START, DATA_START, [Pieces.none()]
        for each in listed:
            put, end = in_host_memory(each, start)
            placed.append(put)
            last = max(last, end)
            start = end if follows else start
        if last <= limit:
            return CallPieces(Pieces.joined(placed), *count, last)
    raise HostError(f"a batch takes {last:,} bytes of host memory, of which there are {limit:,}")
