"""Rows of exchange code as executed: sends and controls of all tiles, by event.

Event 1 is the first cycle of a tile's first exchange instruction after the barrier. A put of
INCOMING_DELTA sets the pointer, one of OUTGOING_DELTA the cursor: addresses with the base included
(`delta-absolute`). EXCHANGE_CTL, EXCHANGE_ADJ and INCOMING_SINIT have no effect (`exchange-ctl`).
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.compiled import compiled, compiled_part
from tilewright.emulator.events import EXCHANGE_CSRS, NONE, EventKind, exchange_csr
from tilewright.emulator.fabric.findings import Finding, Findings, Number, note
from tilewright.emulator.fabric.inputs import Executed
from tilewright.emulator.fabric.layout import element_bit
from tilewright.target.geometry import SUPERVISOR_FETCH_AHEAD
from tilewright.target.row_events import FIRST_EVENT

WORD_SIZE, PAIR_SIZE = 4, 8
"""Sizes of items, in bytes."""
BOTH_DIRECTIONS = 0b11
_WIDE = 0b100
"""Bits of a send's control: which directions to drive, and whether items are of 64 bits."""
_LAST_FORMAT = 2
_PAIRED = 1
"""Selector of a source for both members of a pair."""
_FORMAT = 1
"""Selector of a pointer event that sets the format."""
NO_ROW = -1

(
    _MUX,
    _MUX_PAIR,
    _POINTER,
    _SET_FORMAT,
    _INCOMING_BASE,
    _OUTGOING_BASE,
    _CURSOR,
) = (
    exchange_csr(name)
    for name in (
        "INCOMING_MUX",
        "INCOMING_MUXPAIR",
        "INCOMING_DELTA",
        "INCOMING_FORMAT",
        "INCOMING_BASE",
        "OUTGOING_BASE",
        "OUTGOING_DELTA",
    )
)
_FIRST_CSR = EXCHANGE_CSRS.start
_DELAY, _SEND, _POINTERS, _SOURCES, _PUT = (
    int(kind)
    for kind in (
        EventKind.DELAY,
        EventKind.SEND,
        EventKind.POINTER,
        EventKind.SOURCE,
        EventKind.PUT,
    )
)

Array: TypeAlias = NDArray[Any]
Entry: TypeAlias = Any
"""One entry of an array of records, whose fields are attributes in compiled code."""
Bounds: TypeAlias = NDArray[np.int64]
"""Where the entries of each tile begin in an array of all tiles', with the end as the last."""


def _numbers(names: str) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in names.split()])


SEND = _numbers("tile event items address size directions pc")
"""Consecutive items: the first, at `address` in bytes, leaves in `event`."""

CONTROL = _numbers("event value pc is_paired")
"""A control of the receiver set in an event: a mux number, an address in bytes, a format."""

ROW = _numbers("distance length pointer cursor code is_active")
"""What a tile does in a phase.

`length` is the last event of its exchange instructions, `distance` the cycles from the barrier to
event 1 (`NO_ROW` if the tile has no row); `code` has bits of the memory elements that hold
exchange instructions, or what is fetched ahead of them. `pointer` is where items go before the
first pointer is set, `cursor` where the next item that is sent would come from. `is_active`:
whether the tile does more than pass time.
"""


_STATE = _numbers("before incoming_base outgoing_base control")
"""What the reader of a row knows: the cycle of event 0, the base registers, and the control of the
stream."""
_NO_STREAM = -1
_SENT, _SELECTED, _POINTED, _FORMATTED = range(4)
"""Places of sends, sources, pointers and formats where all are counted."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of all tiles: `rows` of `ROW` by tile, the rest in order of tiles and events."""

    rows: Array
    sends: Array
    send_bounds: Bounds
    sources: Array
    source_bounds: Bounds
    pointers: Array
    pointer_bounds: Bounds
    formats: Array
    format_bounds: Bounds


def read_rows(executed: Executed, found: Findings) -> tuple[Rows, Findings]:
    """The rows that tiles have run, and the findings with what is wrong in the rows themselves."""
    tiles, most = len(executed.registers), len(executed.events)
    rows = np.zeros(tiles, ROW)
    sends = np.empty(most, SEND)
    sources, pointers, formats = (np.empty(most, CONTROL) for _ in range(3))
    bounds = np.zeros((4, tiles + 1), np.int64)
    found = _read_all(
        executed.released,
        executed.events,
        executed.bounds,
        executed.registers,
        rows,
        sends,
        sources,
        pointers,
        formats,
        bounds,
        found,
    )
    ends = bounds[:, -1].tolist()
    made = Rows(
        rows,
        sends[: ends[0]],
        bounds[0],
        sources[: ends[1]],
        bounds[1],
        pointers[: ends[2]],
        bounds[2],
        formats[: ends[3]],
        bounds[3],
    )
    return made, found


@compiled
def _read_all(
    released: Bounds,
    events: Array,
    event_bounds: Bounds,
    registers: Array,
    rows: Array,
    sends: Array,
    sources: Array,
    pointers: Array,
    formats: Array,
    bounds: Array,
    found: Findings,
) -> Findings:
    """Follows the events of each row, and the registers that they depend on."""
    state = np.zeros(1, _STATE)[0]
    for tile in range(len(rows)):
        row = rows[tile]
        of_tile = events[event_bounds[tile] : event_bounds[tile + 1]]
        counts = bounds[:, tile + 1]  # they grow as things are found
        for kind in range(len(counts)):
            counts[kind] = bounds[kind, tile]
        _begin(row, state, of_tile, released[tile], registers[tile])
        pending = 0
        for place in range(len(of_tile)):
            each = of_tile[place]
            kind = each.kind
            event = np.int64(each.cycle) - state.before
            if kind in (_POINTERS, _SOURCES):
                pending += 1
            elif kind == _PUT:
                found = _put(
                    each, event, tile, row, state, sources, pointers, formats, counts, found
                )
            elif kind in (_DELAY, _SEND):
                if kind == _SEND:
                    found = _send(each, event, tile, row, state, sends, bounds, found)
                last = event + np.int64(each.arguments[0]) - 1
                controls = of_tile[place - pending : place]
                found = _set_controls(
                    controls, event, last, tile, state, sources, pointers, formats, counts, found
                )
                pending = 0
                row.length = max(row.length, last)
                row.code |= code_elements(np.int64(each.pc))
        for kind in range(len(counts)):
            if counts[kind] > bounds[kind, tile]:
                row.is_active = 1
    return found


@compiled_part
def _begin(
    row: Entry, state: Entry, events: Array, released: Number, registers: NDArray[np.uint32]
) -> None:
    """The registers when a barrier has let a tile go, and the time from which events count."""
    row.pointer, row.cursor = registers[_POINTER], registers[_CURSOR]
    row.distance = NO_ROW
    state.before = released - FIRST_EVENT
    for place in range(len(events)):
        if events[place].kind in (_DELAY, _SEND):
            start = np.int64(events[place].cycle)
            row.distance = start - released
            state.before = start - FIRST_EVENT
            break
    state.incoming_base, state.outgoing_base = (
        registers[_INCOMING_BASE],
        registers[_OUTGOING_BASE],
    )
    state.control = _NO_STREAM


@compiled_part
def _put(
    put: Entry,
    event: Number,
    tile: int,
    row: Entry,
    state: Entry,
    sources: Array,
    pointers: Array,
    formats: Array,
    counts: Array,
    found: Findings,
) -> Findings:
    """A write of a control register."""
    index, word = np.int64(put.arguments[0]) - _FIRST_CSR, np.int64(put.arguments[1])
    pc = np.int64(put.pc)
    if index == _INCOMING_BASE:
        state.incoming_base = word
    elif index == _OUTGOING_BASE:
        state.outgoing_base = word
    elif index == _CURSOR:
        row.cursor = word
    elif index == _POINTER:
        _add(pointers, counts, _POINTED, event, word, pc, 0)
    elif index == _SET_FORMAT:
        found = _set_format(formats, counts, tile, event, word, pc, found)
    elif index in (_MUX, _MUX_PAIR):
        _add(sources, counts, _SELECTED, event, word, pc, index == _MUX_PAIR)
    return found


@compiled_part
def _set_controls(
    controls: Array,
    first: Number,
    last: Number,
    tile: int,
    state: Entry,
    sources: Array,
    pointers: Array,
    formats: Array,
    counts: Array,
    found: Findings,
) -> Findings:
    """Place the controls of an instruction that lasts from event `first` to `last`."""
    if _is_shared(controls):
        found = note(found, Finding.SHARED_CONTROL, tile, first, np.int64(controls[0].pc))
    for place in range(len(controls)):
        control = controls[place]
        selector, value = control.arguments[0], np.int64(control.arguments[1])
        event = last if control.arguments[2] else first
        pc = np.int64(control.pc)
        if control.kind == _SOURCES:
            _add(sources, counts, _SELECTED, event, value, pc, selector == _PAIRED)
        elif selector == _FORMAT:
            found = _set_format(formats, counts, tile, event, value, pc, found)
        else:
            # The base counts when a pointer is set, not when words arrive (`base-sampled`).
            address = state.incoming_base + WORD_SIZE * value
            _add(pointers, counts, _POINTED, event, address, pc, 0)
    return found


@compiled_part
def _is_shared(controls: Array) -> bool:
    """Whether a paired source or a format is set in one event with another control."""
    if len(controls) > 1:
        for place in range(len(controls)):
            if controls[place].arguments[0]:
                return True
    return False


@compiled_part
def _set_format(
    formats: Array,
    counts: Array,
    tile: int,
    event: Number,
    value: Number,
    pc: Number,
    found: Findings,
) -> Findings:
    if value > _LAST_FORMAT:
        found = note(found, Finding.FORMAT_VALUE, tile, event, pc, value)
    _add(formats, counts, _FORMATTED, event, value, pc, 0)
    return found


@compiled_part
def _add(
    controls: Array,
    counts: Array,
    kind: int,
    event: Number,
    value: Number,
    pc: Number,
    is_paired: Number,
) -> None:
    control = controls[counts[kind]]
    control.event, control.value, control.pc, control.is_paired = event, value, pc, is_paired
    counts[kind] += 1


@compiled_part
def _send(
    sending: Entry,
    event: Number,
    tile: int,
    row: Entry,
    state: Entry,
    sends: Array,
    bounds: Array,
    found: Findings,
) -> Findings:
    """What a send puts on the bus."""
    items, pc = np.int64(sending.arguments[0]), np.int64(sending.pc)
    if sending.arguments[2] != NONE:
        state.control = np.int64(sending.arguments[2])
    if state.control == _NO_STREAM:
        return note(found, Finding.NO_STREAM, tile, event, pc)
    size = PAIR_SIZE if state.control & _WIDE else WORD_SIZE
    if sending.arguments[1] == NONE:
        address = row.cursor + size * np.int64(sending.arguments[3])
    else:
        address = state.outgoing_base + size * np.int64(sending.arguments[1])
    row.cursor = address + size * items
    directions = state.control & BOTH_DIRECTIONS
    if not directions:
        return found
    first, count = bounds[_SENT, tile], bounds[_SENT, tile + 1]
    if count > first:
        last = sends[count - 1]
        # It goes on where the last one ended, in time and in memory.
        if (
            event == last.event + last.items
            and address == last.address + last.items * last.size
            and size == last.size
            and directions == last.directions
        ):
            last.items += items
            return found
    send = sends[count]
    send.tile, send.event, send.items, send.address = tile, event, items, address
    send.size, send.directions, send.pc = size, directions, pc
    bounds[_SENT, tile + 1] = count + 1
    return found


@compiled_part
def code_elements(pc: Number) -> int:
    """Bits of the elements that an instruction lies in, or that are fetched ahead of it."""
    return int(element_bit(pc) | element_bit(pc + SUPERVISOR_FETCH_AHEAD))
