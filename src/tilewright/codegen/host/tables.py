"""What tiles send to the host, in order: requests and packets, and the tables that hold them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.codegen.host.packets import (
    HEADER_BYTES,
    MOST_FETCHED,
    MOST_SENT,
    Ints,
    Mask,
    Words,
    packet_words,
    requests,
)
from tilewright.codegen.host.pieces import Pieces, packet_counts
from tilewright.codegen.host.window import DUMMY, TABLES
from tilewright.target.geometry import TILES
from tilewright.target.host_packets import LONG_UNIT


@dataclass(frozen=True, slots=True, eq=False)
class Packets:
    """Columns over packets, ordered by batch, then tile, then as they are sent.

    A read brings `size` bytes at `host` to `place` of the tile; a write takes them from `place`. A
    read of no bytes ends the writes of a tile.
    """

    batch: Ints
    tile: Ints
    is_read: Mask
    host: Ints
    place: Ints
    size: Ints


def packets(pieces: Pieces, is_read: Mask) -> Packets:
    """The packets of pieces; `is_read` says of each batch whether its tiles read."""
    reads = is_read[pieces.batch]
    most = np.where(reads, MOST_SENT, MOST_FETCHED)
    length = pieces.length
    count = packet_counts(length, most)
    row = np.repeat(np.arange(len(pieces)), count)
    number = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    start = np.minimum(number, (length // most)[row]) * most[row]
    rest = length[row] - start
    is_full = rest >= most[row]
    is_short = (number == count[row] - 1) & (rest % LONG_UNIT > 0) & ~is_full
    start += np.where(is_short, rest // LONG_UNIT * LONG_UNIT, 0)
    long = np.where(is_full, most[row], rest // LONG_UNIT * LONG_UNIT)
    size = np.where(is_short, rest % LONG_UNIT, long)
    found = Packets(
        pieces.batch[row],
        pieces.tile[row],
        reads[row],
        pieces.host[row] + start,
        pieces.staging[row] + start,
        size,
    )
    return _ended(found)


def _ended(found: Packets) -> Packets:
    """With a read of no bytes behind the writes of each tile and batch."""
    is_write = ~found.is_read
    visits = np.unique(found.batch[is_write] * TILES + found.tile[is_write])
    batch, tile = np.divmod(visits, TILES)
    nothing = np.zeros(len(visits), np.int64)
    added = Packets(
        batch, tile, np.ones(len(visits), bool), nothing, np.full(len(visits), DUMMY), nothing
    )
    columns = [
        np.concatenate([getattr(each, name) for each in (found, added)])
        for name in Packets.__slots__
    ]
    order = np.lexsort((columns[1], columns[0]))
    return Packets(*(column[order] for column in columns))


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The tables of all tiles: that of physical tile t is `words[start[t]:start[t + 1]]` (n, 2).

    `packet_address` is where the head of each packet lies, `request_batch`, `request_tile` and
    `request_address` which owner asks in which batch and where its request lies, ordered by batch
    and tile.
    """

    start: Ints
    words: Words
    packet_address: Ints
    request_batch: Ints
    request_tile: Ints
    request_address: Ints

    def of(self, tile: int) -> bytes:
        """What a tile has from `TABLES` on."""
        return self.words[self.start[tile] : self.start[tile + 1]].astype("<u4").tobytes()


def tables(found: Packets, batches: int) -> Tables:
    """The tables for packets, with the requests of each of `batches` batches."""
    asked = [requests(found.tile[found.batch == batch]) for batch in range(batches)]
    batch = np.repeat(np.arange(batches), [len(each.owner) for each in asked])
    owner = _concatenated([each.owner for each in asked])
    is_last = np.ones(len(found.tile), bool)
    is_last[:-1] = (found.batch[1:] != found.batch[:-1]) | (found.tile[1:] != found.tile[:-1])
    heads = packet_words(
        found.is_read, is_last & found.is_read, found.tile, found.place, found.host, found.size
    )
    words = np.concatenate([*(each.words for each in asked), heads])
    tile = np.concatenate([owner, found.tile])
    is_packet = np.repeat([False, True], [len(owner), len(found.tile)])
    order = np.lexsort((is_packet, np.concatenate([batch, found.batch]), tile))
    start = np.searchsorted(tile[order], np.arange(TILES + 1))
    address = np.empty(len(order), np.int64)
    address[order] = TABLES + HEADER_BYTES * (np.arange(len(order)) - start[tile[order]])
    return Tables(start, words[order], address[len(owner) :], batch, owner, address[: len(owner)])


def _concatenated(columns: Sequence[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *columns])
