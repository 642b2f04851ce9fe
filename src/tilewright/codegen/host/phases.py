"""Host phases as supervisor code: straight-line, one batch at a time, for all tiles at once.

A tile that takes part waits for its workers, lets its mux listen to its endpoint, passes the
barrier of entry, sends and receives, and passes the barrier of completion; then the mux is neutral
again. Those that own a request pass the barrier as masters and send it. All others let both
barriers pass.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from tilewright.codegen.host.columns import Columns, Ints, Words
from tilewright.codegen.host.pieces import ATOM, Pieces
from tilewright.codegen.host.tables import Packets, Tables
from tilewright.isa import FORM_BY_NAME, encode_words
from tilewright.target.csr import CSRS
from tilewright.target.flags import SYNC_ZONES
from tilewright.target.geometry import TILES
from tilewright.target.host import HOST_WORD
from tilewright.target.host_packets import HEADER_WORDS, PAYLOAD_INTERVAL, ZERO_READ_WORDS
from tilewright.target.topology import NEUTRAL_MUX, external_muxes

_BOTH_DIRECTIONS = 3
_VALUE, _PLACE, _ZERO = 8, 9, 15
"""Registers that phases change, all of which calls may change, and the one that is zero."""


@dataclass(frozen=True, slots=True, eq=False)
class Copies(Columns):
    """What tiles copy: `size` bytes, whole atoms, from `source` to `target`, ordered by tile."""

    tile: Ints
    source: Ints
    target: Ints
    size: Ints


@dataclass(frozen=True, slots=True, eq=False)
class HostPhase:
    """A batch on all tiles: that of physical tile t is `words[start[t]:start[t + 1]]`.

    Behind its words, a tile copies.
    """

    start: Ints
    words: Words
    copies: Copies

    def code(self, tile: int) -> bytes:
        """The instructions of a physical tile, which need no alignment."""
        return self.words[self.start[tile] : self.start[tile + 1]].astype("<u4").tobytes()

    def calls(self, tile: int) -> Iterator[tuple[str, tuple[int, int, int]]]:
        """The kernels that a physical tile calls after that, with their operands."""
        first, last = np.searchsorted(self.copies.tile, [tile, tile + 1])
        rows = slice(first, last)
        columns = (self.copies.target, self.copies.source, self.copies.size // ATOM)
        for operands in zip(*(column[rows].tolist() for column in columns), strict=True):
            yield COPY, operands


COPY = "copy_apart"
"""The kernel that copies from staging, which shares no memory element with what it fills."""


def host_phase(found: Packets, tables: Tables, batch: int, pieces: Pieces) -> HostPhase:
    """The code of a batch, whose packets, requests and pieces are among these."""
    rows = np.flatnonzero(found.batch == batch)
    tile, is_read = found.tile[rows], found.is_read[rows]
    asked = tables.request_batch == batch
    owners, request = tables.request_tile[asked], tables.request_address[asked]
    targets = np.unique(tile)
    taking_part = np.union1d(owners, targets)
    is_fetched = bool(len(rows)) and not is_read.all()
    listing = _Listing()
    # It waits for workers, and is no instruction of a row of the exchange that may stand before.
    listing.add(_Step.SETTLE, taking_part, "sync u4", SYNC_ZONES["LOCAL"])
    listing.put(_Step.SELECT, taking_part, "INCOMING_MUX", external_muxes(taking_part))
    listing.add(_Step.ENTER, owners, "sync u4", SYNC_ZONES["GS2H_MASTER"])
    listing.add(_Step.ENTER, np.setdiff1d(targets, owners), "sync u4", SYNC_ZONES["GS2H"])
    counted = found.size[rows] // HOST_WORD
    words = np.bincount(tile, counted, TILES).astype(np.int64)[targets]
    expected = ZERO_READ_WORDS if is_fetched else words
    listing.put(_Step.EXPECT, targets, "INCOMING_DCOUNT", expected)
    listing.add(_Step.ASK, owners, "send u6,u18,u3", *_sending(HEADER_WORDS, request))
    _list_packets(listing, found, tables, rows, is_fetched)
    listing.add(_Step.RECEIVE, targets, "sync u4", SYNC_ZONES["RECEIVE"])
    listing.add(_Step.COMPLETE, taking_part, "sync u4", SYNC_ZONES["GS2H"])
    listing.put(_Step.DESELECT, taking_part, "INCOMING_MUX", NEUTRAL_MUX)
    others = np.setdiff1d(np.arange(TILES), taking_part)
    listing.add(_Step.ENTER, others, "sans u19", 1)
    listing.add(_Step.COMPLETE, others, "sync u4", SYNC_ZONES["ANS"])
    chosen = pieces[(pieces.batch == batch) & (pieces.staging != pieces.address)]
    copies = _listed_copies(listing, chosen)
    return HostPhase(*listing.sorted(), copies)


class _Step(IntEnum):
    """In the order of execution; within a step instructions have places."""

    SETTLE = 0
    SELECT = 1
    ENTER = 2
    EXPECT = 3
    ASK = 4
    EXCHANGE = 5
    RECEIVE = 6
    COMPLETE = 7
    DESELECT = 8
    COPY = 9


class _Listing:
    """Instructions in any order: for tiles, at a step, at a place within it."""

    def __init__(self) -> None:
        self._columns: list[tuple[Ints, ...]] = []

    def add(
        self, step: _Step, tile: Ints, form: str, *values: npt.ArrayLike, at: npt.ArrayLike = 0
    ) -> None:
        """One instruction on each of the tiles."""
        words = encode_words(FORM_BY_NAME[form], *values)
        columns = (tile, np.asarray(step), np.asarray(at), words.astype(np.int64))
        self._columns.append(tuple(np.broadcast_to(each, tile.shape) for each in columns))

    def put(self, step: _Step, tile: Ints, register: str, value: npt.ArrayLike) -> None:
        """Give a control register a value on each of the tiles."""
        self.add(step, tile, "setzi m,x20", _VALUE, value)
        self.add(step, tile, "put c8,m", CSRS[register].index, _VALUE, at=1)

    def sorted(self) -> tuple[Ints, Words]:
        """Where each tile's words start, and all words."""
        columns = zip(*self._columns, strict=True)
        tile, step, place, words = (np.concatenate(each) for each in columns)
        order = np.lexsort((place, step, tile))
        start = np.searchsorted(tile[order], np.arange(TILES + 1))
        return start, words[order].astype(np.uint32)


def _list_packets(
    listing: _Listing, found: Packets, tables: Tables, rows: Ints, is_fetched: bool
) -> None:
    """Heads, and behind those of writes the payloads, none of them too soon behind another."""
    tile, head = found.tile[rows], tables.packet_address[rows]
    place = _PLACES * np.arange(len(rows))
    # Heads of reads follow each other in the table.
    goes_on = np.zeros(len(rows), bool)
    if not is_fetched:
        goes_on[1:] = tile[1:] == tile[:-1]
    form = "send u6,u18,u3"
    first = ~goes_on
    sending = _sending(HEADER_WORDS, head[first])
    listing.add(_Step.EXCHANGE, tile[first], form, *sending, at=place[first])
    going_on = (HEADER_WORDS - 1, 0, _BOTH_DIRECTIONS)
    listing.add(_Step.EXCHANGE, tile[goes_on], "sendoff u12,u11,u3", *going_on, at=place[goes_on])
    writes = ~found.is_read[rows]
    words = found.size[rows] // HOST_WORD
    sending = _sending(words[writes], found.place[rows][writes])
    listing.add(_Step.EXCHANGE, tile[writes], form, *sending, at=place[writes] + 1)
    left = PAYLOAD_INTERVAL - words
    waits = writes & (left > 0)
    listing.add(_Step.EXCHANGE, tile[waits], "delay u19", left[waits] - 1, at=place[waits] + 2)


_PLACES = 3
"""Instructions of a packet at most."""


def _sending(words: npt.ArrayLike, address: Ints) -> tuple[npt.ArrayLike, ...]:
    """Operands of a send of so many words from an address on."""
    return np.asarray(words) - 1, address // HOST_WORD, _BOTH_DIRECTIONS


def _listed_copies(listing: _Listing, pieces: Pieces) -> Copies:
    """List copies of single words, those beside whole atoms; the atoms are left."""
    length, target = pieces.length, pieces.address - pieces.lead
    end = length // ATOM * ATOM
    has_lead, has_rest = pieces.lead > 0, length > end
    single = np.concatenate([np.flatnonzero(has_lead), np.flatnonzero(has_rest)])
    offset = np.concatenate([pieces.lead[has_lead], end[has_rest]])
    tile, place = pieces.tile[single], 4 * np.arange(len(single))
    setting = ("setzi m,x20", "ld32 m,m,m,u12", "setzi m,x20", "st32 m,m,m,u12")
    load_or_store = (_VALUE, _PLACE, _ZERO, 0)
    operands = (
        (_PLACE, pieces.staging[single] + offset),
        load_or_store,
        (_PLACE, target[single] + offset),
        load_or_store,
    )
    for number, (form, values) in enumerate(zip(setting, operands, strict=True)):
        listing.add(_Step.COPY, tile, form, *values, at=place + number)
    begin = np.where(has_lead, ATOM, 0)
    rows = np.flatnonzero(end > begin)
    rows = rows[np.lexsort((pieces.staging[rows], pieces.tile[rows]))]
    return _joined(
        Copies(
            pieces.tile[rows],
            (pieces.staging + begin)[rows],
            (target + begin)[rows],
            (end - begin)[rows],
        )
    )


def _joined(copies: Copies) -> Copies:
    """Copies that go on where the one before ends, on both sides, are one."""
    goes_on = copies.tile[1:] == copies.tile[:-1]
    for place in (copies.source, copies.target):
        goes_on = goes_on & (place[1:] == (place + copies.size)[:-1])
    first = np.flatnonzero(np.concatenate([[True], ~goes_on])[: len(copies.tile)])
    size = np.add.reduceat(copies.size, first) if len(first) else copies.size
    return replace(copies[first], size=size)
