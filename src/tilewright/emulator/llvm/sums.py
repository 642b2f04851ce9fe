"""Sums of products rounded once, for several units at a time.

Products of halves and of quarters are exact as doubles. Their sums are made exact with error-free
transformations, or enclosed between two roundings.
"""

from collections.abc import Sequence
from functools import reduce

from llvmlite import ir

from tilewright.emulator.llvm.lanes import (
    BIT,
    DOUBLE,
    LONG,
    SINGLE,
    WORD,
    Emitted,
    any_lane,
    intrinsic,
    like,
    same_type_intrinsic,
    vector,
)
from tilewright.emulator.llvm.rounded import (
    any_of,
    flags_where,
    flushed,
    invalid_lanes,
    is_finite,
    is_infinite,
    is_nan,
    is_ordinary,
    is_signalling,
    sign_of,
)
from tilewright.target.formats import F32, Flags

Pair = tuple[Emitted, Emitted]
"""A rounded sum and its error, or a result and its flags."""


def _two_sum(builder: ir.IRBuilder, a: Emitted, b: Emitted) -> Pair:
    """The rounded sum and its error, exactly (Knuth)."""
    total = builder.fadd(a, b)
    b_part = builder.fsub(total, a)
    a_part = builder.fsub(total, b_part)
    return total, builder.fadd(builder.fsub(a, a_part), builder.fsub(b, b_part))


def _sum_and_errors(
    builder: ir.IRBuilder, terms: Sequence[Emitted]
) -> tuple[Emitted, list[Emitted]]:
    """The sum, rounded after every addition, and the errors of the additions, exactly."""
    sums, errors = list(terms), []
    while len(sums) > 1:
        pairs = [_two_sum(builder, a, b) for a, b in zip(sums[::2], sums[1::2], strict=False)]
        errors += [error for _, error in pairs]
        sums = [total for total, _ in pairs] + (sums[-1:] if len(sums) % 2 else [])
    return sums[0], errors


def _exact_sum(builder: ir.IRBuilder, terms: Sequence[Emitted]) -> Pair:
    """The sum of products as a double and the rest, exactly; the rest is below half a last place.

    The errors are added without an error: products of halves are multiples of 2**-48, those of
    quarters of 2**-34 (times the scale), and so are sums and errors. Sums stay below 2**35, so
    errors stay below 2**-17: as multiples they have no more than 34 bits.
    """
    total, errors = _sum_and_errors(builder, terms)
    if not errors:
        return total, like_zero(total)
    return _two_sum(builder, total, reduce(builder.fadd, errors))


def plain_sums(builder: ir.IRBuilder, accumulator: Emitted, products: Sequence[Emitted]) -> Pair:
    """Accumulators plus products where doubles hold every sum exactly, so that only the step to
    single rounds: patterns, and which units that is true of.

    Infinities, NaNs and subnormals are not to be trusted. A sum that is not zero does not become
    zero: it is a multiple of the least single.
    """
    units = accumulator.type.count
    singles = builder.bitcast(accumulator, vector(SINGLE, units))
    start = builder.fpext(singles, vector(DOUBLE, units))
    total, errors = _sum_and_errors(builder, products)
    high, error = _two_sum(builder, total, start)
    exact = [builder.fcmp_ordered("==", each, like_zero(each)) for each in (*errors, error)]
    single = builder.fptrunc(high, vector(SINGLE, units))
    pattern = builder.bitcast(single, accumulator.type)
    ordinary = [is_ordinary(builder, each) for each in (accumulator, pattern)]
    return pattern, reduce(builder.and_, [*exact, *ordinary])


def like_zero(value: Emitted) -> Emitted:
    return ir.Constant(value.type, [0.0] * value.type.count)


def _to_odd(builder: ir.IRBuilder, total: Emitted, rest: Emitted) -> Emitted:
    """`total` + `rest` rounded to an odd last bit if it is not exact: a later rounding to fewer
    bits then goes as if from the exact value. `rest` is less than a last place of `total`."""
    kind = vector(LONG, total.type.count)
    pattern, rest_pattern = builder.bitcast(total, kind), builder.bitcast(rest, kind)
    exact = builder.fcmp_ordered("==", rest, like_zero(rest))
    is_odd = builder.trunc(pattern, vector(BIT, total.type.count))
    signs_differ = builder.icmp_signed("<", builder.xor(pattern, rest_pattern), like(pattern, 0))
    step = builder.select(signs_differ, like(pattern, -1), like(pattern, 1))
    step = builder.select(builder.or_(exact, is_odd), like(pattern, 0), step)
    return builder.bitcast(builder.add(pattern, step), total.type)


def exact_sums(
    builder: ir.IRBuilder,
    accumulator: Emitted,
    products: Sequence[Emitted],
    bad: Emitted,
    invalid: Emitted,
) -> Pair:
    """Accumulators plus products, for vectors of units: patterns of singles, and flags.

    `accumulator` holds flushed patterns, `products` vectors of doubles. `bad` are units with an
    operand that makes a NaN, `invalid` those of them that raise INV.
    """
    units = accumulator.type.count
    doubles = vector(DOUBLE, units)
    start = builder.fpext(builder.bitcast(accumulator, vector(SINGLE, units)), doubles)
    total, rest = _exact_sum(builder, products)
    # Three parts: `total` and `start` are added exactly, then the two small parts are, and then the
    # sums. What is left is the error of the last sum or, if that is none, the one before it.
    high, low = _two_sum(builder, start, total)
    middle, least = _two_sum(builder, low, rest)
    high, low = _two_sum(builder, high, middle)
    is_exact = builder.fcmp_ordered("==", low, like_zero(low))
    left_over = builder.select(is_exact, least, low)
    single = builder.fptrunc(_to_odd(builder, high, left_over), vector(SINGLE, units))
    pattern = flushed(builder, builder.bitcast(single, accumulator.type))
    # A sum that is zero is -0 only if all its terms are.
    longs = vector(LONG, units)
    signs = reduce(builder.and_, [builder.bitcast(each, longs) for each in (start, *products)])
    sign = builder.trunc(builder.lshr(signs, like(signs, 32)), accumulator.type)
    is_zero = builder.fcmp_ordered("==", high, like_zero(high))
    pattern = builder.select(is_zero, sign_of(builder, sign), pattern)
    return _finished(builder, accumulator, pattern, bad, invalid)


def _finished(
    builder: ir.IRBuilder, accumulator: Emitted, pattern: Emitted, bad: Emitted, invalid: Emitted
) -> Pair:
    """With infinite and NaN accumulators, and flags."""
    was_infinite = is_infinite(builder, accumulator)
    pattern = builder.select(was_infinite, accumulator, pattern)
    nan = builder.or_(bad, is_nan(builder, accumulator))
    pattern = builder.select(nan, like(pattern, F32.quiet_nan), pattern)
    overflow = builder.and_(is_infinite(builder, pattern), builder.not_(was_infinite))
    invalid = builder.or_(invalid, is_signalling(builder, accumulator))
    flags = flags_where(builder, [(Flags.INV, invalid), (Flags.OFLO, overflow)])
    return pattern, flags


def single_products(builder: ir.IRBuilder, accumulator: Emitted, x: Emitted, y: Emitted) -> Pair:
    """Accumulators plus one product each, by the host's fused multiply-add, which rounds once.

    All operands are patterns of singles, flushed.
    """
    kind = vector(SINGLE, accumulator.type.count)
    operands = [builder.bitcast(each, kind) for each in (x, y, accumulator)]
    fused = same_type_intrinsic(builder, "fma", *operands)
    pattern = builder.bitcast(fused, accumulator.type)
    patterns = [accumulator, x, y]
    nan = is_nan(builder, pattern)
    finite = reduce(builder.and_, [is_finite(builder, each) for each in patterns])
    overflow = builder.and_(is_infinite(builder, pattern), finite)
    invalid = invalid_lanes(builder, nan, patterns)
    # A NaN accumulator must not hide an invalid product.
    product = builder.fmul(operands[0], operands[1])
    product_nan = is_nan(builder, builder.bitcast(product, accumulator.type))
    invalid = builder.or_(invalid, invalid_lanes(builder, product_nan, patterns[1:]))
    clean = builder.select(nan, like(pattern, F32.quiet_nan), flushed(builder, pattern))
    return clean, flags_where(builder, [(Flags.INV, invalid), (Flags.OFLO, overflow)])


def plain_single_products(
    builder: ir.IRBuilder, accumulator: Emitted, x: Emitted, y: Emitted
) -> Pair:
    """The same for normal numbers and zeros with such results, which raise no flags: patterns, and
    which units that is true of. A result too small for a single is the zero of its sign anyway."""
    kind = vector(SINGLE, accumulator.type.count)
    operands = [builder.bitcast(each, kind) for each in (x, y, accumulator)]
    fused = same_type_intrinsic(builder, "fma", *operands)
    pattern = builder.bitcast(fused, accumulator.type)
    ordinary = [is_ordinary(builder, each) for each in (accumulator, x, y, pattern)]
    return pattern, reduce(builder.and_, ordinary)


# -- enclosed between two roundings -----------------------------------------------------------

_DOWN, _UP = WORD(0b1001), WORD(0b1010)
"""Immediates of AVX-512: toward −∞ or +∞, without exceptions."""
_SUBNORMAL = WORD(0x20)
_INFINITE_OR_SUBNORMAL = WORD(0x20 | 0x10 | 0x08)
"""Classes of singles, as AVX-512 numbers them."""
UNITS = 8
"""Doubles in a vector of AVX-512: the units of one set."""


def exact_products(builder: ir.IRBuilder, xs: Sequence[Emitted], ys: Sequence[Emitted]) -> Emitted:
    """The sum of products that doubles hold exactly, as they do all its partial sums."""
    total = builder.fmul(xs[-1], ys[-1])
    for x, y in zip(xs[-2::-1], ys[-2::-1], strict=True):
        total = same_type_intrinsic(builder, "fma", x, y, total)
    return total


def enclosed_products(builder: ir.IRBuilder, xs: Sequence[Emitted], ys: Sequence[Emitted]) -> Pair:
    """Bounds of the sum of products: rounded down and rounded up."""
    last = builder.fmul(xs[-1], ys[-1])
    bounds = []
    for rounding in (_DOWN, _UP):
        total = last
        for x, y in zip(xs[-2::-1], ys[-2::-1], strict=True):
            operands = [x, y, total, rounding]
            total = intrinsic(builder, "llvm.x86.avx512.vfmadd.pd.512", x.type, operands)
        bounds.append(total)
    return bounds[0], bounds[1]


def added_between(builder: ir.IRBuilder, accumulator: Emitted, low: Emitted, high: Emitted) -> Pair:
    """Accumulators plus sums that lie from `low` to `high`: patterns, and which can be trusted.

    Sums rounded down and up enclose the exact one. If both become the same single then so does
    every number between. Infinities, NaNs and subnormals are not to be trusted.

    Zeros need not be told apart: a sum rounded up is -0 only if its terms are, as it should be. A
    true sum so small that its single is 0 is exact as a double (a sum that is not is at least
    2**53 last places of its smallest term), and has the same sign in both.
    """
    singles = builder.bitcast(accumulator, vector(SINGLE, UNITS))
    start = builder.fpext(singles, vector(DOUBLE, UNITS))
    bounds = []
    for total, rounding in ((low, _DOWN), (high, _UP)):
        operands = [start, total, rounding]
        both = intrinsic(builder, "llvm.x86.avx512.add.pd.512", start.type, operands)
        bounds.append(builder.fptrunc(both, vector(SINGLE, UNITS)))
    agree = builder.fcmp_ordered("==", *bounds)
    strange = [
        _is_of_class(builder, bounds[1], _INFINITE_OR_SUBNORMAL),
        _is_of_class(builder, singles, _SUBNORMAL),
    ]
    trusted = builder.and_(agree, builder.not_(any_of(builder, strange)))
    return builder.bitcast(bounds[1], accumulator.type), trusted


def all_trusted(builder: ir.IRBuilder, trusted: Emitted, units: int) -> Emitted:
    """Whether the first `units` of a vector of conditions hold."""
    wanted = ir.Constant(trusted.type, [int(unit < units) for unit in range(trusted.type.count)])
    return builder.not_(any_lane(builder, builder.and_(wanted, builder.not_(trusted))))


def _is_of_class(builder: ir.IRBuilder, singles: Emitted, classes: Emitted) -> Emitted:
    name = f"llvm.x86.avx512.fpclass.ps.{32 * UNITS}"
    return intrinsic(builder, name, vector(BIT, UNITS), [singles, classes])
