"""What the packer is given: windows for each kind of block, and the blocks of one tile."""

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from tilewright.codegen.place.blocks import Blocks
from tilewright.codegen.place.orders import portfolio
from tilewright.codegen.place.packing import (
    FIRST_FIT,
    OVERFLOW,
    Reserved,
    TileBlocks,
    Windows,
    pack,
    pack_in_order,
)
from tilewright.codegen.place.policy import MemoryNeed, MemoryPolicy
from tilewright.codegen.place.requests import LAST_STEP, NONE, Ints
from tilewright.target.geometry import LOADABLE_END
from tilewright.threads import threads

_FAR = 1 << 62


class Problem:
    """Blocks and policy in the form that `packing` takes."""

    def __init__(self, blocks: Blocks, policy: MemoryPolicy) -> None:
        self.blocks = blocks
        self.policy = policy
        self.windows = _windows(policy)
        self._option = option_of(blocks.resident, blocks.need, blocks.initialised)
        self.reserved = Reserved(
            _integers(each.start for each in policy.reserved),
            _integers(each.end for each in policy.reserved),
            _integers([*(arena.start for arena in policy.arenas), OVERFLOW]),
            policy.capacity,
        )

    def pack_all(self, indices: Sequence[int]) -> list[Ints]:
        """Addresses of the blocks of each of these tiles. The packer runs on all cores."""
        with threads() as pool:
            return list(pool.map(lambda index: self.pack(self.tile(index)), indices))

    def pack(self, tile: TileBlocks) -> Ints:
        """Addresses of the blocks of a tile; those from `OVERFLOW` up say that it does not fit."""
        drawn = self._drawn(tile) if self.policy.seed else None
        if drawn is not None:
            return drawn
        orders, fits = portfolio(tile, self.windows)
        return pack(tile, self.windows, self.reserved, orders, fits, NONE)

    def _drawn(self, tile: TileBlocks) -> Ints | None:
        """Addresses from an order drawn with the policy's seed, if it fits."""
        movable = np.flatnonzero(tile.fixed[: tile.blocks] == NONE)
        order = np.random.default_rng(self.policy.seed).permutation(movable)
        address: Ints = pack_in_order(tile, self.windows, self.reserved, order, FIRST_FIT)
        return address if address.max(initial=0) < OVERFLOW else None

    def tile(self, index: int) -> TileBlocks:
        """The blocks of one tile, given by its index in `blocks.tiles`."""
        blocks, reserved = self.blocks, self.reserved
        low, high = int(blocks.start[index]), int(blocks.start[index + 1])
        rows = slice(low, high)
        parts = slice(int(blocks.part_start[low]), int(blocks.part_start[high]))
        count = len(reserved.low)

        def column(values: Ints, of_reserved: int | Ints) -> Ints:
            return np.append(values[rows], np.broadcast_to(of_reserved, count))

        return TileBlocks(
            high - low,
            column(blocks.size, reserved.high - reserved.low),
            column(blocks.alignment, 1),
            column(blocks.tail, 0),
            column(blocks.first, 0),
            column(blocks.last, LAST_STEP),
            column(blocks.resident, 1),
            column(blocks.fixed, reserved.low),
            column(self._option, 0),
            blocks.part_start[low : high + 1] - parts.start,
            blocks.part_low[parts],
            blocks.part_high[parts],
            blocks.other[parts] - low,
            blocks.other_low[parts],
            blocks.other_high[parts],
        )


def option_of(resident: Ints, need: Ints, initialised: Ints) -> Ints:
    """The number of the list of windows for such blocks."""
    return (resident * len(MemoryNeed) + need) * 2 + initialised


def _windows(policy: MemoryPolicy) -> Windows:
    start, rows = [0], []
    for resident, need, initialised in product((False, True), MemoryNeed, (False, True)):
        low, high = need.range
        if initialised:
            high = min(high, LOADABLE_END)
        for number in policy.order(resident):
            arena = policy.arenas[number]
            window = max(low, arena.start), min(high, arena.end)
            if window[0] < window[1]:
                rows.append((*window, need.readable_end, number))
        rows.append((OVERFLOW, _FAR, _FAR, len(policy.arenas)))
        start.append(len(rows))
    columns = np.array(rows, dtype=np.int64).T
    return Windows(_integers(start), *(np.ascontiguousarray(each) for each in columns))


def _integers(values: Iterable[int]) -> Ints:
    return np.array(list(values), dtype=np.int64)
