"""Why the requests of a tile do not fit, and what would help: sums, holes, and changes on trial."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tilewright.codegen.place.failure import LiveBlock, PlacementFailure, Remedy
from tilewright.codegen.place.faults import Names
from tilewright.codegen.place.maps import map_text, owner_name
from tilewright.codegen.place.packing import OVERFLOW, TileBlocks
from tilewright.codegen.place.policy import MemoryNeed
from tilewright.codegen.place.problem import Problem, option_of
from tilewright.codegen.place.requests import NONE, Bools, Ints, Requests
from tilewright.target.geometry import MEMORY_SIZE

_MOST_REMOVED = 12
"""Live allocations whose absence is tried."""


def explain(
    requests: Requests, problem: Problem, index: int, address: Ints, names: Names | None
) -> PlacementFailure:
    """The failure of the tile with this index, whose best packing is `address`."""
    return _Explanation(requests, problem, index, address, names).failure()


class _Explanation:
    def __init__(
        self, requests: Requests, problem: Problem, index: int, address: Ints, names: Names | None
    ) -> None:
        self.requests, self.problem, self.names = requests, problem, names
        blocks = problem.blocks
        self.number = int(blocks.tiles[index])
        self.start = int(blocks.start[index])
        self.tile = problem.tile(index)
        self.address = address
        self.rows = np.flatnonzero(requests.tile == self.number)
        self.block_of = blocks.block_of[self.rows] - self.start
        self.size = self.tile.size[: self.tile.blocks]
        self.first = self.tile.first[: self.tile.blocks]
        self.last = self.tile.last[: self.tile.blocks]
        self.need = blocks.need[self.start : self.start + self.tile.blocks]
        short = np.flatnonzero(address >= OVERFLOW)
        self.refused = int(short[np.argmax(self.size[short])])

    def failure(self) -> PlacementFailure:
        refused, windows = self.refused, self._windows(self.refused)
        rivals = self._without_alternative(windows)
        policy = self.problem.policy
        capacity = sum(policy.free_bytes(low, high) for low, high, _ in windows)
        step, bound = self._fullest_step(rivals)
        fullest, total = self._fullest_step(~self._reserved())
        if bound <= capacity:
            step = fullest
        live = (self.first <= step) & (self.last >= step)
        order = np.argsort(-self.size, kind="stable")
        described = {row: self._described(row) for row in order[live[order]].tolist()}
        short = self.address + self.size - OVERFLOW
        placed = self.rows, self._request_addresses()
        return PlacementFailure(
            tile=self.number,
            refused=self._described(refused),
            need=MemoryNeed(int(self.need[refused])),
            arenas=tuple(policy.arenas[arena].name for _, _, arena in windows),
            capacity=capacity,
            largest_piece=self._largest_free(windows, np.zeros(len(self.size), np.bool_)),
            bound=bound,
            peak=capacity + int(short.max()),
            step=step,
            total_capacity=policy.capacity,
            total_bound=total,
            hole=self._largest_hole(windows, int(self.first[refused]), int(self.last[refused])),
            hole_in_step=self._largest_hole(windows, step, step),
            live=tuple(described.values()),
            remedies=tuple(self._remedies([row for row in described if row != refused])),
            memory_map=map_text(self.requests, policy, *placed, step, self.names),
        )

    def _windows(self, row: int) -> list[tuple[int, int, int]]:
        """Where a block may lie: low, high, arena."""
        windows, option = self.problem.windows, int(self.tile.option[row])
        chosen = range(int(windows.start[option]), int(windows.start[option + 1]) - 1)
        return [(int(windows.low[w]), int(windows.end[w]), int(windows.arena[w])) for w in chosen]

    def _touching(self, windows: list[tuple[int, int, int]]) -> Bools:
        found = np.zeros(self.tile.blocks, np.bool_)
        for low, high, _ in windows:
            found |= (self.address < high) & (self.address + self.size > low)
        return found

    def _without_alternative(self, windows: list[tuple[int, int, int]]) -> Bools:
        """Blocks that can lie nowhere else than in these windows."""
        inside = np.zeros(self.tile.blocks, np.bool_)
        is_fixed = self.tile.fixed[: self.tile.blocks] != NONE
        for row in range(self.tile.blocks):
            inside[row] = all(
                any(low <= own_low and own_high <= high for low, high, _ in windows)
                for own_low, own_high, _ in self._windows(row)
            )
        return np.where(is_fixed, self._touching(windows) & ~self._reserved(), inside)

    def _reserved(self) -> Bools:
        found = np.zeros(self.tile.blocks, np.bool_)
        for each in self.problem.policy.reserved:
            found |= (self.address < each.end) & (self.address + self.size > each.start)
        return found

    def _fullest_step(self, rivals: Bools) -> tuple[int, int]:
        """The step in the life of the refused block in which the rivals need most, and how much."""
        first, last = int(self.first[self.refused]), int(self.last[self.refused])
        starts = np.unique(np.maximum(self.first[rivals], first))
        best = first, 0
        for step in starts[starts <= last].tolist():
            live = rivals & (self.first <= step) & (self.last >= step)
            if (total := int(self.size[live].sum())) > best[1]:
                best = step, total
        return best

    def _largest_hole(self, windows: list[tuple[int, int, int]], first: int, last: int) -> int:
        """The largest range of the windows that nothing uses from the first step to the last."""
        return self._largest_free(windows, (self.first <= last) & (self.last >= first))

    def _largest_free(self, windows: list[tuple[int, int, int]], taken: Bools) -> int:
        """The largest range of the windows that is not reserved and that these blocks leave."""
        used = [(each.start, each.end) for each in self.problem.policy.reserved]
        starts, ends = self.address[taken], (self.address + self.size)[taken]
        used += zip(starts.tolist(), ends.tolist(), strict=True)
        largest = 0
        for low, high, _ in windows:
            done = low
            for start, end in sorted(used):
                largest = max(largest, min(start, high) - done)
                done = max(done, end)
            largest = max(largest, high - done)
        return largest

    def _request_addresses(self) -> Ints:
        return self.address[self.block_of] + self.problem.blocks.offset[self.rows]

    def _described(self, row: int) -> LiveBlock:
        members = self.rows[self.block_of == row]
        owner = owner_name(self.requests, int(members[0]), self.names)
        more = f" and {len(members) - 1} more with it" if len(members) > 1 else ""
        place = int(self.address[row])
        return LiveBlock(
            tuple(self.requests.value[members].tolist()),
            owner + more,
            int(self.size[row]),
            place if place < OVERFLOW else None,
            int(self.first[row]),
            int(self.last[row]),
            bool(self.tile.resident[row]),
        )

    def _remedies(self, live: list[int]) -> Iterator[Remedy]:
        """Changes that suffice, those of the refused block first."""
        row = self.refused
        if len(self._parts(row)) and self._fits(_without_parts(self.tile, self._parts(row))):
            yield self._remedy("unseparated", row)
        if self.need[row] != MemoryNeed.ANY and self._fits(self._with_any_memory(row)):
            yield self._remedy("any memory", row)
        if size := self._largest_fitting(row):
            yield replace(self._remedy("smaller", row), size=size)
        for policy in self.problem.policy.merged():
            if self._fits(self.tile, Problem(self.problem.blocks, policy)):
                arena = policy.arenas[-1]
                yield Remedy("merged", NONE, arena.name, arena.end - arena.start)
        for other in sorted(live, key=lambda each: int(self.size[each]))[-_MOST_REMOVED:]:
            if self._fits(_without(self.tile, other)):
                yield self._remedy("without", other)
                return

    def _remedy(self, kind: str, row: int) -> Remedy:
        block = self._described(row)
        return Remedy(kind, block.values[0], block.owner, block.size)

    def _fits(self, tile: TileBlocks, problem: Problem | None = None) -> bool:
        return int((problem or self.problem).pack(tile).max(initial=0)) < OVERFLOW

    def _parts(self, row: int) -> Ints:
        """The separations of a block, from either side."""
        own = np.repeat(np.arange(self.tile.blocks), np.diff(self.tile.part_start))
        return np.flatnonzero((own == row) | (self.tile.other == row))

    def _with_any_memory(self, row: int) -> TileBlocks:
        blocks, index = self.problem.blocks, self.start + row
        option = self.tile.option.copy()
        option[row] = option_of(
            blocks.resident[[index]],
            np.array([MemoryNeed.ANY], dtype=np.int64),
            blocks.initialised[[index]],
        )[0]
        return self.tile._replace(option=option)

    def _largest_fitting(self, row: int) -> int:
        """The largest size of a block, in multiples of its alignment, with which all was placed."""
        unit = int(min(self.tile.alignment[row], MEMORY_SIZE))
        fits, too_large = 0, -(-int(self.size[row]) // unit)
        size = self.tile.size.copy()
        while too_large - fits > 1:
            middle = (fits + too_large) // 2
            size[row] = middle * unit
            if self._fits(self.tile._replace(size=size)):
                fits = middle
            else:
                too_large = middle
        return fits * unit


def _without_parts(tile: TileBlocks, parts: Ints) -> TileBlocks:
    """The tile without these separations."""
    own = np.delete(np.repeat(np.arange(tile.blocks), np.diff(tile.part_start)), parts)
    return tile._replace(
        part_start=np.searchsorted(own, np.arange(tile.blocks + 1)),
        part_low=np.delete(tile.part_low, parts),
        part_high=np.delete(tile.part_high, parts),
        other=np.delete(tile.other, parts),
        other_low=np.delete(tile.other_low, parts),
        other_high=np.delete(tile.other_high, parts),
    )


def _without(tile: TileBlocks, row: int) -> TileBlocks:
    """The tile without this block."""
    own = np.repeat(np.arange(tile.blocks), np.diff(tile.part_start))
    tile = _without_parts(tile, np.flatnonzero((own == row) | (tile.other == row)))
    columns = {
        name: np.delete(getattr(tile, name), row)
        for name in ("size", "alignment", "tail", "first", "last", "resident", "fixed", "option")
    }
    return tile._replace(
        blocks=tile.blocks - 1,
        part_start=np.delete(tile.part_start, row),
        other=tile.other - (tile.other > row),
        **columns,
    )
