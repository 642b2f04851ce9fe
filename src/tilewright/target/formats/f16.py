"""Arithmetic of half precision: patterns in, pattern and flags out.

Results are those of IEEE 754 with rounding to nearest, ties to even, subnormals included, but for
one thing: no operation gives an infinity. What would be one, or would round beyond 65504, raises
OFLO and becomes a NaN if `nanoo` (`$FP_CTL.NANOO`) is set, else the largest number of its sign.

ASSUMED (docs/fidelity.md):
- `f16-inf`: an infinite operand is as in IEEE 754 until the result is formed: ∞ + 1 overflows,
  tanh ∞ is 1, ∞ − ∞ and 0·∞ are invalid; ln 0 raises DIV0 and overflows. Comparisons, maximum,
  minimum, absmax and clamp are about order only and give an infinity back as it is.
- `nan-bits`: every NaN that results is 0x7e00.
- `transc`: transcendental functions are correctly rounded.
- `sr-scope`: rounding is stochastic only where a single is converted (`conversion.py`).
"""

import operator

from tilewright.target.formats import exact, ordering, transcendental
from tilewright.target.formats.binary import F16
from tilewright.target.formats.classes import classify
from tilewright.target.formats.exact import Infinity, NotANumber, Value, whole
from tilewright.target.formats.rounding import nearest, stochastic
from tilewright.target.formats.status import Flags, Result

HALF_BITS = 16


def rounded(value: Value, *, nanoo: bool, random: int | None = None) -> Result:
    """The result for a value that has been computed exactly.

    With 16 bits `random`, rounding is stochastic.
    """
    if isinstance(value, NotANumber):
        return Result(F16.quiet_nan, value.flags)
    sign = F16.sign_bit if value.negative else 0
    if isinstance(value, Infinity):
        return _overflow(sign, value.flags, nanoo)
    pattern = nearest(value, F16) if random is None else stochastic(value, F16, random)
    if pattern >= F16.infinity:
        return _overflow(sign, Flags.NONE, nanoo)
    return Result(sign | pattern, Flags.NONE)


def add(a: int, b: int, *, nanoo: bool) -> Result:
    return rounded(exact.add(F16.read(a), F16.read(b)), nanoo=nanoo)


def sub(a: int, b: int, *, nanoo: bool) -> Result:
    return rounded(exact.add(F16.read(a), exact.negated(F16.read(b))), nanoo=nanoo)


def mul(a: int, b: int, *, nanoo: bool) -> Result:
    return rounded(exact.multiply(F16.read(a), F16.read(b)), nanoo=nanoo)


def absadd(a: int, b: int, *, nanoo: bool) -> Result:
    sum_ = exact.add(exact.magnitude(F16.read(a)), exact.magnitude(F16.read(b)))
    return rounded(sum_, nanoo=nanoo)


def exp(a: int, *, nanoo: bool) -> Result:
    return _transcendental(transcendental.EXP, a, nanoo)


def exp2(a: int, *, nanoo: bool) -> Result:
    return _transcendental(transcendental.EXP2, a, nanoo)


def ln(a: int, *, nanoo: bool) -> Result:
    return _transcendental(transcendental.LN, a, nanoo)


def log2(a: int, *, nanoo: bool) -> Result:
    return _transcendental(transcendental.LOG2, a, nanoo)


def tanh(a: int, *, nanoo: bool) -> Result:
    return _transcendental(transcendental.TANH, a, nanoo)


def sigm(a: int, *, nanoo: bool) -> Result:
    """1 / (1 + e⁻ᵃ)."""
    return _transcendental(transcendental.SIGM, a, nanoo)


def eq(a: int, b: int) -> Result:
    return ordering.compare(operator.eq, F16, a, b)


def ne(a: int, b: int) -> Result:
    return ordering.compare(operator.ne, F16, a, b)


def gt(a: int, b: int) -> Result:
    return ordering.compare(operator.gt, F16, a, b)


def ge(a: int, b: int) -> Result:
    return ordering.compare(operator.ge, F16, a, b)


def lt(a: int, b: int) -> Result:
    return ordering.compare(operator.lt, F16, a, b)


def le(a: int, b: int) -> Result:
    return ordering.compare(operator.le, F16, a, b)


def maximum(a: int, b: int) -> Result:
    return ordering.maximum(F16, a, b)


def minimum(a: int, b: int) -> Result:
    return ordering.minimum(F16, a, b)


def absmax(a: int, b: int) -> Result:
    return ordering.maximum(F16, F16.magnitude(a), F16.magnitude(b))


def clamp(a: int, low: int, high: int) -> Result:
    return ordering.clamp(F16, a, low, high)


def class_code(a: int) -> Result:
    """The `NumberClass` of the pattern."""
    return Result(classify(F16, a), Flags.NONE)


def sufromui(u: int) -> Result:
    """(2u + 1 − 2¹⁶) / 2¹⁷, which is never 0: 16 random bits to a number from −½ to ½."""
    uniform = exact.scaled(whole(2 * u + 1 - (1 << HALF_BITS)), -(HALF_BITS + 1))
    return rounded(uniform, nanoo=False)


def _transcendental(function: transcendental.Function, a: int, nanoo: bool) -> Result:
    return rounded(transcendental.apply(function, F16.read(a), F16), nanoo=nanoo)


def _overflow(sign: int, flags: Flags, nanoo: bool) -> Result:
    return Result(F16.quiet_nan if nanoo else sign | F16.largest, flags | Flags.OFLO)
