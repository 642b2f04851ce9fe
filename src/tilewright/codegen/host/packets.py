"""Packets and requests of host exchange, as words: arrays over packets and over tiles."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.codegen.host.columns import Ints, Words
from tilewright.target.geometry import MEMORY_BASE
from tilewright.target.host import HOST_WORD
from tilewright.target.host_packets import (
    DESTINATION_UNIT,
    FORMAT_SHIFT,
    HEADER_WORDS,
    LENGTH_MASK,
    LONG_UNIT,
    LONGEST_PACKET,
    LOW_TILE_SHIFT,
    OFFSET_SHIFT,
    REQUEST_BITS,
    SHORT_UNIT,
    STREAM_END,
    STREAM_END_SHIFT,
    TILE_SHIFT,
    PacketFormat,
    owners,
)
from tilewright.target.topology import places, tile_ids

HEADER_BYTES = HEADER_WORDS * HOST_WORD
"""A packet's header, or a request."""
MOST_SENT, MOST_FETCHED = LONGEST_PACKET, 256
"""The bytes of the largest packet from the host, and to the host: what one `send` holds."""


def packet_words(
    is_read: npt.ArrayLike,
    ends_stream: npt.ArrayLike,
    tile: npt.ArrayLike,
    destination: npt.ArrayLike,
    host: npt.ArrayLike,
    size: npt.ArrayLike,
) -> Words:
    """The two words (n, 2) of each packet's header, of physical tiles.

    A read brings `size` bytes at `host` to the tile address `destination`; a write takes the
    payload behind its header there, and has no destination. The last read of a stream ends it.
    Packets of whole units of 64 bytes are long ones.
    """
    is_read, ends_stream = np.asarray(is_read, bool), np.asarray(ends_stream, bool)
    tile, destination, host, size = (
        np.asarray(each, np.int64) for each in (tile, destination, host, size)
    )
    is_long = (size > 0) & (size % LONG_UNIT == 0) & (host % LONG_UNIT == 0)
    unit = np.where(is_long, LONG_UNIT, SHORT_UNIT)
    read = np.where(is_long, PacketFormat.READ_LONG, PacketFormat.READ_SHORT)
    write = np.where(is_long, PacketFormat.WRITE_LONG, PacketFormat.WRITE_SHORT)
    first = np.where(is_read, read, write) << FORMAT_SHIFT | tile << TILE_SHIFT
    first |= np.where(ends_stream, STREAM_END << STREAM_END_SHIFT, 0)
    first |= np.where(is_read, (destination - MEMORY_BASE) // DESTINATION_UNIT, 0)
    second = (tile & 1) << LOW_TILE_SHIFT | host // unit << OFFSET_SHIFT
    second |= size // unit & LENGTH_MASK
    return np.stack(np.broadcast_arrays(first, second), axis=-1).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class Requests:
    """What opens the exchange of a phase: each `owner` (physical tile) sends two `words` (n, 2)."""

    owner: Ints
    words: Words


def requests(targets: npt.ArrayLike) -> Requests:
    """The requests for physical tiles, ordered by owner."""
    targets = np.unique(tile_ids(targets))
    asking, row = np.unique(owners(targets), return_inverse=True)
    place = places(targets)
    bit = 2 * place.row + place.member
    words = np.zeros((len(asking), 2), np.uint32)
    is_second = bit >= REQUEST_BITS[0]
    number = np.where(is_second, bit - REQUEST_BITS[0], bit).astype(np.uint32)
    np.bitwise_or.at(words, (row, is_second.astype(int)), np.uint32(1) << number)
    return Requests(asking.astype(np.int64), words)
