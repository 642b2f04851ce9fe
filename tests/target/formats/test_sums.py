"""Sums rounded once, against exact fractions."""

import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tilewright.target.formats import (
    F16,
    F32,
    F143,
    F152,
    Flags,
    QuarterFormat,
    Result,
    absacc_f16,
    absacc_f32,
    acc_f16,
    acc_f32,
    dot_f8,
    dot_f16,
    dot_f32,
    f32,
    sqacc_f16,
    sqacc_f32,
    sum_f16,
)

Pairs = list[tuple[int, int]]

NONE = Flags.NONE
INVALID = Result(F32.quiet_nan, Flags.INV)
QUIET = Result(F32.quiet_nan, NONE)
NO_ACCUMULATOR = 0x80000000
HALF_INFINITY = 0x7C00
HALF_NAN = 0x7E00
HALF_SIGNALLING = 0x7C01


def single(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def half(value: float) -> int:
    return int(np.float16(value).view(np.uint16))


def of_single(bits: int) -> Fraction:
    """Flushed, as the chip reads it."""
    value = float(np.uint32(bits).view(np.float32))
    return Fraction(value) if abs(value) >= 2.0**-126 else Fraction(0)


def of_half(bits: int) -> Fraction:
    return Fraction(float(np.uint16(bits).view(np.float16)))


def of_quarter(code: int, format: QuarterFormat) -> Fraction:
    dtype = ml_dtypes.float8_e4m3fnuz if format is F143 else ml_dtypes.float8_e5m2fnuz
    return Fraction(float(np.uint8(code).view(dtype)))


def nearest(exact: Fraction) -> Result:
    """Of a sum that is not zero, by counting in steps: `round` sends ties to even."""
    magnitude = abs(exact)
    binade = math.floor(math.log2(magnitude))
    # The logarithm may be off next to a power of two.
    binade += (magnitude >= Fraction(2) ** (binade + 1)) - (magnitude < Fraction(2) ** binade)
    step = Fraction(2) ** (max(binade, -126) - 23)
    rounded = round(exact / step) * step
    if abs(rounded) >= Fraction(2) ** 128:
        return Result(single(math.copysign(math.inf, exact)), Flags.OFLO)
    if abs(rounded) < Fraction(2) ** -126:
        return Result(single(math.copysign(0, exact)), NONE)
    return Result(single(float(rounded)), NONE)


def random_singles(generator: np.random.Generator, count: int) -> list[int]:
    """Within forty binades, so that sums of products round, cancel and swamp one another."""
    fields = generator.integers(107, 147, count)
    signs, fractions = generator.integers(0, 2, count), generator.integers(0, 1 << 23, count)
    patterns: list[int] = (signs << 31 | fields << 23 | fractions).tolist()
    return patterns


def random_halves(generator: np.random.Generator, count: int) -> list[int]:
    signs, magnitudes = generator.integers(0, 2, count), generator.integers(0, F16.infinity, count)
    patterns: list[int] = (signs << 15 | magnitudes).tolist()
    return patterns


def chunks(patterns: Iterable[int], size: int) -> Iterable[list[int]]:
    patterns = iter(patterns)
    while chunk := list(itertools.islice(patterns, size)):
        yield chunk


def paired(patterns: list[int]) -> Pairs:
    return list(zip(patterns[::2], patterns[1::2], strict=True))


@pytest.mark.parametrize("size", [1, 2, 4, 16])
def test_dot_of_halves(size: int) -> None:
    generator = np.random.default_rng(size)
    accumulators = random_singles(generator, 1500)
    operands = chunks(random_halves(generator, 1500 * 2 * size), 2 * size)
    for accumulator, row in zip(accumulators, operands, strict=True):
        pairs = paired(row)
        exact = of_single(accumulator) + sum(of_half(a) * of_half(b) for a, b in pairs)
        assert dot_f16(accumulator, pairs) == nearest(exact), (hex(accumulator), pairs)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_dot_of_singles(size: int) -> None:
    generator = np.random.default_rng(10 + size)
    accumulators = random_singles(generator, 1500)
    operands = chunks(random_singles(generator, 1500 * 2 * size), 2 * size)
    for accumulator, row in zip(accumulators, operands, strict=True):
        pairs = paired(row)
        exact = of_single(accumulator) + sum(of_single(a) * of_single(b) for a, b in pairs)
        assert dot_f32(accumulator, pairs) == nearest(exact), (hex(accumulator), pairs)


@pytest.mark.parametrize("formats", [*itertools.product([F143, F152], repeat=2)])
def test_dot_of_quarters(formats: tuple[QuarterFormat, QuarterFormat]) -> None:
    generator = np.random.default_rng(8)
    for accumulator in random_singles(generator, 600):
        codes = generator.integers(0, 255, 16)
        pairs = paired((codes + (codes >= 0x80)).tolist())
        scale = int(generator.integers(-64, 63))
        products = (of_quarter(a, formats[0]) * of_quarter(b, formats[1]) for a, b in pairs)
        exact = of_single(accumulator) + sum(products) * Fraction(2) ** scale
        assert dot_f8(accumulator, pairs, formats, scale) == nearest(exact)


def test_every_pair_of_codes() -> None:
    """Their products are singles."""
    codes = np.arange(256, dtype=np.uint8)
    first = codes.view(ml_dtypes.float8_e4m3fnuz).astype(np.float32)
    second = codes.view(ml_dtypes.float8_e5m2fnuz).astype(np.float32)
    products = first[:, None] * second + np.float32(0)
    patterns = np.where(np.isnan(products), F32.quiet_nan, products.view(np.uint32)).tolist()
    for a, b in itertools.product(range(256), repeat=2):
        assert dot_f8(0, [(a, b)], (F143, F152), 0) == (patterns[a][b], NONE)


def test_nothing_is_lost_on_the_way() -> None:
    """The sum in between is beyond 24 bits, and beyond the largest single."""
    huge, one = single(2.0**127), single(1)
    minus_two = single(-2)
    assert dot_f32(huge, [(huge, one), (huge, minus_two), (one, one)]) == (one, NONE)
    assert dot_f16(single(2.0**24), [(half(1), half(1)), (half(2.0**-24), half(2.0**-24))]) == (
        single(2.0**24 + 2),
        NONE,
    )


def test_squares_and_magnitudes() -> None:
    generator = np.random.default_rng(3)
    accumulators = random_singles(generator, 1000)
    for accumulator, a in zip(accumulators, random_halves(generator, 1000), strict=True):
        start, value = of_single(accumulator), of_half(a)
        assert acc_f16(accumulator, a) == nearest(start + value)
        assert absacc_f16(accumulator, a) == nearest(start + abs(value))
        assert sqacc_f16(accumulator, a) == nearest(start + value**2)
    for accumulator, a in zip(accumulators, random_singles(generator, 1000), strict=True):
        start, value = of_single(accumulator), of_single(a)
        assert acc_f32(accumulator, a) == nearest(start + value)
        assert absacc_f32(accumulator, a) == nearest(start + abs(value))
        assert sqacc_f32(accumulator, a) == nearest(start + value**2)


def test_accumulating_a_single_is_adding_it(special_f32: list[int]) -> None:
    for accumulator, a in itertools.product(special_f32, repeat=2):
        assert acc_f32(accumulator, a) == f32.add(accumulator, a)
        assert absacc_f32(accumulator, a) == f32.add(accumulator, F32.magnitude(a))


def test_product_without_accumulator_is_a_multiplication(special_f32: list[int]) -> None:
    for a, b in itertools.product(special_f32, repeat=2):
        assert dot_f32(NO_ACCUMULATOR, [(a, b)]) == f32.mul(a, b)


@pytest.mark.parametrize("size", [2, 4])
def test_lateral_sums(size: int) -> None:
    generator = np.random.default_rng(20 + size)
    for row in chunks(random_halves(generator, 2000 * size), size):
        assert sum_f16(row) == nearest(Fraction(sum(map(of_half, row))))


def test_zeros_and_their_signs() -> None:
    zero, minus_zero, one = half(0.0), half(-0.0), half(1)
    assert sum_f16([minus_zero, minus_zero]) == (0x80000000, NONE)
    assert sum_f16([minus_zero, zero]) == (0, NONE)
    assert sum_f16([one, half(-1), minus_zero]) == (0, NONE)
    assert dot_f16(0, [(minus_zero, one)]) == (0, NONE)
    assert dot_f16(0x80000000, [(minus_zero, one)]) == (0x80000000, NONE)
    assert acc_f32(0x80000001, 0x807FFFFF) == (0x80000000, NONE)


@pytest.mark.parametrize("sign", [0, 0x8000])
@pytest.mark.parametrize(
    "operation",
    [
        lambda a: acc_f16(0, a),
        lambda a: absacc_f16(0, a),
        lambda a: sqacc_f16(0, a),
        lambda a: dot_f16(0, [(a, half(1))]),
        lambda a: dot_f16(0, [(half(0), a)]),
        lambda a: dot_f16(single(math.inf), [(half(1), half(1)), (a, a)]),
        lambda a: sum_f16([half(1), a]),
    ],
)
def test_half_infinities_and_nans_make_nans(operation: Callable[[int], Result], sign: int) -> None:
    assert operation(sign | HALF_INFINITY) == INVALID
    assert operation(sign | HALF_SIGNALLING) == INVALID
    assert operation(sign | HALF_NAN) == QUIET


@pytest.mark.parametrize(
    ("accumulator", "pairs", "result"),
    [
        (math.inf, [(1, 1)], Result(F32.infinity, NONE)),
        (1, [(-math.inf, 2)], Result(single(-math.inf), NONE)),
        (math.inf, [(-math.inf, 1)], INVALID),
        (0, [(math.inf, 1), (math.inf, -1)], INVALID),
        (0, [(math.inf, 0)], INVALID),
        (math.nan, [(1, 1)], QUIET),
        (math.nan, [(math.inf, 1), (-math.inf, 1)], QUIET),
        (math.nan, [(math.inf, 0)], INVALID),
        (2.0**127, [(2.0**127, 1)], Result(F32.infinity, Flags.OFLO)),
        (0, [(-(2.0**100), 2.0**100)], Result(single(-math.inf), Flags.OFLO)),
    ],
)
def test_infinities_and_nans_among_singles(
    accumulator: float, pairs: list[tuple[float, float]], result: Result
) -> None:
    patterns = [(single(a), single(b)) for a, b in pairs]
    assert dot_f32(single(accumulator), patterns) == result


def test_signalling_nan_is_told_wherever_it_is() -> None:
    signalling, one = 0x7F800001, single(1)
    assert dot_f32(signalling, [(one, one)]) == INVALID
    assert dot_f32(single(math.nan), [(one, signalling)]) == INVALID
    assert acc_f16(signalling, HALF_NAN) == INVALID
