"""The instructions of rows, written event by event."""

from typing import NamedTuple

import numpy as np

from tilewright.compiled import compiled, compiled_part
from tilewright.exchange.instructions import (
    DELAY,
    DELAY_MUX,
    DELAY_POINTER,
    MOST_EVENTS,
    SEND,
    SEND_BOTH,
    SEND_CONTROL,
    SEND_ON,
)
from tilewright.exchange.phase import Ints
from tilewright.target.topology import NEUTRAL_MUX

NOTHING = -1
_POINTER = 2
"""Kinds of controls from here on are pointers and formats; those before are sources."""


class Sending(NamedTuple):
    """Sends of all tiles, those of tile t from `start[t]` to `start[t + 1]`; `place` in items."""

    start: Ints
    event: Ints
    items: Ints
    place: Ints
    control: Ints
    message: Ints


class Controlling(NamedTuple):
    """Controls of all tiles, sorted by event in each; `value` as instructions hold it."""

    start: Ints
    event: Ints
    kind: Ints
    value: Ints
    receiver: Ints


class Receiving(NamedTuple):
    """Receives of all tiles, sorted by `point`; `place` and the `step` of items are in words."""

    start: Ints
    point: Ints
    items: Ints
    place: Ints
    step: Ints
    receiver: Ints


class Draft(NamedTuple):
    """Instructions: see `instruction_words`. `message` and `receiver` own addresses in them."""

    operation: Ints
    events: Ints
    place: Ints
    control: Ints
    pointer_kind: Ints
    pointer: Ints
    source_kind: Ints
    source: Ints
    message: Ints
    receiver: Ints
    used: Ints


@compiled_part
def _new_draft(size: int) -> Draft:
    return Draft(
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.full(size, NOTHING, np.int64),
        np.zeros(size, np.int64),
        np.full(size, NOTHING, np.int64),
        np.zeros(size, np.int64),
        np.full(size, NOTHING, np.int64),
        np.full(size, NOTHING, np.int64),
        np.zeros(1, np.int64),
    )


@compiled
def write_rows(
    ends: Ints, sending: Sending, controlling: Controlling, receiving: Receiving
) -> tuple[Draft, Ints]:
    """The instructions of all rows, and where each tile's start. `ends` are last events, or 0."""
    tiles = len(ends)
    room = 4 * (len(controlling.event) + len(sending.event) + tiles)
    room += np.sum(sending.items) // MOST_EVENTS[SEND_ON] + np.sum(ends) // MOST_EVENTS[DELAY]
    draft = _new_draft(room)
    start = np.zeros(tiles + 1, np.int64)
    for tile in range(tiles):
        _write_row(draft, tile, ends[tile], sending, controlling, receiving)
        start[tile + 1] = draft.used[0]
    return draft, start


@compiled_part
def _write_row(
    draft: Draft,
    tile: int,
    end: int,
    sending: Sending,
    controlling: Controlling,
    receiving: Receiving,
) -> None:
    send, sends = sending.start[tile], sending.start[tile + 1]
    control, controls = controlling.start[tile], controlling.start[tile + 1]
    words, event = 0, 1
    mux = NEUTRAL_MUX
    while event <= end:
        while send < sends and sending.event[send] + sending.items[send] <= event:
            send += 1
        is_sending = send < sends and sending.event[send] <= event
        # An instruction may last until the send begins or ends, or the row ends, or a control.
        if is_sending:
            last = sending.event[send] + sending.items[send] - 1
        elif send < sends:
            last = sending.event[send] - 1
        else:
            last = end
        if not is_sending and control < controls and controlling.event[control] <= last:
            at = controlling.event[control]
            if _controls_in(controlling, control, controls, at) == 1:
                words += _delay_to(draft, controlling, control, at - event + 1)
                mux = _mux_after(controlling, control, 1, mux)
                control += 1
                event = at + 1
                continue
        count = _controls_in(controlling, control, controls, event)
        if control + count < controls:
            last = min(last, controlling.event[control + count] - 1)
        if count == 2 and words % 2:
            _align(draft, sending, receiving, tile, event - 1, mux)
            words += 1
        place = _begin(draft, count, is_sending, sending, send, event)
        operation = draft.operation[place]
        last = min(last, event + MOST_EVENTS[operation] - 1)
        draft.events[place] = last - event + 1
        for each in range(control, control + count):
            _set(draft, place, controlling, each)
        mux = _mux_after(controlling, control, count, mux)
        control += count
        words += 2 if operation == SEND_BOTH else 1
        event = last + 1


@compiled_part
def _controls_in(controlling: Controlling, control: int, controls: int, event: int) -> int:
    """How many controls are set in an event, from `control` on: they are sorted."""
    count = 0
    while control + count < controls and controlling.event[control + count] == event:
        count += 1
    return count


@compiled_part
def _mux_after(controlling: Controlling, control: int, count: int, mux: int) -> int:
    for each in range(control, control + count):
        if controlling.kind[each] < _POINTER:
            mux = controlling.value[each]
    return mux


@compiled_part
def _append(draft: Draft, operation: int, events: int) -> int:
    place = int(draft.used[0])
    draft.operation[place] = operation
    draft.events[place] = events
    draft.used[0] += 1
    return place


@compiled_part
def _set(draft: Draft, place: int, controlling: Controlling, control: int) -> None:
    kind, value = controlling.kind[control], controlling.value[control]
    if kind < _POINTER:
        draft.source_kind[place] = kind
        draft.source[place] = value
        return
    draft.pointer_kind[place] = kind - _POINTER
    draft.pointer[place] = value
    if kind == _POINTER:
        draft.receiver[place] = controlling.receiver[control]


@compiled_part
def _delay_to(draft: Draft, controlling: Controlling, control: int, events: int) -> int:
    """A delay whose last event has a control; returns how many words it takes."""
    is_source = controlling.kind[control] < _POINTER
    operation = DELAY_MUX if is_source else DELAY_POINTER
    words = 1
    most = MOST_EVENTS[operation]
    while events > most:
        before = min(events - most, MOST_EVENTS[DELAY])
        _append(draft, DELAY, before)
        events -= before
        words += 1
    place = _append(draft, operation, events)
    _set(draft, place, controlling, control)
    return words


@compiled_part
def _begin(
    draft: Draft, controls: int, is_sending: bool, sending: Sending, send: int, event: int
) -> int:
    """The next instruction, without its length and its controls."""
    if not is_sending:
        if controls == 2:
            return _append(draft, SEND_BOTH, 0)
        return _append(draft, DELAY, 0)
    sent = event - sending.event[send]
    if sent == 0:
        operation = SEND
    elif controls == 0:
        operation = SEND_ON
    else:
        operation = SEND_CONTROL if controls == 1 else SEND_BOTH
    place = _append(draft, operation, 0)
    draft.control[place] = sending.control[send]
    if operation in (SEND, SEND_BOTH):
        draft.place[place] = sending.place[send] + sent
        draft.message[place] = sending.message[send]
    return place


@compiled_part
def _align(
    draft: Draft, sending: Sending, receiving: Receiving, tile: int, event: int, mux: int
) -> None:
    """Make the last instruction, whose last event is `event`, take one word more."""
    last = draft.used[0] - 1
    operation, events = draft.operation[last], draft.events[last]
    if events == 1:
        _set_again(draft, last, sending, receiving, tile, event, mux)
        return
    if operation not in (DELAY_POINTER, DELAY_MUX):
        draft.events[last] = events - 1
        added = _append(draft, DELAY if operation == DELAY else SEND_ON, 1)
        draft.control[added] = draft.control[last]
        return
    # The control stays with the last event.
    added = _append(draft, operation, 1)
    draft.pointer_kind[added] = draft.pointer_kind[last]
    draft.pointer[added] = draft.pointer[last]
    draft.source_kind[added] = draft.source_kind[last]
    draft.source[added] = draft.source[last]
    draft.receiver[added] = draft.receiver[last]
    draft.operation[last] = DELAY
    draft.events[last] = events - 1
    draft.receiver[last] = NOTHING


@compiled_part
def _set_again(
    draft: Draft,
    last: int,
    sending: Sending,
    receiving: Receiving,
    tile: int,
    event: int,
    mux: int,
) -> None:
    """Make an instruction of one event one that sets two controls: again what is set already."""
    operation = draft.operation[last]
    if operation == SEND:
        raise AssertionError("a mux and a pointer in the second event of a message")
    if draft.source_kind[last] == NOTHING:
        draft.source_kind[last] = 0
        draft.source[last] = mux
    if draft.pointer_kind[last] == NOTHING:
        draft.pointer_kind[last] = 0
        place, receiver = _cursor(receiving, tile, event)
        draft.pointer[last] = place
        draft.receiver[last] = receiver
    draft.operation[last] = SEND_BOTH
    if operation in (SEND_ON, SEND_CONTROL):
        send = sending.start[tile + 1] - 1
        while sending.event[send] > event:
            send -= 1
        draft.place[last] = sending.place[send] + event - sending.event[send]
        draft.control[last] = sending.control[send]
        draft.message[last] = sending.message[send]


@compiled_part
def _cursor(receiving: Receiving, tile: int, event: int) -> tuple[int, int]:
    """Where an item that takes its address in `event` goes, and the receiver that says so.

    Before the first pointer it does not matter.
    """
    low, high = receiving.start[tile], receiving.start[tile + 1]
    first = low
    while low < high:
        middle = (low + high) // 2
        if receiving.point[middle] <= event:
            low = middle + 1
        else:
            high = middle
    if low == first:
        return 0, NOTHING
    items = min(event - receiving.point[low - 1], receiving.items[low - 1])
    return (
        receiving.place[low - 1] + items * receiving.step[low - 1],
        receiving.receiver[low - 1],
    )
