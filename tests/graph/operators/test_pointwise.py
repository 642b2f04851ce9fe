"""Operators on single elements, against mpmath with 50 digits."""

import importlib
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.graph.operators.conftest import Apply
from tilewright.graph import Precision

mpmath: Any = importlib.import_module("mpmath")  # has no types

POINTS = [-30.0, -8.5, -2.7, -1.0, -0.25, -1e-9, 0.0, 1e-9, 0.5, 1.0, 3.0, 9.0, 40.0]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "gelu": lambda x: x * mpmath.ncdf(x),
    "gelu_tanh": lambda x: (
        x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)))
    ),
    "relu": lambda x: max(x, mpmath.mpf(0)),
    "silu": lambda x: x / (1 + mpmath.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "tanh": mpmath.tanh,
    "exp": mpmath.exp,
}


@pytest.mark.parametrize("mnemonic", FUNCTIONS)
def test_functions(apply: Apply, mnemonic: str) -> None:
    found = apply(lambda graph, x: getattr(graph, mnemonic)(x), np.array(POINTS))
    with mpmath.workdps(50):
        expected = [float(FUNCTIONS[mnemonic](mpmath.mpf(x))) for x in POINTS]
    # 1 + tanh loses digits where the result is all but 0. At −30 the last digit of x moves gelu by
    # 900 times as much, relatively.
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15 if "tanh" in mnemonic else 0)


def test_gelu_by_the_area_under_the_normal_density(apply: Apply) -> None:
    """Independent of any erf: trapezoids, which converge fast for this density."""
    points = np.array([-2.0, -0.5, 0.75, 2.5])
    areas = []
    for x in points:
        t = np.linspace(-12, x, 200_001)
        density = np.exp(-t * t / 2) / math.sqrt(2 * math.pi)
        areas.append(np.sum((density[1:] + density[:-1]) / 2) * (t[1] - t[0]))
    np.testing.assert_allclose(apply(lambda g, x: g.gelu(x), points), points * areas, rtol=1e-8)


def test_the_two_gelus_differ_by_less_than_5e_4(apply: Apply) -> None:
    x = np.linspace(-6, 6, 1001)
    difference = np.abs(apply(lambda g, x: g.gelu(x), x) - apply(lambda g, x: g.gelu_tanh(x), x))
    assert 4e-4 < difference.max() < 5e-4


def test_sqrt(apply: Apply) -> None:
    squares = np.arange(20.0) ** 2
    np.testing.assert_array_equal(apply(lambda g, x: g.sqrt(x), squares), np.arange(20.0))
    assert np.isnan(apply(lambda g, x: g.sqrt(x), np.array(-1.0)))


ARITHMETIC: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}


@pytest.mark.parametrize("mnemonic", ARITHMETIC)
def test_arithmetic_broadcasts(apply: Apply, mnemonic: str) -> None:
    a = np.array([[[1.0], [2.0]], [[3.0], [-4.5]]])  # 2 × 2 × 1
    b = np.array([[0.5, 8.0, -3.0], [1.5, 2.0, 7.0]])  # 2 × 3
    found = apply(lambda graph, a, b: getattr(graph, mnemonic)(a, b), a, b)
    assert found.shape == (2, 2, 3)
    for i in range(2):
        for j in range(2):
            for k in range(3):
                left, right = Fraction(float(a[i, j, 0])), Fraction(float(b[j, k]))
                assert found[i, j, k] == float(ARITHMETIC[mnemonic](left, right))


def test_numbers_beside_tensors(apply: Apply) -> None:
    x = np.array([1.0, -3.0])
    assert apply(lambda g, x: 10 - x * 2, x).tolist() == [8, 16]
    assert apply(lambda g, x: 1 / (x + 2) - -x, x).tolist() == [1 / 3 + 1, -1 - 3]
    assert apply(lambda g, x: np.float32(0.5) * x / 4 + np.int64(1), x).tolist() == [1.125, 0.625]


def test_the_number_for_division_by_zero_is_infinity(apply: Apply) -> None:
    assert apply(lambda g, x: 1 / x, np.array(0.0), precision=Precision.STORED) == np.inf
