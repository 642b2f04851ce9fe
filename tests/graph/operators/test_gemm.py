"""Matrix products of whole numbers, against sums in plain Python, which are exact."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.graph.operators.conftest import Apply
from tilewright.graph import ComputeGraph, OperatorError


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize(
    ("batch_a", "batch_b", "batch"),
    [
        ((), (), ()),
        ((3,), (), (3,)),
        ((), (2, 3), (2, 3)),
        ((2, 1), (3,), (2, 3)),
        ((1,), (1,), (1,)),
    ],
)
def test_products(
    apply: Apply,
    transpose_a: bool,
    transpose_b: bool,
    batch_a: tuple[int, ...],
    batch_b: tuple[int, ...],
    batch: tuple[int, ...],
) -> None:
    rows, inner, columns = 2, 4, 3
    rng = np.random.default_rng(1)
    a = rng.integers(-9, 9, (*batch_a, *((inner, rows) if transpose_a else (rows, inner))))
    b = rng.integers(-9, 9, (*batch_b, *((columns, inner) if transpose_b else (inner, columns))))
    found = apply(
        lambda graph, a, b: graph.gemm(a, b, transpose_a=transpose_a, transpose_b=transpose_b),
        a.astype(float),
        b.astype(float),
    )
    assert found.shape == (*batch, rows, columns)
    every_a = np.broadcast_to(a, (*batch, *a.shape[-2:]))
    every_b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    for *at, i, j in product(*map(range, found.shape)):
        left, right = every_a[tuple(at)], every_b[tuple(at)]
        assert found[(*at, i, j)] == sum(
            int(left[k, i] if transpose_a else left[i, k])
            * int(right[j, k] if transpose_b else right[k, j])
            for k in range(inner)
        )


@pytest.mark.parametrize(
    ("a", "b", "flags", "message"),
    [
        ((2, 3), (4, 5), {}, "a is 2×3, b is 4×5"),
        ((2, 3), (3, 5), {"transpose_a": True}, "aᵀ is 3×2, b is 3×5"),
        ((2, 3), (3, 5), {"transpose_b": True}, "a is 2×3, bᵀ is 5×3"),
        ((3,), (3, 5), {}, "a needs 2 axes or more, found 1"),
        ((2, 2, 3), (3, 3, 5), {}, "batch axes"),
    ],
)
def test_refused(a: tuple[int, ...], b: tuple[int, ...], flags: Any, message: str) -> None:
    graph = ComputeGraph("refused")
    with pytest.raises(OperatorError, match=message):
        graph.gemm(graph.input("a", a), graph.input("b", b), **flags)
