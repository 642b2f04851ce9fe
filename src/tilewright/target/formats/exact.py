"""Numbers before they are rounded, and arithmetic on them that makes no error.

An operation reads its operands as values, computes here, and rounds once, into its format. Zeros
carry a sign, and the rules for signs, infinities and NaNs are those of IEEE 754.
"""

from collections.abc import Iterable
from functools import reduce
from math import isqrt
from operator import or_
from typing import NamedTuple

from tilewright.target.formats.status import Flags

QUOTIENT_BITS = 64
"""Least width of a quotient or root. One more bit, the last, is set if digits were left over, so
that rounding to fewer bits than this goes as if all of them were there."""


class Number(NamedTuple):
    """`significand` · 2**`exponent`, negated if `negative`; the significand is never negative."""

    negative: bool
    significand: int
    exponent: int


class Infinity(NamedTuple):
    """An infinity, and the flags raised where a finite operand made it."""

    negative: bool
    flags: Flags = Flags.NONE


class NotANumber(NamedTuple):
    """A NaN, and the flags it raises: INV if it is signalling or was made just now."""

    flags: Flags


Value = Number | Infinity | NotANumber

INVALID = NotANumber(Flags.INV)


def whole(integer: int) -> Number:
    return Number(integer < 0, abs(integer), 0)


def scaled(value: Value, power: int) -> Value:
    """`value` · 2**`power`."""
    if isinstance(value, Number):
        return value._replace(exponent=value.exponent + power)
    return value


def negated(value: Value) -> Value:
    return value if isinstance(value, NotANumber) else value._replace(negative=not value.negative)


def magnitude(value: Value) -> Value:
    return value if isinstance(value, NotANumber) else value._replace(negative=False)


def add(x: Value, y: Value) -> Value:
    if isinstance(x, Number) and isinstance(y, Number):
        return _add_numbers(x, y)
    return total((x, y))


def total(terms: Iterable[Value]) -> Value:
    """The sum of one or more terms, whatever their order; −0 only if every term is −0."""
    terms = tuple(terms)
    nans = [term for term in terms if isinstance(term, NotANumber)]
    if nans:
        return _nan_of(*nans)
    signs = {term.negative for term in terms if isinstance(term, Infinity)}
    if len(signs) == 2:
        return INVALID
    if signs:
        return Infinity(signs.pop())
    return reduce(_add_numbers, (term for term in terms if isinstance(term, Number)))


def multiply(x: Value, y: Value) -> Value:
    if isinstance(x, NotANumber) or isinstance(y, NotANumber):
        return _nan_of(x, y)
    negative = x.negative != y.negative
    if isinstance(x, Number) and isinstance(y, Number):
        return Number(negative, x.significand * y.significand, x.exponent + y.exponent)
    if _is_zero(x) or _is_zero(y):
        return INVALID
    return Infinity(negative)


def divide(x: Value, y: Value) -> Value:
    """x / y, to more digits than any rounding can see."""
    if isinstance(x, NotANumber) or isinstance(y, NotANumber):
        return _nan_of(x, y)
    negative = x.negative != y.negative
    if isinstance(x, Infinity):
        return INVALID if isinstance(y, Infinity) else Infinity(negative)
    if isinstance(y, Infinity):
        return Number(negative, 0, 0)
    if _is_zero(y):
        return INVALID if _is_zero(x) else Infinity(negative, Flags.DIV0)
    return quotient(x, y)


def quotient(x: Number, y: Number) -> Number:
    """x / y for y ≠ 0, to more digits than any rounding can see."""
    shift = max(0, QUOTIENT_BITS + y.significand.bit_length() - x.significand.bit_length())
    digits, rest = divmod(x.significand << shift, y.significand)
    exponent = x.exponent - y.exponent - shift
    return Number(x.negative != y.negative, digits << 1 | (rest != 0), exponent - 1)


def square_root(x: Value) -> Value:
    """√x, to more digits than any rounding can see; √−0 is −0."""
    if isinstance(x, NotANumber) or _is_zero(x):
        return x
    if x.negative:
        return INVALID
    if isinstance(x, Infinity):
        return x
    # Half the exponent has to be whole, and the root has half as many digits as its square.
    shift = 2 * QUOTIENT_BITS + x.exponent % 2
    square = x.significand << shift
    root = isqrt(square)
    return Number(False, root << 1 | (root * root != square), (x.exponent - shift) // 2 - 1)


def reciprocal_root(x: Value) -> Value:
    """1 / √x, to more digits than any rounding can see; 1 / √−0 is −∞."""
    if isinstance(x, NotANumber):
        return x
    if _is_zero(x):
        return Infinity(x.negative, Flags.DIV0)
    if x.negative:
        return INVALID
    if isinstance(x, Infinity):
        return Number(False, 0, 0)
    # As above for (1/significand) · 2**shift, of which the whole part holds every digit needed.
    shift = 2 * QUOTIENT_BITS + 2 * x.significand.bit_length() + x.exponent % 2
    root = isqrt((1 << shift) // x.significand)
    left_over = root * root * x.significand != 1 << shift
    return Number(False, root << 1 | left_over, -(x.exponent + shift) // 2 - 1)


def _add_numbers(x: Number, y: Number) -> Number:
    exponent = min(x.exponent, y.exponent)
    x_part = x.significand << (x.exponent - exponent)
    y_part = y.significand << (y.exponent - exponent)
    if x.negative == y.negative:
        return Number(x.negative, x_part + y_part, exponent)
    difference = y_part - x_part if x.negative else x_part - y_part
    return Number(difference < 0, abs(difference), exponent)


def _is_zero(value: Value) -> bool:
    return isinstance(value, Number) and value.significand == 0


def _nan_of(*operands: Value) -> NotANumber:
    """The NaN that an operation with a NaN among its operands gives."""
    return NotANumber(reduce(or_, (x.flags for x in operands if isinstance(x, NotANumber))))
