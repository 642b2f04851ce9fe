"""Tables take lists of integers and hold read-only columns."""

import numpy as np
import pytest

from tilewright.package import Pages
from tilewright.package.tables import Column


def test_columns_are_read_only_copies() -> None:
    index = np.array([0, 1], np.uint32)
    pages = Pages(index, [4096, 8192])
    index[0] = 7
    assert pages.index.tolist() == [0, 1]
    assert pages.index.dtype == np.dtype("<u4")
    with pytest.raises(ValueError, match="read-only"):
        pages.index[0] = 1
    with pytest.raises(AttributeError):
        pages.index = index  # type: ignore[misc] # frozen


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([-1], "Pages.index holds -1, not in 0 to 4294967295"),
        ([1 << 32], "Pages.index holds 4294967296"),
        ([0.5], "Pages.index holds float64, not integers"),
        ([[1]], "Pages.index has 2 dimensions"),
        ([1, 2], "columns of Pages differ in length: index 2, size 1"),
    ],
)
def test_wrong_columns(index: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pages(index, [1])  # type: ignore[arg-type] # whatever a caller may give


def test_equality() -> None:
    assert Pages([0], [1]) == Pages(np.array([0], np.int8), [1])
    assert Pages([0], [1]) != Pages([0], [2])
    assert Pages() == Pages([], [])
    assert Pages() != 3


def test_rows() -> None:
    pages = Pages([3, 1, 2], [10, 30, 30])
    assert pages[1:] == Pages([1, 2], [30, 30])
    assert pages[pages.size == 30] == pages[[1, 2]]
    assert pages.sorted_by("size", "index") == Pages([3, 1, 2], [10, 30, 30])
    assert pages.sorted_by("index") == Pages([1, 2, 3], [30, 30, 10])


def test_column_types() -> None:
    assert isinstance(vars(Pages)["index"], Column)
    assert Pages.columns() == {"index": np.dtype("<u4"), "size": np.dtype("<u4")}
