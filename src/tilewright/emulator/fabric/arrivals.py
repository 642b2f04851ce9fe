"""The items that reach each receiver: what is on the bus in the slots in which it listens.

A word that leaves in event W, in the direction of the route, is on the receiver's bus in slot
W + time of the route. A 64-bit item takes the lanes of its source and of the source's partner; the
first member of a pair takes it from the source's, the second from the partner's.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tilewright.emulator.fabric.listening import Interval
from tilewright.emulator.fabric.rows import PAIR_SIZE, WORD_SIZE, Row, Send
from tilewright.emulator.faults import (
    ExchangeFault,
    PairingFault,
    ReceiveConfigurationFault,
    SilentBusFault,
)
from tilewright.target.routes import directions, times
from tilewright.target.row_events import LATE_MEMBER_DELAY, pointer_delays
from tilewright.target.topology import PARTNER_BIT


class Arrival(NamedTuple):
    """Items in consecutive slots of a receiver, the first in slot `slot`.

    They are items `first` to `first + items - 1` of `send`, None for a silent bus. The address of
    the first is that of the cursor at event `point`. `direction` is that of the route, `pc` the
    instruction that selected the source.
    """

    receiver: int
    slot: int
    point: int
    items: int
    send: Send | None
    first: int
    direction: int
    pc: int


class _Half(NamedTuple):
    """Items `first` to `end` (exclusive) of a 64-bit send, as one member of a pair samples them."""

    first: int
    end: int
    time: int
    direction: int
    pc: int


@dataclass(slots=True)
class _Pair:
    """Halves of one send, by member of the receiving pair."""

    send: Send
    members: tuple[list[_Half], list[_Half]] = field(default_factory=lambda: ([], []))


def arrivals(
    rows: Mapping[int, Row], intervals: list[Interval], faults: list[ExchangeFault]
) -> dict[int, list[Arrival]]:
    """What each receiver takes in, in order of the events in which it gets its addresses.

    Adds silent slots and items of the wrong size to `faults`; silent slots give items of zeros.
    """
    return _Sampler(rows, faults).sample(intervals)


class _Sampler:
    def __init__(self, rows: Mapping[int, Row], faults: list[ExchangeFault]) -> None:
        self._timelines = {
            tile: (row.sends, [send.event for send in row.sends], [send.end for send in row.sends])
            for tile, row in rows.items()
            if row.sends
        }
        self._faults = faults
        self._found: dict[int, list[Arrival]] = defaultdict(list)
        self._pairs: dict[tuple[int, int, int], _Pair] = {}

    def sample(self, intervals: list[Interval]) -> dict[int, list[Arrival]]:
        receivers = np.array([each.receiver for each in intervals], dtype=np.int32)
        buses = np.array([each.bus for each in intervals], dtype=np.int32)
        routes = zip(
            times(buses, receivers).tolist(),
            times(buses, receivers ^ PARTNER_BIT).tolist(),
            directions(buses, receivers).tolist(),
            pointer_delays(receivers).tolist(),
            strict=True,
        )
        for interval, (time, partner_time, direction, delay) in zip(intervals, routes, strict=True):
            heard = self._hear(interval, time, direction, delay)
            # In a pair, both members count from the slot of the later one.
            is_early = interval.is_paired and time < partner_time
            silent_delay = delay + (LATE_MEMBER_DELAY if is_early else 0)
            self._silence(interval, heard, silent_delay, direction)
        for (first_member, _, _), pair in self._pairs.items():
            self._join(pair, first_member)
        for found in self._found.values():
            found.sort(key=lambda arrival: arrival.point)
        return self._found

    def _hear(
        self, interval: Interval, time: int, direction: int, delay: int
    ) -> list[tuple[int, int]]:
        """Take the items on a bus; returns the slots that have some, as half-open ranges."""
        heard = []
        receiver, bus = interval.receiver, interval.bus
        start, end = interval.start - time, interval.end - time
        for send in self._on_bus(bus, start, end):
            if not send.directions & direction:
                continue
            first, last = max(start, send.event), min(end, send.end)
            heard.append((first + time, last + time))
            if send.size == WORD_SIZE:
                slot = first + time
                item, items = first - send.event, last - first
                self._found[receiver].append(
                    Arrival(receiver, slot, slot + delay, items, send, item, direction, interval.pc)
                )
            elif not interval.is_paired or send.tile != bus ^ (receiver & PARTNER_BIT):
                self._refuse(interval, send, first + time)
            else:
                half = _Half(first - send.event, last - send.event, time, direction, interval.pc)
                self._pair(receiver, send).members[bool(receiver & PARTNER_BIT)].append(half)
        return sorted(heard)

    def _on_bus(self, bus: int, start: int, end: int) -> Iterator[Send]:
        """Sends of a tile that touch events `start` to `end`, and those it lends its lane to."""
        yield from self._sends(bus, start, end)
        for send in self._sends(bus ^ PARTNER_BIT, start, end):
            if send.size == PAIR_SIZE:
                yield send

    def _sends(self, tile: int, start: int, end: int) -> Iterable[Send]:
        if tile not in self._timelines:
            return []
        sends, firsts, ends = self._timelines[tile]
        return sends[bisect_right(ends, start) : bisect_left(firsts, end)]

    def _pair(self, receiver: int, send: Send) -> _Pair:
        key = (receiver & ~PARTNER_BIT, send.tile, send.event)
        return self._pairs.setdefault(key, _Pair(send))

    def _refuse(self, interval: Interval, send: Send, slot: int) -> None:
        if interval.is_paired:
            cause = (
                f"takes 64-bit items of tile {send.tile} from the wrong lane, that of tile "
                f"{interval.bus}"
            )
        else:
            cause = f"hears 64-bit items of tile {send.tile}, but its pair was not set together"
        self._faults.append(
            ReceiveConfigurationFault(cause, tile=interval.receiver, event=slot, pc=interval.pc)
        )

    def _silence(
        self, interval: Interval, heard: list[tuple[int, int]], delay: int, direction: int
    ) -> None:
        """Items of zeros for the slots without any."""
        receiver = interval.receiver
        at = interval.start
        for start, end in [*heard, (interval.end, interval.end)]:
            if start > at:
                cause = (
                    f"listens to tile {interval.bus}, of which nothing is on the bus "
                    f"in slots {at} to {start - 1}"
                )
                self._faults.append(SilentBusFault(cause, tile=receiver, event=at, pc=interval.pc))
                self._found[receiver].append(
                    Arrival(receiver, at, at + delay, start - at, None, 0, direction, interval.pc)
                )
            at = max(at, end)

    def _join(self, pair: _Pair, first_member: int) -> None:
        """Items that both members of a pair sample, each in its own slot, reach both."""
        for member, halves in enumerate(pair.members):
            receiver = first_member | (PARTNER_BIT if member else 0)
            for half in halves:
                self._take_half(receiver, pair.send, half, pair.members[1 - member])

    def _take_half(self, receiver: int, send: Send, half: _Half, others: list[_Half]) -> None:
        delay = int(pointer_delays(receiver))
        at = half.first
        for other in sorted(others):
            first, end = max(at, other.first), min(half.end, other.end)
            if first >= end:
                continue
            self._miss(receiver, send, half, at, first)
            slot = send.event + first + half.time
            point = send.event + first + max(half.time, other.time) + delay
            self._found[receiver].append(
                Arrival(receiver, slot, point, end - first, send, first, half.direction, half.pc)
            )
            at = end
        self._miss(receiver, send, half, at, half.end)

    def _miss(self, receiver: int, send: Send, half: _Half, first: int, end: int) -> None:
        if first >= end:
            return
        cause = (
            f"samples items {first} to {end - 1} of a 64-bit send of tile {send.tile}, "
            f"but its partner, tile {receiver ^ PARTNER_BIT}, does not"
        )
        event = send.event + first + half.time
        self._faults.append(PairingFault(cause, tile=receiver, event=event, pc=half.pc))
