"""Formats that operators fall back on: rows spread over tiles, and formats derived from others."""

from functools import lru_cache

from tilewright.codegen.mid.formats import (
    AxisTiling,
    Digit,
    MemoryClass,
    TensorFormat,
    joined,
    padded,
)
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.orders import ElementOrder, Precision, granule
from tilewright.codegen.mid.storage import WORD

ATOM = 8
"""Bytes that kernels load and store at once."""
COLUMN_BLOCK = 16
"""Columns that spread formats keep together: a panel of the matrix engine."""


@lru_cache(maxsize=4096)
def rows_format(shape: Shape, precision: Precision, tiles: int, grain: int = WORD) -> TensorFormat:
    """Row-major; every row (last axis) whole on one tile, rows spread as evenly as they go.

    Rows are padded to a multiple of `grain` bytes: words are what the exchange moves, atoms what
    kernels of rows take.
    """
    digits, _ = _row_digits(shape, tiles)
    axes = _padded_rows(shape, precision, grain)
    return TensorFormat(precision, ElementOrder.ROW_MAJOR, axes, tuple(digits))


def _padded_rows(shape: Shape, precision: Precision, grain: int) -> tuple[AxisTiling, ...]:
    axes = [AxisTiling()] * len(shape)
    if shape and precision.bytes < grain:
        axes[-1] = padded(grain // precision.bytes)
    return tuple(axes)


@lru_cache(maxsize=4096)
def spread_format(
    shape: Shape, precision: Precision, tiles: int, grain: int = WORD
) -> TensorFormat:
    """Rows spread, and where tiles are left columns too, by panels of the matrix engine's width.

    Row-major, with rows of a multiple of `grain` bytes, or panel after panel if columns are
    divided: so a product gathers long runs.
    """
    if not shape:
        return rows_format(shape, precision, tiles)
    digits, left = _row_digits(shape, tiles)
    blocks = -(-shape[-1] // COLUMN_BLOCK)
    parts = min(left, blocks)
    axes = list(_padded_rows(shape, precision, grain))
    order = ElementOrder.ROW_MAJOR
    if parts > 1:
        digits.append(Digit(len(shape) - 1, parts))
        axes[-1] = padded(COLUMN_BLOCK)
        order = ElementOrder.OUTPUT
    return TensorFormat(precision, order, tuple(axes), tuple(digits))


@lru_cache(maxsize=4096)
def words_format(shape: Shape, precision: Precision, along: int, tiles: int) -> TensorFormat:
    """Spread over the chip with whole words along the last axis (-1) or the last but one (-2)."""
    if along == -1 or precision.bytes >= WORD or len(shape) < 2:
        return spread_format(shape, precision, tiles)
    word = WORD // precision.bytes  # columns stay together so, and can arrive the other way round
    words = -(-shape[-1] // word)
    turned = spread_format((*shape[:-2], words, shape[-2]), precision, tiles)
    last = len(shape) - 1
    turn = {last: last - 1, last - 1: last}
    grid = tuple(
        Digit(turn.get(digit.axis, digit.axis), digit.size, digit.weight)
        if digit.axis is not None
        else digit
        for digit in turned.grid
    )
    axes = (*turned.axes[:-2], padded(COLUMN_BLOCK), padded(word))
    return TensorFormat(precision, ElementOrder.OUTPUT_TRANSPOSED, axes, grid)


def _row_digits(shape: Shape, tiles: int) -> tuple[list[Digit], int]:
    """Digits for all axes but the last, the first axis first; and the tiles left per part."""
    digits, left = [], tiles
    for axis, extent in enumerate(shape[:-1]):
        parts = min(extent, left)
        if parts > 1:
            digits.append(Digit(axis, parts))
            left //= parts
    return digits, left


@lru_cache(maxsize=8192)
def broadcast_format(
    of: TensorFormat, result: Shape, shape: Shape, precision: Precision, scale: int = 0
) -> TensorFormat:
    """Where an operand of `shape` must lie to meet a result of shape `result` in format `of`.

    Axes that it lacks, or has with extent 1, become copies.
    """
    lift = len(result) - len(shape)
    whole = [extent == result[axis + lift] for axis, extent in enumerate(shape)]
    grid = []
    for digit in of.grid:
        axis = None if digit.axis is None else digit.axis - lift
        keeps = axis is not None and axis >= 0 and whole[axis]
        grid.append(Digit(axis, digit.size, digit.weight) if keeps else Digit(None, digit.size))
    axes = tuple(of.axes[axis + lift] if same else AxisTiling() for axis, same in enumerate(whole))
    order = of.order if all(whole) and lift == 0 else ElementOrder.ROW_MAJOR
    format = TensorFormat(
        of.precision, order, axes, joined(grid), of.memory, of.scale, of.packed_for
    )
    if not suits(format):
        format = format.with_order(ElementOrder.ROW_MAJOR)
    return format.with_precision(precision, scale)


def suits(format: TensorFormat) -> bool:
    """Whether blocks of the axes are whole blocks of the order."""
    block = granule(format.order, format.packing)
    rows, columns = (AxisTiling(), AxisTiling(), *format.axes)[-2:]
    return rows.block % block.rows == 0 and columns.block % block.columns == 0


@lru_cache(maxsize=8192)
def kept_axes(of: TensorFormat, keep: int, as_one: int, precision: Precision) -> TensorFormat:
    """The first `keep` axes of a format, then `as_one` axes of extent 1; the rest become copies."""
    grid = joined(
        digit if digit.axis is None or digit.axis < keep else Digit(None, digit.size)
        for digit in of.grid
    )
    axes = tuple(of.axes[:keep]) + (AxisTiling(),) * as_one
    return TensorFormat(precision, ElementOrder.ROW_MAJOR, axes, grid, MemoryClass.STANDARD)
