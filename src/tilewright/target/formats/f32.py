"""Arithmetic of single precision: patterns in, pattern and flags out.

Results are those of IEEE 754 with rounding to nearest, ties to even; a result too large becomes an
infinity and raises OFLO.

ASSUMED (docs/fidelity.md):
- `f32-denorm`: a subnormal operand counts as the zero of its sign, and a result that IEEE rounding
  leaves subnormal becomes the zero of its sign.
- `nan-bits`: every NaN that results is 0x7fc00000.
- `transc`: reciprocals, roots and transcendental functions are correctly rounded.
- `rnd`: no other rounding direction is honoured but by `to_integral`, `to_i32` and `to_u32`.
"""

import operator

from tilewright.target.formats import exact, ordering, transcendental
from tilewright.target.formats.binary import F32
from tilewright.target.formats.classes import classify
from tilewright.target.formats.exact import Infinity, NotANumber, Number, Value, whole
from tilewright.target.formats.rounding import Rounding, integral, nearest
from tilewright.target.formats.status import Flags, Result

WORD_BITS = 32


def read(bits: int) -> Value:
    """What an operand counts as."""
    return F32.read(F32.flushed(bits))


def rounded(value: Value) -> Result:
    """The result for a value that has been computed exactly."""
    if isinstance(value, NotANumber):
        return Result(F32.quiet_nan, value.flags)
    sign = F32.sign_bit if value.negative else 0
    if isinstance(value, Infinity):
        return Result(sign | F32.infinity, value.flags)
    pattern = nearest(value, F32)
    if pattern >= F32.infinity:
        return Result(sign | F32.infinity, Flags.OFLO)
    return Result(F32.flushed(sign | pattern), Flags.NONE)


def add(a: int, b: int) -> Result:
    return rounded(exact.add(read(a), read(b)))


def sub(a: int, b: int) -> Result:
    return rounded(exact.add(read(a), exact.negated(read(b))))


def mul(a: int, b: int) -> Result:
    return rounded(exact.multiply(read(a), read(b)))


def div(a: int, b: int) -> Result:
    return rounded(exact.divide(read(a), read(b)))


def absadd(a: int, b: int) -> Result:
    return rounded(exact.add(exact.magnitude(read(a)), exact.magnitude(read(b))))


def sqrt(a: int) -> Result:
    return rounded(exact.square_root(read(a)))


def oox(a: int) -> Result:
    """1 / a; of ±0, an infinity of its sign and DIV0."""
    return rounded(exact.divide(whole(1), read(a)))


def oorx(a: int) -> Result:
    """1 / √a; of ±0, an infinity of its sign and DIV0."""
    return rounded(exact.reciprocal_root(read(a)))


def exp(a: int) -> Result:
    return _transcendental(transcendental.EXP, a)


def exp2(a: int) -> Result:
    return _transcendental(transcendental.EXP2, a)


def ln(a: int) -> Result:
    return _transcendental(transcendental.LN, a)


def log2(a: int) -> Result:
    return _transcendental(transcendental.LOG2, a)


def tanh(a: int) -> Result:
    return _transcendental(transcendental.TANH, a)


def sigm(a: int) -> Result:
    """1 / (1 + e⁻ᵃ)."""
    return _transcendental(transcendental.SIGM, a)


def eq(a: int, b: int) -> Result:
    return ordering.compare(operator.eq, F32, F32.flushed(a), F32.flushed(b))


def ne(a: int, b: int) -> Result:
    return ordering.compare(operator.ne, F32, F32.flushed(a), F32.flushed(b))


def gt(a: int, b: int) -> Result:
    return ordering.compare(operator.gt, F32, F32.flushed(a), F32.flushed(b))


def ge(a: int, b: int) -> Result:
    return ordering.compare(operator.ge, F32, F32.flushed(a), F32.flushed(b))


def lt(a: int, b: int) -> Result:
    return ordering.compare(operator.lt, F32, F32.flushed(a), F32.flushed(b))


def le(a: int, b: int) -> Result:
    return ordering.compare(operator.le, F32, F32.flushed(a), F32.flushed(b))


def maximum(a: int, b: int) -> Result:
    return ordering.maximum(F32, F32.flushed(a), F32.flushed(b))


def minimum(a: int, b: int) -> Result:
    return ordering.minimum(F32, F32.flushed(a), F32.flushed(b))


def absmax(a: int, b: int) -> Result:
    return ordering.maximum(F32, F32.magnitude(F32.flushed(a)), F32.magnitude(F32.flushed(b)))


def clamp(a: int, low: int, high: int) -> Result:
    return ordering.clamp(F32, F32.flushed(a), F32.flushed(low), F32.flushed(high))


def class_code(a: int) -> Result:
    """The `NumberClass` of the pattern, subnormal or not."""
    return Result(classify(F32, a), Flags.NONE)


def to_integral(a: int, mode: Rounding) -> Result:
    """`f32int`: the whole number that `a` rounds to, with the sign of `a` if that is zero."""
    value = read(a)
    if isinstance(value, Number):
        return rounded(Number(value.negative, integral(value, mode), 0))
    return rounded(value)


def from_i32(integer: int) -> Result:
    """From the 32 bits of a signed integer."""
    return rounded(whole(_signed(integer)))


def from_u32(integer: int) -> Result:
    return rounded(whole(integer))


def to_i32(a: int, mode: Rounding) -> Result:
    """To the 32 bits of a signed integer.

    ASSUMED: out of range, the nearer end of the range and INV; a NaN gives 0 and INV
    (docs/fidelity.md, `toi32`).
    """
    return _to_integer(a, mode, -(1 << WORD_BITS - 1), (1 << WORD_BITS - 1) - 1)


def to_u32(a: int, mode: Rounding) -> Result:
    """To an unsigned integer, ASSUMED as for `to_i32`; what rounds below 0 is out of range."""
    return _to_integer(a, mode, 0, (1 << WORD_BITS) - 1)


def sufromui(u: int) -> Result:
    """(2u + 1 − 2³²) / 2³³, which is never 0: 32 random bits to a number from −½ to ½."""
    return rounded(exact.scaled(whole(2 * u + 1 - (1 << WORD_BITS)), -(WORD_BITS + 1)))


def _transcendental(function: transcendental.Function, a: int) -> Result:
    return rounded(transcendental.apply(function, read(a), F32))


def _signed(word: int) -> int:
    return word - (1 << WORD_BITS) if word >> WORD_BITS - 1 else word


def _to_integer(a: int, mode: Rounding, least: int, greatest: int) -> Result:
    value = read(a)
    if isinstance(value, NotANumber):
        return Result(0, Flags.INV)
    if isinstance(value, Infinity):
        return Result(_word(least if value.negative else greatest), Flags.INV)
    magnitude = integral(value, mode)
    integer = -magnitude if value.negative else magnitude
    nearer = max(least, min(integer, greatest))
    return Result(_word(nearer), Flags.NONE if nearer == integer else Flags.INV)


def _word(integer: int) -> int:
    return integer & ((1 << WORD_BITS) - 1)
