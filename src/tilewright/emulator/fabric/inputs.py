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
class Executed:
    """What all tiles of a chip did in a phase, in arrays over tiles.

    `released` is the cycle in which the barrier let each go, `registers` the control registers of
    the exchange at that moment, as `[tile, register]`. What tile t executed since then is
    `events[bounds[t] : bounds[t + 1]]`.
    """

    released: NDArray[np.int64]
    events: EventArray
    bounds: NDArray[np.int64]
    registers: NDArray[np.uint32]
