"""List scheduling: which message is placed next on the timelines.

Sources take turns in the order of the moments in which they could send next, on a clock that has
no skew between tiles. The one whose turn it is looks at a few of its messages and takes one that
can leave soonest, or nearly so, and whose receivers have most left to receive.

Lanes fill and what is left to receive shrinks, so that what was found for a message when it was
looked at last is a bound for what would be found now: most need no second look.
"""

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from tilewright.compiled import compiled
from tilewright.exchange.messages import TO_ROW_END
from tilewright.exchange.phase import Ints
from tilewright.exchange.timeline import (
    NOTHING,
    Events,
    Receivers,
    Sends,
    Timeline,
    after_all,
    earliest,
    least_end,
    new_lane,
    place,
)
from tilewright.target.row_events import LATE_MEMBER_DELAY

_LOOKED_AT = 256
"""Messages of a source that are compared before one is taken."""
_TURNS_PASSED = 8
"""How often a source lets others go first before it places its message all the same."""


class Relays(NamedTuple):
    """Messages that wait: `readers[i]` waits for receiver `receivers[i]`, of message `writers[i]`.

    Sorted by writers; those of message w are entries `start[w]` to `start[w + 1]`.
    """

    start: Ints
    readers: Ints
    receivers: Ints
    waiting: Ints


class Order(NamedTuple):
    """How to choose. Messages are sorted by source, each tile's in order of preference.

    `start` tells where each tile's start. `urgency` counts in events; of messages that can leave
    within `tolerance` events of the soonest, the most urgent is taken.
    """

    start: Ints
    urgency: Ints
    tolerance: int


class Prospects(NamedTuple):
    """Bounds per message: no sooner can it leave, for all that is known; and its receivers have no
    more left to receive."""

    soonest: Ints
    pressure: Ints


class Loads(NamedTuple):
    """Per tile: items it sends, or lends its bus for, and receives in all; and those to come."""

    sent: Ints
    received: Ints
    to_send: Ints
    to_receive: Ints


@compiled
def list_schedule(
    events: Events,
    limit: int,
    sends: Sends,
    receivers: Receivers,
    relays: Relays,
    order: Order,
    skew: Ints,
) -> tuple[bool, Ints, Ints]:
    """The event in which each message leaves, and the message that kept it from leaving earlier.

    False before them if rows would not end by event `limit`, for which `events`, of all tiles, has
    room. `skew` per tile is what to add to its events to compare them with those of others.
    """
    tiles = len(events)
    state = _new_timeline(events, sends, receivers)
    messages = len(sends.source)
    first = np.zeros(messages, np.int64)
    blockers = np.full(messages, NOTHING, np.int64)
    bound = np.ones(messages, np.int64)
    bound_by = np.full(messages, NOTHING, np.int64)
    waiting = relays.waiting.copy()
    loads = _loads(tiles, sends, receivers)
    to_send, to_receive = loads.to_send, loads.to_receive
    most = np.full(messages, loads.to_receive.max(), np.int64)
    prospects = Prospects(np.zeros(messages, np.int64), most)
    following = np.full(messages, NOTHING, np.int64)
    head = np.full(tiles, NOTHING, np.int64)
    heap = [(0, 0, 0) for _ in range(0)]
    for tile in range(tiles):
        for message in range(order.start[tile + 1] - 1, order.start[tile] - 1, -1):
            following[message] = head[tile]
            head[tile] = message
        if head[tile] != NOTHING:
            heap.append((0, -int(to_send[tile]), tile))
    heapify(heap)
    passed = np.zeros(tiles, np.int64)
    asleep = np.zeros(tiles, np.bool_)
    blocker = np.full(1, NOTHING, np.int64)
    while heap:
        key, _, tile = heappop(heap)
        best, soonest = _choose(
            state,
            sends,
            receivers,
            order,
            head[tile],
            following,
            waiting,
            bound,
            prospects,
            to_receive,
        )
        if best == NOTHING:
            asleep[tile] = True
            continue
        now = soonest + int(skew[tile])
        if heap and now > heap[0][0] and passed[tile] < _TURNS_PASSED and now > key:
            passed[tile] += 1
            heappush(heap, (now, -int(to_send[tile]), tile))
            continue
        blocker[0] = bound_by[best]
        latest = limit - sends.latency[best]
        soonest = earliest(state, sends, receivers, best, bound[best], latest, blocker)
        if soonest == NOTHING:
            return False, first, blockers
        passed[tile] = 0
        place(state, sends, receivers, best, soonest)
        first[best] = soonest
        blockers[best] = blocker[0]
        _remove(head, following, tile, best)
        to_send[tile] -= sends.items[best]
        for each in range(sends.receiver_start[best], sends.receiver_start[best + 1]):
            to_receive[receivers.tile[each]] -= sends.items[best]
        if not _can_end_by(limit, state, loads, sends, receivers, best):
            return False, first, blockers
        for entry in range(relays.start[best], relays.start[best + 1]):
            reader, each = relays.readers[entry], relays.receivers[entry]
            slot = soonest + receivers.time[each]
            ready = slot + receivers.point[each] + sends.items[best] + TO_ROW_END + 1
            if ready > bound[reader]:
                bound[reader] = ready
                bound_by[reader] = best
            waiting[reader] -= 1
            source = sends.source[reader]
            if waiting[reader] == 0 and asleep[source]:
                asleep[source] = False
                ready = int(bound[reader] + skew[source])
                heappush(heap, (ready, -int(to_send[source]), int(source)))
        if head[tile] != NOTHING:
            heappush(heap, (now + int(sends.items[best]), -int(to_send[tile]), tile))
    return True, first, blockers


@compiled
def _new_timeline(events: Events, sends: Sends, receivers: Receivers) -> Timeline:
    sent = np.zeros(len(events), np.int64)
    received = np.zeros(len(events), np.int64)
    for message in range(len(sends.source)):
        sent[sends.source[message]] += 1
        if sends.partner[message] != NOTHING:
            sent[sends.partner[message]] += 1
    for each in range(len(receivers.tile)):
        received[receivers.tile[each]] += 1
    return Timeline(new_lane(sent), new_lane(received), events)


@compiled
def _loads(tiles: int, sends: Sends, receivers: Receivers) -> Loads:
    """Before anything is placed."""
    to_send = np.zeros(tiles, np.int64)
    lent = np.zeros(tiles, np.int64)
    to_receive = np.zeros(tiles, np.int64)
    for message in range(len(sends.source)):
        to_send[sends.source[message]] += sends.items[message]
        if sends.partner[message] != NOTHING:
            lent[sends.partner[message]] += sends.items[message]
        for each in range(sends.receiver_start[message], sends.receiver_start[message + 1]):
            to_receive[receivers.tile[each]] += sends.items[message]
    return Loads(to_send + lent, to_receive.copy(), to_send, to_receive)


@compiled
def _can_end_by(
    limit: int, state: Timeline, loads: Loads, sends: Sends, receivers: Receivers, message: int
) -> bool:
    """Whether what a message has left idle in lanes leaves room for all that is to come."""
    source = sends.source[message]
    if least_end(state.sends, source, int(loads.sent[source])) - 1 > limit:
        return False
    for each in range(sends.receiver_start[message], sends.receiver_start[message + 1]):
        tile = receivers.tile[each]
        end = least_end(state.receives, tile, int(loads.received[tile]))
        # Points of a tile differ by this at most.
        point = receivers.point[each] - LATE_MEMBER_DELAY
        if end + point + TO_ROW_END > limit:
            return False
    return True


@compiled
def _choose(
    state: Timeline,
    sends: Sends,
    receivers: Receivers,
    order: Order,
    head: int,
    following: Ints,
    waiting: Ints,
    bound: Ints,
    prospects: Prospects,
    to_receive: Ints,
) -> tuple[int, int]:
    """The message that a source takes, and about when it can leave: after all that is placed."""
    found = np.empty(_LOOKED_AT, np.int64)
    count, promising = 0, NOTHING
    message = head
    while message != NOTHING and count < _LOOKED_AT:
        if waiting[message] == 0:
            found[count] = message
            count += 1
            if promising == NOTHING or prospects.soonest[message] < prospects.soonest[promising]:
                promising = message
        message = following[message]
    if promising == NOTHING:
        return NOTHING, 0
    soonest = max(int(bound[promising]), after_all(state, sends, receivers, promising))
    prospects.soonest[promising] = soonest
    for entry in range(count):
        message = found[entry]
        if prospects.soonest[message] <= soonest + order.tolerance:
            event = max(int(bound[message]), after_all(state, sends, receivers, message))
            prospects.soonest[message] = event
            soonest = min(soonest, event)
    best, most = NOTHING, 0
    for entry in range(count):
        message = found[entry]
        if prospects.soonest[message] > soonest + order.tolerance:
            continue
        urgency = order.urgency[message]
        if best != NOTHING and prospects.pressure[message] + urgency <= most:
            continue
        pressure = _pressure(sends, receivers, message, to_receive)
        prospects.pressure[message] = pressure
        if best == NOTHING or pressure + urgency > most:
            best, most = message, pressure + urgency
    return int(best), int(prospects.soonest[best])


@compiled
def _pressure(sends: Sends, receivers: Receivers, message: int, to_receive: Ints) -> int:
    """What the busiest receiver of a message still has to receive."""
    most = 0
    for each in range(sends.receiver_start[message], sends.receiver_start[message + 1]):
        most = max(most, int(to_receive[receivers.tile[each]]))
    return most


@compiled
def _remove(head: Ints, following: Ints, tile: int, message: int) -> None:
    if head[tile] == message:
        head[tile] = following[message]
        return
    before = head[tile]
    while following[before] != message:
        before = following[before]
    following[before] = following[message]
