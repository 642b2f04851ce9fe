"""Views of numbered elements: which element ends where, by index arithmetic."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.graph.operators.conftest import Apply
from tilewright.graph import ComputeGraph, DType, OperatorError, Tensor

NUMBERED = np.arange(2 * 3 * 8).reshape(2, 3, 8)


def test_reshape(apply: Apply) -> None:
    found = apply(lambda g, x: x.reshape(4, -1), NUMBERED)
    assert found.shape == (4, 12)
    assert [found[i, j] for i in range(4) for j in range(12)] == list(range(48))


def test_transpose(apply: Apply) -> None:
    found = apply(lambda g, x: x.transpose((2, 0, 1)), NUMBERED)
    np.testing.assert_array_equal(found, apply(lambda g, x: x.transpose(2, 0, 1), NUMBERED))
    assert found.shape == (8, 2, 3)
    for i, j, k in product(range(8), range(2), range(3)):
        assert found[i, j, k] == NUMBERED[j, k, i]


def test_transpose_of_the_last_two_axes(apply: Apply) -> None:
    found = apply(lambda g, x: x.transpose(), NUMBERED)
    for i, j, k in product(range(2), range(8), range(3)):
        assert found[i, j, k] == NUMBERED[i, k, j]


def test_slice(apply: Apply) -> None:
    found = apply(lambda g, x: g.slice(x, (0, 1, 2), (1, 3, 7)), NUMBERED)
    assert found.shape == (1, 2, 5)
    for i, j, k in product(range(1), range(2), range(5)):
        assert found[i, j, k] == NUMBERED[i, j + 1, k + 2]


@pytest.mark.parametrize(
    "index",
    [
        1,
        -1,
        slice(1, 2),
        (slice(None), 0),
        (..., slice(2, -1)),
        (0, ..., 3),
        (0, 1, 2),
        (..., slice(None)),
        (slice(-2, None), slice(0, 100), np.int64(-8)),
    ],
)
def test_python_indexing_is_numpys(apply: Apply, index: Any) -> None:
    found = apply(lambda g, x: x[index], NUMBERED)
    np.testing.assert_array_equal(found, NUMBERED[index])


def test_split_heads(apply: Apply) -> None:
    found = apply(lambda g, x: g.split_heads(x, 4), NUMBERED)
    assert found.shape == (2, 4, 3, 2)
    for i, head, token, element in product(range(2), range(4), range(3), range(2)):
        assert found[i, head, token, element] == NUMBERED[i, token, 2 * head + element]


def test_merge_heads(apply: Apply) -> None:
    found = apply(lambda g, x: g.merge_heads(x), NUMBERED)  # 2 heads, 3 tokens, size 8
    assert found.shape == (3, 16)
    for token, head, element in product(range(3), range(2), range(8)):
        assert found[token, 8 * head + element] == NUMBERED[head, token, element]


def test_concat(apply: Apply) -> None:
    more = 100 + np.arange(2 * 1 * 8).reshape(2, 1, 8)
    found = apply(lambda g, x, y: g.concat([x, y, x], -2), NUMBERED, more)
    assert found.shape == (2, 7, 8)
    for i, j, k in product(range(2), range(7), range(8)):
        expected = (
            NUMBERED[i, j, k] if j < 3 else more[i, 0, k] if j == 3 else NUMBERED[i, j - 4, k]
        )
        assert found[i, j, k] == expected


def test_broadcast(apply: Apply) -> None:
    row = np.arange(3).reshape(3, 1)
    found = apply(lambda g, x: g.broadcast(x, (2, 3, 4)), row)
    for i, j, k in product(range(2), range(3), range(4)):
        assert found[i, j, k] == j


@pytest.mark.parametrize("format", [DType.F8F143.scaled(-3), DType.F16, DType.F32, DType.I32])
def test_views_keep_the_number_format(format: Any) -> None:
    graph = ComputeGraph("formats")
    x = graph.input("x", (2, 4, 6), format)
    views = [
        x.reshape(48),
        x.transpose(),
        x[0],
        graph.split_heads(x, 3),
        graph.merge_heads(x),
        graph.concat([x, x]),
        graph.broadcast(x, (5, 2, 4, 6)),
    ]
    assert all(view.format == x.format for view in views)


REFUSED: list[tuple[Callable[[ComputeGraph, Tensor], Tensor], str]] = [
    (lambda g, x: x.reshape(5, 7), r"\[5, 7\] has 35 elements, x has 48"),
    (lambda g, x: x.reshape(5, -1), r"do not fit \[5, -1\]"),
    (lambda g, x: x.reshape(0, 48), "at least 1"),
    (lambda g, x: x.transpose(0, 1), "each of the axes 0 to 2 once"),
    (lambda g, x: x.transpose(0, 1, 1), "each of the axes 0 to 2 once"),
    (lambda g, x: g.slice(x, (0, 0, 0), (2, 4, 8)), "0 to 4 is no part of axis 1"),
    (lambda g, x: g.slice(x, (0, 2, 0), (2, 2, 8)), "2 to 2 is no part of axis 1"),
    (lambda g, x: g.slice(x, (0,), (2,)), "found 1 starts and 1 stops"),
    (lambda g, x: x[2], "axis 0: no element 2 among 2"),
    (lambda g, x: x[:, ::2], "axis 1: a step of 2"),
    (lambda g, x: x[:, 3:], "axis 1: nothing is left of 3"),
    (lambda g, x: x[0, 0, 0, 0], r"4 parts does not fit \[2, 3, 8\]"),
    (lambda g, x: x[True], "axis 0: an index is .*, not True"),
    (lambda g, x: x[0, [1, 2]], r"axis 1: an index is .*, not \[1, 2\]"),  # type: ignore[index] # a mistake
    (lambda g, x: x[..., ...], r"2 parts does not fit \[2, 3, 8\]"),
    (lambda g, x: g.split_heads(x, 3), "8 cannot be split into 3 heads"),
    (lambda g, x: g.split_heads(x[0, 0], 2), "x needs 2 axes or more"),
    (lambda g, x: g.merge_heads(x[0]), "x needs 3 axes or more"),
    (lambda g, x: g.concat([x, x[:, :, 1:]], 0), "the shapes differ at other axes than 0"),
    (lambda g, x: g.concat([x, x.cast(DType.F32)]), "one number format"),
    (lambda g, x: g.concat([x, x], 3), "no axis 3 among 3"),
    (lambda g, x: g.concat([]), r"expected at least 1 operands \(x\), found 0"),
    (lambda g, x: g.broadcast(x, (2, 6, 8)), r"does not broadcast to \[2, 6, 8\]"),
    (lambda g, x: g.broadcast(x, (3, 8)), r"does not broadcast to \[3, 8\]"),
]


@pytest.mark.parametrize(("build", "message"), REFUSED)
def test_refused(build: Callable[[ComputeGraph, Tensor], Tensor], message: str) -> None:
    graph = ComputeGraph("refused")
    x = graph.input("x", (2, 3, 8))
    with pytest.raises(OperatorError, match=message):
        build(graph, x)
