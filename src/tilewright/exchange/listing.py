"""List scheduling: which message is placed next on the timelines.

Sources take turns in the order of the moments in which they could send next, on a clock that has
no skew between tiles. The one whose turn it is looks at a few of its messages and takes one that
can leave soonest, or nearly so, and whose receivers have most left to receive.
"""

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from tilewright.compiled import compiled
from tilewright.exchange.messages import TO_ROW_END
from tilewright.exchange.phase import Ints
from tilewright.exchange.timeline import (
    NOTHING,
    Receivers,
    Sends,
    Timeline,
    after_all,
    earliest,
    new_events,
    new_lane,
    place,
)

_LOOKED_AT = 256
"""Messages of a source that are compared before one is taken."""
_TURNS_PASSED = 8
"""How often a source lets others go first before it places its message all the same."""
_EVENTS_PER_SEND, _EVENTS_PER_RECEIVE = 2, 5


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


@compiled
def list_schedule(
    tiles: int, sends: Sends, receivers: Receivers, relays: Relays, order: Order, skew: Ints
) -> tuple[Ints, Ints]:
    """The event in which each message leaves, and the message that kept it from leaving earlier.

    `skew` per tile is what to add to its events to compare them with those of others.
    """
    state = _new_timeline(tiles, sends, receivers)
    messages = len(sends.source)
    first = np.zeros(messages, np.int64)
    blockers = np.full(messages, NOTHING, np.int64)
    bound = np.ones(messages, np.int64)
    bound_by = np.full(messages, NOTHING, np.int64)
    waiting = relays.waiting.copy()
    to_send, to_receive = _pressures(tiles, sends, receivers)
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
            state, sends, receivers, order, head[tile], following, waiting, bound, to_receive
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
        soonest = earliest(state, sends, receivers, best, bound[best], blocker)
        passed[tile] = 0
        place(state, sends, receivers, best, soonest)
        first[best] = soonest
        blockers[best] = blocker[0]
        _remove(head, following, tile, best)
        to_send[tile] -= sends.items[best]
        for each in range(sends.receiver_start[best], sends.receiver_start[best + 1]):
            to_receive[receivers.tile[each]] -= sends.items[best]
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
                heappush(
                    heap, (int(bound[reader] + skew[source]), -int(to_send[source]), int(source))
                )
        if head[tile] != NOTHING:
            heappush(heap, (now + int(sends.items[best]), -int(to_send[tile]), tile))
    return first, blockers


@compiled
def _new_timeline(tiles: int, sends: Sends, receivers: Receivers) -> Timeline:
    sent = np.zeros(tiles, np.int64)
    received = np.zeros(tiles, np.int64)
    for message in range(len(sends.source)):
        sent[sends.source[message]] += 1
        if sends.partner[message] != NOTHING:
            sent[sends.partner[message]] += 1
    for each in range(len(receivers.tile)):
        received[receivers.tile[each]] += 1
    most = _EVENTS_PER_SEND * len(sends.source) + _EVENTS_PER_RECEIVE * len(receivers.tile)
    return Timeline(new_lane(sent), new_lane(received), new_events(most))


@compiled
def _pressures(tiles: int, sends: Sends, receivers: Receivers) -> tuple[Ints, Ints]:
    """Per tile: events in which it has to send, and slots in which it has to receive."""
    to_send = np.zeros(tiles, np.int64)
    to_receive = np.zeros(tiles, np.int64)
    for message in range(len(sends.source)):
        to_send[sends.source[message]] += sends.items[message]
        for each in range(sends.receiver_start[message], sends.receiver_start[message + 1]):
            to_receive[receivers.tile[each]] += sends.items[message]
    return to_send, to_receive


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
    to_receive: Ints,
) -> tuple[int, int]:
    """The message that a source takes, and about when it can leave: after all that is placed."""
    found = np.empty(_LOOKED_AT, np.int64)
    events = np.empty(_LOOKED_AT, np.int64)
    count, soonest = 0, 0
    message = head
    while message != NOTHING and count < _LOOKED_AT:
        if waiting[message] == 0:
            event = max(int(bound[message]), after_all(state, sends, receivers, message))
            if count == 0 or event < soonest:
                soonest = event
            found[count], events[count] = message, event
            count += 1
        message = following[message]
    best, most = NOTHING, 0
    for each in range(count):
        if events[each] > soonest + order.tolerance:
            continue
        pressure = _pressure(sends, receivers, found[each], to_receive) + order.urgency[found[each]]
        if best == NOTHING or pressure > most:
            best, most = each, pressure
    if best == NOTHING:
        return NOTHING, 0
    return int(found[best]), int(events[best])


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
