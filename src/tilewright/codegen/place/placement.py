"""Addresses of all requests, and how far each tile's arenas are used."""

from dataclasses import dataclass

import numpy as np

from tilewright.codegen.place.blocks import Blocks
from tilewright.codegen.place.policy import MemoryPolicy
from tilewright.codegen.place.requests import Bools, Ints


@dataclass(frozen=True, eq=False)
class Placement:
    """Where everything lies.

    `address[r]` is that of request r. `tiles` are the tiles that have requests, by rising number;
    `tile_class[t]` numbers the classes of tiles that are alike, in the order in which they appear.
    `peak[t, a]` is how many bytes of arena a (by place in `policy.arenas`) are used or lie below
    what is used, those that are reserved apart; `bound[t, a]` is the most bytes that are live in it
    at once. No arrangement of what lies in the arena has a smaller peak than that.
    """

    policy: MemoryPolicy
    address: Ints
    tiles: Ints
    tile_class: Ints
    peak: Ints
    bound: Ints

    @property
    def classes(self) -> int:
        """How many tiles are different."""
        return int(self.tile_class.max(initial=-1)) + 1


def usage(blocks: Blocks, address: Ints, policy: MemoryPolicy) -> tuple[Ints, Ints]:
    """`Placement.peak` and `Placement.bound`; what lies outside the arenas counts for none."""
    arenas = len(policy.arenas)
    shape = len(blocks.tiles), arenas
    peak, bound = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    outside = _in_reserved(address, policy)
    for number, arena in enumerate(policy.arenas):
        inside = (address >= arena.start) & (address < arena.end) & ~outside
        tile = blocks.tile_index[inside]
        end = (address + blocks.size)[inside]
        np.maximum.at(
            peak[:, number], tile, end - arena.start - _reserved(policy, arena.start, end)
        )
        life = blocks.first[inside], blocks.last[inside]
        bound[:, number] = most_live(tile, *life, blocks.size[inside], len(blocks.tiles))
    return peak, bound


def most_live(group: Ints, first: Ints, last: Ints, size: Ints, groups: int) -> Ints:
    """Of each group, the most bytes that are live in one step."""
    most = np.zeros(groups, np.int64)
    owner = np.concatenate([group, group])
    step = np.concatenate([first, last + 1])
    change = np.concatenate([size, -size])
    # What ends before a step makes room for what begins with it.
    order = np.lexsort((change, step, owner))
    np.maximum.at(most, owner[order], np.cumsum(change[order]))
    return most


def _in_reserved(address: Ints, policy: MemoryPolicy) -> Bools:
    found = np.zeros(len(address), np.bool_)
    for each in policy.reserved:
        found |= (address >= each.start) & (address < each.end)
    return found


def _reserved(policy: MemoryPolicy, start: int, end: Ints) -> Ints:
    """Reserved bytes from `start` up to each `end`."""
    total = np.zeros(len(end), np.int64)
    for each in policy.reserved:
        total += np.maximum(0, np.minimum(end, each.end) - max(start, each.start))
    return total
