"""Where tiles are: logical and physical ids, places, pairs, and the numbers that a mux selects by.

A physical id names a place on the chip, and is what the exchange fabric knows a tile by. A logical
id is the order in which the C600 counts tiles for software: a snake, up one side of a column of
tiles and down the other. Functions here take arrays of ids of any shape, or one id, and raise
`ValueError` for an id that no tile has.

Evidence: the numbering agrees for all tiles with a third party's stack that ran on C600 cards.
Mux numbers are those that this stack and the vendor's compiler put into rows. The first generation
had other numbers for the external and the neutral mux (0x500 and 0x600): never mix the two sets.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tilewright.target.geometry import TILES

IntArray: TypeAlias = npt.NDArray[np.int32]

ROWS, COLUMNS, SIDES, MEMBERS = 23, 16, 2, 2
"""A cell, one per row and column, holds a pair of tiles on each of its two sides."""
COLUMNS_PER_HALF = COLUMNS // 2

assert ROWS * COLUMNS * SIDES * MEMBERS == TILES

_SIDE_SHIFT, _MEMBER_SHIFT, _COLUMN_SHIFT, _ROW_SHIFT = 0, 1, 2, 6
"""The fields of a physical id, row uppermost; a mux number has the same fields."""

PARTNER_BIT = 1 << _MEMBER_SHIFT
"""The physical ids of a pair differ in this bit; the first member has it clear."""
LOGICAL_PARTNER_BIT = 1
"""The logical ids of a pair differ in this bit, which is clear in the same member."""


@dataclass(frozen=True, slots=True)
class Places:
    """The places of tiles: arrays of one shape, one entry per tile.

    `row` 0..22, `column` 0..15, `member` of the pair 0..1, `side` of the column 0..1.
    """

    row: IntArray
    column: IntArray
    member: IntArray
    side: IntArray

    @property
    def half(self) -> IntArray:
        """0 for the first eight columns, 1 for the others."""
        return self.column // COLUMNS_PER_HALF

    @property
    def folded_column(self) -> IntArray:
        """0..7: the halves face each other across the spine, column k beside column 15 - k."""
        return np.minimum(self.column, COLUMNS - 1 - self.column)

    @property
    def lane(self) -> IntArray:
        """0..1: on which flank of its folded column a tile hangs. The halves mirror each other."""
        return self.half ^ self.side


def tile_ids(tiles: npt.ArrayLike) -> IntArray:
    """`tiles` as int32, so that no later sum wraps; raises `ValueError` if one does not exist."""
    ids = np.asarray(tiles)
    if ids.size == 0:
        return ids.astype(np.int32)
    if ids.dtype.kind not in "iu":
        raise ValueError(f"tile ids are integers, not {ids.dtype}")
    wrong = ids[(ids < 0) | (ids >= TILES)]
    if wrong.size:
        raise ValueError(f"no tile has the id {wrong.flat[0]}: ids run from 0 to {TILES - 1}")
    return ids.astype(np.int32)


def places(tiles: npt.ArrayLike) -> Places:
    """The places of tiles, given their physical ids."""
    ids = tile_ids(tiles)
    return Places(
        row=ids >> _ROW_SHIFT,
        column=(ids >> _COLUMN_SHIFT) % COLUMNS,
        member=(ids >> _MEMBER_SHIFT) % MEMBERS,
        side=(ids >> _SIDE_SHIFT) % SIDES,
    )


def _snake() -> IntArray:
    """The physical id of each logical tile."""
    pair, member = np.divmod(np.arange(TILES, dtype=np.int32), MEMBERS)
    # A block is one side of one column: even blocks count rows upwards, odd ones downwards.
    block, step = np.divmod(pair, ROWS)
    column, side = np.divmod(block, SIDES)
    row = np.where(side == 0, step, ROWS - 1 - step)
    return (
        (row << _ROW_SHIFT)
        | (column << _COLUMN_SHIFT)
        | (member << _MEMBER_SHIFT)
        | (side << _SIDE_SHIFT)
    )


_PHYSICAL = _snake()
_LOGICAL = np.argsort(_PHYSICAL).astype(np.int32)


def physical_tiles(logical: npt.ArrayLike) -> IntArray:
    """The physical ids of tiles, given their logical ids."""
    return _PHYSICAL[tile_ids(logical)]


def logical_tiles(physical: npt.ArrayLike) -> IntArray:
    """The logical ids of tiles, given their physical ids."""
    return _LOGICAL[tile_ids(physical)]


def physical_tile(logical: int) -> int:
    """The physical id of one tile."""
    return int(physical_tiles(logical))


def logical_tile(physical: int) -> int:
    """The logical id of one tile."""
    return int(logical_tiles(physical))


def partners(tiles: npt.ArrayLike) -> IntArray:
    """The other members of pairs, by physical ids. A pair shares its 64-bit exchange resources."""
    return tile_ids(tiles) ^ PARTNER_BIT


# Mux numbers: what a tile listens to. Below `TILES`, the physical id of the source, which may be
# the tile itself. The numbers that no tile has stand for rows above the last.

EXTERNAL_MUXES = range(0x600, 0x640)
"""The range of the endpoints of host exchange, in use or not (row field 24). After a reset a mux
is in this range."""
NEUTRAL_MUX = 0x640
"""Connects a tile to nothing (row field 25). Every tile has it when an internal phase starts, and
again when it ends."""


def external_muxes(tiles: npt.ArrayLike) -> IntArray:
    """The endpoint of host exchange for each tile: one per side of a column, for both of a pair."""
    ids = tile_ids(tiles)
    column_and_side = (1 << _ROW_SHIFT) - 1 - PARTNER_BIT
    return EXTERNAL_MUXES.start + (ids & column_and_side)


def paired_muxes(sources: npt.ArrayLike, writers: npt.ArrayLike) -> IntArray:
    """What the early member of a pair writes to make both listen to a 64-bit stream of `sources`.

    The first member of a pair listens to the bus of the source, the second to that of the source's
    partner, which lends it. The writer gives its own number; the hardware derives the other. The
    function is its own inverse: of the numbers written, it gives the sources.

    Evidence: rows of a third party that ran on hardware; the reading is inferred.
    """
    return tile_ids(sources) ^ (tile_ids(writers) & PARTNER_BIT)
