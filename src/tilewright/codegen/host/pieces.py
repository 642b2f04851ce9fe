"""Parts cut into pieces: what one batch moves of a part, and where it waits meanwhile.

What the host sends is staged on the tile, where it has to fit, and is copied by whole atoms. So a
part whose address is no multiple of an atom is sent with a word before it (its `lead`), which no
one copies. What the host fetches goes straight from its place; only host pages limit a batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tilewright.codegen.host.columns import Columns, Ints, numbered
from tilewright.codegen.host.faults import HostError
from tilewright.codegen.host.packets import HEADER_BYTES, MOST_FETCHED, MOST_SENT
from tilewright.codegen.host.parts import Parts
from tilewright.codegen.host.window import STAGING_END, TABLES
from tilewright.target.geometry import TILES
from tilewright.target.host_packets import DESTINATION_UNIT, owners

ATOM = 8
_LEAST_STAGING = MOST_SENT
"""Bytes of staging below which batches would be many and small."""


@dataclass(frozen=True, slots=True, eq=False)
class Pieces(Columns):
    """Columns over pieces, ordered by batch, then tile, then as they follow on the tile.

    `size` bytes of the stream of `tensor` from `offset` on lie at `address` of `tile`. The host
    puts them to `staging`, or takes them from there: `address` itself if they are not staged.
    Meanwhile they lie at `host` in the space of the device. There and in staging, `lead` bytes that
    mean nothing lie before them.
    """

    batch: Ints
    tensor: Ints
    offset: Ints
    size: Ints
    tile: Ints
    address: Ints
    lead: Ints
    staging: Ints
    host: Ints

    @property
    def length(self) -> Ints:
        """Bytes with the lead."""
        return self.lead + self.size


def most_packets(length: Ints, most: int) -> Ints:
    """How many packets of up to `most` bytes each piece takes at most, wherever its slot is.

    Beside full ones: two to come to a multiple of `most`, and a long and a short one behind.
    """
    return np.minimum(length // most + 4, -(-length // DESTINATION_UNIT))


def slot_sizes(length: Ints) -> Ints:
    """The bytes of host memory that pieces of these lengths take: multiples of `DESTINATION_UNIT`.

    What is shorter takes a power of two.
    """
    whole = -(-length // DESTINATION_UNIT) * DESTINATION_UNIT
    power = 1 << np.ceil(np.log2(length)).astype(np.int64)
    return np.where(length < DESTINATION_UNIT, power, whole)


def per_tile(tile: Ints, values: npt.ArrayLike) -> Ints:
    """Sums over the entries of each tile."""
    total: Ints = np.bincount(tile, np.broadcast_to(values, tile.shape), TILES).astype(np.int64)
    return total


def staging_room(sent: Sequence[Parts], straight: Sequence[Pieces], batches: int) -> Ints:
    """The bytes of staging of each tile, up to the end of the window: what tables leave at least.

    `sent` is what calls send, `straight` what needs no staging, in `batches` batches. Raises
    `HostError` if the tables of a tile leave too little.
    """
    tiles = np.arange(TILES)
    is_owner = owners(tiles) == tiles
    entries = batches * is_owner
    for pieces in straight:
        entries += per_tile(pieces.tile, most_packets(pieces.length, MOST_FETCHED))
        visits = np.unique(pieces.batch * TILES + pieces.tile)
        entries += per_tile(visits % TILES, 1)  # the read that ends each stream
    footprints = [per_tile(parts.tile, _footprints(parts)) for parts in sent]
    for parts in sent:
        entries += per_tile(parts.tile, most_packets(_leads(parts) + parts.size, MOST_SENT))
    room = np.full(TILES, STAGING_END - TABLES)
    while True:
        needed = entries.copy()
        for footprint in footprints:
            # A part that is cut takes up to four packets more.
            cuts = np.maximum(-(-footprint // np.maximum(room, 1)) - 1, 0)
            needed += 4 * cuts + (int(cuts.max()) + 1) * is_owner
        left = STAGING_END - TABLES - HEADER_BYTES * needed
        left = np.minimum(left // DESTINATION_UNIT * DESTINATION_UNIT, room)
        _check_room(left, needed, sum(footprints, np.zeros(TILES, np.int64)))
        if np.array_equal(left, room):
            return room
        room = left


def _check_room(left: Ints, entries: Ints, footprint: Ints) -> None:
    least = np.where(footprint > 0, _LEAST_STAGING, 0)
    short = np.flatnonzero(left < least)
    if len(short):
        tile = short[0]
        raise HostError(
            f"tile {tile}: {entries[tile]:,} packets and requests take "
            f"{HEADER_BYTES * entries[tile]:,} bytes of {STAGING_END - TABLES:,}, "
            f"and staging needs {least[tile]:,}; spread what is exchanged over more tiles"
        )


def cut_sent(parts: Parts, room: Ints) -> Pieces:
    """Pieces that fit the staging of each tile, of `room` bytes; batches count from 0."""
    lead, footprint = _leads(parts), _footprints(parts)
    start = _starts(parts.tile, footprint)
    pieces, begin, within = _cut(parts, start, lead + parts.size, room[parts.tile])
    staged = begin - pieces.batch * room[pieces.tile]
    is_first = within == 0
    before = lead[_sources(within)]
    return replace(
        pieces,
        lead=np.where(is_first, before, 0),
        size=pieces.size - np.where(is_first, before, 0),
        offset=pieces.offset + np.where(is_first, 0, within - before),
        address=pieces.address + np.where(is_first, 0, within - before),
        staging=STAGING_END - room[pieces.tile] + staged,
    )[_order(pieces.batch, pieces.tile)]


def cut_fetched(parts: Parts, limit: int) -> Pieces:
    """Pieces of at most `limit` bytes (a multiple of 64) on each tile in a batch."""
    start = _starts(parts.tile, slot_sizes(parts.size))
    limits = np.full(len(parts), limit)
    pieces, _, within = _cut(parts, start, parts.size, limits)
    address = pieces.address + within
    moved = replace(pieces, offset=pieces.offset + within, address=address, staging=address)
    return moved[_order(pieces.batch, pieces.tile)]


def _cut(parts: Parts, start: Ints, length: Ints, limit: Ints) -> tuple[Pieces, Ints, Ints]:
    """Cut parts, each at `start` of its tile's line, where batches of `limit` bytes end.

    Returns the pieces with the offsets and addresses of their parts, where on the line they begin,
    and how far that is from the beginning of their part.
    """
    first, last = start // limit, (start + length - 1) // limit
    row, number = numbered(last - first + 1)
    batch = first[row] + number
    begin = np.maximum(start[row], batch * limit[row])
    end = np.minimum((start + length)[row], (batch + 1) * limit[row])
    zeros = np.zeros(len(row), np.int64)
    of = parts[row]
    pieces = Pieces(
        batch, of.tensor, of.offset, end - begin, of.tile, of.address, zeros, zeros, zeros
    )
    return pieces, begin, begin - start[row]


def _sources(within: Ints) -> Ints:
    """The part of each piece: a new one begins where a piece is at its part's beginning."""
    return np.cumsum(within == 0) - 1


def _starts(tile: Ints, footprint: Ints) -> Ints:
    """Where entries lie that follow each other on each tile; `tile` is ordered."""
    end = np.cumsum(footprint)
    start = end - footprint
    first = np.searchsorted(tile, tile)
    return start - start[first] if len(start) else start


def _leads(parts: Parts) -> Ints:
    return parts.address % ATOM


def _footprints(parts: Parts) -> Ints:
    """Bytes of staging."""
    length = _leads(parts) + parts.size
    return -(-length // DESTINATION_UNIT) * DESTINATION_UNIT


def _order(batch: Ints, tile: Ints) -> Ints:
    return np.lexsort((tile, batch))
