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

from tilewright.compiled import compiled, compiled_part
from tilewright.exchange.messages import TO_ROW_END, Flags
from tilewright.exchange.phase import Ints
from tilewright.exchange.timeline import (
    NOTHING,
    Receivers,
    Sends,
    Timeline,
    after_all,
    earliest,
    least_end,
    new_timeline,
    place,
)
from tilewright.target.row_events import LATE_MEMBER_DELAY

_LOOKED_AT = 256
"""Queues of a source that are compared before a message is taken."""
_NEVER = np.iinfo(np.int64).max // 2
"""After all events of all phases."""
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
    """Queues that are not empty: those of tile t are entries `start[t]` to `start[t] + left[t]`.

    Of each, the `first` message that is left, and bounds for it: `soonest`, an event before which
    it cannot leave behind all that is placed, `_NEVER` while it waits for others; and the most that
    a receiver of it still receives, `pressure`. `following` is the next in the queue, per message.
    """

    start: Ints
    left: Ints
    first: Ints
    soonest: Ints
    pressure: Ints
    following: Ints


class _Progress(NamedTuple):
    """What is known while messages are placed.

    Per message: the event in which it leaves, and the message that kept it from leaving earlier;
    the event before which it cannot leave because of what it waits for, and which message that is;
    how many receivers it waits for. Per tile: items that it sends or lends its bus for, and that it
    receives, in all; that it still sends, and still receives; how often it let others go first; and
    whether all that it has left waits. `blocker` has room for one message.
    """

    first: Ints
    blockers: Ints
    bound: Ints
    bound_by: Ints
    waiting: Ints
    sent: Ints
    received: Ints
    to_send: Ints
    to_receive: Ints
    passed: Ints
    asleep: Flags
    blocker: Ints


def list_schedule(
    tiles: int,
    limit: int,
    sends: Sends,
    receivers: Receivers,
    relays: Relays,
    order: Order,
    skew: Ints,
) -> tuple[Ints, Ints] | None:
    """The event in which each message leaves, and the message that kept it from leaving earlier.

    None if rows would not end by event `limit`. `skew` per tile is what to add to its events to
    compare them with those of others.
    """
    progress = _new_progress(tiles, sends, receivers, relays)
    queues = _new_queues(tiles, order.queue, sends.source, relays.waiting, progress.received)
    state = new_timeline(tiles, limit, sends, receivers)
    if not _place_all(limit, state, sends, receivers, relays, order, skew, queues, progress):
        return None
    return progress.first, progress.blockers


# What compiled code works on is made outside of it: making arrays is long to compile, and an array
# of a tuple made in compiled code was seen to lose what is subtracted from its elements.


def _new_progress(tiles: int, sends: Sends, receivers: Receivers, relays: Relays) -> _Progress:
    """Nothing is placed yet."""
    messages = len(sends.source)
    counts = np.diff(sends.receiver_start)
    lends = sends.partner != NOTHING
    to_send = _sums(sends.source, sends.items, tiles)
    received = _sums(receivers.tile, np.repeat(sends.items, counts), tiles)
    return _Progress(
        first=np.zeros(messages, np.int64),
        blockers=np.full(messages, NOTHING),
        bound=np.ones(messages, np.int64),
        bound_by=np.full(messages, NOTHING),
        waiting=relays.waiting.copy(),
        sent=to_send + _sums(sends.partner[lends], sends.items[lends], tiles),
        received=received,
        to_send=to_send,
        to_receive=received.copy(),
        passed=np.zeros(tiles, np.int64),
        asleep=np.zeros(tiles, np.bool_),
        blocker=np.full(1, NOTHING),
    )


def _sums(tile: Ints, items: Ints, tiles: int) -> Ints:
    """Items per tile."""
    sums = np.zeros(tiles, np.int64)
    np.add.at(sums, tile, items)
    return sums


def _new_queues(tiles: int, queue: Ints, source: Ints, waiting: Ints, received: Ints) -> Queues:
    """All messages in their queues; `waiting` per message, `received` per tile."""
    order = np.argsort(queue, kind="stable")
    is_first = np.diff(queue[order], prepend=NOTHING) != 0
    first = order[is_first]
    following = np.full(len(queue), NOTHING)
    follows = ~is_first[1:]
    following[order[:-1][follows]] = order[1:][follows]
    left = np.bincount(source[first], minlength=tiles)
    return Queues(
        start=np.cumsum(left) - left,
        left=left,
        first=first,
        soonest=np.where(waiting[first] > 0, _NEVER, 0),
        pressure=np.full(len(first), received.max()),
        following=following,
    )


@compiled
def _place_all(
    limit: int,
    state: Timeline,
    sends: Sends,
    receivers: Receivers,
    relays: Relays,
    order: Order,
    skew: Ints,
    queues: Queues,
    progress: _Progress,
) -> bool:
    """Place all messages; False as soon as it is known that rows would not end by event `limit`."""
    first, blockers, blocker = progress.first, progress.blockers, progress.blocker
    bound, bound_by, waiting = progress.bound, progress.bound_by, progress.waiting
    to_send, to_receive = progress.to_send, progress.to_receive
    passed, asleep = progress.passed, progress.asleep
    heap = [(0, 0, 0) for _ in range(0)]
    for tile in range(len(to_send)):
        if to_send[tile] > 0:
            heap.append((0, -int(to_send[tile]), tile))
    heapify(heap)
    while heap:
        key, _, tile = heappop(heap)
        chosen = _choose(state, sends, receivers, order, queues, tile, progress)
        if chosen == NOTHING:
            asleep[tile] = True
            continue
        best, now = queues.first[chosen], int(queues.soonest[chosen] + skew[tile])
        if heap and now > heap[0][0] and passed[tile] < _TURNS_PASSED and now > key:
            passed[tile] += 1
            heappush(heap, (now, -int(to_send[tile]), tile))
            continue
        blocker[0] = bound_by[best]
        latest = limit - sends.latency[best]
        soonest = earliest(state, sends, receivers, best, bound[best], latest, blocker)
        if soonest == NOTHING:
            return False
        passed[tile] = 0
        place(state, sends, receivers, best, soonest)
        first[best] = soonest
        blockers[best] = blocker[0]
        _remove(queues, tile, chosen)
        to_send[tile] -= sends.items[best]
        for each in range(sends.receiver_start[best], sends.receiver_start[best + 1]):
            to_receive[receivers.tile[each]] -= sends.items[best]
        if not _can_end_by(limit, state, progress, sends, receivers, best):
            return False
        for entry in range(relays.start[best], relays.start[best + 1]):
            reader, each = relays.readers[entry], relays.receivers[entry]
            slot = soonest + receivers.time[each]
            ready = slot + receivers.point[each] + sends.items[best] + TO_ROW_END + 1
            if ready > bound[reader]:
                bound[reader] = ready
                bound_by[reader] = best
            waiting[reader] -= 1
            if waiting[reader] > 0:
                continue
            source = sends.source[reader]
            _wake(queues, source, reader)
            if asleep[source]:
                asleep[source] = False
                ready = int(bound[reader] + skew[source])
                heappush(heap, (ready, -int(to_send[source]), int(source)))
        if to_send[tile] > 0:
            heappush(heap, (now + int(sends.items[best]), -int(to_send[tile]), tile))
    return True


@compiled_part
def _can_end_by(
    limit: int,
    state: Timeline,
    progress: _Progress,
    sends: Sends,
    receivers: Receivers,
    message: int,
) -> bool:
    """Whether what a message has left idle in lanes leaves room for all that is to come."""
    source = sends.source[message]
    if least_end(state.sends, source, int(progress.sent[source])) - 1 > limit:
        return False
    for each in range(sends.receiver_start[message], sends.receiver_start[message + 1]):
        tile = receivers.tile[each]
        end = least_end(state.receives, tile, int(progress.received[tile]))
        # Points of a tile differ by this at most.
        point = receivers.point[each] - LATE_MEMBER_DELAY
        if end + point + TO_ROW_END > limit:
            return False
    return True


@compiled_part
def _choose(
    state: Timeline,
    sends: Sends,
    receivers: Receivers,
    order: Order,
    queues: Queues,
    tile: int,
    progress: _Progress,
) -> int:
    """The queue from which a source takes a message, `NOTHING` if all wait.

    Its `soonest` is about when the message can leave: after all that is placed.
    """
    first, stop, promising = _promising(queues, tile)
    if promising == NOTHING:
        return NOTHING
    bound, tolerance = progress.bound, order.tolerance
    soonest = _look(state, sends, receivers, queues, promising, bound)
    for entry in range(first, stop):
        if queues.soonest[entry] <= soonest + tolerance:
            event = _look(state, sends, receivers, queues, entry, bound)
            soonest = min(soonest, event)
    best, most = NOTHING, 0
    for entry in range(first, stop):
        if queues.soonest[entry] > soonest + tolerance:
            continue
        message = queues.first[entry]
        bonus = order.urgency[message]
        least = most if best == NOTHING or message > queues.first[best] else most - 1
        if best != NOTHING and queues.pressure[entry] + bonus <= least:
            continue
        queues.pressure[entry] = _pressure(sends, receivers, message, progress.to_receive)
        if best == NOTHING or queues.pressure[entry] + bonus > least:
            best, most = entry, queues.pressure[entry] + bonus
    return best


@compiled_part
def _promising(queues: Queues, tile: int) -> tuple[int, int, int]:
    """Queues that are looked at, from one to before another, and the one with the best bound."""
    first = queues.start[tile]
    stop = first + queues.left[tile]
    promising, least, looked = NOTHING, _NEVER, 0
    for entry in range(first, stop):
        soonest = queues.soonest[entry]
        if soonest == _NEVER:
            continue
        if soonest < least:
            promising, least = entry, soonest
        looked += 1
        if looked == _LOOKED_AT:
            return first, entry + 1, promising
    return first, stop, promising


@compiled_part
def _look(
    state: Timeline, sends: Sends, receivers: Receivers, queues: Queues, entry: int, bound: Ints
) -> int:
    """When the first message of a queue can leave after all that is placed; the queue learns it."""
    message = queues.first[entry]
    queues.soonest[entry] = max(int(bound[message]), after_all(state, sends, receivers, message))
    return int(queues.soonest[entry])


@compiled_part
def _pressure(sends: Sends, receivers: Receivers, message: int, to_receive: Ints) -> int:
    """What the busiest receiver of a message still has to receive."""
    most = 0
    for each in range(sends.receiver_start[message], sends.receiver_start[message + 1]):
        most = max(most, int(to_receive[receivers.tile[each]]))
    return most


@compiled_part
def _remove(queues: Queues, tile: int, entry: int) -> None:
    """Take the first message from a queue of a tile, and what is empty then from the queues."""
    queues.first[entry] = queues.following[queues.first[entry]]
    if queues.first[entry] != NOTHING:
        return
    queues.left[tile] -= 1
    for each in range(entry, queues.start[tile] + queues.left[tile]):
        queues.first[each] = queues.first[each + 1]
        queues.soonest[each] = queues.soonest[each + 1]
        queues.pressure[each] = queues.pressure[each + 1]


@compiled_part
def _wake(queues: Queues, tile: int, message: int) -> None:
    """A message, in a queue by itself, no longer waits."""
    for entry in range(queues.start[tile], queues.start[tile] + queues.left[tile]):
        if queues.first[entry] == message:
            queues.soonest[entry] = 0
