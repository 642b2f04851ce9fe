"""Barriers between tiles, and with the host: who waits where, and when all can go on.

A barrier of all tiles is complete when each of them waits in its zone, or has said by `sans` that
it takes part without waiting. The notes call these automatic participations ones in internal
barriers, but followers of a host phase use them for the barriers of that phase, too; so they count
for every barrier of all tiles (`ans-zones`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from tilewright.emulator.fabric import Executed
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.records import Tiles
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


@dataclass(frozen=True, slots=True)
class Received:
    """What the host has sent, by tile: how many words that INCOMING_DCOUNT counts, and in which
    cycle the last of them arrives. `cursors` is where each tile's next word would be sent from."""

    words: NDArray[np.int64]
    cycles: NDArray[np.int64]
    cursors: NDArray[np.int64]


class HostPort(Protocol):
    """The host's side of the chip: barriers of sync groups, and packets between host and tiles.

    It is asked when all tiles stand still. What tiles do wrong are `ExchangeFault`s.
    """

    def may_complete(self, zone: int) -> bool:
        """Whether the barrier of a group (zones 4 to 7), at which all tiles have arrived, can
        complete; it is asked until it can."""

    def begin(self, tiles: int, masters: Tiles) -> None:
        """Such a barrier lets all `tiles` tiles go, of which some have come to it as masters: a
        phase begins, in which tiles may exchange packets."""

    def exchange(self, executed: Executed, memory: TileMemory) -> Received:
        """Move packets: what tiles have executed in the phase, since this was last asked."""

    def check_requests(self) -> None:
        """Nothing can go on: raises for packets that wait for a request."""

    def end(self) -> None:
        """All tiles have come to their next barrier: the phase is over, if there was one. Raises
        for what is missing."""


_REGISTRATION = np.dtype([("tile", np.int64), ("left", np.int64), ("cycle", np.uint64)])


class Participations:
    """Barriers in which tiles take part automatically: how many, registered when."""

    def __init__(self) -> None:
        # Each tile's in the order in which they were registered.
        self._registered = np.zeros(0, _REGISTRATION)

    def add(self, tiles: npt.ArrayLike, counts: npt.ArrayLike, cycles: npt.ArrayLike) -> None:
        """Register so many of tiles, as of cycles, after those that they have."""
        added = np.zeros(np.size(tiles), _REGISTRATION)
        added["tile"], added["left"], added["cycle"] = tiles, counts, cycles
        self._registered = np.concatenate([self._registered, added])

    def left(self, tiles: int) -> NDArray[np.int64]:
        """How many each of `tiles` tiles has."""
        counts = np.zeros(tiles, np.int64)
        np.add.at(counts, self._registered["tile"], self._registered["left"])
        return counts

    def take(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Use one up of each tile that has any; returns these tiles, and when it was registered."""
        tiles, oldest = np.unique(self._registered["tile"], return_index=True)
        cycles = self._registered["cycle"][oldest]
        self._registered["left"][oldest] -= 1
        self._registered = self._registered[self._registered["left"] > 0]
        return tiles, cycles

    def forget(self, tile: int) -> None:
        """Remove those of a tile."""
        self._registered = self._registered[self._registered["tile"] != tile]

    def copy(self) -> "Participations":
        """The same, apart from these."""
        copied = Participations()
        copied._registered = self._registered.copy()
        return copied


def group_of(zones: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """The zones at whose barriers tiles that wait in `zones` have arrived."""
    return zones.astype(np.int64) & ~_MASTER_BIT


def is_master(zones: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Whether who waits in zones will ask the host on behalf of tiles."""
    return zones.astype(np.int64) > _MASTER_BIT


def complete_zone(tiles: int, waiting: NDArray[np.integer[Any]], automatic: int) -> int | None:
    """The zone of the barrier at which all of `tiles` tiles have arrived, None if there is none.

    `waiting` are the zones in which tiles wait; `automatic` is how many tiles take part without. If
    all take part automatically, the barrier is internal.
    """
    at_barrier = waiting[(waiting != RECEIVE_ZONE) & (waiting != ANS_ZONE)]
    # A tile that waits with others has no participations left: `sync` would have raised a fault.
    if len(at_barrier) + automatic != tiles:
        return None
    zones = np.unique(group_of(at_barrier)).tolist()
    if len(zones) > 1:
        return None
    return int(zones[0]) if zones else INTERNAL_ZONE


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
