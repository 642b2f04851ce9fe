"""A schedule of a phase: when each message leaves, chosen as the best of a few list schedules."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tilewright.exchange.bound import lower_bound, urgencies
from tilewright.exchange.listing import Order, Relays, list_schedule
from tilewright.exchange.messages import Flags, Messages, can_be_wide, make_messages
from tilewright.exchange.phase import ExchangePhase, Ints
from tilewright.exchange.timeline import NOTHING, Receivers, Sends
from tilewright.target.geometry import TILES
from tilewright.target.routes import clock_skews
from tilewright.target.row_events import SENDER_LEAST_EVENTS
from tilewright.target.topology import PARTNER_BIT, logical_tiles

_GOOD_ENOUGH = 1.01
"""Schedules are no longer improved when they are this close to the bound."""
_EFFORT = 60_000
"""Receives placed, over all schedules that are tried; each width always is."""
_FIRST_LIMIT = 4
"""Where the first schedule must end, in multiples of the bound; if it cannot, twice as late."""
_MIXER = np.uint64(0x9E37_79B9_7F4A_7C15)
"""Odd: products with it spread numbers over 64 bits."""
_REPAIRS = 6
"""How often the messages that decide on the end are preferred in a further schedule."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """`first` is the event in which each message's first item leaves.

    `bound` is the lower bound for messages with such receivers, in either width; `blockers` are the
    messages that kept each from leaving earlier, `NOTHING` if none did.
    """

    messages: Messages
    first: Ints
    blockers: Ints
    bound: int

    @property
    def phase(self) -> ExchangePhase:
        return self.messages.phase

    @property
    def slot(self) -> Ints:
        """Per receiver: the slot of its first item."""
        return self.first[self.messages.message] + self.messages.time

    @property
    def point(self) -> Ints:
        """Per receiver: the event in which its first item takes its address."""
        return self.slot + self.messages.point

    @cached_property
    def row_ends(self) -> Ints:
        """Per tile: the last event of its row, 0 if it needs none.

        Partners that lend their bus have rows as long as the sender's.
        """
        messages = self.messages
        ends = np.zeros(TILES, dtype=np.int64)
        received = self.first[messages.message] + messages.row_end
        np.maximum.at(ends, messages.tile, received)
        sent = np.maximum(self.first - 1 + messages.items, SENDER_LEAST_EVENTS)
        np.maximum.at(ends, messages.source, sent)
        lent = messages.source[messages.wide] ^ PARTNER_BIT
        np.maximum.at(ends, lent, sent[messages.wide])
        return ends

    @property
    def horizon(self) -> int:
        """The last event of the longest row; 0 if nothing is moved."""
        return int(self.row_ends.max())

    @property
    def chain(self) -> list[int]:
        """The messages that decide on the end, first to last: each kept the next from leaving."""
        if not len(self.messages):
            return []
        ends = self.first + self.messages.latency
        found = [int(np.argmax(ends))]
        while (before := int(self.blockers[found[-1]])) != NOTHING:
            found.append(before)
        return found[::-1]


def schedule(phase: ExchangePhase) -> Schedule:
    """When to send what, as soon as a few attempts can make it.

    Deterministic. Raises `PhaseError` for what no schedule can do: a cycle of relays, or a tile
    that would read and write a memory element at once.
    """
    if not phase.transfers:
        nothing = np.zeros(0, dtype=np.int64)
        no = np.zeros(0, dtype=np.bool_)
        return Schedule(make_messages(phase, no, no), nothing, nothing, 0)
    search = _Search(phase)
    never = np.zeros(phase.transfers, dtype=np.bool_)
    wide, apart = can_be_wide(phase), _worth_splitting(phase)
    if wide.any():
        search.try_messages(wide, never)
    if not wide.any() or search.is_not_good:
        search.try_messages(never, never)
    if apart.any() and search.goes_on:
        search.try_messages(never, apart)
    search.toggle_widths(wide)
    search.improve()
    return search.best


class _Search:
    """The best schedule so far, and what has been spent on it."""

    def __init__(self, phase: ExchangePhase) -> None:
        self._phase = phase
        self._effort = 0
        self._best: tuple[Schedule, _Attempt] | None = None

    @property
    def best(self) -> Schedule:
        return self._leader[0]

    @property
    def _leader(self) -> "tuple[Schedule, _Attempt]":
        assert self._best is not None
        return self._best

    @property
    def is_not_good(self) -> bool:
        """Whether the best is not close to the bound."""
        return self.best.horizon > _GOOD_ENOUGH * self.best.bound

    @property
    def goes_on(self) -> bool:
        """Whether it is worth while to try more."""
        return self.is_not_good and self._effort <= _EFFORT

    def try_messages(self, wide: Flags, apart: Flags) -> None:
        """Make the first schedule of transfers that are sent so, unless it cannot be better."""
        bound = lower_bound(self._phase, apart)
        if self._best is None or bound < self.best.horizon:
            self._take(_Attempt(make_messages(self._phase, wide, apart), bound))

    def toggle_widths(self, able: Flags) -> None:
        """Send transfers that decide on the end in the other width, as long as that helps.

        `able` are those that can be wide.
        """
        never = np.zeros_like(able)
        while able.any() and self.goes_on:
            best = self.best
            messages = best.messages
            wide = np.zeros_like(able)
            wide[messages.transfer[messages.wide]] = True
            deciding = np.zeros_like(able)
            deciding[messages.transfer[best.chain]] = True
            if not (deciding & able).any():
                return
            self.try_messages(wide ^ (deciding & able), never)
            if self.best is best:
                return

    def improve(self) -> None:
        """Try other orders of the messages that did best."""
        attempt = self._leader[1]
        while self.goes_on and attempt.has_more:
            self._take(attempt)

    def _take(self, attempt: "_Attempt") -> None:
        """Keep the next schedule of an attempt if it is better; it is given up where it is not."""
        self._effort += attempt.effort
        found = attempt.take(None if self._best is None else self.best.horizon - 1)
        if found is not None:
            self._best = found, attempt


def _worth_splitting(phase: ExchangePhase) -> Flags:
    """Which transfers can be sent to each receiver apart without making a sender the bottleneck."""
    counts = np.diff(phase.receiver_start)
    received = np.bincount(phase.receiver_tile, weights=phase.receiver_words, minlength=TILES)
    sent = np.bincount(phase.source_tile, weights=phase.words * counts, minlength=TILES)
    affordable: Flags = sent[phase.source_tile] <= received.max()
    return affordable & (counts > 1)


class _Attempt:
    """Schedules of given messages in different orders, the later learning from the best so far."""

    def __init__(self, messages: Messages, bound: int) -> None:
        self._messages = messages
        self._bound = bound
        self._skews = clock_skews(np.arange(TILES)).astype(np.int64)
        self._urgency = urgencies(messages)
        typical = int(np.median(messages.items))
        self._orders = [
            (preference, tolerance)
            for preference in (self._by_latency(), self._by_distance(), self._by_length())
            for tolerance in (0, typical // 2)
        ]
        self._taken = 0
        self._best: tuple[Schedule, tuple[Ints, int]] | None = None

    @property
    def effort(self) -> int:
        """Receives that a schedule places."""
        return len(self._messages.tile)

    @property
    def has_more(self) -> bool:
        return self._taken < len(self._orders) + _REPAIRS

    def take(self, limit: int | None) -> Schedule | None:
        """The next schedule; None if there is a limit, and rows do not end by that event."""
        if self._taken < len(self._orders):
            chosen = self._orders[self._taken]
        else:
            assert self._best is not None
            best, chosen = self._best
            self._urgency[best.chain] += best.horizon
        self._taken += 1
        if limit is not None:
            found = self._run(*chosen, limit)
        else:
            wider = _FIRST_LIMIT * self._bound
            while (found := self._run(*chosen, wider)) is None:
                wider *= 2
        if found is not None:
            self._best = found, chosen
        return found

    def _run(self, preference: Ints, tolerance: int, limit: int) -> Schedule | None:
        urgency = self._urgency
        order = np.lexsort((preference, -urgency, self._messages.source))
        messages = self._messages.reordered(order)
        relays = _relays(messages)
        listed = list_schedule(
            TILES,
            limit,
            _sends(messages),
            _receivers(messages),
            relays,
            Order(_queues(messages, relays.waiting > 0), urgency[order], tolerance),
            self._skews,
        )
        if listed is None:
            return None
        first, blockers = listed
        found = np.empty_like(first)
        found[order] = first
        kept = np.empty_like(blockers)
        kept[order] = np.where(blockers == NOTHING, NOTHING, order[blockers])
        return Schedule(self._messages, found, kept, self._bound)

    def _by_latency(self) -> Ints:
        """What takes longest after it has left goes first."""
        return self._messages.items - self._messages.latency

    def _by_distance(self) -> Ints:
        """Receivers that follow the source in the order of software first: patterns interlock."""
        messages = self._messages
        receiver = messages.tile[messages.receiver_start[:-1]]
        return (logical_tiles(receiver) - logical_tiles(messages.source)).astype(np.int64) % TILES

    def _by_length(self) -> Ints:
        """Long messages first."""
        return -self._messages.items


def _sends(messages: Messages) -> Sends:
    partner = np.where(messages.wide, messages.source ^ PARTNER_BIT, NOTHING)
    return Sends(
        messages.source,
        messages.items,
        messages.latency,
        messages.source_elements,
        partner,
        messages.receiver_start,
    )


def _receivers(messages: Messages) -> Receivers:
    return Receivers(
        messages.tile,
        messages.kind,
        messages.receiver_elements,
        messages.time,
        messages.point,
        messages.direction,
    )


def _queues(messages: Messages, waits: Flags) -> Ints:
    """A number for messages of the same source and receivers; those that wait have their own."""
    # Receivers that differ but have the same sum share a queue: that is allowed, and hardly occurs.
    mixed = (messages.tile.astype(np.uint64) + np.uint64(1)) * _MIXER
    mixed = (mixed ^ mixed >> np.uint64(32)) * _MIXER
    receivers = np.add.reduceat(mixed, messages.receiver_start[:-1])
    alone = np.where(waits, 1 + np.arange(len(messages)), 0)
    order = np.lexsort((alone, receivers, messages.wide, messages.source))
    keys = [key[order] for key in (alone, receivers, messages.wide, messages.source)]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    firsts = order[is_first]
    rank = np.empty(len(firsts), dtype=np.int64)
    rank[np.argsort(firsts)] = np.arange(len(firsts))
    queue = np.empty(len(order), dtype=np.int64)
    queue[order] = rank[np.cumsum(is_first) - 1]
    return queue


def _relays(messages: Messages) -> Relays:
    readers, receivers = messages.waits
    writers = messages.message[receivers]
    order = np.argsort(writers, kind="stable")
    return Relays(
        start=np.searchsorted(writers[order], np.arange(len(messages) + 1)),
        readers=readers[order],
        receivers=receivers[order],
        waiting=np.bincount(readers, minlength=len(messages)),
    )
