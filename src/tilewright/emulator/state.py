"""The state of a tile's contexts: what both engines read and write, in fixed layouts.

Registers are unsigned words. Only what is stored on the chip is here: registers that read as 0 or
discard what is written ($a8 to $a15, $m14, $m15) are not.
"""

from typing import Any

import numpy as np

from tilewright.target.geometry import WORKERS

M_REGISTERS = 12
A_REGISTERS = 8
ACCUMULATORS = 32
WEIGHTS = 64

WORKER = np.dtype(
    [
        ("m", np.uint32, M_REGISTERS),
        ("a", np.uint32, A_REGISTERS),
        ("accumulators", np.uint32, ACCUMULATORS),
        ("random", np.uint64, 2),
        ("pc", np.uint32),
        ("vertex_base", np.uint32),
        ("worker_base", np.uint32),
        ("repeat_count", np.uint32),
        ("repeat_first", np.uint32),
        ("repeat_end", np.uint32),
        ("float_status", np.uint32),
        ("float_control", np.uint32),
        ("tas", np.uint32),
        ("number_format", np.uint32),
        ("number_scale", np.uint32),
        ("exception", np.uint32),
        ("is_active", np.uint32),
    ],
    align=True,
)
"""One worker. `repeat_count` is what is left of a repeat, 0 outside one; `exception` is ETYPE."""

SUPERVISOR = np.dtype(
    [
        ("m", np.uint32, M_REGISTERS),
        ("csr", np.uint32, 256),
        ("pc", np.uint32),
        ("exception", np.uint32),
    ],
    align=True,
)
"""The supervisor; `csr` holds the registers that are plain storage, by index."""

TILE = np.dtype(
    [
        ("workers", WORKER, WORKERS),
        ("supervisor", SUPERVISOR),
        ("weights", np.uint64, WEIGHTS),
        ("cycle", np.uint64),
    ],
    align=True,
)
"""One tile; `cycle` counts from its start."""


def new_tile() -> Any:
    """A tile after reset: every register is 0 (assumed, `undef`)."""
    return np.zeros(1, TILE)[0]
