"""What a phase will take, from the words that tiles send and receive: for planners."""

import numpy as np
import numpy.typing as npt

from tilewright.target.timing import PHASE_BOUNDARY

LATENCY_EVENTS = 150
"""From the first send of a phase to the end of the last row, without the words' own events.

Of the patterns that `tilewright bench exchange` schedules it is 57 to 176."""

LATENCY_ERROR = (-95, 30)
"""In those patterns, rows end at most so many events sooner, or later, than estimated. Relays, and
memory elements in which words are both sent and received, add to it: they are not known here."""


def estimated_events(sent: npt.ArrayLike, received: npt.ArrayLike) -> int:
    """Events of the longest row, if tiles send and receive so many items each: arrays, or maxima.

    Items are words of 32 bits; for a paired transfer they are 64 bits, and the partner of its
    source sends as many. 0 if nothing is moved.
    """
    most = max(np.max(sent, initial=0), np.max(received, initial=0))
    return int(most) + LATENCY_EVENTS if most else 0


def estimated_cycles(sent: npt.ArrayLike, received: npt.ArrayLike) -> int:
    """Cycles of the phase, its boundary included; 0 if nothing is moved."""
    events = estimated_events(sent, received)
    return events + PHASE_BOUNDARY.value if events else 0
