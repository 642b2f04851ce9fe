"""Sums that are rounded once: products into an accumulator, lateral sums.

ASSUMED (docs/fidelity.md):
- `amp-round`: all products and the accumulator are added exactly, then rounded to single. The chip
  may cut the smaller ones short, and differ in the last bit.
- `aacc-width`: an accumulator is a single.
- `f16-inf`: an infinite half that is to be accumulated is invalid, so a NaN results with INV. An
  infinite single stays one.

Flushing, NaNs and overflow are those of `f32.py`. A sum that is zero is −0 only if all its terms
are; so an accumulator of −0 stands for none.
"""

from collections.abc import Iterable

from tilewright.target.formats import f32
from tilewright.target.formats.binary import F16
from tilewright.target.formats.exact import (
    INVALID,
    Infinity,
    Value,
    magnitude,
    multiply,
    scaled,
    total,
)
from tilewright.target.formats.quarter import QuarterFormat
from tilewright.target.formats.status import Result

Pairs = Iterable[tuple[int, int]]
"""Patterns to be multiplied with one another."""


def dot_f32(accumulator: int, pairs: Pairs) -> Result:
    """`accumulator` + Σ a·b for singles."""
    return _accumulated(accumulator, (multiply(f32.read(a), f32.read(b)) for a, b in pairs))


def dot_f16(accumulator: int, pairs: Pairs) -> Result:
    """`accumulator`, a single, + Σ a·b for halves."""
    return _accumulated(accumulator, (multiply(_half(a), _half(b)) for a, b in pairs))


def dot_f8(
    accumulator: int, pairs: Pairs, formats: tuple[QuarterFormat, QuarterFormat], scale: int
) -> Result:
    """`accumulator`, a single, + 2**`scale` · Σ a·b for quarters, a in the first format, b in the
    second."""
    first, second = formats
    products = (multiply(first.read(a), second.read(b)) for a, b in pairs)
    return _accumulated(accumulator, (scaled(product, scale) for product in products))


def acc_f32(accumulator: int, a: int) -> Result:
    return _accumulated(accumulator, [f32.read(a)])


def acc_f16(accumulator: int, a: int) -> Result:
    return _accumulated(accumulator, [_half(a)])


def absacc_f32(accumulator: int, a: int) -> Result:
    """`accumulator` + |a|."""
    return _accumulated(accumulator, [magnitude(f32.read(a))])


def absacc_f16(accumulator: int, a: int) -> Result:
    """`accumulator`, a single, + |a|."""
    return _accumulated(accumulator, [magnitude(_half(a))])


def sqacc_f32(accumulator: int, a: int) -> Result:
    """`accumulator` + a²."""
    return dot_f32(accumulator, [(a, a)])


def sqacc_f16(accumulator: int, a: int) -> Result:
    """`accumulator`, a single, + a²."""
    return dot_f16(accumulator, [(a, a)])


def sum_f16(halves: Iterable[int]) -> Result:
    """The sum of one or more halves, as a single."""
    return f32.rounded(total(_half(half) for half in halves))


def _accumulated(accumulator: int, terms: Iterable[Value]) -> Result:
    return f32.rounded(total([f32.read(accumulator), *terms]))


def _half(bits: int) -> Value:
    value = F16.read(bits)
    return INVALID if isinstance(value, Infinity) else value
