"""Quotients and roots: cut off, with a last bit that tells whether digits were left over."""

from fractions import Fraction

import pytest

from tilewright.target.formats.exact import (
    QUOTIENT_BITS,
    Number,
    Value,
    quotient,
    reciprocal_root,
    square_root,
)

SIGNIFICANDS = [1, 2, 3, 9, 25, 2**23 + 1, 2**24 - 1]
EXPONENTS = [-149, -2, -1, 0, 1, 104]


def fraction(value: Value) -> Fraction:
    assert isinstance(value, Number)
    return Fraction(value.significand) * Fraction(2) ** value.exponent


def limits(value: Value) -> tuple[Fraction, Fraction]:
    """What was cut off lies between these; they are equal if nothing was."""
    assert isinstance(value, Number)
    assert value.significand.bit_length() > QUOTIENT_BITS
    last = value.significand & 1
    return (
        fraction(value._replace(significand=value.significand - last)),
        fraction(value._replace(significand=value.significand + last)),
    )


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("significand", SIGNIFICANDS)
def test_roots(significand: int, exponent: int) -> None:
    x = Number(False, significand, exponent)
    low, high = limits(square_root(x))
    assert low**2 <= fraction(x) <= high**2
    assert low == high or low**2 < fraction(x) < high**2
    low, high = limits(reciprocal_root(x))
    assert low**2 * fraction(x) <= 1 <= high**2 * fraction(x)
    assert low == high or low**2 * fraction(x) < 1 < high**2 * fraction(x)


@pytest.mark.parametrize("divisor", SIGNIFICANDS)
@pytest.mark.parametrize("dividend", SIGNIFICANDS)
def test_quotients(dividend: int, divisor: int) -> None:
    exact = Fraction(dividend, divisor) * 2**7
    low, high = limits(quotient(Number(False, dividend, 3), Number(False, divisor, -4)))
    assert low == exact == high or low < exact < high
