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
"""Queues of a source that are compared before a message is taken."""
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

    `queue` numbers queues of messages with the same source and receivers in the order of their
    first messages; only the first that is left of each is looked at, so one that waits for others
    is a queue by itself. `urgency` counts in events; of messages that can leave within `tolerance`
    events of the soonest, the most urgent is taken.
    """

    queue: Ints
    urgency: Ints
    tolerance: int


class Queues(NamedTuple):
    """Per queue: its first message, and the next queue of its source, `NOTHING` if there is none.

    Bounds for the first message: `soonest`, an event before which it cannot leave behind all that
    is placed, and the most that a receiver of it still receives, `pressure`. `following` is the
    next in the queue, per message; `head` the first queue, per tile.
    """

    first: Ints
    other: Ints
    soonest: Ints
    pressure: Ints
    following: Ints
    head: Ints


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
    tiles, messages = len(events), len(sends.source)
    state = _new_timeline(events, sends, receivers)
    first = np.zeros(messages, np.int64)
    blockers = np.full(messages, NOTHING, np.int64)
    bound = np.ones(messages, np.int64)
    bound_by = np.full(messages, NOTHING, np.int64)
    waiting = relays.waiting.copy()
    sent, to_send, received = _loads(tiles, sends, receivers)
    to_receive = received.copy()
    queues = _new_queues(order.queue, sends.source, to_receive)
    heap = [(0, 0, 0) for _ in range(0)]
    for tile in range(tiles):
        if to_send[tile] > 0:
            heap.append((0, -int(to_send[tile]), tile))
    heapify(heap)
    passed = np.zeros(tiles, np.int64)
    asleep = np.zeros(tiles, np.bool_)
    blocker = np.full(1, NOTHING, np.int64)
    while heap:
        key, _, tile = heappop(heap)
        best, soonest = _choose(
            state, sends, receivers, order, queues, tile, waiting, bound, to_receive
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
        _remove(queues, tile, order.queue[best])
        to_send[tile] -= sends.items[best]
        for each in range(sends.receiver_start[best], sends.receiver_start[best + 1]):
            to_receive[receivers.tile[each]] -= sends.items[best]
        if not _can_end_by(limit, state, sent, received, sends, receivers, best):
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
        if to_send[tile] > 0:
            heappush(heap, (now + int(sends.items[best]), -int(to_send[tile]), tile))
    return True, first, blockers


@compiled
def _new_queues(queue: Ints, source: Ints, to_receive: Ints) -> Queues:
    """All messages in their queues."""
    count = queue.max() + 1
    first = np.full(count, NOTHING, np.int64)
    following = np.full(len(queue), NOTHING, np.int64)
    for message in range(len(queue) - 1, -1, -1):
        following[message] = first[queue[message]]
        first[queue[message]] = message
    other = np.full(count, NOTHING, np.int64)
    head = np.full(len(to_receive), NOTHING, np.int64)
    for each in range(count - 1, -1, -1):
        tile = source[first[each]]
        other[each] = head[tile]
        head[tile] = each
    soonest = np.zeros(count, np.int64)
    pressure = np.full(count, to_receive.max(), np.int64)
    return Queues(first, other, soonest, pressure, following, head)


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
def _loads(tiles: int, sends: Sends, receivers: Receivers) -> tuple[Ints, Ints, Ints]:
    """Per tile: items that it sends or lends its bus for, that it sends, and that it receives."""
    sent = np.zeros(tiles, np.int64)
    lent = np.zeros(tiles, np.int64)
    received = np.zeros(tiles, np.int64)
    for message in range(len(sends.source)):
        sent[sends.source[message]] += sends.items[message]
        if sends.partner[message] != NOTHING:
            lent[sends.partner[message]] += sends.items[message]
        for each in range(sends.receiver_start[message], sends.receiver_start[message + 1]):
            received[receivers.tile[each]] += sends.items[message]
    return sent + lent, sent, received


@compiled
def _can_end_by(
    limit: int,
    state: Timeline,
    sent: Ints,
    received: Ints,
    sends: Sends,
    receivers: Receivers,
    message: int,
) -> bool:
    """Whether what a message has left idle in lanes leaves room for all that is to come.

    `sent` and `received` are all items of each tile.
    """
    source = sends.source[message]
    if least_end(state.sends, source, int(sent[source])) - 1 > limit:
        return False
    for each in range(sends.receiver_start[message], sends.receiver_start[message + 1]):
        tile = receivers.tile[each]
        end = least_end(state.receives, tile, int(received[tile]))
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
    queues: Queues,
    tile: int,
    waiting: Ints,
    bound: Ints,
    to_receive: Ints,
) -> tuple[int, int]:
    """The message that a source takes, and about when it can leave: after all that is placed."""
    found = np.empty(_LOOKED_AT, np.int64)
    count, promising = 0, NOTHING
    queue = queues.head[tile]
    while queue != NOTHING and count < _LOOKED_AT:
        if waiting[queues.first[queue]] == 0:
            found[count] = queue
            count += 1
            if promising == NOTHING or queues.soonest[queue] < queues.soonest[promising]:
                promising = queue
        queue = queues.other[queue]
    if promising == NOTHING:
        return NOTHING, 0
    soonest = _look(state, sends, receivers, queues, promising, bound)
    for entry in range(count):
        if queues.soonest[found[entry]] <= soonest + order.tolerance:
            event = _look(state, sends, receivers, queues, found[entry], bound)
            soonest = min(soonest, event)
    best, most = NOTHING, 0
    for entry in range(count):
        queue = found[entry]
        message = queues.first[queue]
        if queues.soonest[queue] > soonest + order.tolerance:
            continue
        bonus = order.urgency[message]
        least = most if best == NOTHING or message > queues.first[best] else most - 1
        if best != NOTHING and queues.pressure[queue] + bonus <= least:
            continue
        queues.pressure[queue] = _pressure(sends, receivers, message, to_receive)
        if best == NOTHING or queues.pressure[queue] + bonus > least:
            best, most = queue, queues.pressure[queue] + bonus
    return int(queues.first[best]), int(queues.soonest[best])


@compiled
def _look(
    state: Timeline, sends: Sends, receivers: Receivers, queues: Queues, queue: int, bound: Ints
) -> int:
    """When the first message of a queue can leave after all that is placed; the queue learns it."""
    message = queues.first[queue]
    queues.soonest[queue] = max(int(bound[message]), after_all(state, sends, receivers, message))
    return int(queues.soonest[queue])


@compiled
def _pressure(sends: Sends, receivers: Receivers, message: int, to_receive: Ints) -> int:
    """What the busiest receiver of a message still has to receive."""
    most = 0
    for each in range(sends.receiver_start[message], sends.receiver_start[message + 1]):
        most = max(most, int(to_receive[receivers.tile[each]]))
    return most


@compiled
def _remove(queues: Queues, tile: int, queue: int) -> None:
    """Take the first message from a queue of a tile, and what is empty then from the queues."""
    queues.first[queue] = queues.following[queues.first[queue]]
    if queues.first[queue] != NOTHING:
        return
    if queues.head[tile] == queue:
        queues.head[tile] = queues.other[queue]
        return
    before = queues.head[tile]
    while queues.other[before] != queue:
        before = queues.other[before]
    queues.other[before] = queues.other[queue]
