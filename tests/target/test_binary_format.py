"""Exact rounding into half and single, against struct, NumPy and a search among all halves."""

import bisect
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.target.formats import F16, F32, BinaryFormat

BY_HAND = [
    # Half: sign 1, exponent 5 (bias 15), fraction 10.
    (F16, "0", 0x0000),
    (F16, "1", 0x3C00),
    (F16, "-1", 0xBC00),
    (F16, "1.0009765625", 0x3C01),
    (F16, "65504", 0x7BFF),
    (F16, "65519.99999", 0x7BFF),
    (F16, "65520", 0x7C00),
    (F16, "-65520", 0xFC00),
    (F16, "1e30", 0x7C00),
    (F16, "6.10352e-5", 0x0400),
    (F16, "6.09756e-5", 0x03FF),
    (F16, "5.96046e-8", 0x0001),
    (F16, "0.333251953125", 0x3555),
    # 2**-25 is half of the least half: a tie, which goes to the even 0.
    (F16, "2.98023223876953125e-8", 0x0000),
    (F16, "2.980232238769531251e-8", 0x0001),
    (F16, "2048.5", 0x6800),
    (F16, "2049", 0x6800),
    (F16, "2051", 0x6802),
    # Single: exponent 8 (bias 127), fraction 23.
    (F32, "1", 0x3F800000),
    (F32, "-2", 0xC0000000),
    (F32, "0.1", 0x3DCCCCCD),
    (F32, "16777217", 0x4B800000),
    (F32, "16777219", 0x4B800002),
    (F32, "3.4028234663852886e38", 0x7F7FFFFF),
    (F32, "340282356779733661637539395458142568447", 0x7F7FFFFF),
    (F32, "340282356779733661637539395458142568448", 0x7F800000),
    (F32, "1.401298464324817e-45", 0x00000001),
    (F32, "1e-46", 0x00000000),
    (F32, "1.17549435e-38", 0x00800000),
]


@pytest.mark.parametrize(("form", "text", "bits"), BY_HAND, ids=lambda value: str(value)[:30])
def test_pattern_by_hand(form: BinaryFormat, text: str, bits: int) -> None:
    assert form.encode(Fraction(text)) == bits


def test_constants() -> None:
    assert (F16.bias, F16.sign_bit, F16.infinity) == (15, 0x8000, 0x7C00)
    assert (F32.bias, F32.sign_bit, F32.infinity) == (127, 0x80000000, 0x7F800000)


@given(st.floats(min_value=-65519, max_value=65519))
def test_halves_agree_with_struct(value: float) -> None:
    expected = int.from_bytes(struct.pack("<e", value), "little")
    # The sign of zero is not in a fraction.
    assert F16.encode(Fraction(value)) == (0 if value == 0 else expected)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_both_agree_with_numpy(value: float) -> None:
    if value == 0:
        return
    with np.errstate(over="ignore", under="ignore"):
        assert F16.encode(Fraction(value)) == np.float64(value).astype(np.float16).view(np.uint16)
        assert F32.encode(Fraction(value)) == np.float64(value).astype(np.float32).view(np.uint32)


def test_every_half_is_its_own_pattern() -> None:
    patterns = np.arange(0x7C00, dtype=np.uint16)
    values = patterns.view(np.float16).astype(np.float64)
    assert [F16.encode(Fraction(value)) for value in values.tolist()] == patterns.tolist()
    negative = [F16.encode(Fraction(-value)) for value in values.tolist()[1:]]
    assert negative == [0x8000 + pattern for pattern in patterns.tolist()[1:]]


HALVES = [Fraction(float(value)) for value in np.arange(0x7C00, dtype=np.uint16).view(np.float16)]
HALVES.append(Fraction(65536))  # where infinity stands on the number line


@given(st.fractions(min_value=0, max_value=70000))
def test_halves_are_the_nearest_of_all(value: Fraction) -> None:
    above = min(bisect.bisect_left(HALVES, value), len(HALVES) - 1)
    below = max(above - 1, 0)
    to_above, to_below = abs(HALVES[above] - value), abs(value - HALVES[below])
    if to_above == to_below:
        expected = above if above % 2 == 0 else below
    else:
        expected = above if to_above < to_below else below
    assert F16.encode(value) == expected


@given(st.integers(0, 0x7BFF - 1), st.sampled_from([-1, 0, 1]))
def test_ties_between_halves(pattern: int, direction: int) -> None:
    middle = (HALVES[pattern] + HALVES[pattern + 1]) / 2
    nudged = middle + direction * Fraction(1, 10**30)
    even = pattern + pattern % 2
    assert F16.encode(nudged) == {-1: pattern, 0: even, 1: pattern + 1}[direction]
