"""Spans against a set of every byte."""

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from tilewright.package.spans import covered, ends_past, overlapping

SPANS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12), st.integers(1, 6)), max_size=12)


Columns = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]


def _columns(spans: list[tuple[int, int, int]]) -> Columns:
    owner, start, size = np.array(spans, np.uint32).reshape(-1, 3).T
    return owner, start, size


@given(SPANS)
def test_coverage(spans: list[tuple[int, int, int]]) -> None:
    found = covered(*_columns(spans), 4)
    for owner in range(4):
        held = {start + k for each, start, size in spans if each == owner for k in range(size)}
        expected = next(k for k in range(100) if k not in held)
        assert found[owner] == expected


@given(SPANS)
def test_overlaps(spans: list[tuple[int, int, int]]) -> None:
    found = overlapping(*_columns(spans)).tolist()
    order = sorted(range(len(spans)), key=lambda row: spans[row][:2])
    expected = []
    for place, row in enumerate(order):
        owner, start, _ = spans[row]
        before = [spans[each] for each in order[:place] if spans[each][0] == owner]
        if any(first + size > start for _, first, size in before):
            expected.append(row)
    assert found == sorted(expected)


def test_sums_do_not_wrap() -> None:
    top = np.array([0xFFFFFFFF], np.uint32)
    assert ends_past(top, top, top).tolist() == [True]
    assert ends_past(top - 3, top * 0 + 3, top).tolist() == [False]
    assert overlapping(top * 0, top - 1, top).tolist() == []
    assert (
        covered(np.array([0, 0]), np.array([0, 5]), np.array([5, 0xFFFFFFFF]), 1)[0]
        == 5 + 0xFFFFFFFF
    )


def test_nothing() -> None:
    empty = np.empty(0, np.uint32)
    assert covered(empty, empty, empty, 2).tolist() == [0, 0]
    assert overlapping(empty, empty, empty).tolist() == []
