"""Rows of a phase with many short messages: permutations of all tiles, one after the other."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tilewright.isa import FORM_BY_NAME, Form, encode
from tilewright.target.geometry import MEMORY_BASE, REGION1_BASE, TILES
from tilewright.target.routes import TIME_RANGE, directions, times
from tilewright.target.row_events import pointer_delays, row_end_delays
from tilewright.target.topology import NEUTRAL_MUX, physical_tiles

SOURCES, DESTINATIONS = MEMORY_BASE + 0x8000, REGION1_BASE
"""Where messages come from and go to, one after the other."""
_WORD = 4
_FIRST_SLOT = 1 + TIME_RANGE[1]
"""Early enough for every source: its first word leaves in event 1 or later."""
_LONGEST = {"delay": 524_288, "delaypic": 128, "delayxpic": 4096}
_SEND_SOURCE, _SEND_POINTER = 0, 2
"""Selectors of `sendpic`."""


def _form(mnemonic: str) -> Form:
    (form,) = (each for each in FORM_BY_NAME.values() if each.mnemonic == mnemonic)
    return form


_FORMS = {name: _form(name) for name in ("delay", "delaypic", "delayxpic", "send", "sendpic")}


class Message(NamedTuple):
    """`event`: when the sender's first word leaves; `slot` and `point`: when the receiver selects
    the source, and sets the pointer."""

    number: int
    sender: int
    receiver: int
    event: int
    slot: int
    point: int
    direction: int


class _Control(NamedTuple):
    event: int
    is_source: bool
    value: int


class _Send(NamedTuple):
    event: int
    number: int
    direction: int


def messages(permutations: int, words: int) -> list[Message]:
    """Those of so many permutations, but the few whose controls would meet a tile's own send.

    In permutation k, the tile of logical id l sends to that of l + 37k + 1.
    """
    logical = np.arange(TILES)
    senders = physical_tiles(logical)
    # Between permutations, all words that are on their way arrive.
    period = words + int(pointer_delays(np.arange(TILES)).max()) + TIME_RANGE[1] - TIME_RANGE[0]
    found = []
    for number in range(permutations):
        receivers = physical_tiles((logical + 37 * number + 1) % TILES)
        slot = _FIRST_SLOT + number * period
        events = slot - times(senders, receivers)
        points = slot + pointer_delays(receivers)
        own_event = np.zeros(TILES, np.int64)
        own_event[senders] = events
        first = own_event[receivers]
        meets = (first == slot) | (first == slot + words) | (first == points)
        columns = (senders, receivers, events, points, directions(senders, receivers))
        found += [
            Message(number, sender, receiver, event, slot, point, direction)
            for sender, receiver, event, point, direction in zip(
                *(column[~meets].tolist() for column in columns), strict=True
            )
        ]
    return found


def rows(found: Iterable[Message], words: int) -> list[bytes]:
    """The row of each tile, by physical id: its code, without a return."""
    controls: list[list[_Control]] = [[] for _ in range(TILES)]
    sends: list[list[_Send]] = [[] for _ in range(TILES)]
    for each in found:
        pointer = DESTINATIONS // _WORD + each.number * words
        controls[each.receiver] += [
            _Control(each.slot, True, each.sender),
            _Control(each.slot + words, True, NEUTRAL_MUX),
            _Control(each.point, False, pointer),
        ]
        sends[each.sender].append(_Send(each.event, each.number, each.direction))
    return [
        b"".join(
            word.to_bytes(_WORD, "little")
            for word in _row(sorted(controls[tile]), sends[tile], words, tile)
        )
        for tile in range(TILES)
    ]


def _row(controls: list[_Control], sends: list[_Send], words: int, tile: int) -> Iterator[int]:
    elapsed = 0
    pending = iter([*controls, None])
    control = next(pending)
    for send in [*sends, None]:
        while control is not None and (send is None or control.event < send.event):
            yield from _delay_to(elapsed, control)
            elapsed, control = control.event, next(pending)
        if send is None:
            break
        yield from _delay(send.event - 1 - elapsed)
        inside = []
        while control is not None and control.event < send.event + words:
            inside.append(control)
            control = next(pending)
        yield from _send(send, inside, words)
        elapsed = send.event - 1 + words
    yield from _delay(words + int(row_end_delays(tile)))


def _send(send: _Send, inside: list[_Control], words: int) -> Iterator[int]:
    """A send, which goes on with each control that falls into it."""
    ends = [*(each.event for each in inside), send.event + words]
    address = SOURCES // _WORD + send.number * words
    yield encode(_FORMS["send"], [ends[0] - send.event - 1, address, send.direction])
    for control, end in zip(inside, ends[1:], strict=True):
        selector = _SEND_SOURCE if control.is_source else _SEND_POINTER
        yield encode(_FORMS["sendpic"], [end - control.event - 1, selector, control.value])


def _delay_to(elapsed: int, control: _Control) -> Iterator[int]:
    """A delay at whose last event a control is set."""
    name = "delayxpic" if control.is_source else "delaypic"
    wait = max(0, control.event - elapsed - _LONGEST[name])
    yield from _delay(wait)
    yield encode(_FORMS[name], [control.event - elapsed - wait - 1, 0, control.value])


def _delay(events: int) -> Iterator[int]:
    if events:
        yield encode(_FORMS["delay"], [events - 1])
