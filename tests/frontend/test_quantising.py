"""The scale of eight-bit weights is the best one there is."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tilewright.frontend.quantising import as_eights, best_scale
from tilewright.graph import DType

Floats = NDArray[np.float32]


def _stored(numbers: Floats, scale: int) -> NDArray[np.float64]:
    """By `ml_dtypes`, which has no saturation."""
    clipped = np.clip(np.ldexp(numbers.astype(np.float64), -scale), -240, 240)
    rounded = clipped.astype(np.float32).astype(ml_dtypes.float8_e4m3fnuz)
    return np.asarray(np.ldexp(rounded.astype(np.float64), scale))


def _error(tensors: list[Floats], scale: int) -> float:
    return sum(float(np.sum(np.square(each - _stored(each, scale)))) for each in tensors)


@given(
    seed=st.integers(0, 10**6),
    spread=st.floats(-10, 8),
    outliers=st.floats(0, 12),
    tensors=st.integers(1, 3),
)
def test_no_other_scale_has_less_error(
    seed: int, spread: float, outliers: float, tensors: int
) -> None:
    rng = np.random.default_rng(seed)
    numbers = rng.standard_t(2 + 12 - outliers, (tensors, 200)) * 2.0**spread
    numbers = [each.astype(np.float32) for each in np.clip(numbers, -65504, 65504)]
    format = best_scale(numbers)
    assert format.dtype is DType.F8F143
    least = min(_error(numbers, scale) for scale in range(-32, 32))
    assert _error(numbers, format.scale) <= least * (1 + 1e-6)


def test_a_rare_outlier_is_given_up_for_many_small_numbers() -> None:
    """At a scale that holds 241 exactly enough, the small ones would all be zero."""
    numbers = np.append(np.full(10**6, 1.4e-3), 241).astype(np.float32)
    assert best_scale([numbers]).scale == 0
    assert _error([numbers], 1) > _error([numbers], 0)


def test_zeros() -> None:
    assert best_scale([np.zeros(4, np.float32)]) == DType.F8F143.scaled(0)


@pytest.mark.parametrize("scale", [-12, 0, 3])
def test_numbers_are_rounded_as_by_another_implementation(scale: int) -> None:
    numbers = np.random.default_rng(0).normal(0, 20 * 2.0**scale, 5000).astype(np.float32)
    assert np.array_equal(as_eights(numbers, DType.F8F143.scaled(scale)), _stored(numbers, scale))
