"""Placement: how far packings are above the lower bound, and the time for a whole chip.

The simulation: tiles of 80 buffers each, with log-normal sizes from 256 bytes to 64 KiB and
exponential lifetimes, some of them long. In a second variant some buffers get memory elements of
their own, which is the simple way to keep buffers apart.
"""

import numpy as np
import numpy.typing as npt

from tilewright.cli.bench.figure import Figure, best_seconds
from tilewright.codegen.place import (
    Arena,
    MemoryNeed,
    MemoryPolicy,
    PlacementError,
    Requests,
    place,
)
from tilewright.codegen.place.blocks import join
from tilewright.codegen.place.orders import ORDERS, sorted_order
from tilewright.codegen.place.packing import BEST_FIT, FIRST_FIT, pack_in_order
from tilewright.codegen.place.placement import most_live, usage
from tilewright.codegen.place.problem import Problem
from tilewright.codegen.place.requests import Ints
from tilewright.target.geometry import ELEMENT_SIZE, MEMORY_BASE, MEMORY_END, TILES

WHOLE = MemoryPolicy((Arena("memory", MEMORY_BASE, MEMORY_END),), ("memory",), ("memory",))
"""One arena without reservations, so that nothing but packing counts."""

_BUFFERS, _SIMULATED, _SEED = 80, 300, 0
_STEPS, _LIFE, _LONG_LIFE, _LONG_SHARE = 100, 30, 100, 0.1
_MEDIAN, _SPREAD, _LEAST, _MOST = 3000, 1.5, 256, 64 * 1024
_ALIGNMENT, _ROUNDED_SHARE = 32, 0.15
_FILLED, _RESIDENT_SHARE, _INTERLEAVED_SHARE = (85, 90, 95), 0.08, 0.25

_FITS = {"first": FIRST_FIT, "best": BEST_FIT}
_SHOWN = {
    "program": ("program order", "first"),
    "program_best_fit": ("program order", "best"),
    "longest": ("longest lifetime first", "first"),
    "area": ("size x lifetime, largest first", "first"),
    "size": ("size, largest first", "first"),
    "alignment": ("alignment, then size", "first"),
}
"""Single orders in the table, by their name in figures."""


def simulated(tiles: int = _SIMULATED, seed: int = _SEED, *, rounded: bool = False) -> Requests:
    """Random buffers; `rounded`: 15 % of them are aligned to and fill whole memory elements."""
    random = np.random.default_rng(seed)
    count = tiles * _BUFFERS
    size = np.clip(random.lognormal(np.log(_MEDIAN), _SPREAD, count), _LEAST, _MOST)
    is_long = random.random(count) < _LONG_SHARE
    life = random.exponential(np.where(is_long, _LONG_LIFE, _LIFE)).astype(np.int64)
    first = random.integers(0, _STEPS, count)
    is_rounded = (random.random(count) < _ROUNDED_SHARE) & rounded
    alignment = np.where(is_rounded, ELEMENT_SIZE, _ALIGNMENT)
    return Requests.of(
        tile=np.repeat(np.arange(tiles), _BUFFERS),
        size=-(-size.astype(np.int64) // alignment) * alignment,
        alignment=alignment,
        first=first,
        last=np.minimum(first + life, _STEPS - 1),
    )


def placed_ratios(requests: Requests) -> npt.NDArray[np.float64]:
    """Of each tile, the peak that `place` reaches to the lower bound."""
    placement = place(requests, WHOLE)
    return placement.peak[:, 0] / placement.bound[:, 0]


def filled(share: float, tiles: int = 100) -> Requests:
    """Random buffers whose live sum reaches a share of what the three arenas of a tile offer.

    Some are residents, some need interleaved memory.
    """
    asked = simulated(tiles)
    random = np.random.default_rng(_SEED)
    columns = {
        "tile": asked.tile,
        "alignment": asked.alignment,
        "first": asked.first,
        "last": asked.last,
        "resident": random.random(len(asked)) < _RESIDENT_SHARE,
    }
    blocks = join(Requests.of(**columns, size=asked.size))
    live = most_live(blocks.tile_index, blocks.first, blocks.last, blocks.size, tiles)
    scale = share * MemoryPolicy.ipu21().capacity / live[asked.tile]
    is_interleaved = random.random(len(asked)) < _INTERLEAVED_SHARE
    return Requests.of(
        **columns,
        size=np.maximum(1, (asked.size * scale).astype(np.int64) // _ALIGNMENT) * _ALIGNMENT,
        need=np.where(is_interleaved, MemoryNeed.INTERLEAVED, MemoryNeed.ANY),
    )


def share_that_fits(requests: Requests) -> float:
    """The share of tiles whose requests are placed under the policy of the chip."""
    tiles = len(np.unique(requests.tile))
    try:
        place(requests)
    except PlacementError as error:
        return 1 - len(error.tiles) / tiles
    return 1.0


def place_figures() -> list[Figure]:
    """Quality of single orders and of `place`, and seconds for a whole chip."""
    plain, rounded = simulated(), simulated(rounded=True)
    figures = []
    for kind, requests in (("plain", plain), ("rounded", rounded)):
        for name, (order, fit) in _SHOWN.items():
            found = _ratios_of_order(requests, order, _FITS[fit])
            figures += _quality(f"place.{kind}.{name}", found)
        figures += _quality(f"place.{kind}.placed", placed_ratios(requests))
    different, alike = simulated(TILES), _alike()
    for percent in _FILLED:
        fitting = share_that_fits(filled(percent / 100))
        figures.append(Figure(f"place.filled_{percent}.fitting", fitting, "share"))
    return [
        *figures,
        Figure("place.different_seconds", best_seconds(lambda: place(different)), "s"),
        Figure("place.alike_seconds", best_seconds(lambda: place(alike)), "s"),
    ]


def _ratios_of_order(requests: Requests, order: str, fit: int) -> npt.NDArray[np.float64]:
    blocks = join(requests)
    problem = Problem(blocks, WHOLE)
    address = []
    for number in range(len(blocks.tiles)):
        tile = problem.tile(number)
        rows = sorted_order(tile, problem.windows, ORDERS[order])
        address.append(pack_in_order(tile, problem.windows, problem.reserved, rows, fit))
    peak, bound = usage(blocks, np.concatenate(address), WHOLE)
    ratios: npt.NDArray[np.float64] = peak[:, 0] / bound[:, 0]
    return ratios


def _quality(name: str, ratios: npt.NDArray[np.float64]) -> list[Figure]:
    return [
        Figure(f"{name}.ratio", float(ratios.mean()), "ratio"),
        Figure(f"{name}.ratio_95", float(np.percentile(ratios, 95)), "ratio"),
    ]


def _alike() -> Requests:
    """All tiles of a chip with the buffers of one."""
    one = simulated(1)

    def repeated(column: Ints) -> Ints:
        return np.tile(column, TILES)

    return Requests.of(
        tile=np.repeat(np.arange(TILES), len(one)),
        size=repeated(one.size),
        alignment=repeated(one.alignment),
        first=repeated(one.first),
        last=repeated(one.last),
    )
