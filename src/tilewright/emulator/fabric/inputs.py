"""What the fabric is given: what tiles executed since a barrier, and which accesses clash."""

from dataclasses import dataclass
from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray

from tilewright.emulator.events import EventArray


class ClashRule(Enum):
    """When a send and a receive of one tile clash in an element (`clash-rule`)."""

    CYCLE = auto()
    """When they use it in one cycle: what the chip reports."""
    WINDOW = auto()
    """When their windows overlap: the rule for encoders, which keeps an event's distance."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a tile did in a phase.

    `released` is the cycle in which the barrier let it go, `events` what it executed since then,
    and `registers` the control registers of the exchange as they were at that moment.
    """

    tile: int
    released: int
    events: EventArray
    registers: NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Executed:
    """What all tiles of a chip did in a phase: as `Record`, with arrays over tiles.

    The events of tile t are `events[bounds[t] : bounds[t + 1]]`; `registers` is `[tile, register]`.
    """

    released: NDArray[np.int64]
    events: EventArray
    bounds: NDArray[np.int64]
    registers: NDArray[np.uint32]

    def records(self) -> list[Record]:
        """One for each tile."""
        return [
            Record(tile, int(self.released[tile]), self.events[start:end], self.registers[tile])
            for tile, (start, end) in enumerate(
                zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True)
            )
        ]
