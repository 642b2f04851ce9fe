"""From requests to blocks: what the packer moves as a whole.

Requests with one alias become one *storage*: as large, as aligned and as particular as any of
them, live from the first step of all to the last. Storages of one sequence become one *block*; any
other storage is a block of its own. Blocks are numbered tile by tile, in the order of the first
request of each.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tilewright.codegen.place.overlaps import overlapping
from tilewright.codegen.place.policy import MemoryNeed, MemoryPolicy
from tilewright.codegen.place.requests import NONE, Bools, Ints, Requests
from tilewright.exchange.elements import elements
from tilewright.target.geometry import LOADABLE_END

COLUMNS = ("size", "alignment", "tail", "first", "last", "resident", "initialised", "need", "fixed")


@dataclass(frozen=True, eq=False)
class Blocks:
    """b blocks in all tiles. Those of tile `tiles[t]` are `start[t]` up to `start[t + 1]`.

    The columns `COLUMNS` have an entry per block. Request r lies `offset[r]` bytes into block
    `block_of[r]`. Separation k says that bytes `part_low[k]` up to `part_high[k]` of block
    `part[k]` must not share an element with bytes `other_low[k]` up to `other_high[k]` of block
    `other[k]`; each is listed from both sides, sorted by `part`.
    """

    tiles: Ints
    start: Ints
    size: Ints
    alignment: Ints
    tail: Ints
    first: Ints
    last: Ints
    resident: Ints
    initialised: Ints
    need: Ints
    fixed: Ints
    block_of: Ints
    offset: Ints
    part: Ints
    part_low: Ints
    part_high: Ints
    other: Ints
    other_low: Ints
    other_high: Ints

    def __len__(self) -> int:
        return len(self.size)

    @cached_property
    def tile_index(self) -> Ints:
        """Of each block, the index of its tile in `tiles`."""
        return np.repeat(np.arange(len(self.tiles)), np.diff(self.start))

    @cached_property
    def part_start(self) -> Ints:
        """Separations of block b are `part_start[b]` up to `part_start[b + 1]`."""
        return np.searchsorted(self.part, np.arange(len(self) + 1))

    def classes(self) -> tuple[Ints, Ints]:
        """Tiles whose blocks are alike: of each tile its class, of each class its first tile.

        Tiles and classes are given by index.
        """
        columns = np.stack([getattr(self, name) for name in COLUMNS], axis=1)
        base = self.start[self.tile_index][self.part]
        parts = np.stack(
            [
                self.part - base,
                self.other - base,
                self.part_low,
                self.part_high,
                self.other_low,
                self.other_high,
            ],
            axis=1,
        )
        seen: dict[tuple[bytes, bytes], int] = {}
        classes = np.zeros(len(self.tiles), np.int64)
        firsts: list[int] = []
        for tile in range(len(self.tiles)):
            low, high = self.start[tile], self.start[tile + 1]
            pairs = parts[self.part_start[low] : self.part_start[high]]
            key = columns[low:high].tobytes(), pairs.tobytes()
            if key not in seen:
                seen[key] = len(firsts)
                firsts.append(tile)
            classes[tile] = seen[key]
        return classes, np.array(firsts, dtype=np.int64)


class _Groups:
    """Rows of one tile with one label; label `NONE` makes a group of its own."""

    def __init__(self, tile: Ints, label: Ints) -> None:
        _, compact = np.unique(label, return_inverse=True)
        label = np.where(label < 0, len(tile) + np.arange(len(tile)), compact)
        key = tile * 2 * len(tile) + label
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        sequence = np.lexsort((first, tile[first]))
        number = np.empty(len(first), np.int64)
        number[sequence] = np.arange(len(first))
        self.first_row = first[sequence]
        self.of_row = number[inverse]
        self._rows = np.argsort(self.of_row, kind="stable")
        self._start = np.searchsorted(self.of_row[self._rows], np.arange(len(first)))

    def __len__(self) -> int:
        return len(self.first_row)

    def most(self, values: Ints) -> Ints:
        """The greatest value in each group."""
        return self._reduced(np.maximum, values)

    def least(self, values: Ints) -> Ints:
        """The smallest value in each group."""
        return self._reduced(np.minimum, values)

    def count(self, chosen: Bools) -> Ints:
        """How many rows of each group are chosen."""
        return np.bincount(self.of_row[chosen], minlength=len(self))

    def _reduced(self, function: np.ufunc, values: Ints) -> Ints:
        if not len(values):
            return values
        reduced: Ints = function.reduceat(values[self._rows], self._start)
        return reduced


def join(requests: Requests) -> Blocks:
    """Blocks of requests. Raises `RequestError` where joined requests contradict each other."""
    storages = _Groups(requests.tile, requests.alias)
    _check_aliases(requests, storages)
    columns = _storage_columns(requests, storages)
    member_row = storages.most(np.where(requests.sequence == NONE, NONE, np.arange(len(requests))))
    in_sequence = member_row != NONE
    sequences = _Groups(
        requests.tile[storages.first_row],
        np.where(in_sequence, requests.sequence[member_row], NONE),
    )
    stride = _rounded_up(columns["size"] + columns["tail"], columns["alignment"])
    offset = np.where(in_sequence, _positions(sequences.of_row, member_row) * stride, 0)
    _check_sequences(requests, storages, sequences, columns, offset)
    block_of, offset_of = sequences.of_row[storages.of_row], offset[storages.of_row]
    tiles, start = np.unique(
        requests.tile[storages.first_row][sequences.first_row], return_index=True
    )
    return Blocks(
        tiles=tiles,
        start=np.append(start, len(sequences)),
        **_block_columns(sequences, columns, in_sequence, stride, offset),
        block_of=block_of,
        offset=offset_of,
        **_separated_parts(requests, block_of, offset_of),
    )


def _block_columns(
    sequences: _Groups, columns: dict[str, Ints], in_sequence: Bools, stride: Ints, offset: Ints
) -> dict[str, Ints]:
    """The columns of blocks from those of their storages, which are alike within a sequence."""
    first = sequences.first_row
    is_sequence = in_sequence[first]
    members = sequences.count(np.ones_like(in_sequence))
    base = np.where(columns["fixed"] == NONE, NONE, columns["fixed"] - offset)
    return {
        "size": np.where(is_sequence, members * stride[first], columns["size"][first]),
        "alignment": columns["alignment"][first],
        "tail": np.where(is_sequence, 0, columns["tail"][first]),
        "first": sequences.least(columns["first"]),
        "last": sequences.most(columns["last"]),
        "resident": sequences.most(columns["resident"]),
        "initialised": sequences.most(columns["initialised"]),
        "need": columns["need"][first],
        "fixed": sequences.most(base),
    }


def _storage_columns(requests: Requests, storages: _Groups) -> dict[str, Ints]:
    first, last = requests.life
    size = storages.most(requests.size)
    return {
        "size": size,
        "tail": storages.most(requests.size + requests.tail) - size,
        "alignment": storages.most(requests.alignment),
        "first": storages.least(first),
        "last": storages.most(last),
        "resident": storages.most(requests.resident.astype(np.int64)),
        "initialised": storages.most(requests.initialised.astype(np.int64)),
        # Executable memory is ordinary, too, so the greater need contains the lesser.
        "need": storages.most(requests.need),
        "fixed": storages.most(requests.fixed),
    }


def _check_aliases(requests: Requests, storages: _Groups) -> None:
    low = np.isin(requests.need, [MemoryNeed.ORDINARY, MemoryNeed.EXECUTABLE])
    high = requests.need == MemoryNeed.INTERLEAVED
    torn = (storages.count(low) > 0) & (storages.count(high) > 0)
    requests.refuse(
        "aliases of which some need ordinary and some interleaved memory", torn[storages.of_row]
    )
    fixed = storages.most(requests.fixed)[storages.of_row]
    differs = (requests.fixed != NONE) & (requests.fixed != fixed)
    requests.refuse("aliases with different fixed addresses", differs)
    twice = storages.count(requests.sequence != NONE) > 1
    requests.refuse("aliases that are both members of sequences", twice[storages.of_row])


def _check_sequences(
    requests: Requests,
    storages: _Groups,
    sequences: _Groups,
    columns: dict[str, Ints],
    offset: Ints,
) -> None:
    for name in ("size", "tail", "alignment", "need"):
        values = columns[name]
        differs = sequences.most(values) != sequences.least(values)
        requests.refuse(
            f"blocks of a sequence that differ in {name}",
            differs[sequences.of_row][storages.of_row],
        )
    is_fixed = columns["fixed"] != NONE
    base = np.where(is_fixed, columns["fixed"] - offset, NONE)
    agreed = sequences.most(base)[sequences.of_row]
    wrong = is_fixed & ((base != agreed) | (base < 0))
    requests.refuse(
        "a sequence whose fixed addresses are not at its stride", wrong[storages.of_row]
    )


def _positions(group: Ints, key: Ints) -> Ints:
    """The rank of each row among those of its group, by key."""
    order = np.lexsort((key, group))
    start = np.searchsorted(group[order], group[order])
    position = np.empty(len(group), np.int64)
    position[order] = np.arange(len(group)) - start
    return position


def _separated_parts(requests: Requests, block_of: Ints, offset: Ints) -> dict[str, Ints]:
    """Separations between blocks; pairs that are never live together need none."""
    one, other = requests.separations[:, 0], requests.separations[:, 1]
    together = requests.live_together(one, other)
    one, other = one[together], other[together]
    requests.refuse(
        "separated, but parts of one allocation, by alias or sequence",
        np.concatenate([each[block_of[one] == block_of[other]] for each in (one, other)]),
    )
    rows, partners = np.concatenate([one, other]), np.concatenate([other, one])
    order = np.lexsort((offset[partners], offset[rows], block_of[partners], block_of[rows]))
    rows, partners = rows[order], partners[order]
    reach = offset + requests.size + requests.tail
    return {
        "part": block_of[rows],
        "part_low": offset[rows],
        "part_high": reach[rows],
        "other": block_of[partners],
        "other_low": offset[partners],
        "other_high": reach[partners],
    }


def check_fixed(requests: Requests, blocks: Blocks, policy: MemoryPolicy) -> None:
    """Refuse fixed addresses at which nothing of the kind can lie. Raises `RequestError`."""
    is_fixed = blocks.fixed != NONE
    low, end = blocks.fixed, blocks.fixed + blocks.size

    def refuse(reason: str, wrong: Bools) -> None:
        requests.refuse(reason, (is_fixed & wrong)[blocks.block_of])

    refuse("a fixed address that is not aligned", low % blocks.alignment != 0)
    for need in MemoryNeed:
        start, most = need.range
        outside = (low < start) | (end > most) | (end + blocks.tail > need.readable_end)
        refuse(
            f"fixed outside the memory it needs ({need.name.lower()}: {start:#x} to {most:#x})",
            (blocks.need == need) & outside,
        )
    refuse(
        f"initialised, but fixed where the loader cannot write (up to {LOADABLE_END:#x})",
        (blocks.initialised > 0) & (end > LOADABLE_END),
    )
    for each in policy.reserved:
        if not each.open_to_fixed:
            refuse(f"fixed in what is reserved: {each.name}", (low < each.end) & (end > each.start))
    for arena in policy.arenas:
        inside = (low < arena.end) & (end > arena.start)
        refuse(
            f"fixed across the boundary of arena {arena.name}",
            inside & ((low < arena.start) | (end > arena.end)),
        )
    _check_fixed_pairs(requests, blocks)


def _check_fixed_pairs(requests: Requests, blocks: Blocks) -> None:
    """That fixed blocks leave each other alone."""
    rows = np.flatnonzero(blocks.fixed != NONE)
    low = blocks.fixed[rows]
    one, other = overlapping(
        blocks.tile_index[rows],
        low,
        low + blocks.size[rows],
        blocks.first[rows],
        blocks.last[rows],
    )
    wrong = rows[np.concatenate([one, other])]
    requests.refuse(
        "fixed addresses that overlap while both are live", np.isin(blocks.block_of, wrong)
    )
    both = (blocks.fixed[blocks.part] != NONE) & (blocks.fixed[blocks.other] != NONE)
    own, others = blocks.fixed[blocks.part][both], blocks.fixed[blocks.other][both]
    shared = elements(own + blocks.part_low[both], own + blocks.part_high[both]) & elements(
        others + blocks.other_low[both], others + blocks.other_high[both]
    )
    requests.refuse(
        "separated, but fixed in one memory element",
        np.isin(blocks.block_of, blocks.part[both][shared != 0]),
    )


def _rounded_up(values: Ints, alignment: Ints) -> Ints:
    return (values + alignment - 1) & -alignment
