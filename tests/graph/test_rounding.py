"""Rounding to storage formats, against ml_dtypes, the chip's formats, and the list of all codes."""

from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.graph import DType, NumberFormat, round_to
from tilewright.target.formats import F143, f16_to_f8
from tilewright.target.formats.exact import Number

CODES = np.arange(256, dtype=np.uint8)
NUMBERS = CODES.view(ml_dtypes.float8_e4m3fnuz).astype(np.float64)
FINITE = np.sort(NUMBERS[~np.isnan(NUMBERS)])


def _rounded(value: float, scale: int = 0) -> float:
    return float(round_to(DType.F8F143.scaled(scale), np.array(value)))


def _nearest(value: float) -> float:
    """Of all 255 numbers the nearest; of two equally near, the one with an even code."""
    exact = Fraction(value)
    place = bisect_left(FINITE.tolist(), value)
    around = FINITE[max(place - 1, 0) : place + 1].tolist()
    return min(map(float, around), key=lambda each: (abs(Fraction(each) - exact), _code(each) % 2))


def _code(number: float) -> int:
    return int(CODES[number == NUMBERS][0])


def test_the_numbers_of_the_format_stay() -> None:
    for number in FINITE:
        assert _rounded(number) == number


def test_ties_go_to_even_codes() -> None:
    for low, high in pairwise(FINITE):
        assert _rounded((low + high) / 2) == (low if _code(low) % 2 == 0 else high)


@given(st.floats(-300, 300))
def test_to_the_nearest_of_all_numbers(value: float) -> None:
    assert _rounded(value) == _nearest(value)


@given(st.floats(-0.02, 0.02))
def test_to_the_nearest_of_all_small_numbers(value: float) -> None:
    assert _rounded(value) == _nearest(value)


@given(st.floats(-240, 240))
def test_as_ml_dtypes_where_that_does_not_overflow(value: float) -> None:
    assert _rounded(value) == float(ml_dtypes.float8_e4m3fnuz(value))


@given(st.floats(width=16, allow_nan=False), st.integers(-32, 31))
def test_as_the_chip_converts_halves_without_nanoo(value: float, scale: int) -> None:
    """The chip multiplies by 2**its scale; a tensor's scale is what numbers were divided by."""
    bits = int(np.float16(value).view(np.uint16))
    read = F143.read(f16_to_f8(bits, F143, -scale, nanoo=False).bits)
    assert isinstance(read, Number)
    magnitude = read.significand * Fraction(2) ** read.exponent
    expected = (-magnitude if read.negative else magnitude) * Fraction(2) ** scale
    assert Fraction(_rounded(value, scale)) == expected


def test_saturation_and_nan() -> None:
    assert [_rounded(value) for value in (240.1, 1e9, np.inf)] == [240, 240, 240]
    assert [_rounded(value, 3) for value in (-1e9, -np.inf)] == [-1920, -1920]
    assert np.isnan(_rounded(np.nan))


def test_there_is_no_negative_zero() -> None:
    assert not np.signbit(_rounded(-0.0))
    assert not np.signbit(_rounded(-1e-9))


@given(st.floats(allow_nan=False))
def test_halves_and_singles_are_numpys(value: float) -> None:
    array = np.array(value)
    with np.errstate(over="ignore"):
        for dtype, narrow in ((DType.F16, np.float16), (DType.F32, np.float32)):
            assert float(round_to(NumberFormat(dtype), array)) == float(narrow(value))


@pytest.mark.parametrize("value", [2.0**31 - 1, -(2.0**31), 16777217.0])
def test_whole_numbers_stay(value: float) -> None:
    assert float(round_to(NumberFormat(DType.I32), np.array(value))) == value
