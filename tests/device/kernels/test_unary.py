"""Functions of halves for every finite half, and what clamping and NaN do."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewright.device import Output, run_kernel
from tilewright.device.kernels import KERNELS

EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
FINITE = EVERY[np.isfinite(EVERY)]
LARGEST = 65504.0


def applied(name: str, x: NDArray[Any]) -> NDArray[Any]:
    kernel = KERNELS[name]
    atoms = -(-x.nbytes // 8)
    run = run_kernel([kernel.source], name, [Output(x.shape, x.dtype), x, atoms])
    assert run.arrays[0] is not None
    return run.arrays[0]


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "silu", "gelu", "gelu_tanh", "relu"])
def test_every_half_is_as_close_as_the_specification_says(name: str) -> None:
    kernel = KERNELS[f"{name}_f16"]
    with np.errstate(all="ignore"):
        exact = kernel.reference({"n": FINITE.size}, {"x": FINITE})["z"].astype(np.float64)
    found = applied(kernel.name, FINITE).astype(np.float64)
    reached = np.clip(exact, -LARGEST, LARGEST)
    bound = kernel.accuracy.absolute + kernel.accuracy.relative * np.abs(reached)
    worst = np.argmax(np.abs(found - reached) - bound)
    assert abs(found[worst] - reached[worst]) <= bound[worst], f"of {FINITE[worst]}"


def test_exact_gelu_of_halves_and_singles_against_the_error_function() -> None:
    points = np.linspace(-9, 9, 2001)
    for dtype, bound in ((np.float16, 2e-3), (np.float32, 1e-6)):
        x: NDArray[Any] = points.astype(dtype)
        exact = [value * (1 + math.erf(value / math.sqrt(2))) / 2 for value in x.tolist()]
        found = applied(f"gelu_f{8 * x.itemsize}", x)
        assert np.abs(found - np.array(exact)).max() <= bound


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_gelu_far_out_is_the_identity_or_zero(dtype: type) -> None:
    x: NDArray[Any] = np.array([100, 6e4, -100, -6e4], dtype)
    for name in ("gelu", "gelu_tanh"):
        found = applied(f"{name}_f{8 * x.itemsize}", x)
        assert np.array_equal(found[:2], x[:2])
        assert np.abs(found[2:]).max() <= 1e-6


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "silu", "sqrt"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_nan_stays_nan(name: str, dtype: type) -> None:
    x: NDArray[Any] = np.array([np.nan, 1, np.nan, 0.5], dtype)
    found = applied(f"{name}_f{8 * x.itemsize}", x)
    assert np.isnan(found).tolist() == [True, False, True, False]
