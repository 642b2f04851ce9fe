"""`place`: addresses for all requests of all tiles, or an error that tells what does not fit."""

import numpy as np

from tilewright.codegen.place.blocks import Blocks, check_fixed, join
from tilewright.codegen.place.check import check_placement
from tilewright.codegen.place.explanation import explain
from tilewright.codegen.place.failure import PlacementError
from tilewright.codegen.place.faults import Names
from tilewright.codegen.place.packing import OVERFLOW
from tilewright.codegen.place.placement import Placement, usage
from tilewright.codegen.place.policy import MemoryPolicy
from tilewright.codegen.place.problem import Problem
from tilewright.codegen.place.requests import Ints, Requests
from tilewright.tracing import span


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
    with span("codegen.place.place", requests=len(requests)) as this:
        placement = _placed(requests, policy or MemoryPolicy.ipu21(), names)
        this.set(
            bytes=int(placement.peak.sum(axis=1).max(initial=0)),
            bound=int(placement.bound.sum(axis=1).max(initial=0)),
        )
    return placement


def _placed(requests: Requests, policy: MemoryPolicy, names: Names | None) -> Placement:
    blocks = join(requests)
    check_fixed(requests, blocks, policy)
    problem = Problem(blocks, policy)
    tile_class, leaders = blocks.classes()
    packed = problem.pack_all(leaders.tolist())
    reach = _reach(blocks, leaders, packed)
    if np.any(reach > OVERFLOW):
        worst = int(np.argmax(reach))
        failure = explain(requests, problem, int(leaders[worst]), packed[worst], names)
        raise PlacementError(failure, blocks.tiles[reach[tile_class] > OVERFLOW].tolist())
    address = _spread(blocks, tile_class, packed)
    peak, bound = usage(blocks, address, policy)
    placement = Placement(
        policy, address[blocks.block_of] + blocks.offset, blocks.tiles, tile_class, peak, bound
    )
    check_placement(requests, placement)
    return placement


def _reach(blocks: Blocks, leaders: Ints, packed: list[Ints]) -> Ints:
    """Where the last block of each of these tiles ends."""
    sizes = [blocks.size[blocks.start[leader] : blocks.start[leader + 1]] for leader in leaders]
    ends = [int((found + size).max()) for found, size in zip(packed, sizes, strict=True)]
    return np.array(ends, dtype=np.int64)


def _spread(blocks: Blocks, tile_class: Ints, packed: list[Ints]) -> Ints:
    """Addresses of the blocks of all tiles, from those of the classes."""
    if not packed:
        return np.zeros(0, np.int64)
    found = np.concatenate(packed)
    start = np.concatenate([[0], np.cumsum([len(each) for each in packed])])
    within = np.arange(len(blocks)) - blocks.start[blocks.tile_index]
    address: Ints = found[start[tile_class[blocks.tile_index]] + within]
    return address
