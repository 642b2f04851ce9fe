"""Timelines of all tiles while a phase is scheduled: windows taken, events that must differ.

A tile has a lane of sends and a lane of receives, each a sorted list of windows that do not
overlap. A send takes its events; a receive takes the slots in which its tile listens, and, later
by a delay that only the row of the tile decides, the events in which its items take addresses.
Controls are events: a mux setting and a neutral per receive, a pointer, formats of wide items.

Rules, with evidence in `target.row_events` and the exchange notes: no control in the first event of
a send, nor in the one before; one control of a kind per event; formats and what sets both muxes of
a pair share their event with nothing; a mux and a pointer that share an event need an instruction
of two words, which must be aligned, for which the instruction before must allow for another word
(`encode`): it must not start a message, nor set what shares its event with nothing.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.compiled import compiled_part
from tilewright.exchange.messages import EARLY, LATE, NARROW, TO_ROW_END
from tilewright.exchange.phase import Ints
from tilewright.target.row_events import (
    FORMAT_BEFORE_POINTER,
    FORMAT_EVENTS_AFTER,
    LATE_MEMBER_DELAY,
)

OWN, LENT = 0, 1
"""Kinds of windows in a lane of sends: the tile's own, and those in which its partner uses it."""

NOTHING = -1

_BACKFILL = 16
"""How many of the last windows of a lane leave gaps that are looked at."""

_FIRST = 1
"""The first event, and the first slot, of windows."""

_PLAIN_MUX, _POINTER, _ALONE, _SEND, _BEFORE_SEND = 1, 2, 4, 8, 16
"""What happens in an event of a tile, as bits."""
_CONTROL = _PLAIN_MUX | _POINTER | _ALONE
_BOTH = _PLAIN_MUX | _POINTER


class Sends(NamedTuple):
    """Of each message, see `Messages`; `partner` is the tile that lends its bus, or `NOTHING`."""

    source: Ints
    items: Ints
    latency: Ints
    elements: Ints
    partner: Ints
    receiver_start: Ints


class Receivers(NamedTuple):
    """Of each receiver, see `Messages`."""

    tile: Ints
    kind: Ints
    elements: Ints
    time: Ints
    point: Ints
    direction: Ints


class Lane(NamedTuple):
    """Windows of all tiles: those of tile t are entries `start[t]` to `start[t] + windows[t]`.

    `last[t]` is the end of its last window, 0 if it has none; `idle[t]` is what will stay free
    before the windows whose gaps are still looked at. Of each window, `first` to `end`
    (exclusive) are events or slots, `owner` the message, `kind` as in `Messages` or `OWN` and
    `LENT`, `elements` the memory elements used; `point` leads from a slot to the event of its
    address (0 in lanes of sends).
    """

    start: Ints
    windows: Ints
    last: Ints
    idle: Ints
    first: Ints
    end: Ints
    owner: Ints
    kind: Ints
    elements: Ints
    point: Ints
    direction: Ints


Events = npt.NDArray[np.uint8]
"""What happens, per tile and event."""


class Timeline(NamedTuple):
    """What is taken so far."""

    sends: Lane
    receives: Lane
    events: Events


def new_timeline(tiles: int, limit: int, sends: Sends, receivers: Receivers) -> Timeline:
    """Nothing is taken yet, and there is room for all, in rows that end by event `limit`."""
    lenders = sends.partner[sends.partner != NOTHING]
    sent = np.concatenate([sends.source, lenders])
    return Timeline(
        _new_lane(np.bincount(sent, minlength=tiles)),
        _new_lane(np.bincount(receivers.tile, minlength=tiles)),
        np.zeros((tiles, limit + 2), np.uint8),
    )


def _new_lane(counts: Ints) -> Lane:
    """An empty lane with room for `counts` windows in each tile."""

    def zeros(size: int) -> Ints:
        return np.zeros(size, np.int64)

    start = np.concatenate([[0], np.cumsum(counts)])
    of_tiles = (zeros(len(counts)) for _ in range(3))
    return Lane(start, *of_tiles, *(zeros(start[-1]) for _ in range(7)))


@compiled_part
def _first_ending_after(lane: Lane, tile: int, event: int) -> int:
    """The first window of a tile that ends after `event`; one past the last if there is none."""
    low, high = lane.start[tile], lane.start[tile] + lane.windows[tile]
    while low < high:
        middle = (low + high) // 2
        if lane.end[middle] > event:
            high = middle
        else:
            low = middle + 1
    return int(low)


@compiled_part
def _insert(
    lane: Lane,
    tile: int,
    first: int,
    end: int,
    owner: int,
    kind: int,
    elements: int,
    point: int,
    direction: int,
) -> None:
    place = lane.start[tile] + lane.windows[tile]
    while place > lane.start[tile] and lane.first[place - 1] > first:
        lane.first[place] = lane.first[place - 1]
        lane.end[place] = lane.end[place - 1]
        lane.owner[place] = lane.owner[place - 1]
        lane.kind[place] = lane.kind[place - 1]
        lane.elements[place] = lane.elements[place - 1]
        lane.point[place] = lane.point[place - 1]
        lane.direction[place] = lane.direction[place - 1]
        place -= 1
    lane.first[place] = first
    lane.end[place] = end
    lane.owner[place] = owner
    lane.kind[place] = kind
    lane.elements[place] = elements
    lane.point[place] = point
    lane.direction[place] = direction
    lane.windows[tile] += 1
    lane.last[tile] = max(lane.last[tile], end)
    closed = lane.start[tile] + lane.windows[tile] - _BACKFILL - 1
    if closed >= lane.start[tile]:
        before = lane.end[closed - 1] if closed > lane.start[tile] else _FIRST
        lane.idle[tile] += lane.first[closed] - before


@compiled_part
def gap(before: int, after: int, point: int) -> int:
    """Slots between two receives of a tile, given their kinds; `point` is that of the first.

    A pair that was set together must not be set again within two slots by either member, and no
    32-bit item may be under way while the format changes.
    """
    if before == NARROW:
        if after == NARROW:
            return 0
        return LATE_MEMBER_DELAY if after == EARLY else 2 * LATE_MEMBER_DELAY
    if after == NARROW:
        return point - FORMAT_BEFORE_POINTER + FORMAT_EVENTS_AFTER
    if before == after:
        return 0
    return 3 * LATE_MEMBER_DELAY if before == EARLY else LATE_MEMBER_DELAY


@compiled_part
def _fit_send(lane: Lane, tile: int, event: int, items: int, blocker: Ints) -> int:
    """The first event from `event` on in which `items` items find room in a lane of sends."""
    place = _first_ending_after(lane, tile, event)
    stop = lane.start[tile] + lane.windows[tile]
    while place < stop and lane.first[place] < event + items:
        event = lane.end[place]
        blocker[0] = lane.owner[place]
        place += 1
    return event


@compiled_part
def _fit_receive(
    lane: Lane, tile: int, slot: int, items: int, kind: int, point: int, blocker: Ints
) -> int:
    """The first slot from `slot` on in which a receive finds room."""
    stop = lane.start[tile] + lane.windows[tile]
    place = _first_ending_after(lane, tile, slot)
    if place > lane.start[tile]:
        least = lane.end[place - 1] + gap(lane.kind[place - 1], kind, lane.point[place - 1])
        if slot < least:
            slot = least
            blocker[0] = lane.owner[place - 1]
    while place < stop and lane.first[place] < slot + items + gap(kind, lane.kind[place], point):
        slot = max(slot, lane.end[place] + gap(lane.kind[place], kind, lane.point[place]))
        blocker[0] = lane.owner[place]
        place += 1
    return slot


@compiled_part
def _clear_of_receives(
    lane: Lane, tile: int, event: int, items: int, elements: int, blocker: Ints
) -> int:
    """The first event from `event` on in which a send shares no element with words that arrive."""
    if lane.windows[tile] == 0:
        return event
    stop = lane.start[tile] + lane.windows[tile]
    # Points of a tile differ by a slot at most.
    point = lane.point[lane.start[tile]]
    place = _first_ending_after(lane, tile, event - 2 - point - TO_ROW_END - LATE_MEMBER_DELAY)
    while place < stop and lane.first[place] + point - LATE_MEMBER_DELAY < event + items:
        start = lane.first[place] + lane.point[place]
        end = lane.end[place] + lane.point[place] + TO_ROW_END
        if lane.elements[place] & elements and start < event + items and end > event - 1:
            event = end + 1
            blocker[0] = lane.owner[place]
        place += 1
    return event


@compiled_part
def _clear_of_sends(
    lane: Lane, tile: int, slot: int, items: int, point: int, elements: int, blocker: Ints
) -> int:
    """The first slot from `slot` on in which words arrive in no element that a send reads."""
    stop = lane.start[tile] + lane.windows[tile]
    place = _first_ending_after(lane, tile, slot + point)
    while place < stop and lane.first[place] - 1 < slot + items + point + TO_ROW_END:
        if lane.elements[place] & elements:
            slot = lane.end[place] - point
            blocker[0] = lane.owner[place]
        place += 1
    return slot


@compiled_part
def _may_send(events: Events, tile: int, event: int) -> bool:
    if events[tile, event] & _CONTROL or events[tile, event - 1] & _CONTROL:
        return False
    return not _are_both(events[tile, event + 1])


@compiled_part
def _are_both(bits: int) -> bool:
    return bits & _BOTH == _BOTH


@compiled_part
def _may_control(events: Events, tile: int, event: int, bit: int) -> bool:
    there = events[tile, event]
    if there & (_SEND | _BEFORE_SEND | _ALONE | bit):
        return False
    if bit == _ALONE:
        return not there & _CONTROL and not _are_both(events[tile, event + 1])
    return not there & _CONTROL or _may_hold_both(events, tile, event)


@compiled_part
def _may_hold_both(events: Events, tile: int, event: int) -> bool:
    """Whether the event before one with a mux and a pointer leaves room to align them."""
    return not events[tile, event - 1] & (_ALONE | _SEND)


@compiled_part
def _touches(lane: Lane, tile: int, slot: int, end: int) -> tuple[int, int]:
    """The receives that end in `slot` and start in `end`: their places, or `NOTHING`."""
    low, stop = lane.start[tile], lane.start[tile] + lane.windows[tile]
    place = _first_ending_after(lane, tile, slot)
    before = place - 1 if place > low and lane.end[place - 1] == slot else NOTHING
    after = place if place < stop and lane.first[place] == end else NOTHING
    return before, after


@compiled_part
def _keeps_format(lane: Lane, place: int, kind: int, direction: int) -> bool:
    """Whether a wide receive follows, or precedes, another without a change of format."""
    return place != NOTHING and lane.kind[place] == kind and lane.direction[place] == direction


@compiled_part
def _may_receive(time: Timeline, receivers: Receivers, each: int, slot: int, items: int) -> bool:
    """Whether all controls of a receive find events in which they may be set."""
    tile, kind = receivers.tile[each], receivers.kind[each]
    point, direction = slot + receivers.point[each], receivers.direction[each]
    before, after = _touches(time.receives, tile, slot, slot + items)
    events = time.events
    if not _may_control(events, tile, point, _POINTER):
        return False
    if kind != LATE:
        bit = _PLAIN_MUX if kind == NARROW else _ALONE
        if before == NOTHING and not _may_control(events, tile, slot, bit):
            return False
        if after == NOTHING and not _may_control(events, tile, slot + items, bit):
            return False
    if kind == NARROW:
        return True
    # A mux in the event of the pointer would have to be set again before it to be aligned.
    if events[tile, point] & _PLAIN_MUX:
        return False
    formats = point - FORMAT_BEFORE_POINTER
    if not _keeps_format(time.receives, before, kind, direction) and not _may_control(
        events, tile, formats, _ALONE
    ):
        return False
    return _keeps_format(time.receives, after, kind, direction) or _may_control(
        events, tile, formats + items, _ALONE
    )


@compiled_part
def _may_join(events: Events, tile: int, slot: int, end: int, point: int, sent: int) -> bool:
    """Whether what a 32-bit receive sets in events with other controls can be aligned.

    It knows of its own controls, which are not on the timeline yet; `sent` is the event in which
    the same message leaves the same tile.
    """
    for event in (slot, end, point):
        bits = events[tile, event]
        if event in (slot, end):
            bits |= _PLAIN_MUX
        if event == point:
            bits |= _POINTER
        if _are_both(bits) and (event - 1 == sent or not _may_hold_both(events, tile, event)):
            return False
    return True


@compiled_part
def _sendable_from(
    time: Timeline, sends: Sends, message: int, event: int, latest: int, blocker: Ints
) -> int:
    """The first event from `event` on in which the source can send a message, receivers aside.

    Past `latest`, it need not be one.
    """
    source, items = sends.source[message], sends.items[message]
    partner, elements = sends.partner[message], sends.elements[message]
    while event <= latest:
        start = event
        event = _fit_send(time.sends, source, event, items, blocker)
        if partner != NOTHING:
            event = _fit_send(time.sends, partner, event, items, blocker)
        event = _clear_of_receives(time.receives, source, event, items, elements, blocker)
        if event != start:
            continue
        if _may_send(time.events, source, event):
            return event
        event += 1
    return event


@compiled_part
def _receivable_from(
    time: Timeline,
    receivers: Receivers,
    each: int,
    source: int,
    items: int,
    event: int,
    latest: int,
    blocker: Ints,
) -> int:
    """The first event from `event` on in which a message may leave for one of its receivers.

    Past `latest`, it need not be one.
    """
    tile, delay = receivers.tile[each], receivers.time[each]
    kind, point = receivers.kind[each], receivers.point[each]
    slot = event + delay
    while slot <= latest + delay:
        start = slot
        slot = _fit_receive(time.receives, tile, slot, items, kind, point, blocker)
        slot = _clear_of_sends(
            time.sends, tile, slot, items, point, receivers.elements[each], blocker
        )
        if slot != start:
            continue
        if _may_receive(time, receivers, each, slot, items):
            sent = slot - delay if tile == source else NOTHING
            end = slot + items
            if kind != NARROW or _may_join(time.events, tile, slot, end, slot + point, sent):
                return int(slot - delay)
        slot += 1
    return int(slot - delay)


@compiled_part
def earliest(
    time: Timeline,
    sends: Sends,
    receivers: Receivers,
    message: int,
    event: int,
    latest: int,
    blocker: Ints,
) -> int:
    """The first event from about `event` to `latest` in which a message can leave, or `NOTHING`.

    `blocker[0]` is the message that kept it from leaving earlier, if one did. Gaps are used among
    the last windows of a lane only. The source and the receivers are asked in turns for the first
    event that suits them, until all agree.
    """
    source, items = sends.source[message], sends.items[message]
    low, high = sends.receiver_start[message], sends.receiver_start[message + 1]
    event = max(event, _backfill(time.sends, source))
    for each in range(low, high):
        start = _backfill(time.receives, receivers.tile[each]) - receivers.time[each]
        event = max(event, start, _FIRST - receivers.time[each])
    agreed, asked = 0, high
    while agreed <= high - low:
        before = event
        if asked == high:
            event = _sendable_from(time, sends, message, event, latest, blocker)
            asked = low
        else:
            event = _receivable_from(time, receivers, asked, source, items, event, latest, blocker)
            asked += 1
        if event > latest:
            return NOTHING
        agreed = agreed + 1 if event == before else 1
    return event


@compiled_part
def after_all(time: Timeline, sends: Sends, receivers: Receivers, message: int) -> int:
    """The event in which a message can leave if it follows all that is in its lanes."""
    event = max(1, time.sends.last[sends.source[message]])
    if sends.partner[message] != NOTHING:
        event = max(event, time.sends.last[sends.partner[message]])
    for each in range(sends.receiver_start[message], sends.receiver_start[message + 1]):
        slot = max(1, time.receives.last[receivers.tile[each]])
        event = max(event, slot - receivers.time[each])
    return int(event)


@compiled_part
def least_end(lane: Lane, tile: int, items: int) -> int:
    """Where a lane ends at the soonest (exclusive) if it takes `items` items in all."""
    return _FIRST + int(lane.idle[tile]) + items


@compiled_part
def _backfill(lane: Lane, tile: int) -> int:
    """Where the windows start whose gaps are still looked at."""
    if lane.windows[tile] <= _BACKFILL:
        return _FIRST
    return int(lane.end[lane.start[tile] + lane.windows[tile] - _BACKFILL - 1])


@compiled_part
def place(time: Timeline, sends: Sends, receivers: Receivers, message: int, event: int) -> None:
    """Take what a message needs that leaves in `event`."""
    source, items = sends.source[message], sends.items[message]
    elements, partner = sends.elements[message], sends.partner[message]
    end = event + items
    _insert(time.sends, source, event, end, message, OWN, elements, 0, 0)
    time.events[source, event - 1] |= _BEFORE_SEND
    time.events[source, event] |= _SEND
    if partner != NOTHING:
        _insert(time.sends, partner, event, end, message, LENT, 0, 0, 0)
    for each in range(sends.receiver_start[message], sends.receiver_start[message + 1]):
        tile, kind = receivers.tile[each], receivers.kind[each]
        slot = event + receivers.time[each]
        point = slot + receivers.point[each]
        _insert(
            time.receives,
            tile,
            slot,
            slot + items,
            message,
            kind,
            receivers.elements[each],
            receivers.point[each],
            receivers.direction[each],
        )
        time.events[tile, point] |= _POINTER
        if kind != LATE:
            bit = _PLAIN_MUX if kind == NARROW else _ALONE
            time.events[tile, slot] |= bit
            time.events[tile, slot + items] |= bit
        if kind != NARROW:
            formats = point - FORMAT_BEFORE_POINTER
            time.events[tile, formats] |= _ALONE
            time.events[tile, formats + items] |= _ALONE
