"""The packets that tiles have sent, read from what their supervisors executed.

The words of all sends of a row, one after the other, are its packets. A packet lies within one row.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.compiled import compiled, compiled_part
from tilewright.emulator.events import EXCHANGE_CSRS, NONE, EventKind, exchange_csr
from tilewright.emulator.fabric import Executed
from tilewright.emulator.fabric.findings import Findings, Number, no_findings, note
from tilewright.emulator.fabric.layout import element_bit
from tilewright.emulator.fabric.rows import code_elements
from tilewright.emulator.host.findings import Finding, raise_first
from tilewright.emulator.host.headers import PACKET, Entry, read_header
from tilewright.emulator.memory import TileMemory
from tilewright.target.geometry import MEMORY_BASE, MEMORY_END
from tilewright.target.host import HOST_WORD
from tilewright.target.host_packets import (
    FORMAT_SHIFT,
    HEADER_WORDS,
    PAYLOAD_INTERVAL,
    PacketFormat,
)

Array: TypeAlias = NDArray[Any]

_FIRST_CSR = EXCHANGE_CSRS.start
_MUX, _BASE, _CURSOR = (
    exchange_csr(name) for name in ("INCOMING_MUX", "OUTGOING_BASE", "OUTGOING_DELTA")
)
_DELAY, _SEND, _POINTER, _SOURCE, _PUT = (
    int(kind)
    for kind in (
        EventKind.DELAY,
        EventKind.SEND,
        EventKind.POINTER,
        EventKind.SOURCE,
        EventKind.PUT,
    )
)
_TO_HOST = 0b11
"""The control of sends that carry packets: both directions, items of 32 bits."""
_NOTHING = 0
"""That of sends which send nothing."""
_REQUEST, _FIRST_OF_TILES = int(PacketFormat.REQUEST), int(PacketFormat.WRITE_SHORT)
"""Formats that tiles send: requests, and those from the second on."""

REQUEST = np.dtype(
    [(name, np.int64) for name in ("tile", "first", "second", "cycle", "event", "pc")]
)
"""A request: its two words, and when and where they were sent."""

_STATE = np.dtype(
    [(name, np.int64) for name in ("mux", "base", "cursor", "reads", "before", "code")]
    + [(name, np.int64) for name in ("header", "first", "left", "event", "pc")]
    + [(name, np.int64) for name in ("payload_event", "payload_pc", "is_paced", "is_lost")]
)
"""What the reader of a tile knows: registers, whether the tile has sent reads, the cycle of
event 0, and bits of the memory elements that hold the row.

`header` words of the next packet have been read, of which `first` is the first, sent in `event` at
`pc`; or `left` words of a payload are missing. `payload_event` is when the last payload began;
`is_paced` is whether what follows it has been looked at. It `is_lost` after words that are no
header: nobody knows where the next one begins.
"""
_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Sent:
    """What tiles have sent: `packets` of `PACKET` and `requests` of `REQUEST`, in order of tiles.

    `payloads` are the words of all writes; `cursors` is where the next word of each tile would come
    from.
    """

    packets: Array
    requests: Array
    payloads: NDArray[np.uint32]
    cursors: NDArray[np.int64]


def read_packets(
    executed: Executed,
    memory: TileMemory,
    muxes: NDArray[np.int32],
    busy_until: NDArray[np.int64],
) -> Sent:
    """What tiles have sent, with payloads as they are in memory now; `muxes` are their endpoints.

    Words of the host for a tile were on their way until `busy_until`. Raises `ExchangeFault` for
    what is no packet, or asks for what cannot be.
    """
    events = executed.events
    sends = events["arguments"][events["kind"] == EventKind.SEND, 0]
    words = int(sends.sum(dtype=np.int64))
    packets = np.empty(words // HEADER_WORDS, PACKET)
    requests = np.empty(words // HEADER_WORDS, REQUEST)
    payloads = np.empty(words, np.uint32)
    cursors = np.empty(len(executed.registers), np.int64)
    counts = np.zeros(3, np.int64)
    found = _read_all(
        executed.released,
        events,
        executed.bounds,
        executed.registers,
        memory.bytes.view(np.uint32),
        muxes,
        busy_until,
        packets,
        requests,
        payloads,
        cursors,
        counts,
        no_findings(),
    )
    raise_first(found)
    ends = counts.tolist()
    return Sent(packets[: ends[0]], requests[: ends[1]], payloads[: ends[2]], cursors)


@compiled
def _read_all(
    released: NDArray[np.int64],
    events: Array,
    bounds: NDArray[np.int64],
    registers: NDArray[np.uint32],
    memory: NDArray[np.uint32],
    muxes: NDArray[np.int32],
    busy_until: NDArray[np.int64],
    packets: Array,
    requests: Array,
    payloads: NDArray[np.uint32],
    cursors: NDArray[np.int64],
    counts: NDArray[np.int64],
    found: Findings,
) -> Findings:
    state = np.zeros(1, _STATE)[0]
    for tile in range(len(registers)):
        _begin(state, registers[tile], released[tile])
        state.code = _code_elements(events[bounds[tile] : bounds[tile + 1]])
        for place in range(bounds[tile], bounds[tile + 1]):
            each = events[place]
            kind = each.kind
            if kind == _PUT:
                found = _put(each, tile, state, busy_until[tile], found)
            elif kind in (_POINTER, _SOURCE):
                event = np.int64(each.cycle) - state.before
                found = note(found, Finding.CONTROL, tile, event, np.int64(each.pc))
            elif kind == _SEND:
                found = _send(
                    each,
                    tile,
                    state,
                    memory,
                    muxes[tile],
                    packets,
                    requests,
                    payloads,
                    counts,
                    found,
                )
        missing = state.left + (HEADER_WORDS - state.header if state.header else 0)
        if missing and not state.is_lost:
            found = note(found, Finding.TRUNCATED, tile, state.event, state.pc, missing)
        cursors[tile] = state.cursor
    return found


@compiled_part
def _begin(state: Entry, registers: NDArray[np.uint32], released: Number) -> None:
    state.mux, state.base = registers[_MUX], registers[_BASE]
    state.cursor = registers[_CURSOR]
    state.before = released - 1
    state.header = state.left = state.reads = state.is_lost = 0
    state.is_paced = 1


@compiled_part
def _code_elements(events: Array) -> int:
    """Bits of the elements that hold the exchange instructions of a row, if it sends anything.

    Packets keep out of them (`host-elements`).
    """
    code, has_sends = 0, False
    for place in range(len(events)):
        kind = events[place].kind
        if kind in (_DELAY, _SEND):
            code |= code_elements(np.int64(events[place].pc))
            has_sends = has_sends or kind == _SEND
    return code if has_sends else 0


@compiled_part
def _put(put: Entry, tile: int, state: Entry, busy_until: Number, found: Findings) -> Findings:
    """A write of a control register."""
    index, word = np.int64(put.arguments[0]) - _FIRST_CSR, np.int64(put.arguments[1])
    if index == _BASE:
        state.base = word
    elif index == _CURSOR:
        state.cursor = word
    elif index == _MUX:
        cycle = np.int64(put.cycle)
        if word != state.mux and (state.reads or cycle < busy_until):
            event = cycle - state.before
            found = note(found, Finding.CHANGED_MUX, tile, event, np.int64(put.pc), word)
        state.mux = word
    return found


@compiled_part
def _send(
    sending: Entry,
    tile: int,
    state: Entry,
    memory: NDArray[np.uint32],
    mux: Number,
    packets: Array,
    requests: Array,
    payloads: NDArray[np.uint32],
    counts: NDArray[np.int64],
    found: Findings,
) -> Findings:
    """The words of one send."""
    items, pc = np.int64(sending.arguments[0]), np.int64(sending.pc)
    event = np.int64(sending.cycle) - state.before
    control = np.int64(sending.arguments[2])
    if control in (_NOTHING, NONE):
        return found  # it passes time, or sets a control, too, which has been noted
    if control != _TO_HOST:
        return note(found, Finding.DIRECTION, tile, event, pc, control)
    if state.mux != mux:
        found = note(found, Finding.WRONG_MUX, tile, event, pc, state.mux, mux)
    if sending.arguments[1] == NONE:
        address = state.cursor + HOST_WORD * np.int64(sending.arguments[3])
    else:
        address = state.base + HOST_WORD * np.int64(sending.arguments[1])
    state.cursor = address + HOST_WORD * items
    if address % HOST_WORD or address < MEMORY_BASE or state.cursor > MEMORY_END:
        return note(found, Finding.SEND_OUTSIDE, tile, event, pc, items, address)
    if (element_bit(address) | element_bit(state.cursor - HOST_WORD)) & state.code:
        found = note(found, Finding.SEND_FROM_CODE, tile, event, pc, address)
    first = (address - MEMORY_BASE) // HOST_WORD
    for item in range(items):
        if state.is_lost:
            break
        word = np.int64(memory[tile, first + item])
        if state.left:
            if state.payload_event == _UNKNOWN:
                state.payload_event, state.payload_pc = event + item, pc
            payloads[counts[2]] = word
            counts[2] += 1
            state.left -= 1
            if not state.left:
                packets[counts[0] - 1].cycle = event + item + state.before
        else:
            found = _header_word(
                tile, word, event + item, pc, state, packets, requests, counts, found
            )
    return found


@compiled_part
def _check_interval(
    tile: int, event: Number, pc: Number, state: Entry, found: Findings
) -> Findings:
    """The time from the payload before to what follows it."""
    state.is_paced = 1
    passed = event - state.payload_event
    if passed < PAYLOAD_INTERVAL:
        found = note(found, Finding.INTERVAL, tile, event, pc, passed, state.payload_pc)
    return found


@compiled_part
def _header_word(
    tile: int,
    word: Number,
    event: Number,
    pc: Number,
    state: Entry,
    packets: Array,
    requests: Array,
    counts: NDArray[np.int64],
    found: Findings,
) -> Findings:
    """A word that belongs to no payload."""
    if not state.header:
        if not state.is_paced:
            found = _check_interval(tile, event, pc, state, found)
        state.first, state.event, state.pc = word, event, pc
        form = word >> FORMAT_SHIFT
        if form != _REQUEST and form < _FIRST_OF_TILES:
            state.is_lost = 1
            return note(found, Finding.FORMAT, tile, event, pc, word, form)
        state.header = 1
        return found
    state.header = 0
    if state.first >> FORMAT_SHIFT == _REQUEST:
        request = requests[counts[1]]
        counts[1] += 1
        request.tile, request.first, request.second = tile, state.first, word
        request.cycle, request.event, request.pc = event + state.before, state.event, state.pc
        return found
    packet = packets[counts[0]]
    counts[0] += 1
    packet.tile, packet.cycle = tile, event + state.before
    packet.event, packet.pc = state.event, state.pc
    found = read_header(packet, state.first, word, counts[2], state.code, found)
    if packet.is_read:
        state.reads = 1
    else:
        state.left = packet.size // HOST_WORD
        state.payload_event, state.is_paced = _UNKNOWN, 0
    return found
