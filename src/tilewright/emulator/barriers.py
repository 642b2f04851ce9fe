"""Barriers between tiles, and with the host: who waits where, and when all can go on.

A barrier of all tiles is complete when each of them waits in its zone, or has said by `sans` that
it takes part without waiting. The notes call these automatic participations ones in internal
barriers, but followers of a host phase use them for the barriers of that phase, too; so they count
for every barrier of all tiles (`ans-zones`).
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tilewright.emulator.fabric.rows import Record
from tilewright.emulator.memory import TileMemory
from tilewright.target.flags import SYNC_ZONES

RECEIVE_ZONE, ANS_ZONE = SYNC_ZONES["RECEIVE"], SYNC_ZONES["ANS"]
INTERNAL_ZONE = SYNC_ZONES["INTERNAL"]
_MASTER_BIT = 8
"""Zones 12 to 15 are 4 to 7, asked for by the tile that owns the host's request."""
_NAMES = {number: name for name, number in SYNC_ZONES.items()}


@dataclass(frozen=True, slots=True)
class Waiting:
    """A tile whose supervisor waits in a zone since `cycle`; `pc` is that of the `sync`."""

    tile: int
    zone: int
    pc: int
    cycle: int


class HostPort(Protocol):
    """The host's side of the chip: barriers of sync groups, and packets between host and tiles.

    Both are asked when all tiles stand still.
    """

    def complete(self, zone: int, waiting: Sequence[Waiting]) -> bool:
        """Whether the barrier of a group (zones 4 to 7), at which all tiles have arrived, can
        complete; if it asks for the host's credit, takes one."""

    def exchange(self, records: Sequence[Record], memory: TileMemory) -> Mapping[int, int]:
        """Move packets: what tiles executed since such a barrier. Returns how many words have
        reached each tile; they count down INCOMING_DCOUNT."""


@dataclass(slots=True)
class Participations:
    """Barriers in which a tile takes part automatically, oldest first: how many, since when."""

    _registered: deque[list[int]] = field(default_factory=deque)

    def add(self, count: int, cycle: int) -> None:
        """Register `count` of them, as of `cycle`."""
        self._registered.append([count, cycle])

    @property
    def left(self) -> int:
        return sum(count for count, _ in self._registered)

    def take(self) -> int:
        """Use one up; returns the cycle in which it was registered."""
        oldest = self._registered[0]
        oldest[0] -= 1
        if not oldest[0]:
            self._registered.popleft()
        return oldest[1]


def group_of(zone: int) -> int:
    """The zone at whose barrier a tile that waits in `zone` has arrived."""
    return zone & ~_MASTER_BIT


def complete_zone(
    tiles: int, waiting: Iterable[Waiting], participations: Mapping[int, Participations]
) -> int | None:
    """The zone of the barrier at which all of `tiles` tiles have arrived, None if there is none.

    If all take part automatically, the barrier is internal.
    """
    at_barrier = [each for each in waiting if each.zone not in (RECEIVE_ZONE, ANS_ZONE)]
    zones = {group_of(each.zone) for each in at_barrier}
    automatic = sum(1 for each in participations.values() if each.left)
    # A tile that waits with others has no participations left: `sync` would have raised a fault.
    if len(zones) > 1 or len(at_barrier) + automatic != tiles:
        return None
    return zones.pop() if zones else INTERNAL_ZONE


def zone_name(zone: int) -> str:
    """A zone as `sync` takes it, and its name: `sync 3 (INTERNAL)`."""
    return f"sync {zone} ({_NAMES[zone]})"


def describe_waiting(waiting: Iterable[Waiting]) -> list[str]:
    """One line per zone and address."""
    groups: dict[tuple[int, int], list[int]] = {}
    for each in waiting:
        groups.setdefault((each.zone, each.pc), []).append(each.tile)
    return [
        f"{describe_tiles(tiles)} at {zone_name(zone)}, pc {pc:#x}"
        for (zone, pc), tiles in sorted(groups.items())
    ]


def describe_tiles(tiles: Iterable[int]) -> str:
    """`tiles 0-3, 8`, as ranges of physical ids."""
    ordered = sorted(tiles)
    ranges: list[list[int]] = []
    for tile in ordered:
        if ranges and tile == ranges[-1][1] + 1:
            ranges[-1][1] = tile
        else:
            ranges.append([tile, tile])
    texts = [str(low) if low == high else f"{low}-{high}" for low, high in ranges]
    return f"tile{'' if len(ordered) == 1 else 's'} {', '.join(texts)}"
