"""The items that reach each receiver: what is on the bus in the slots in which it listens.

A word that leaves in event W, in the direction of the route, is on the receiver's bus in slot
W + time of the route. A 64-bit item takes the lanes of its source and of the source's partner; the
first member of a pair takes it from the source's, the second from the partner's. A bus on which
nothing is gives zeros, and is a fault (`silent-bus`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.compiled import compiled, compiled_part
from tilewright.emulator.fabric.compiled_arrays import with_room
from tilewright.emulator.fabric.findings import Finding, Findings, Number, note
from tilewright.emulator.fabric.rows import PAIR_SIZE, Array, Bounds, Entry, Rows
from tilewright.target.routes import directions, times
from tilewright.target.row_events import LATE_MEMBER_DELAY, pointer_delays
from tilewright.target.topology import PARTNER_BIT

SILENCE = -1
"""Stands for the send that items of a silent bus come from."""

ARRIVAL = np.dtype(
    [(name, np.int64) for name in "receiver slot point items size send first direction pc".split()]
)
"""Items in consecutive slots of a receiver, the first in slot `slot`.

They are items `first` to `first + items - 1` of send number `send`, of `size` bytes each, or
`SILENCE`, whose size is 0 here. The address of the first is that of the cursor at event `point`.
`direction` is that of the route, `pc` the instruction that selected the source.
"""

_HALF = np.dtype(
    [(name, np.int64) for name in "receiver send first end time direction delay pc".split()]
)
"""Items `first` to `end` (exclusive) of a 64-bit send, as one member of a pair samples them."""

_RANGE = np.dtype([("start", np.int64), ("end", np.int64)])
"""Of slots, `end` exclusive."""


class _Routes(NamedTuple):
    """Of the source that each interval selects, to its receiver."""

    time: NDArray[np.int32]
    partner_time: NDArray[np.int32]
    direction: NDArray[np.int32]
    delay: NDArray[np.int32]


def arrivals(rows: Rows, intervals: Array, found: Findings) -> tuple[Array, Bounds, Findings]:
    """What receivers take in, each in order of the events in which it gets its addresses.

    Silent slots and items of the wrong size are added to the findings; silent slots give items of
    zeros.
    """
    routes = _routes(intervals)
    arrived, halves, found = _hear_all(
        intervals,
        routes.time,
        routes.partner_time,
        routes.direction,
        routes.delay,
        rows.sends,
        rows.send_bounds,
        found,
    )
    if len(halves):
        halves = halves[_by_pair(halves, len(rows.sends))]
        arrived, found = _join_all(halves, rows.sends, arrived, found)
    if not _is_in_order(arrived):
        arrived = arrived[np.lexsort((arrived["point"], arrived["receiver"]))]
    counts = np.bincount(arrived["receiver"], minlength=len(rows.rows))
    return arrived, np.concatenate([[0], np.cumsum(counts)]), found


def _routes(intervals: Array) -> _Routes:
    buses, receivers = intervals["bus"], intervals["receiver"]
    partners = receivers ^ PARTNER_BIT
    return _Routes(
        times(buses, receivers),
        times(buses, partners),
        directions(buses, receivers),
        pointer_delays(receivers),
    )


def _by_pair(halves: Array, sends: int) -> NDArray[np.int64]:
    """The order of halves by pair and send, as first heard; in each, the first member's before."""
    keys = (halves["receiver"] & ~PARTNER_BIT) * sends + halves["send"]
    _, firsts, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return np.lexsort((halves["receiver"] & PARTNER_BIT, firsts[inverse]))


@compiled
def _hear_all(
    intervals: Array,
    route_times: Array,
    partner_times: Array,
    route_directions: Array,
    delays: Array,
    sends: Array,
    send_bounds: Bounds,
    found: Findings,
) -> tuple[Array, Array, Findings]:
    """Take the items on all buses; returns what has arrived, and halves of pairs."""
    arrived = np.empty(len(intervals), ARRIVAL)
    halves = np.empty(0, _HALF)
    heard = np.empty(0, _RANGE)
    arrivals_found = halves_found = 0
    for number in range(len(intervals)):
        interval = intervals[number]
        receiver, bus = interval.receiver, interval.bus
        time, delay = np.int64(route_times[number]), np.int64(delays[number])
        direction = np.int64(route_directions[number])
        start, end = interval.start - time, interval.end - time
        ranges = 0
        for lane in (bus, bus ^ PARTNER_BIT):
            if lane >= len(send_bounds) - 1:
                continue
            place, last_place = send_bounds[lane], send_bounds[lane + 1]
            place = first_ending_after(sends, place, last_place, start)
            while place < last_place and sends[place].event < end:
                send = sends[place]
                place += 1
                is_wide = send.size == PAIR_SIZE
                if not send.directions & direction or (lane != bus and not is_wide):
                    continue
                first, last = max(start, send.event), min(end, send.event + send.items)
                slot = first + time
                heard = with_room(heard, ranges)
                ranges = _insert(heard, ranges, slot, last + time)
                if not is_wide:
                    arrived = with_room(arrived, arrivals_found)
                    _arrive(
                        arrived[arrivals_found],
                        receiver,
                        slot,
                        slot + delay,
                        last - first,
                        send.size,
                        place - 1,
                        first - send.event,
                        direction,
                        interval.pc,
                    )
                    arrivals_found += 1
                elif not interval.is_paired:
                    found = note(found, Finding.NOT_PAIRED, receiver, slot, interval.pc, send.tile)
                elif send.tile != bus ^ (receiver & PARTNER_BIT):
                    found = note(
                        found, Finding.WRONG_LANE, receiver, slot, interval.pc, send.tile, bus
                    )
                else:
                    halves = with_room(halves, halves_found)
                    half = halves[halves_found]
                    half.receiver, half.send, half.time = receiver, place - 1, time
                    half.first, half.end = first - send.event, last - send.event
                    half.direction, half.delay, half.pc = direction, delay, interval.pc
                    halves_found += 1
        # In a pair, both members count from the slot of the later one.
        is_early = interval.is_paired and time < partner_times[number]
        silent_delay = delay + LATE_MEMBER_DELAY if is_early else delay
        arrived, arrivals_found, found = _silence(
            interval, direction, silent_delay, heard[:ranges], arrived, arrivals_found, found
        )
    return arrived[:arrivals_found], halves[:halves_found], found


@compiled_part
def _silence(
    interval: Entry,
    direction: Number,
    delay: Number,
    heard: Array,
    arrived: Array,
    count: int,
    found: Findings,
) -> tuple[Array, int, Findings]:
    """Items of zeros for the slots in which nothing is heard."""
    at = interval.start
    for place in range(len(heard) + 1):
        end = heard[place].start if place < len(heard) else interval.end
        if end > at:
            found = note(
                found,
                Finding.SILENT_BUS,
                interval.receiver,
                at,
                interval.pc,
                interval.bus,
                at,
                end - 1,
            )
            arrived = with_room(arrived, count)
            _arrive(
                arrived[count],
                interval.receiver,
                at,
                at + delay,
                end - at,
                0,
                SILENCE,
                0,
                direction,
                interval.pc,
            )
            count += 1
        if place < len(heard):
            at = max(at, heard[place].end)
    return arrived, count, found


@compiled_part
def first_ending_after(sends: Array, low: int, high: int, event: int) -> int:
    """The first of a tile's sends, `low` to `high`, that goes on after the items before `event`."""
    while low < high:
        middle = (low + high) // 2
        if sends[middle].event + sends[middle].items > event:
            high = middle
        else:
            low = middle + 1
    return low


@compiled_part
def _insert(heard: Array, ranges: int, start: int, end: int) -> int:
    """Add a range of slots in order; returns how many there are."""
    place = ranges
    while place > 0 and heard[place - 1].start > start:
        heard[place] = heard[place - 1]
        place -= 1
    added = heard[place]
    added.start, added.end = start, end
    return ranges + 1


@compiled_part
def _arrive(
    arrival: Entry,
    receiver: Number,
    slot: Number,
    point: Number,
    items: Number,
    size: Number,
    send: Number,
    first: Number,
    direction: Number,
    pc: Number,
) -> None:
    arrival.receiver, arrival.slot, arrival.point = receiver, slot, point
    arrival.items, arrival.size, arrival.send, arrival.first = items, size, send, first
    arrival.direction, arrival.pc = direction, pc


@compiled
def _join_all(
    halves: Array, sends: Array, arrived: Array, found: Findings
) -> tuple[Array, Findings]:
    """Items that both members of a pair sample, each in its own slot, reach both."""
    count = len(arrived)
    start = 0
    while start < len(halves):
        receiver, send = halves[start].receiver & ~PARTNER_BIT, halves[start].send
        middle = start
        while middle < len(halves) and _is_of(halves[middle], receiver, send):
            middle += 1
        end = middle
        while end < len(halves) and _is_of(halves[end], receiver | PARTNER_BIT, send):
            end += 1
        for place in range(start, end):
            half = halves[place]
            low, high = (middle, end) if place < middle else (start, middle)
            at = half.first
            for other in range(low, high):
                first, last = max(at, halves[other].first), min(half.end, halves[other].end)
                if first >= last:
                    continue
                found = _miss(half, sends[send], at, first, found)
                later = max(half.time, halves[other].time)
                arrived = with_room(arrived, count)
                leaves = sends[send].event + first
                _arrive(
                    arrived[count],
                    half.receiver,
                    leaves + half.time,
                    leaves + later + half.delay,
                    last - first,
                    PAIR_SIZE,
                    send,
                    first,
                    half.direction,
                    half.pc,
                )
                count += 1
                at = last
            found = _miss(half, sends[send], at, half.end, found)
        start = end
    return arrived[:count], found


@compiled_part
def _is_of(half: Entry, receiver: int, send: int) -> bool:
    return bool(half.receiver == receiver and half.send == send)


@compiled_part
def _miss(half: Entry, send: Entry, first: int, end: int, found: Findings) -> Findings:
    """Items that only one member of a pair samples."""
    if first >= end:
        return found
    return note(
        found,
        Finding.NOT_BOTH,
        half.receiver,
        send.event + first + half.time,
        half.pc,
        first,
        end - 1,
        send.tile,
        half.receiver ^ PARTNER_BIT,
    )


@compiled
def _is_in_order(arrived: Array) -> bool:
    for place in range(1, len(arrived)):
        one, other = arrived[place - 1], arrived[place]
        if one.receiver > other.receiver or (
            one.receiver == other.receiver and one.point > other.point
        ):
            return False
    return True
