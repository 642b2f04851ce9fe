"""Attention, against one query at a time in plain Python that only looks at keys it may see."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.graph.operators.conftest import Apply
from tilewright.graph import ComputeGraph, DType, EvaluationError, OperatorError

Array = NDArray[Any]


def _reference(q: Array, k: Array, v: Array, scale: float, causal: bool, count: int) -> Array:
    """One head: tokens × size."""
    result = []
    for place, query in enumerate(q.tolist()):
        seen = min(count, place + 1) if causal else count
        scores = [
            scale * math.fsum(x * y for x, y in zip(query, key, strict=True))
            for key in k.tolist()[:seen]
        ]
        weights = [math.exp(score - max(scores)) for score in scores]
        result.append(
            [
                math.fsum(w * row[j] for w, row in zip(weights, v.tolist(), strict=False))
                / math.fsum(weights)
                for j in range(v.shape[1])
            ]
        )
    return np.array(result)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("counts", [None, [[1, 5, 3], [2, 4, 5]]])
@pytest.mark.parametrize("scale", [None, 0.75])
def test_heads_of_a_batch(
    apply: Apply, causal: bool, counts: list[list[int]] | None, scale: float | None
) -> None:
    rng = np.random.default_rng(2)
    q, k = rng.normal(size=(2, 2, 3, 2, 5, 4))  # each 2 × 3 entries, 2 heads, 5 tokens, size 4
    v = rng.normal(size=(2, 3, 2, 5, 7))
    operands = [q, k, v] if counts is None else [q, k, v, np.array(counts)]
    found = apply(
        lambda g, q, k, v, *n: g.attention(
            q, k, v, causal=causal, scale=scale, key_counts=n[0] if n else None
        ),
        *operands,
    )
    assert found.shape == (2, 3, 2, 5, 7)
    for i, j, head in product(range(2), range(3), range(2)):
        expected = _reference(
            q[i, j, head],
            k[i, j, head],
            v[i, j, head],
            0.5 if scale is None else scale,  # 1/√4
            causal,
            5 if counts is None else counts[i][j],
        )
        np.testing.assert_allclose(found[i, j, head], expected, rtol=1e-12)


def test_more_keys_than_queries(apply: Apply) -> None:
    rng = np.random.default_rng(3)
    q, k, v = rng.normal(size=(1, 2, 4)), rng.normal(size=(1, 6, 4)), rng.normal(size=(1, 6, 3))
    found = apply(lambda g, q, k, v: g.attention(q, k, v), q, k, v)
    np.testing.assert_allclose(found[0], _reference(q[0], k[0], v[0], 0.5, False, 6), rtol=1e-12)


def test_what_lies_past_the_count_takes_no_part(apply: Apply) -> None:
    rng = np.random.default_rng(4)
    q, k, v = rng.normal(size=(3, 2, 1, 4, 2))
    build = lambda g, q, k, v, n: g.attention(q, k, v, key_counts=n)  # noqa: E731 - used thrice
    clean = apply(build, q, k, v, np.array([2, 3]))
    k[0, :, 2:], v[0, :, 2:] = np.nan, np.nan
    k[1, :, 3:], v[1, :, 3:] = np.inf, np.nan
    np.testing.assert_array_equal(apply(build, q, k, v, np.array([2, 3])), clean)


@pytest.mark.parametrize("count", [0, 5, -1])
def test_counts_outside_the_keys(apply: Apply, count: int) -> None:
    q = np.ones((1, 4, 2))
    with pytest.raises(EvaluationError, match=r"attention: key_counts must lie in 1 to 4"):
        apply(lambda g, q, n: g.attention(q, q, q, key_counts=n), q, np.array(count))


@pytest.mark.parametrize(
    ("q", "k", "v", "options", "message"),
    [
        ((2, 4), (2, 4), (2, 4), {}, "q needs 3 axes or more"),
        ((3, 2, 4), (3, 2, 5), (3, 2, 4), {}, "q has heads of size 4, k of size 5"),
        ((3, 2, 4), (2, 2, 4), (2, 2, 4), {}, "the same batch axes and heads"),
        ((3, 2, 4), (3, 5, 4), (3, 6, 4), {}, "k has 5 tokens, v has 6"),
        ((3, 2, 4), (3, 5, 4), (3, 5, 4), {"causal": True}, "found 5 keys and 2 queries"),
        ((3, 2, 4), (3, 2, 4), (3, 2, 4), {"scale": math.inf}, "scale must be finite"),
    ],
)
def test_refused(
    q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...], options: Any, message: str
) -> None:
    graph = ComputeGraph("refused")
    with pytest.raises(OperatorError, match=message):
        graph.attention(graph.input("q", q), graph.input("k", k), graph.input("v", v), **options)


def test_counts_refused() -> None:
    graph = ComputeGraph("refused")
    q = graph.input("q", (2, 3, 4, 5))
    with pytest.raises(OperatorError, match="key_counts must be I32, found F16"):
        graph.attention(q, q, q, key_counts=graph.input("halves", (2,)))
    with pytest.raises(OperatorError, match=r"key_counts needs the shape \[2\]"):
        graph.attention(q, q, q, key_counts=graph.input("n", (3,), DType.I32))
