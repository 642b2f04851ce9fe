"""What tiles send to the host, in order: requests and packets, and the tables that hold them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.codegen.host.columns import Columns, Ints, Mask, Words, numbered
from tilewright.codegen.host.packets import (
    HEADER_BYTES,
    MOST_FETCHED,
    MOST_SENT,
    packet_words,
    requests,
)
from tilewright.codegen.host.pieces import Pieces
from tilewright.codegen.host.window import DUMMY, TABLES
from tilewright.target.geometry import TILES
from tilewright.target.host_packets import DESTINATION_UNIT, LONG_UNIT


@dataclass(frozen=True, slots=True, eq=False)
class Packets(Columns):
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
    row, start, size = split(pieces.host, pieces.length, np.where(reads, MOST_SENT, MOST_FETCHED))
    return _ended(
        Packets(
            pieces.batch[row],
            pieces.tile[row],
            reads[row],
            pieces.host[row] + start,
            pieces.staging[row] + start,
            size,
        )
    )


def split(host: Ints, length: Ints, most: Ints) -> tuple[Ints, Ints, Ints]:
    """What each packet carries: which of the pieces, from where in it, how many bytes.

    Pieces of `length` bytes at `host` are cut at multiples of `most`, so that no packet crosses the
    end of a host page. Long packets go from multiples of `LONG_UNIT` to such; before and behind
    them is a short one each. Cuts are at multiples of `DESTINATION_UNIT` within pieces.
    """
    head = np.where(host % LONG_UNIT > 0, np.minimum(length, DESTINATION_UNIT), 0)
    left = length - head
    first = np.minimum(-(host + head) % most, left // LONG_UNIT * LONG_UNIT)
    full, rest = np.divmod(left - first, most)
    short = rest % LONG_UNIT
    of_full, number = numbered(full)
    every = np.arange(len(host))
    row = np.concatenate([every, every, of_full, every, every])
    start = np.concatenate(
        [
            np.zeros_like(head),
            head,
            (head + first)[of_full] + number * most[of_full],
            length - rest,
            length - short,
        ]
    )
    size = np.concatenate([head, first, most[of_full], rest - short, short])
    order = np.lexsort((start, row))
    order = order[size[order] > 0]
    return row[order], start[order], size[order]


def _ended(found: Packets) -> Packets:
    """With a read of no bytes behind the writes of each tile and batch."""
    is_write = ~found.is_read
    visits = np.unique(found.batch[is_write] * TILES + found.tile[is_write])
    batch, tile = np.divmod(visits, TILES)
    nothing = np.zeros(len(visits), np.int64)
    added = Packets(
        batch, tile, np.ones(len(visits), bool), nothing, np.full(len(visits), DUMMY), nothing
    )
    both = Packets.joined([found, added])
    return both[np.lexsort((both.tile, both.batch))]


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
