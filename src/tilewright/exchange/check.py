"""Whether rows carry out a phase: what arrives where, judged from the words of the rows alone.

Knows nothing of schedules: it reads rows back (`decode`), follows each item from its source over
its route to its address, and compares what arrives with the transfers. The rules are those of the
exchange notes; where the chip and an encoder may differ, the encoder's stricter ones hold.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.errors import TilewrightError
from tilewright.exchange.decode import Controlled, RowEvents, decode_rows
from tilewright.exchange.elements import elements
from tilewright.exchange.encode import Rows
from tilewright.exchange.phase import WORD_SIZE, ExchangePhase, Ints
from tilewright.exchange.received import (
    BAD_DIRECTION,
    BAD_WIDTH,
    NO_ADDRESS,
    SILENT,
    TWO_AT_ONCE,
    Intervals,
    Lanes,
    Pieces,
    address_items,
    take_items,
)
from tilewright.exchange.relays import waits
from tilewright.target.geometry import SUPERVISOR_FETCH_AHEAD, TILES
from tilewright.target.routes import directions, times
from tilewright.target.row_events import (
    FIRST_EVENT,
    FORMAT_BEFORE_POINTER,
    LATE_MEMBER_DELAY,
    SENDER_LEAST_EVENTS,
    pointer_delays,
    row_end_delays,
    visible_delays,
)
from tilewright.target.topology import NEUTRAL_MUX, PARTNER_BIT

_MOST_SHOWN = 12
_TILE_SHIFT = 40
_PAIR_SIZE = 2 * WORD_SIZE
Flags = npt.NDArray[np.bool_]


class RowFault(TilewrightError):
    """Rows that do not carry out their phase; the message lists why."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong on a tile in an event (0: none in particular)."""

    tile: int
    event: int
    cause: str

    def __str__(self) -> str:
        return f"tile {self.tile}, event {self.event}: {self.cause}"


def check(
    rows: Rows,
    incoming_base: npt.ArrayLike = 0,
    outgoing_base: npt.ArrayLike = 0,
    row_address: npt.ArrayLike | None = None,
) -> None:
    """Raise `RowFault` if rows do not carry out their phase, or break a rule on the way.

    Bases are those with which the rows were made. With the address of each tile's row, the memory
    elements that hold the rows are checked too.
    """
    faults = find_faults(rows, incoming_base, outgoing_base, row_address)
    if not faults:
        return
    shown = [f"  {fault}" for fault in faults[:_MOST_SHOWN]]
    if len(faults) > _MOST_SHOWN:
        shown.append(f"  and {len(faults) - _MOST_SHOWN} more")
    raise RowFault("\n".join(["rows do not carry out their phase:", *shown]))


def find_faults(
    rows: Rows,
    incoming_base: npt.ArrayLike = 0,
    outgoing_base: npt.ArrayLike = 0,
    row_address: npt.ArrayLike | None = None,
) -> list[Fault]:
    """Every fault that `check` would raise for."""
    events = decode_rows(rows.words, rows.start, incoming_base, outgoing_base)
    judge = _Judge(events, rows)
    judge.check_sends()
    judge.check_controls()
    judge.follow_items()
    judge.compare(rows.phase)
    if row_address is not None:
        judge.check_code(rows, np.asarray(row_address, dtype=np.int64))
    return judge.faults


class _Judge:
    """Follows a phase through its rows and collects what is wrong."""

    def __init__(self, events: RowEvents, rows: Rows) -> None:
        self._events = events
        self._sends = events.sends
        self.faults: list[Fault] = []
        self._sources = _with_partners(events.sources)

    def _note(self, cause: str, tiles: Ints, events: Ints) -> None:
        for tile, event in zip(tiles.tolist(), events.tolist(), strict=True):
            self.faults.append(Fault(tile, event, cause))

    def check_sends(self) -> None:
        """Rows last as long as sends, and partners lend their buses for 64-bit items."""
        sends, length = self._sends, self._events.length
        needed = np.maximum(sends.end - 1, SENDER_LEAST_EVENTS)
        short = length[sends.tile] < needed
        self._note("the row ends before its send", sends.tile[short], sends.event[short])
        wide = sends.size == _PAIR_SIZE
        partner = sends.tile[wide] ^ PARTNER_BIT
        short = length[partner] < needed[wide]
        self._note("the row ends while it lends its bus", partner[short], length[partner][short])
        busy = self._sends_during(partner, sends.event[wide], sends.end[wide])
        self._note("sends while it lends its bus", partner[busy], sends.event[wide][busy])

    def _sends_during(self, tile: Ints, first: Ints, end: Ints) -> Flags:
        sends = self._sends
        after = np.searchsorted(_key(sends.tile, sends.end), _key(tile, first), side="right")
        before = np.searchsorted(_key(sends.tile, sends.event), _key(tile, end), side="left")
        found: Flags = before > after
        return found

    def check_controls(self) -> None:
        """Controls keep away from the starts of sends, and special ones from all others."""
        events = self._events
        starts = _key(self._sends.tile, self._sends.event)
        settings = (events.sources, events.pointers, events.formats)
        for each in settings:
            keys = _key(each.tile, each.event)
            near = np.isin(keys, starts) | np.isin(keys + 1, starts)
            self._note("a control where a send starts", each.tile[near], each.event[near])
        everything = np.concatenate([_key(each.tile, each.event) for each in settings])
        alone = np.concatenate(
            [
                events.sources.is_paired,
                events.pointers.is_paired,
                np.ones_like(events.formats.is_paired),
            ]
        )
        listed, counts = np.unique(everything, return_counts=True)
        shared = np.unique(everything[alone & np.isin(everything, listed[counts > 1])])
        tiles, moments = shared >> _TILE_SHIFT, shared & (1 << _TILE_SHIFT) - 1
        self._note("a format or a paired mux shares its event", tiles, moments)
        self._check_own_clash()

    def _check_own_clash(self) -> None:
        """No member of a pair sets its own mux while its partner sets both."""
        sources = self._events.sources
        paired = sources.is_paired
        taken = _key(sources.tile[paired] ^ PARTNER_BIT, sources.event[paired])
        own = _key(sources.tile, sources.event)
        clash = np.isin(own, np.concatenate([taken, taken + LATE_MEMBER_DELAY]))
        cause = "sets its mux while its partner sets both"
        self._note(cause, sources.tile[clash], sources.event[clash])

    def follow_items(self) -> None:
        """From each bus that a tile listens to, to the addresses of its items."""
        intervals = self._intervals()
        receiver_times = times(intervals.bus, intervals.tile).astype(np.int64)
        receiver_directions = directions(intervals.bus, intervals.tile).astype(np.int64)
        pieces, faults = take_items(self._lanes(), intervals, receiver_times, receiver_directions)
        self._pieces = self._addressed(self._paired(pieces))
        for cause, code in (
            ("listens while nothing is on the bus", SILENT),
            ("listens to a send in the other direction", BAD_DIRECTION),
            ("takes items of the wrong width, or from the wrong bus", BAD_WIDTH),
        ):
            chosen = faults[faults[:, 0] == code]
            self._note(cause, chosen[:, 1], chosen[:, 2])
        self._check_formats(self._pieces)
        self._check_ends(self._pieces)
        self._check_elements(self._pieces)

    def _intervals(self) -> Intervals:
        """In which slots which tile listens to which bus."""
        sources, length = self._sources, self._events.length
        tile, event, value = sources.tile, sources.event, sources.value
        is_last = np.append(tile[1:] != tile[:-1], True)
        open_ended = is_last & (value != NEUTRAL_MUX)
        self._note("still listens when its row ends", tile[open_ended], event[open_ended])
        end = np.where(is_last, np.maximum(length[tile], event) + 1, np.roll(event, -1))
        listens = value != NEUTRAL_MUX
        unknown = listens & ((value >= TILES) | (event < FIRST_EVENT))
        self._note("selects what is no source", tile[unknown], event[unknown])
        chosen = listens & ~unknown & (end > event)
        return Intervals(
            tile[chosen], event[chosen], end[chosen], value[chosen], sources.is_paired[chosen]
        )

    def _lanes(self) -> Lanes:
        """What is on each tile's bus: its own sends, and those for which it lends it."""
        sends = self._sends
        wide = np.flatnonzero(sends.size == _PAIR_SIZE)
        number = np.concatenate([np.arange(len(sends.tile)), wide])
        bus = np.concatenate([sends.tile, sends.tile[wide] ^ PARTNER_BIT])
        order = np.lexsort((sends.event[number], bus))
        number, bus = number[order], bus[order]
        return Lanes(
            np.searchsorted(bus, np.arange(TILES + 1)),
            number,
            sends.tile[number],
            sends.event[number],
            sends.end[number],
            sends.size[number],
            sends.directions[number],
        )

    def _paired(self, pieces: Pieces) -> Pieces:
        """Items of 64 bits must reach both members of a pair; their time is that of the later."""
        wide = self._sends.size[pieces.send] == _PAIR_SIZE
        partner_time = times(self._sends.tile[pieces.send], pieces.tile ^ PARTNER_BIT)
        own_time = times(self._sends.tile[pieces.send], pieces.tile)
        is_early = wide & (own_time < partner_time)
        delay = pointer_delays(pieces.tile) + np.where(is_early, LATE_MEMBER_DELAY, 0)
        shape = np.stack([pieces.tile, pieces.send, pieces.first, pieces.items], axis=1)
        mirrored = shape.copy()
        mirrored[:, 0] ^= PARTNER_BIT
        known = {tuple(entry) for entry in shape[wide].tolist()}
        lonely = np.array(
            [
                flag and tuple(entry) not in known
                for flag, entry in zip(wide, mirrored.tolist(), strict=True)
            ],
            dtype=np.bool_,
        )
        cause = "takes 64-bit items that its partner does not take"
        self._note(cause, pieces.tile[lonely], pieces.slot[lonely])
        point = pieces.slot + delay
        order = np.lexsort((point, pieces.tile))
        found = pieces._replace(point=point)
        return Pieces(*(column[order] for column in found))

    def _addressed(self, pieces: Pieces) -> Pieces:
        """Pieces split where pointers are set, with the addresses of their first items."""
        pointers = self._events.pointers
        sizes = self._sends.size[pieces.send]
        found, faults = address_items(pieces, sizes, pointers.tile, pointers.event, pointers.value)
        for cause, code in (
            ("two items take their addresses in one event", TWO_AT_ONCE),
            ("items arrive before a pointer is set", NO_ADDRESS),
        ):
            chosen = faults[faults[:, 0] == code]
            self._note(cause, chosen[:, 1], chosen[:, 2])
        return found

    def _check_formats(self, pieces: Pieces) -> None:
        formats = self._events.formats
        size = self._sends.size[pieces.send]
        wide = size == _PAIR_SIZE
        route = directions(self._sends.tile[pieces.send], pieces.tile)
        start = pieces.point - FORMAT_BEFORE_POINTER
        keys = _key(formats.tile, formats.event)
        known = np.searchsorted(keys, _key(pieces.tile, start), side="right")
        values = np.append(formats.value, 0)
        owners = np.append(formats.tile, -1)
        in_force = np.where(owners[known - 1] == pieces.tile, values[known - 1], 0)
        wrong = in_force != np.where(wide, route, 0)
        self._note("items meet the wrong format", pieces.tile[wrong], pieces.slot[wrong])
        # From the event that decides, or for 32-bit items from their slots on, nothing may change.
        first = np.where(wide, start, pieces.slot)
        last = np.where(wide, start, pieces.point) + pieces.items - 1
        low = np.searchsorted(keys, _key(pieces.tile, first), side="right")
        high = np.searchsorted(keys, _key(pieces.tile, last), side="right")
        changed = high > low
        cause = "the format changes while items are under way"
        self._note(cause, pieces.tile[changed], pieces.slot[changed])
        last_of_tile = np.flatnonzero(np.append(formats.tile[1:] != formats.tile[:-1], True))
        if len(formats.tile):
            left = last_of_tile[formats.value[last_of_tile] != 0]
            self._note("a 64-bit format is left", formats.tile[left], formats.event[left])

    def _check_ends(self, pieces: Pieces) -> None:
        after = row_end_delays(pieces.tile) - pointer_delays(pieces.tile)
        short = self._events.length[pieces.tile] < pieces.point + pieces.items + after
        self._note(
            "the row ends before its words are written", pieces.tile[short], pieces.slot[short]
        )

    def _check_elements(self, pieces: Pieces) -> None:
        """A send must not read an element into which words arrive."""
        sends = self._sends
        size = sends.size[pieces.send]
        end = pieces.point + pieces.items + row_end_delays(0) - pointer_delays(0)
        # On a tile, both the starts and the ends of pieces are sorted.
        low = np.searchsorted(_key(pieces.tile, end), _key(sends.tile, sends.event - 1), "right")
        high = np.searchsorted(_key(pieces.tile, pieces.point), _key(sends.tile, sends.end), "left")
        counts = np.maximum(high - low, 0)
        send = np.repeat(np.arange(len(sends.tile)), counts)
        piece = np.repeat(low, counts) + np.arange(counts.sum())
        piece -= np.repeat(np.cumsum(counts) - counts, counts)
        read = elements(sends.address, sends.address + sends.items * sends.size)
        written = elements(pieces.address, pieces.address + pieces.items * size)
        clash = send[read[send] & written[piece] != 0]
        cause = "a send reads a memory element while words arrive in it"
        self._note(cause, sends.tile[clash], sends.event[clash])

    def compare(self, phase: ExchangePhase) -> None:
        """What arrives must be what the transfers say, and in time for those that read it."""
        pieces, sends = self._pieces, self._sends
        size = sends.size[pieces.send]
        got = _Runs(
            pieces.tile,
            pieces.address,
            pieces.items * size // WORD_SIZE,
            sends.tile[pieces.send],
            sends.address[pieces.send] + pieces.first * size,
        ).joined()
        owner = phase.receiver_transfer
        wanted = _Runs(
            phase.receiver_tile,
            phase.receiver_address,
            phase.words[owner],
            phase.source_tile[owner],
            phase.source_address[owner],
        ).joined()
        if not got.equals(wanted):
            self._differ(got, wanted)
            return
        self._check_relays(size)

    def _differ(self, got: "_Runs", wanted: "_Runs") -> None:
        found, asked = got.listed(), wanted.listed()
        for cause, runs in (
            ("is not sent {}", asked - found),
            ("is sent {}, which no transfer asks for", found - asked),
        ):
            for tile, address, words, source, place in sorted(runs):
                what = f"{words} words {source}:{place:#x} for {address:#x}"
                self.faults.append(Fault(tile, 0, cause.format(what)))

    def _check_relays(self, size: Ints) -> None:
        """Each send reads what arrived long enough before, or what will arrive only after it."""
        pieces, sends = self._pieces, self._sends
        readers, writers = waits(
            sends.tile,
            sends.address,
            sends.address + sends.items * sends.size,
            pieces.tile,
            pieces.address,
            pieces.address + pieces.items * size,
        )
        low = np.maximum(sends.address[readers], pieces.address[writers])
        read = sends.event[readers] + (low - sends.address[readers]) // sends.size[readers]
        point = pieces.point[writers] + (low - pieces.address[writers]) // size[writers]
        visible = point + (visible_delays(0) - pointer_delays(0))
        early = read < visible
        cause = "sends words on before they have arrived"
        self._note(cause, sends.tile[readers[early]], read[early])

    def check_code(self, rows: Rows, address: Ints) -> None:
        """No send or receive of a tile may use a memory element that holds its row."""
        pieces, sends = self._pieces, self._sends
        length = np.diff(rows.start) * WORD_SIZE
        code = np.where(length > 0, elements(address, address + length + SUPERVISOR_FETCH_AHEAD), 0)
        size = sends.size[pieces.send]
        read = elements(sends.address, sends.address + sends.items * sends.size)
        clash = read & code[sends.tile] != 0
        cause = "reads a memory element that holds its row"
        self._note(cause, sends.tile[clash], sends.event[clash])
        written = elements(pieces.address, pieces.address + pieces.items * size)
        clash = written & code[pieces.tile] != 0
        self._note(
            "writes a memory element that holds its row", pieces.tile[clash], pieces.slot[clash]
        )


def _with_partners(sources: Controlled) -> Controlled:
    """Mux settings of each tile, those that its partner makes for it included."""
    paired = sources.is_paired
    value = sources.value[paired]
    for_partner = np.where(value == NEUTRAL_MUX, value, value ^ PARTNER_BIT)
    tile = np.concatenate([sources.tile, sources.tile[paired] ^ PARTNER_BIT])
    event = np.concatenate([sources.event, sources.event[paired] + LATE_MEMBER_DELAY])
    order = np.lexsort((event, tile))
    return Controlled(
        tile[order],
        event[order],
        np.concatenate([sources.value, for_partner])[order],
        np.concatenate([paired, paired[paired]])[order],
    )


def _key(tile: Ints, event: Ints) -> Ints:
    """Tile and event in one number that sorts alike."""
    return tile.astype(np.int64) << _TILE_SHIFT | event.astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Runs:
    """Words of source tiles at addresses of tiles."""

    tile: Ints
    address: Ints
    words: Ints
    source: Ints
    source_address: Ints

    def joined(self) -> "_Runs":
        """Sorted, with runs that go on with each other in one."""
        order = np.lexsort((self.address, self.tile))
        tile, address, words = self.tile[order], self.address[order], self.words[order]
        source, place = self.source[order], self.source_address[order]
        size = WORD_SIZE * words
        goes_on = np.zeros(len(tile), dtype=np.bool_)
        goes_on[1:] = (
            (tile[1:] == tile[:-1])
            & (source[1:] == source[:-1])
            & (address[1:] == address[:-1] + size[:-1])
            & (place[1:] == place[:-1] + size[:-1])
        )
        first = np.flatnonzero(~goes_on)
        total = np.add.reduceat(words, first) if len(first) else words
        return _Runs(tile[first], address[first], total, source[first], place[first])

    def _columns(self) -> list[Ints]:
        return [self.tile, self.address, self.words, self.source, self.source_address]

    def equals(self, other: "_Runs") -> bool:
        pairs = zip(self._columns(), other._columns(), strict=True)
        return all(np.array_equal(left, right) for left, right in pairs)

    def listed(self) -> set[tuple[int, ...]]:
        return set(zip(*(column.tolist() for column in self._columns()), strict=True))
