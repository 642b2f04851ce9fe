"""Rows of exchange code as executed: sends and controls of all tiles, by event.

Event 1 is the first cycle of a tile's first exchange instruction after the barrier. A put of
INCOMING_DELTA sets the pointer, one of OUTGOING_DELTA the cursor: addresses with the base included
(`delta-absolute`). EXCHANGE_CTL, EXCHANGE_ADJ and INCOMING_SINIT have no effect (`exchange-ctl`).
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.compiled import compiled
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
        executed.events["cycle"].view(np.int64),
        executed.events["kind"],
        executed.events["pc"],
        executed.events["arguments"],
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
    cycles: Array,
    kinds: Array,
    pcs: Array,
    arguments: Array,
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
    sent = selected = pointed = formatted = 0
    for tile in range(len(rows)):
        row = rows[tile]
        first, end = event_bounds[tile], event_bounds[tile + 1]
        start = _row_start(cycles, kinds, first, end)
        row.distance = NO_ROW if start < 0 else start - released[tile]
        before = (released[tile] if start < 0 else start) - FIRST_EVENT
        row.pointer = registers[tile, _POINTER]
        row.cursor = registers[tile, _CURSOR]
        incoming_base = np.int64(registers[tile, _INCOMING_BASE])
        outgoing_base = np.int64(registers[tile, _OUTGOING_BASE])
        control: Number = -1
        pending = 0
        for place in range(first, end):
            kind = kinds[place]
            words = arguments[place]
            pc = np.int64(pcs[place])
            event = cycles[place] - before
            if kind in (_POINTERS, _SOURCES):
                pending += 1
            elif kind == _PUT:
                index, word = np.int64(words[0]) - _FIRST_CSR, np.int64(words[1])
                if index == _INCOMING_BASE:
                    incoming_base = word
                elif index == _OUTGOING_BASE:
                    outgoing_base = word
                elif index == _POINTER:
                    _set(pointers[pointed], event, word, pc, 0)
                    pointed += 1
                elif index == _CURSOR:
                    row.cursor = word
                elif index == _SET_FORMAT:
                    found = _check_format(found, tile, event, word, pc)
                    _set(formats[formatted], event, word, pc, 0)
                    formatted += 1
                elif index in (_MUX, _MUX_PAIR):
                    _set(sources[selected], event, word, pc, index == _MUX_PAIR)
                    selected += 1
            elif kind in (_DELAY, _SEND):
                last = event + np.int64(words[0]) - 1
                if kind == _SEND:
                    if words[2] != NONE:
                        control = np.int64(words[2])
                    if control < 0:
                        found = note(found, Finding.NO_STREAM, tile, event, pc)
                    else:
                        sent = _send(
                            row,
                            sends,
                            bounds[0, tile],
                            sent,
                            tile,
                            event,
                            words,
                            control,
                            outgoing_base,
                            pc,
                        )
                if _is_shared(arguments, place, pending):
                    found = note(found, Finding.SHARED_CONTROL, tile, event, pc)
                for other in range(place - pending, place):
                    selector, value = arguments[other, 0], np.int64(arguments[other, 1])
                    at = last if arguments[other, 2] else event
                    if kinds[other] == _SOURCES:
                        _set(sources[selected], at, value, pc, selector == _PAIRED)
                        selected += 1
                    elif selector == _FORMAT:
                        found = _check_format(found, tile, at, value, pc)
                        _set(formats[formatted], at, value, pc, 0)
                        formatted += 1
                    else:
                        # The base counts when a pointer is set, not when words arrive
                        # (`base-sampled`).
                        address = incoming_base + WORD_SIZE * value
                        _set(pointers[pointed], at, address, pc, 0)
                        pointed += 1
                pending = 0
                row.length = max(row.length, last)
                row.code |= code_elements(pc)
        after = (sent, selected, pointed, formatted)
        for place in range(4):
            bounds[place, tile + 1] = after[place]
            if after[place] > bounds[place, tile]:
                row.is_active = 1
    return found


@compiled
def _row_start(cycles: Array, kinds: Array, first: int, end: int) -> int:
    """The cycle of the first exchange instruction, -1 if there is none."""
    for place in range(first, end):
        if kinds[place] in (_DELAY, _SEND):
            return int(cycles[place])
    return -1


@compiled
def _set(control: Entry, event: Number, value: Number, pc: Number, is_paired: Number) -> None:
    control.event, control.value, control.pc, control.is_paired = event, value, pc, is_paired


@compiled
def _check_format(found: Findings, tile: int, event: Number, value: Number, pc: Number) -> Findings:
    if value > _LAST_FORMAT:
        return note(found, Finding.FORMAT_VALUE, tile, event, pc, value)
    return found


@compiled
def _is_shared(arguments: Array, place: int, pending: int) -> bool:
    """Whether a paired source or a format is set in one event with another control."""
    if pending > 1:
        for other in range(place - pending, place):
            if arguments[other, 0]:
                return True
    return False


@compiled
def _send(
    row: Entry,
    sends: Array,
    first: int,
    sent: int,
    tile: int,
    event: Number,
    words: Array,
    control: Number,
    base: Number,
    pc: Number,
) -> int:
    """Add what a send puts on the bus; returns the count of sends."""
    items = np.int64(words[0])
    size = PAIR_SIZE if control & _WIDE else WORD_SIZE
    if words[1] == NONE:
        address = row.cursor + size * np.int64(words[3])
    else:
        address = base + size * np.int64(words[1])
    row.cursor = address + size * items
    directions = control & BOTH_DIRECTIONS
    if not directions:
        return sent
    if sent > first:
        last = sends[sent - 1]
        # It goes on where the last one ended, in time and in memory.
        if (
            event == last.event + last.items
            and address == last.address + last.items * last.size
            and size == last.size
            and directions == last.directions
        ):
            last.items += items
            return sent
    send = sends[sent]
    send.tile, send.event, send.items, send.address = tile, event, items, address
    send.size, send.directions, send.pc = size, directions, pc
    return sent + 1


@compiled
def code_elements(pc: Number) -> int:
    """Bits of the elements that an instruction lies in, or that are fetched ahead of it."""
    return int(element_bit(pc) | element_bit(pc + SUPERVISOR_FETCH_AHEAD))
