"""Packets between tiles and the host: the fields of their headers, and who asks on whose behalf.

A packet is a header of two words, and the payload if the tile writes. Before tiles may exchange
packets with the host, the owner of each sends a request (XREQ) that names them; the owner is the
tile of row 0 on the same side of the same column, and the first of its pair.

Evidence: names and formats are the vendor's, from a dump of its constants; the published words are
those of a third party's stack that ran on C600 cards (docs/fidelity.md).
"""

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from tilewright.target.geometry import TILES
from tilewright.target.topology import PARTNER_BIT, ROWS, IntArray, tile_ids

HEADER_WORDS = 2
"""Of requests, reads and writes alike."""


class PacketFormat(IntEnum):
    """The top three bits of a packet's first word. Tiles send requests, and the last four."""

    REQUEST = 0
    FLOW_CONTROL = 1
    TO_TILE_SHORT = 2
    TO_TILE_LONG = 3
    WRITE_SHORT = 4
    WRITE_LONG = 5
    READ_SHORT = 6
    READ_LONG = 7


FORMAT_SHIFT = 29

# Reads and writes, word 0

SPARE_BITS = 1 << 28
"""Always 0, as far as is known."""
STREAM_END_SHIFT, STREAM_END = 26, 0b11
"""Both bits are set on the last read of a stream, which ends with it."""
TILE_SHIFT, TILE_MASK = 15, 0x7FF
"""The physical number of the tile."""
DESTINATION_MASK, DESTINATION_UNIT = 0x7FFF, 32
"""Of reads: where the words go, counted from the start of tile memory. Writes have 0."""

# Reads and writes, word 1

LOW_TILE_SHIFT = 31
"""Bit 0 of the tile's number, once more."""
OFFSET_SHIFT, OFFSET_MASK = 4, 0x7FFFFFF
"""The offset in host memory, in units of the format."""
LENGTH_MASK = 0xF
"""The length, in the same units; a long packet of 0 units has `LONGEST_PACKET` bytes."""

SHORT_UNIT, LONG_UNIT = 4, 64
"""In bytes. Short packets have up to 60 bytes, long ones 64 to `LONGEST_PACKET`."""
LONGEST_PACKET = 1024

PAYLOAD_INTERVAL = 18
"""Events from the first word of a write's payload to the next packet, at least: a rule of the third
party's (`payload-interval`)."""

ZERO_READ_WORDS = 1
"""INCOMING_DCOUNT counts the answer to a read of no bytes as one word."""

# Requests

REQUEST_BITS = (24, 22)
"""How many bits of each word name tiles: two for each row, the pair's first member lower."""

assert sum(REQUEST_BITS) == 2 * ROWS

_FIRST_OF_ROW_0 = TILES // ROWS - 1 - PARTNER_BIT


def owners(tiles: npt.ArrayLike) -> IntArray:
    """The tiles whose requests open host traffic for tiles: one for each side of a column."""
    return tile_ids(tiles) & _FIRST_OF_ROW_0


def requested_tiles(owner: int, first: int, second: int) -> IntArray:
    """The tiles that the two words of an owner's request name, in ascending order."""
    bits = first | second << REQUEST_BITS[0]
    named = np.array([bit for bit in range(sum(REQUEST_BITS)) if bits >> bit & 1], np.int32)
    return (TILES // ROWS * (named >> 1) + PARTNER_BIT * (named & 1) + owner).astype(np.int32)
