"""Values seen through views, and which of their elements share words."""

import numpy as np
import pytest

from tilewright.codegen.mid import AxisTiling, Digit, ElementOrder, Precision, Storage, TensorFormat
from tilewright.codegen.mid.distributions import spread_format
from tilewright.codegen.mid.formats import padded
from tilewright.codegen.mid.storage import keeps_words
from tilewright.graph.operators import Slice, SplitHeads, Transpose


def _storage(order: ElementOrder, rows_block: int = 1) -> Storage:
    axes = (padded(rows_block), padded(16))
    return Storage(TensorFormat(Precision.F16, order, axes, (Digit(0, 5), Digit(1, 2))), (30, 64))


def test_a_viewed_value_lies_where_its_base_has_it() -> None:
    storage = _storage(ElementOrder.OUTPUT).viewed(SplitHeads(4), (4, 30, 16))
    array = np.arange(30 * 64).reshape(30, 64)
    shards = storage.layout.pack(array)
    seen = array.reshape(30, 4, 16).transpose(1, 0, 2)
    tile, offset = storage.locate(tuple(np.indices((4, 30, 16))))
    assert np.array_equal(shards[tile, offset], seen)


@pytest.mark.parametrize(
    ("order", "along_rows", "along_columns"),
    [
        (ElementOrder.ROW_MAJOR, False, True),
        (ElementOrder.OUTPUT, False, True),
        (ElementOrder.OUTPUT_TRANSPOSED, True, False),
    ],
)
def test_words_stay_whole_along_the_axis_that_the_order_packs(
    order: ElementOrder, along_rows: bool, along_columns: bool
) -> None:
    storage = _storage(order, rows_block=16)
    assert keeps_words(storage, -2) is along_rows
    assert keeps_words(storage, -1) is along_columns


def test_a_transposition_exchanges_the_axes() -> None:
    storage = _storage(ElementOrder.OUTPUT).viewed(Transpose((1, 0)), (64, 30))
    assert keeps_words(storage, -2)
    assert not keeps_words(storage, -1)


def test_a_slice_from_an_odd_place_cuts_words() -> None:
    storage = _storage(ElementOrder.OUTPUT)
    even = storage.viewed(Slice((0, 2), (30, 34)), (30, 32))
    odd = storage.viewed(Slice((0, 3), (30, 35)), (30, 32))
    assert keeps_words(even, -1)
    assert not keeps_words(odd, -1)


def test_shards_of_odd_width_cut_words() -> None:
    format = TensorFormat(
        Precision.F16, ElementOrder.ROW_MAJOR, (AxisTiling(), AxisTiling()), (Digit(1, 2),)
    )
    assert not keeps_words(Storage(format, (4, 10)), -1)
    assert keeps_words(Storage(format, (4, 12)), -1)


def test_four_f8_elements_share_a_word() -> None:
    format = TensorFormat(
        Precision.F8F143, ElementOrder.ROW_MAJOR, (AxisTiling(), AxisTiling()), (Digit(1, 2),)
    )
    assert not keeps_words(Storage(format, (4, 12)), -1)
    assert keeps_words(Storage(format, (4, 16)), -1)


def test_f32_elements_are_words() -> None:
    format = spread_format((7, 9), Precision.F32, 20)
    assert keeps_words(Storage(format, (7, 9)), -2)
