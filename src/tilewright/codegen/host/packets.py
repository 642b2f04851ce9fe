"""Packets and requests of host exchange, as words: arrays over packets and over tiles."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.codegen.host.window import DESTINATION_UNIT
from tilewright.target.geometry import MEMORY_BASE
from tilewright.target.topology import PARTNER_BIT, places, tile_ids

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]

HEADER_BYTES = 8
"""A packet's head, and a request, are two words."""
SHORT_UNIT, LONG_UNIT = 4, 64
"""Short packets count bytes in words, long ones in units of 64; host offsets alike."""
MOST_SENT, MOST_FETCHED = 1024, 256
"""The bytes of the largest packet from the host, and to the host: one `send` of 64 words."""

_WRITE_SHORT, _WRITE_LONG, _READ_SHORT, _READ_LONG = 4, 5, 6, 7
_FORMAT_SHIFT, _STREAM_END, _TILE_SHIFT = 29, 0b11 << 26, 15
_SIDE_SHIFT, _OFFSET_SHIFT, _LENGTH_BITS = 31, 4, 0b1111
_REQUEST_BITS = 24
"""How many targets the first word of a request names."""


def packet_words(
    is_read: npt.ArrayLike,
    ends_stream: npt.ArrayLike,
    tile: npt.ArrayLike,
    destination: npt.ArrayLike,
    host: npt.ArrayLike,
    size: npt.ArrayLike,
) -> Words:
    """The two words (n, 2) of each packet's head, of physical tiles.

    A read brings `size` bytes at `host` to the tile address `destination`; a write takes the
    payload behind its head there, and has no destination. The last read of a stream ends it.
    Packets of whole units of 64 bytes are long ones.
    """
    is_read, ends_stream = np.asarray(is_read, bool), np.asarray(ends_stream, bool)
    tile, destination, host, size = (
        np.asarray(each, np.int64) for each in (tile, destination, host, size)
    )
    is_long = (size > 0) & (size % LONG_UNIT == 0) & (host % LONG_UNIT == 0)
    unit = np.where(is_long, LONG_UNIT, SHORT_UNIT)
    kind = np.where(is_read, _READ_SHORT, _WRITE_SHORT) + is_long
    first = kind << _FORMAT_SHIFT | tile << _TILE_SHIFT | np.where(ends_stream, _STREAM_END, 0)
    first |= np.where(is_read, (destination - MEMORY_BASE) // DESTINATION_UNIT, 0)
    second = (tile & 1) << _SIDE_SHIFT | host // unit << _OFFSET_SHIFT | size // unit & _LENGTH_BITS
    return np.stack(np.broadcast_arrays(first, second), axis=-1).astype(np.uint32)


def owners(tiles: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """The tiles that ask the host on behalf of physical tiles: one per side of a column."""
    ids = tile_ids(tiles)
    column_and_side = 0b111111 & ~PARTNER_BIT
    return ids & column_and_side


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
    is_second = bit >= _REQUEST_BITS
    number = np.where(is_second, bit - _REQUEST_BITS, bit).astype(np.uint32)
    np.bitwise_or.at(words, (row, is_second.astype(int)), np.uint32(1) << number)
    return Requests(asking.astype(np.int64), words)
