"""Parts of a run's time."""

import numpy as np

from tilewright.package import StepKind, Steps
from tilewright.profile.taken import UNKNOWN, Integers, Taken

PARTS = ("compute", "exchange", "sync", "host", "idle")
"""What tiles may do with a cycle, waiting for others apart."""
_OF_KIND = {
    StepKind.COMPUTE: "compute",
    StepKind.EXCHANGE: "exchange",
    StepKind.SYNCHRONISATION: "sync",
    StepKind.HOST: "host",
    StepKind.IDLE: "idle",
}


def busy_parts(steps: Steps, taken: Taken) -> Integers:
    """The busy cycles of each entry by part: entries × `PARTS`.

    What an exchange takes beyond its plan, without waiting for other tiles, is sync: the barrier.
    """
    part = np.array([PARTS.index(_OF_KIND[StepKind(kind)]) for kind in range(len(StepKind))])
    parts = np.zeros((len(taken.row), len(PARTS)), np.int64)
    kind = steps.table.kind[taken.row]
    parts[np.arange(len(parts)), part[kind]] = taken.busy
    is_exchange = (kind == StepKind.EXCHANGE) & (taken.planned != UNKNOWN)
    beyond = np.where(is_exchange, np.maximum(taken.busy - taken.planned, 0), 0)
    parts[:, PARTS.index("exchange")] -= beyond
    parts[:, PARTS.index("sync")] += beyond
    return parts
