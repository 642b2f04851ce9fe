"""`place`: addresses for all requests of all tiles, or an error that tells what does not fit."""

import numpy as np

from tilewright.codegen.place.blocks import Blocks, check_fixed, join
from tilewright.codegen.place.check import check_placement
from tilewright.codegen.place.failure import PlacementError, explain
from tilewright.codegen.place.faults import Names
from tilewright.codegen.place.packing import OVERFLOW
from tilewright.codegen.place.placement import Placement, usage
from tilewright.codegen.place.policy import MemoryPolicy
from tilewright.codegen.place.problem import Problem
from tilewright.codegen.place.requests import Ints, Requests


def place(
    requests: Requests, policy: MemoryPolicy | None = None, names: Names | None = None
) -> Placement:
    """Place all requests of all tiles.

    Tiles that ask for the same are placed once; then `check_placement` checks every tile. The
    result depends on the arguments only. `names` gives the owner of a request for reports, from its
    `value`.

    Raises `RequestError` for requests that contradict each other, `PlacementError` if a tile's
    requests do not fit.
    """
    policy = policy or MemoryPolicy.ipu21()
    blocks = join(requests)
    check_fixed(requests, blocks, policy)
    problem = Problem(blocks, policy)
    tile_class, leaders = blocks.classes()
    packed = [problem.pack(problem.tile(leader)) for leader in leaders.tolist()]
    short = [number for number, found in enumerate(packed) if found.max(initial=0) >= OVERFLOW]
    if short:
        worst = max(short, key=lambda number: int(packed[number].max()))
        failing = blocks.tiles[np.isin(tile_class, short)]
        raise PlacementError(
            explain(requests, problem, int(leaders[worst]), packed[worst], names), failing.tolist()
        )
    address = _spread(blocks, tile_class, packed)
    peak, bound = usage(blocks, address, policy)
    placement = Placement(
        policy, address[blocks.block_of] + blocks.offset, blocks.tiles, tile_class, peak, bound
    )
    check_placement(requests, placement)
    return placement


def _spread(blocks: Blocks, tile_class: Ints, packed: list[Ints]) -> Ints:
    """Addresses of the blocks of all tiles, from those of the classes."""
    if not packed:
        return np.zeros(0, np.int64)
    found = np.concatenate(packed)
    start = np.concatenate([[0], np.cumsum([len(each) for each in packed])])
    within = np.arange(len(blocks)) - blocks.start[blocks.tile_index]
    address: Ints = found[start[tile_class[blocks.tile_index]] + within]
    return address
