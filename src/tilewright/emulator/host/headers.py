"""Headers of packets: what they ask for, and whether that can be."""

from typing import Any, TypeAlias

import numpy as np

from tilewright.compiled import compiled_part
from tilewright.emulator.fabric.findings import Findings, Number, note
from tilewright.emulator.fabric.layout import element_bit
from tilewright.emulator.host.findings import Finding
from tilewright.target.geometry import MEMORY_BASE
from tilewright.target.host import HOST_PAGE, HOST_SPACE, HOST_WORD, PACKET_WINDOW
from tilewright.target.host_packets import (
    DESTINATION_MASK,
    DESTINATION_UNIT,
    FORMAT_SHIFT,
    LENGTH_MASK,
    LONG_UNIT,
    LONGEST_PACKET,
    LOW_TILE_SHIFT,
    OFFSET_MASK,
    OFFSET_SHIFT,
    SHORT_UNIT,
    SPARE_BITS,
    STREAM_END,
    STREAM_END_SHIFT,
    TILE_MASK,
    TILE_SHIFT,
    PacketFormat,
)

Entry: TypeAlias = Any
"""One entry of an array of records, whose fields are attributes in compiled code."""

_WRITE_LONG, _READ_LONG = int(PacketFormat.WRITE_LONG), int(PacketFormat.READ_LONG)
_WINDOW_START, _WINDOW_END = PACKET_WINDOW

PACKET = np.dtype(
    [(name, np.int64) for name in ("tile", "is_read", "offset", "size", "place")]
    + [(name, np.int64) for name in ("ends_stream", "cycle", "event", "pc")]
)
"""A read or write of `size` bytes at `offset` in host memory.

`place` is the tile's address of a read, and the first word among all payloads of a write. The last
word has left in `cycle`; `event` is that of the header, counted from 1 when the tile was let go,
and `pc` the address of the header's send.
"""


@compiled_part
def read_header(
    packet: Entry, first: Number, second: Number, payloads: Number, code: Number, found: Findings
) -> Findings:
    """Add to a packet what its header says; `payloads` words of payloads have gone before.

    `code` has bits of the memory elements that hold the sender's row.
    """
    form = first >> FORMAT_SHIFT
    packet.is_read = form > _WRITE_LONG
    unit = LONG_UNIT if form in (_WRITE_LONG, _READ_LONG) else SHORT_UNIT
    packet.size = (second & LENGTH_MASK) * unit
    if not packet.size and unit == LONG_UNIT:
        packet.size = LONGEST_PACKET
    packet.offset = (second >> OFFSET_SHIFT & OFFSET_MASK) * unit
    ending = first >> STREAM_END_SHIFT & STREAM_END
    packet.ends_stream = packet.is_read and ending == STREAM_END
    destination = first & DESTINATION_MASK
    packet.place = MEMORY_BASE + DESTINATION_UNIT * destination if packet.is_read else payloads
    finding = -1
    if first & SPARE_BITS or (not packet.is_read and (ending or destination)):
        finding = Finding.SPARE_BITS
    elif (
        first >> TILE_SHIFT & TILE_MASK != packet.tile
        or second >> LOW_TILE_SHIFT != packet.tile & 1
    ):
        finding = Finding.OTHER_TILE
    elif ending and ending != STREAM_END:
        finding = Finding.STREAM_BITS
    elif not packet.is_read and not packet.size:
        finding = Finding.EMPTY_WRITE
    if finding >= 0:
        return note(found, finding, packet.tile, packet.event, packet.pc, first, second)
    return _check_places(packet, code, found)


@compiled_part
def _check_places(packet: Entry, code: Number, found: Findings) -> Findings:
    """Where a packet's words come from or go to, on both sides."""
    finding, place = -1, packet.offset
    if packet.offset + packet.size > HOST_SPACE:
        finding = Finding.BEYOND_SPACE
    elif packet.offset % HOST_PAGE + packet.size > HOST_PAGE:
        finding = Finding.CROSSING
    elif packet.is_read and (
        packet.place < _WINDOW_START or packet.place + max(packet.size, HOST_WORD) > _WINDOW_END
    ):
        finding, place = Finding.OUTSIDE_WINDOW, packet.place
    elif packet.is_read and element_bit(packet.place) & code:
        finding, place = Finding.WORDS_FOR_CODE, packet.place
    if finding >= 0:
        found = note(found, finding, packet.tile, packet.event, packet.pc, packet.size, place)
    return found
