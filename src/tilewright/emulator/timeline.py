"""When barriers of all tiles completed, and when the rows behind them ended."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class Phase:
    """One barrier and what follows it, in cycles: the last arrival, when tiles went on, and when
    the last row had ended, which is when they went on if there was none."""

    arrived: int
    released: int
    rows_ended: int


@dataclass(slots=True)
class Timeline:
    """Barriers of all tiles in order; a chip with one in `timeline` adds to it."""

    phases: list[Phase] = field(default_factory=list)

    def barrier(self, arrived: int, released: int) -> None:
        self.phases.append(Phase(arrived, released, released))

    def rows(self, cycles: NDArray[np.uint64]) -> None:
        """`cycles` in which tiles have come to the ends of their rows."""
        if cycles.size:
            self.phases[-1].rows_ended = int(cycles.max())
