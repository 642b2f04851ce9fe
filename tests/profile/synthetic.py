"""Profiles with known answers."""

import numpy as np

from tilewright.package import NONE, ListOfTiles, Profile, StepKind, Steps, StepTable

STRINGS = ("load", "up", "down", "gemm_f16", "gelu_f16")
LOAD, UP, DOWN, GEMM, GELU = range(5)
COMPUTE, EXCHANGE = StepKind.COMPUTE, StepKind.EXCHANGE
CLOCK = 1_000_000_000

ROWS = [
    # list, phase, epoch, kind, operation, kernel, planned
    (0, 0, 0, EXCHANGE, LOAD, NONE, 50),
    (0, 1, 0, COMPUTE, UP, GEMM, 300),
    (0, 2, 0, COMPUTE, UP, GELU, 100),
    (0, 3, 0, EXCHANGE, DOWN, NONE, 40),
    (0, 4, 0, COMPUTE, DOWN, GEMM, NONE),
    (1, 0, 0, EXCHANGE, LOAD, NONE, 20),
    (1, 1, 0, COMPUTE, UP, GEMM, 300),
    (1, 3, 0, EXCHANGE, DOWN, NONE, 40),
]
"""Tiles 0 and 2 compute all, tile 5 has no GeLU and nothing to do at the end."""


def steps() -> Steps:
    return Steps(
        strings=STRINGS,
        tiles=ListOfTiles([0, 2, 5], [0, 0, 1]),
        table=StepTable(*np.array(ROWS, np.int64).T),
    )


TAKEN = {
    # Barriers take 30 cycles beside the rows; the first lets go when tile 5 comes, 100 cycles
    # after tile 0 and 90 after tile 2, the second when tile 2 has computed 310 + 120 cycles.
    0: [50 + 30 + 100, 310, 90, 40 + 30 + 30, 500],
    2: [50 + 30 + 90, 310, 120, 40 + 30, 480],
    5: [20 + 30, 290, 40 + 30 + 170],
}
"""After the first barrier tile 5's row ends 30 cycles before the others', so it waits for
(50 + 310 + 120) − (20 + 290) = 170 cycles at the second."""


def profile() -> Profile:
    samples = [
        np.cumsum([start, *TAKEN[tile]]) % 2**32
        for tile, start in ((0, 2**32 - 100), (2, 2**32 - 90), (5, 0))
    ]
    return Profile(steps(), np.concatenate(samples), CLOCK, bytes(32), "test")
