"""Messages: the sends of a phase, with what each of their receivers has to know about time.

A transfer becomes one message, or several: if a tile receives it twice, if it is sent to each
receiver by itself, or if one send cannot carry it. Items of a message have 32 bits, or, *wide*, 64:
then both members of a pair take each item, and the source's partner lends its bus.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tilewright.exchange.elements import elements
from tilewright.exchange.phase import WORD_SIZE, ExchangePhase, Ints
from tilewright.exchange.relays import waits
from tilewright.target.routes import directions, early_members, times
from tilewright.target.row_events import (
    FORMAT_BEFORE_POINTER,
    LATE_MEMBER_DELAY,
    WIDE_ITEMS,
    pointer_delays,
    row_end_delays,
)
from tilewright.target.topology import PARTNER_BIT

Flags = npt.NDArray[np.bool_]

NARROW, EARLY, LATE = 0, 1, 2
"""Kinds of receivers: of 32-bit items; of 64-bit items, the earlier and the later of the pair."""

WIDE_SIZE = 2 * WORD_SIZE


@dataclass(frozen=True, eq=False)
class Messages:
    """m messages with r receivers in all, as arrays.

    Per message: `transfer`, `source` tile, `address` in bytes, `items`, `wide`; receivers are
    entries `receiver_start[i]` to `receiver_start[i + 1]` of the others. Per receiver: `message`,
    `receiver` of the phase, `tile`, `destination` in bytes, `kind`, `direction` of the route,
    `time` from the event in which an item leaves to its slot, and `point` from the slot to the
    event of its address.
    """

    phase: ExchangePhase
    transfer: Ints
    source: Ints
    address: Ints
    items: Ints
    wide: Flags
    receiver_start: Ints
    message: Ints
    receiver: Ints
    tile: Ints
    destination: Ints
    kind: Ints
    direction: Ints
    time: Ints
    point: Ints

    def __len__(self) -> int:
        return len(self.transfer)

    @property
    def item_size(self) -> Ints:
        """Per message, in bytes."""
        return np.where(self.wide, WIDE_SIZE, WORD_SIZE)

    @property
    def end(self) -> Ints:
        """Per message: the address after what it reads."""
        return self.address + self.items * self.item_size

    @property
    def destination_end(self) -> Ints:
        """Per receiver: the address after what it gets."""
        return self.destination + (self.items * self.item_size)[self.message]

    @property
    def source_elements(self) -> Ints:
        """Per message: the memory elements it reads, as bits."""
        return elements(self.address, self.end)

    @property
    def receiver_elements(self) -> Ints:
        """Per receiver: the memory elements it writes, as bits."""
        return elements(self.destination, self.destination_end)

    @property
    def row_end(self) -> Ints:
        """Per receiver: from the event in which the first item leaves to the end of its row."""
        return self.time + self.point + self.items[self.message] + TO_ROW_END

    @property
    def latency(self) -> Ints:
        """Per message: from the event in which the first item leaves to the end of all rows."""
        slowest: Ints = np.maximum.reduceat(self.row_end, self.receiver_start[:-1])
        return slowest

    @property
    def earliest(self) -> Ints:
        """Per message: the first event in which every receiver could take the first item."""
        soonest: Ints = np.minimum.reduceat(self.time, self.receiver_start[:-1])
        return np.maximum(1, 1 - soonest)

    def reordered(self, order: Ints) -> "Messages":
        """The same messages, in the order of the numbers given."""
        counts = np.diff(self.receiver_start)[order]
        start = np.concatenate([[0], np.cumsum(counts)])
        entry = _spread(self.receiver_start[:-1][order], counts)
        return Messages(
            phase=self.phase,
            transfer=self.transfer[order],
            source=self.source[order],
            address=self.address[order],
            items=self.items[order],
            wide=self.wide[order],
            receiver_start=start,
            message=np.repeat(np.arange(len(order)), counts),
            receiver=self.receiver[entry],
            tile=self.tile[entry],
            destination=self.destination[entry],
            kind=self.kind[entry],
            direction=self.direction[entry],
            time=self.time[entry],
            point=self.point[entry],
        )

    @cached_property
    def waits(self) -> tuple[Ints, Ints]:
        """Pairs of a message and the receiver of another that brings what it reads."""
        return waits(
            self.source, self.address, self.end, self.tile, self.destination, self.destination_end
        )


TO_ROW_END = int(row_end_delays(0) - pointer_delays(0))
"""From the event after a receiver's last address to the last of its row: the same on all tiles."""


def can_be_wide(phase: ExchangePhase) -> Flags:
    """Per transfer: whether it can be sent as 64-bit items.

    Receivers must be complete pairs; addresses and length must be whole items; no control of a
    receiver may meet another; and shorter ones are refused by a third party's encoder.
    """
    owner, tiles = phase.receiver_transfer, phase.receiver_tile
    halves, odd = np.divmod(phase.words, WIDE_SIZE // WORD_SIZE)
    good = (odd == 0) & (halves >= WIDE_ITEMS.start) & (phase.source_address % WIDE_SIZE == 0)
    misplaced = (phase.receiver_address % WIDE_SIZE != 0) | ~_has_partner(phase)
    early = early_members(phase.source_tile[owner], tiles) == tiles
    delay = pointer_delays(tiles) + LATE_MEMBER_DELAY
    pieces = -(-halves // (WIDE_ITEMS.stop - 1))
    # The neutral after the last item must not meet the pointer, or the format before it.
    is_alone = pieces[owner] == 1
    meets = is_alone & early & np.isin(halves[owner] - delay, (0, -FORMAT_BEFORE_POINTER))
    bad = np.bincount(owner[misplaced | meets], minlength=phase.transfers) > 0
    able: Flags = good & ~bad
    return able


def _has_partner(phase: ExchangePhase) -> Flags:
    """Per receiver: whether it and its partner receive the transfer once each."""
    key = phase.receiver_transfer << 16 | phase.receiver_tile
    listed, counts = np.unique(key, return_counts=True)
    partner = np.searchsorted(listed, key ^ PARTNER_BIT)
    partner = np.minimum(partner, len(listed) - 1)
    own = np.searchsorted(listed, key)
    there = listed[partner] == key ^ PARTNER_BIT
    complete: Flags = there & (counts[own] == 1) & (counts[partner] == 1)
    return complete


def make_messages(phase: ExchangePhase, wide: Flags, apart: Flags) -> Messages:
    """The messages of a phase: per transfer, whether it is `wide`, and sent to receivers `apart`.

    What is wide must be able to be; pairs stay together then, and a source that receives its own
    words stays with another receiver. Raises `PhaseError` if such a source reads and writes the
    same memory element at once.
    """
    transfer, start, entries = _grouped(phase, wide, apart)
    kind = _kinds(phase, wide)[entries]
    pieces = _pieces(phase, wide)[transfer]
    parent = np.repeat(np.arange(len(transfer)), pieces)
    number = _spread(np.zeros_like(pieces), pieces)
    whole = phase.words[transfer] // np.where(wide[transfer], 2, 1)
    # Pieces differ by an item at most.
    first = number * whole[parent] // pieces[parent]
    items = (number + 1) * whole[parent] // pieces[parent] - first
    counts = np.diff(start)[parent]
    of = np.repeat(np.arange(len(parent)), counts)
    entry = _spread(start[:-1][parent], counts)
    receiver = entries[entry]
    size = np.where(wide[transfer], WIDE_SIZE, WORD_SIZE)[parent]
    source = phase.source_tile[transfer][parent]
    tile = phase.receiver_tile[receiver]
    found = Messages(
        phase=phase,
        transfer=transfer[parent],
        source=source,
        address=phase.source_address[transfer][parent] + first * size,
        items=items,
        wide=wide[transfer][parent],
        receiver_start=np.concatenate([[0], np.cumsum(counts)]),
        message=of,
        receiver=receiver,
        tile=tile,
        destination=phase.receiver_address[receiver] + (first * size)[of],
        kind=kind[entry],
        direction=directions(source[of], tile).astype(np.int64),
        time=times(source[of], tile).astype(np.int64),
        point=pointer_delays(tile).astype(np.int64)
        + np.where(kind[entry] == EARLY, LATE_MEMBER_DELAY, 0),
    )
    _check_loopbacks(found)
    return found


def _grouped(phase: ExchangePhase, wide: Flags, apart: Flags) -> tuple[Ints, Ints, Ints]:
    """Receivers that one send serves: each group's transfer, its start, and all the receivers."""
    owner = phase.receiver_transfer
    pair_bit = np.where(wide[owner], PARTNER_BIT, 0)
    unit = phase.receiver_tile & ~pair_bit
    is_own = unit == phase.source_tile[owner] & ~pair_bit
    order = np.lexsort((phase.receiver_tile, unit, is_own, owner))
    owner, unit, is_own = owner[order], unit[order], is_own[order]
    tile = phase.receiver_tile[order]
    is_new_unit = _changes(owner, unit)
    # The source itself comes last, and joins the first of the others.
    units = np.cumsum(is_new_unit)
    number = np.where(apart[owner] & ~is_own, units - units[_run_starts(_changes(owner))], 0)
    repeat = np.arange(len(tile)) - _run_starts(_changes(owner, tile))
    final = np.lexsort((tile, repeat, number, owner))
    first = np.flatnonzero(_changes(owner[final], number[final], repeat[final]))
    return owner[final][first], np.concatenate([first, [len(final)]]), order[final]


def _spread(starts: Ints, counts: Ints) -> Ints:
    """For each start, as many numbers from it on as its count says."""
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    numbers: Ints = np.repeat(starts, counts) + within
    return numbers


def _changes(*keys: Ints) -> Flags:
    """Where an entry differs from the one before in some key."""
    different = np.ones(len(keys[0]), dtype=np.bool_)
    different[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return different


def _run_starts(changes: Flags) -> Ints:
    """Per entry: the entry that starts its run."""
    starts: Ints = np.maximum.accumulate(np.where(changes, np.arange(len(changes)), 0))
    return starts


def _kinds(phase: ExchangePhase, wide: Flags) -> Ints:
    """Per receiver of the phase."""
    owner, tile = phase.receiver_transfer, phase.receiver_tile
    is_early = early_members(phase.source_tile[owner], tile) == tile
    return np.where(wide[owner], np.where(is_early, EARLY, LATE), NARROW)


def _pieces(phase: ExchangePhase, wide: Flags) -> Ints:
    """Per transfer of the phase: how many messages carry its items, one after the other.

    Wide ones have a longest length. A source that hears itself must not have to set neutral in the
    event in which, or before which, it starts to send: half the length makes another event of it.
    """
    owner = phase.receiver_transfer
    is_own = phase.receiver_tile == phase.source_tile[owner]
    own_time = times(phase.source_tile, phase.source_tile)
    hears_itself = np.bincount(owner[is_own], minlength=phase.transfers) > 0
    meets = hears_itself & ~wide & np.isin(own_time + phase.words, (0, -1))
    halves = phase.words * WORD_SIZE // WIDE_SIZE
    return np.where(wide, -(-halves // (WIDE_ITEMS.stop - 1)), np.where(meets, 2, 1))


def _check_loopbacks(messages: Messages) -> None:
    """A tile that receives what it sends must not read and write one memory element at once."""
    source = messages.message
    is_own = messages.tile == messages.source[source]
    shares = messages.receiver_elements & messages.source_elements[source] != 0
    meets = messages.time + messages.point < messages.items[source]
    messages.phase.refuse(
        "a tile would read and write one memory element at once while it receives its own words; "
        "move the destination into another element",
        messages.transfer[source[is_own & shares & meets]],
    )
