"""Exponentials, logarithms, tanh and the logistic function, correctly rounded.

ASSUMED: the chip's accuracy is not published; here the result is always the nearest number
(docs/fidelity.md, `transc`).

A function is evaluated in decimal, with an error known to be small. If all numbers within that
error round to the same pattern, so does the true value; if not, more digits are taken. This ends,
because these functions are never midway between two patterns: at arguments of finite binary
expansion their values are irrational, except for the exact ones below, which are found first.
"""

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from math import ldexp
from typing import NamedTuple

from tilewright.target.formats.binary import BinaryFormat
from tilewright.target.formats.exact import (
    INVALID,
    Infinity,
    NotANumber,
    Number,
    Value,
    quotient,
    whole,
)
from tilewright.target.formats.rounding import nearest
from tilewright.target.formats.status import Flags

FIRST_DIGITS = 20
"""Digits of the first attempt; each further one has twice as many."""
GUARD_DIGITS = 10
"""More digits than the few operations of an evaluation lose, at arguments up to `SATURATED`."""
SATURATED = 2000
"""Beyond it, up or down, no format tells 2**x, e**x and their like from what they are here."""


class Function(NamedTuple):
    """A function: how to evaluate it to a relative error below 10**−digits, and its special values.

    `negative` is None if negative arguments are evaluated like positive ones. `exact` gives the
    values at finite arguments other than zero that have a finite binary expansion.
    """

    evaluate: Callable[[Decimal, int], Decimal]
    exact: Callable[[Number], Number | None]
    at_minus_infinity: Value
    negative: Value | None
    at_minus_zero: Value
    at_plus_zero: Value
    at_plus_infinity: Value


def apply(function: Function, x: Value, format: BinaryFormat) -> Value:
    """The function at `x`, in place of its true value a number that rounds alike in `format`."""
    if isinstance(x, NotANumber):
        return x
    if isinstance(x, Infinity):
        return function.at_minus_infinity if x.negative else function.at_plus_infinity
    if x.significand == 0:
        return function.at_minus_zero if x.negative else function.at_plus_zero
    if x.negative and function.negative is not None:
        return function.negative
    known = function.exact(x)
    return known if known is not None else _approximate(function, x, format)


def _approximate(function: Function, x: Number, format: BinaryFormat) -> Number:
    digits = FIRST_DIGITS
    while True:
        low, high = _enclose(function.evaluate(_decimal(x), digits), digits)
        if nearest(low, format) == nearest(high, format):
            return low
        digits *= 2


def _enclose(approximation: Decimal, digits: int) -> tuple[Number, Number]:
    """What lies a relative 10**−`digits` toward zero and away from it."""
    numerator, denominator = approximation.as_integer_ratio()
    unit = 10**digits
    scale = whole(denominator * unit)
    return (
        quotient(whole(numerator * (unit - 1)), scale),
        quotient(whole(numerator * (unit + 1)), scale),
    )


def _decimal(x: Number) -> Decimal:
    """Exact, because every number of our formats is a double."""
    return Decimal(ldexp(-x.significand if x.negative else x.significand, x.exponent))


def _context(digits: int) -> Context:
    """Every setting is given here, so that the host program's own have no effect."""
    return Context(digits + GUARD_DIGITS, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX, 1, 0, [], [])


def _saturated(x: Decimal) -> Decimal:
    return max(Decimal(-SATURATED), min(x, Decimal(SATURATED)))


def _exp(x: Decimal, digits: int) -> Decimal:
    return _context(digits).exp(_saturated(x))


def _exp2(x: Decimal, digits: int) -> Decimal:
    context = _context(digits)
    return context.exp(context.multiply(_saturated(x), context.ln(Decimal(2))))


def _ln(x: Decimal, digits: int) -> Decimal:
    return _context(digits).ln(x)


def _log2(x: Decimal, digits: int) -> Decimal:
    context = _context(digits)
    return context.divide(context.ln(x), context.ln(Decimal(2)))


def _tanh(x: Decimal, digits: int) -> Decimal:
    """(e²ˣ − 1) / (e²ˣ + 1); near 0 the difference loses as many digits as x has zeros."""
    zeros = max(0, -x.adjusted())
    context = _context(digits + zeros)
    power = context.exp(context.multiply(_saturated(x), Decimal(2)))
    return context.divide(context.subtract(power, Decimal(1)), context.add(power, Decimal(1)))


def _sigm(x: Decimal, digits: int) -> Decimal:
    context = _context(digits)
    power = context.exp(_saturated(x).copy_negate())
    return context.divide(Decimal(1), context.add(power, Decimal(1)))


def _power_of_two(x: Number) -> Number | None:
    """2**x for whole x."""
    value = _saturated(_decimal(x))
    return Number(False, 1, int(value)) if value == int(value) else None


def _exponent(x: Number) -> Number | None:
    """log₂ x for powers of two."""
    shift = x.significand.bit_length() - 1
    return whole(shift + x.exponent) if x.significand == 1 << shift else None


def _zero_at_one(x: Number) -> Number | None:
    return _ZERO if _exponent(x) == _ZERO else None


def _nowhere(x: Number) -> Number | None:
    return None


_ZERO = Number(False, 0, 0)
_MINUS_ZERO = Number(True, 0, 0)
_HALF = Number(False, 1, -1)
_ONE = Number(False, 1, 0)
_MINUS_ONE = Number(True, 1, 0)
_INFINITY = Infinity(False)
_POLE = Infinity(True, Flags.DIV0)

# fmt: off
#               evaluate  exact          at −∞        below 0  at −0        at +0  at +∞
EXP  = Function(_exp,     _nowhere,      _ZERO,       None,    _ONE,        _ONE,  _INFINITY)
EXP2 = Function(_exp2,    _power_of_two, _ZERO,       None,    _ONE,        _ONE,  _INFINITY)
LN   = Function(_ln,      _zero_at_one,  INVALID,     INVALID, _POLE,       _POLE, _INFINITY)
LOG2 = Function(_log2,    _exponent,     INVALID,     INVALID, _POLE,       _POLE, _INFINITY)
TANH = Function(_tanh,    _nowhere,      _MINUS_ONE,  None,    _MINUS_ZERO, _ZERO, _ONE)
SIGM = Function(_sigm,    _nowhere,      _ZERO,       None,    _HALF,       _HALF, _ONE)
# fmt: on
