"""The order of a shard's elements in memory: row-major, or packed for the matrix engine.

An order concerns the last two axes, `rows` × `columns`; leading axes lie outside, row-major. Packed
orders cut the matrix into blocks of `rows × columns`, stored one after another, column of blocks by
column of blocks; inside a block columns are outermost. So

- LEFT, streamed through the engine: panels of 16 (f16), 8 (f32) or 32 (f8) columns, row after row;
- RIGHT, loaded as weights: blocks of 16, 8 or 32 rows × 16 columns, each column's rows together
  (what 64-bit loads of weights want: four consecutive inputs of one output);
- OUTPUT: panels of 16 columns. For f16 it is LEFT.

The transposed forms pack the transposed matrix that way. All functions take NumPy arrays of
coordinates or offsets, in elements.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]

OUTPUT_GROUP = 16
"""Columns of a panel of results, and of a block of weights."""


class Precision(Enum):
    """How an element is stored."""

    F8F143 = "f8"
    F16 = "f16"
    F32 = "f32"
    I32 = "i32"
    """Counts and indices, which no arithmetic touches."""

    @property
    def bytes(self) -> int:
        return _BYTES[self]

    @property
    def inner_group(self) -> int:
        """Inner elements that one row of a matrix block takes together."""
        return _INNER_GROUP[self]


_BYTES = {Precision.F8F143: 1, Precision.F16: 2, Precision.F32: 4, Precision.I32: 4}
_INNER_GROUP = {Precision.F8F143: 32, Precision.F16: 16, Precision.F32: 8, Precision.I32: 8}


class ElementOrder(Enum):
    """The packing family."""

    ROW_MAJOR = "row"
    LEFT = "left"
    RIGHT = "right"
    OUTPUT = "output"
    LEFT_TRANSPOSED = "leftᵀ"
    RIGHT_TRANSPOSED = "rightᵀ"
    OUTPUT_TRANSPOSED = "outputᵀ"

    @property
    def transposed(self) -> "ElementOrder":
        """The same packing of the transposed matrix; row-major has none and stays."""
        return _TRANSPOSED.get(self, self)

    @property
    def is_transposed(self) -> bool:
        return self.value.endswith("ᵀ")


_TRANSPOSED = {
    ElementOrder.LEFT: ElementOrder.LEFT_TRANSPOSED,
    ElementOrder.RIGHT: ElementOrder.RIGHT_TRANSPOSED,
    ElementOrder.OUTPUT: ElementOrder.OUTPUT_TRANSPOSED,
}
_TRANSPOSED |= {there: here for here, there in _TRANSPOSED.items()}


@dataclass(frozen=True, slots=True)
class Granule:
    """Rows and columns of a block; extents of a shard must be multiples of them."""

    rows: int
    columns: int


def granule(order: ElementOrder, precision: Precision) -> Granule:
    """The block of an order, 1 × 1 for row-major."""
    if order is ElementOrder.ROW_MAJOR:
        return Granule(1, 1)
    if order.is_transposed:
        upright = granule(order.transposed, precision)
        return Granule(upright.columns, upright.rows)
    if order is ElementOrder.RIGHT:
        return Granule(precision.inner_group, OUTPUT_GROUP)
    return Granule(1, OUTPUT_GROUP if order is ElementOrder.OUTPUT else precision.inner_group)


def offsets(
    order: ElementOrder,
    precision: Precision,
    row: Indices,
    column: Indices,
    rows: Indices | int,
    columns: Indices | int,
) -> Indices:
    """Offsets of the elements (row, column) in a matrix of (padded) extents rows × columns."""
    if order is ElementOrder.ROW_MAJOR:
        return row * columns + column
    if order.is_transposed:
        return offsets(order.transposed, precision, column, row, columns, rows)
    block = granule(order, precision)
    blocks_above = (column // block.columns) * (rows // block.rows) + row // block.rows
    inside = (column % block.columns) * block.rows + row % block.rows
    return blocks_above * (block.rows * block.columns) + inside


def positions(
    order: ElementOrder,
    precision: Precision,
    offset: Indices,
    rows: Indices | int,
    columns: Indices | int,
) -> tuple[Indices, Indices]:
    """The (row, column) at each offset: the inverse of `offsets`."""
    if order is ElementOrder.ROW_MAJOR:
        row, column = np.divmod(offset, columns)
        return row, column
    if order.is_transposed:
        column, row = positions(order.transposed, precision, offset, columns, rows)
        return row, column
    block = granule(order, precision)
    above, inside = np.divmod(offset, block.rows * block.columns)
    column_block, row_block = np.divmod(above, rows // block.rows)
    column_inside, row_inside = np.divmod(inside, block.rows)
    row = row_block * block.rows + row_inside
    return row, column_block * block.columns + column_inside


def contiguous_along(order: ElementOrder, rows: bool) -> bool:
    """Whether neighbours along an axis (`rows`: the last but one) lie side by side in memory.

    Two f16 neighbours then fill a word, the grain of the exchange.
    """
    along_rows = order in (
        ElementOrder.RIGHT,
        ElementOrder.LEFT_TRANSPOSED,
        ElementOrder.OUTPUT_TRANSPOSED,
    )
    return along_rows == rows
