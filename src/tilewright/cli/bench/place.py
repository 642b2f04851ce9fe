"""Placement: how far packings are above the lower bound, and the time for a whole chip.

The simulation: tiles of 80 buffers each, with log-normal sizes from 256 bytes to 64 KiB and
exponential lifetimes, of which some are long. In one variant, some buffers must not share memory
elements and get whole elements for it; in another, they are separated from one other buffer each.
"""

from time import perf_counter

import numpy as np

from tilewright.cli.bench.figure import Figure, best_seconds
from tilewright.codegen.place import Arena, MemoryPolicy, Placement, Requests, place
from tilewright.codegen.place.blocks import join
from tilewright.codegen.place.packing import BEST_FIT, FIRST_FIT, ORDERS, pack, pack_in_order
from tilewright.codegen.place.packing import sorted_order
from tilewright.codegen.place.problem import Problem
from tilewright.codegen.place.requests import Bools, Ints
from tilewright.target.geometry import ELEMENT_SIZE, MEMORY_BASE, MEMORY_END, TILES

WHOLE = MemoryPolicy((Arena("memory", MEMORY_BASE, MEMORY_END),), ("memory",), ("memory",))
"""One arena without reservations, so that nothing but packing counts."""
BUFFERS = 80
SIMULATED = 300
"""Tiles of the tables of quality."""
_STEPS = 200
_MEDIAN, _SPREAD, _LEAST, _MOST = 3000, 1.2, 256, 64 * 1024
_LIFE, _LONG_LIFE, _LONG_SHARE = 12, 100, 0.1
_PARTICULAR_SHARE = 0.15
_ALIGNMENT = 32


def simulated(tiles: int, seed: int, variant: str = "plain") -> Requests:
    """Random buffers for so many tiles: `plain`, `rounded` to elements, or `separated`."""
    random = np.random.default_rng(seed)
    count = tiles * BUFFERS
    size = np.clip(random.lognormal(np.log(_MEDIAN), _SPREAD, count), _LEAST, _MOST)
    size = _rounded_up(size.astype(np.int64), _ALIGNMENT)
    is_long = random.random(count) < _LONG_SHARE
    life = random.exponential(np.where(is_long, _LONG_LIFE, _LIFE)).astype(np.int64)
    first = random.integers(0, _STEPS, count)
    is_particular = random.random(count) < _PARTICULAR_SHARE
    columns = {
        "tile": np.repeat(np.arange(tiles), BUFFERS),
        "first": first,
        "last": np.minimum(first + life, _STEPS - 1),
    }
    if variant == "rounded":
        size = np.where(is_particular, _rounded_up(size, ELEMENT_SIZE), size)
        return Requests.of(
            **columns, size=size, alignment=np.where(is_particular, ELEMENT_SIZE, _ALIGNMENT)
        )
    pairs = _pairs(is_particular) if variant == "separated" else ()
    return Requests.of(**columns, size=size, alignment=_ALIGNMENT, separations=pairs)


def ratios(requests: Requests, placement: Placement) -> np.ndarray:
    return placement.peak[:, 0] / placement.bound[:, 0]
