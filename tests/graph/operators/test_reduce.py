"""Reductions, against Python's own over the elements in question."""

import math
from collections.abc import Callable, Iterable
from itertools import product

import numpy as np
import pytest

from tests.graph.operators.conftest import Apply
from tilewright.graph import ComputeGraph, OperatorError

FUNCTIONS: dict[str, Callable[[Iterable[float]], float]] = {
    "reduce_sum": math.fsum,
    "reduce_mean": lambda numbers: math.fsum(kept := list(numbers)) / len(kept),
    "reduce_max": max,
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_trailing_axes(apply: Apply, function: str, axes: int) -> None:
    x = np.random.default_rng(5).integers(-8, 8, (2, 4, 2)).astype(float)
    found = apply(lambda g, x: getattr(g, function)(x, axes), x)
    assert found.shape == x.shape[: 3 - axes]
    for at in product(*map(range, found.shape)):
        assert found[at] == FUNCTIONS[function](x[at].ravel().tolist())
    kept = apply(lambda g, x: getattr(g, function)(x, axes, keep=True), x)
    assert kept.shape == x.shape[: 3 - axes] + (1,) * axes
    assert kept.ravel().tolist() == found.ravel().tolist()


def test_the_greatest_of_numbers_and_nan_is_nan(apply: Apply) -> None:
    assert np.isnan(apply(lambda g, x: g.reduce_max(x), np.array([1.0, np.nan, 2.0])))


@pytest.mark.parametrize("axes", [0, 3, -1])
def test_refused(axes: int) -> None:
    graph = ComputeGraph("refused")
    with pytest.raises(OperatorError, match=f"cannot reduce {axes} trailing axes of 2"):
        graph.reduce_sum(graph.input("x", (2, 3)), axes)
