"""The order of elements inside a shard."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.codegen.mid import ElementOrder, Precision
from tilewright.codegen.mid.orders import contiguous_along, granule, offsets, positions

packed = [order for order in ElementOrder if order is not ElementOrder.ROW_MAJOR]


@given(
    st.sampled_from(ElementOrder), st.sampled_from(Precision), st.integers(1, 4), st.integers(1, 4)
)
def test_an_order_is_a_bijection(
    order: ElementOrder, precision: Precision, high: int, wide: int
) -> None:
    block = granule(order, precision)
    rows, columns = high * block.rows, wide * block.columns
    row, column = np.divmod(np.arange(rows * columns), columns)
    offset = offsets(order, precision, row, column, rows, columns)
    assert sorted(offset) == list(range(rows * columns))
    back = positions(order, precision, offset, rows, columns)
    assert np.array_equal(back[0], row)
    assert np.array_equal(back[1], column)


def _packed(order: ElementOrder, precision: Precision, matrix: np.ndarray) -> np.ndarray:
    rows, columns = matrix.shape
    row, column = np.divmod(np.arange(matrix.size), columns)
    memory = np.zeros(matrix.size, matrix.dtype)
    memory[offsets(order, precision, row, column, rows, columns)] = matrix.ravel()
    return memory


@pytest.mark.parametrize(
    ("precision", "group"), [(Precision.F16, 16), (Precision.F32, 8), (Precision.F8F143, 32)]
)
def test_left_is_panels_of_inner_elements_row_after_row(precision: Precision, group: int) -> None:
    matrix = np.arange(5 * 64).reshape(5, 64)
    panels = matrix.reshape(5, 64 // group, group).transpose(1, 0, 2)
    assert np.array_equal(_packed(ElementOrder.LEFT, precision, matrix), panels.ravel())


def test_right_is_blocks_with_each_output_channels_inputs_together() -> None:
    """As the weight store wants them: a 64-bit entry has four inputs of one output channel."""
    matrix = np.arange(32 * 48).reshape(32, 48)
    blocks = matrix.reshape(2, 16, 3, 16).transpose(2, 0, 3, 1)
    assert np.array_equal(_packed(ElementOrder.RIGHT, Precision.F16, matrix), blocks.ravel())


def test_f16_results_have_the_order_of_left_operands() -> None:
    matrix = np.arange(7 * 32).reshape(7, 32)
    left = _packed(ElementOrder.LEFT, Precision.F16, matrix)
    assert np.array_equal(_packed(ElementOrder.OUTPUT, Precision.F16, matrix), left)


@pytest.mark.parametrize("order", packed)
def test_a_transposed_order_packs_the_transposed_matrix(order: ElementOrder) -> None:
    matrix = np.arange(64 * 96).reshape(64, 96)
    there = _packed(order, Precision.F16, matrix)
    assert np.array_equal(_packed(order.transposed, Precision.F16, matrix.T), there)


@pytest.mark.parametrize("order", ElementOrder)
def test_neighbours_along_the_stated_axis_lie_side_by_side(order: ElementOrder) -> None:
    by_rows = contiguous_along(order, rows=True)
    row = np.array([0, 1]) if by_rows else np.array([0, 0])
    column = np.array([0, 0]) if by_rows else np.array([0, 1])
    first, second = offsets(order, Precision.F16, row, column, 64, 64)
    assert second == first + 1
