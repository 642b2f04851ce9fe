"""Softmax and the normalisations, row by row with 40 digits."""

import importlib
from typing import Any

import numpy as np
import pytest

from tests.graph.operators.conftest import Apply
from tilewright.graph import ComputeGraph, DType, OperatorError

mpmath: Any = importlib.import_module("mpmath")  # has no types

ROWS = np.array([[1.5, -2.0, 0.25, 3.0], [700.0, 699.0, -700.0, 710.0], [2.0, 2.0, 2.0, 2.5]])
SCALE = np.array([0.5, 2.0, -1.0, 3.0])
BIAS = np.array([1.0, 0.0, -4.0, 0.125])


def _softmax(row: list[Any]) -> list[Any]:
    total = mpmath.fsum(mpmath.exp(x) for x in row)
    return [mpmath.exp(x) / total for x in row]


def _layer_norm(row: list[Any], epsilon: float) -> list[Any]:
    """By E[x²] − E[x]², exact enough with 40 digits."""
    mean = mpmath.fsum(row) / len(row)
    variance = mpmath.fsum(x * x for x in row) / len(row) - mean * mean
    return [(x - mean) / mpmath.sqrt(variance + epsilon) for x in row]


def _rms_norm(row: list[Any], epsilon: float) -> list[Any]:
    return [x / mpmath.sqrt(mpmath.fsum(y * y for y in row) / len(row) + epsilon) for x in row]


def _rows(function: Any, *arguments: Any) -> np.ndarray[Any, Any]:
    with mpmath.workdps(40):
        rows = [function([mpmath.mpf(x) for x in row], *arguments) for row in ROWS.tolist()]
        return np.array([[float(x) for x in row] for row in rows])


def test_softmax(apply: Apply) -> None:
    found = apply(lambda g, x: g.softmax(x), ROWS)
    np.testing.assert_allclose(found, _rows(_softmax), rtol=1e-14)


@pytest.mark.parametrize(
    ("mnemonic", "reference"), [("layer_norm", _layer_norm), ("rms_norm", _rms_norm)]
)
@pytest.mark.parametrize("epsilon", [1e-12, 0.5])
def test_normalisations(apply: Apply, mnemonic: str, reference: Any, epsilon: float) -> None:
    plain = _rows(reference, epsilon)

    def applied(*affine: Any) -> Any:
        return apply(
            lambda g, *operands: getattr(g, mnemonic)(*operands, epsilon=epsilon), ROWS, *affine
        )

    np.testing.assert_allclose(applied(), plain, rtol=1e-13)
    np.testing.assert_allclose(applied(SCALE), plain * SCALE, rtol=1e-13)
    np.testing.assert_allclose(applied(SCALE, BIAS), plain * SCALE + BIAS, rtol=1e-12)


def test_a_bias_without_a_scale(apply: Apply) -> None:
    found = apply(lambda g, x, bias: g.layer_norm(x, bias=bias), ROWS, BIAS)
    np.testing.assert_allclose(found, _rows(_layer_norm, 1e-5) + BIAS, rtol=1e-12)


def test_wide_scales_do_not_widen_the_result() -> None:
    graph = ComputeGraph("narrow")
    scale = graph.parameter("scale", (4,), DType.F32)
    assert graph.layer_norm(graph.input("x", (3, 4)), scale).dtype is DType.F16


def test_refused() -> None:
    graph = ComputeGraph("refused")
    x, long = graph.input("x", (3, 4)), graph.input("long", (5,))
    with pytest.raises(OperatorError, match=r"scale needs the shape \[4\]"):
        graph.layer_norm(x, long)
    with pytest.raises(OperatorError, match="epsilon must be finite and not negative"):
        graph.rms_norm(x, epsilon=-1e-6)
    with pytest.raises(OperatorError, match="x needs 1 axes or more"):
        graph.softmax(graph.input("number", ()))
