"""Exponentials, logarithms, tanh and sigm, against mpmath with 300 bits."""

import decimal
import importlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tilewright.target.formats import F16, F32, BinaryFormat, Flags, Result, f16, f32

if TYPE_CHECKING:
    from tests.target.formats.conftest import Agree

mpmath: Any = importlib.import_module("mpmath")  # has no types

PRECISION = 300
NONE = Flags.NONE

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.power(2, x),
    "ln": mpmath.log,
    "log2": lambda x: mpmath.log(x, 2),
    "tanh": mpmath.tanh,
    "sigm": lambda x: 1 / (1 + mpmath.exp(-x)),
}
LOGARITHMS = ("ln", "log2")


def value_of(format: BinaryFormat, bits: int) -> float:
    if format is F16:
        return float(np.uint16(bits).view(np.float16))
    return float(np.uint32(bits).view(np.float32))


def pattern_of(format: BinaryFormat, value: float) -> int:
    """Of a value that the format has."""
    if format is F16:
        return int(np.float16(value).view(np.uint16))
    return int(np.float32(value).view(np.uint32))


def nearest(format: BinaryFormat, exact: Any) -> float:
    """By counting in steps of the format at this place, which mpmath rounds, ties to even."""
    if exact == 0:
        return 0.0
    if exact > 2.0**200:
        return math.inf
    least_exponent, fraction_bits = (-14, 10) if format is F16 else (-126, 23)
    step = max(mpmath.frexp(exact)[1] - 1, least_exponent) - fraction_bits
    return math.ldexp(int(mpmath.nint(mpmath.ldexp(exact, -step))), step)


def expected(name: str, format: BinaryFormat, bits: int) -> tuple[int, int]:
    """For finite operands, above 0 for logarithms; half overflow clips."""
    with mpmath.workprec(PRECISION):
        value = nearest(format, FUNCTIONS[name](mpmath.mpf(value_of(format, bits))))
    largest = value_of(format, format.largest)
    if abs(value) > largest:
        value = largest if format is F16 else math.inf
        return pattern_of(format, value), Flags.OFLO
    if format is F32 and abs(value) < 2.0**-126:
        value = math.copysign(0, value)
    return pattern_of(format, value), NONE


def clipping(name: str) -> Callable[[int], Result]:
    operation = getattr(f16, name)
    return lambda a: Result(*operation(a, nanoo=False))


def finite_halves(name: str) -> list[int]:
    positive = [*range(1, F16.infinity)]
    return positive if name in LOGARITHMS else positive + [F16.sign_bit | a for a in positive]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_some_halves(name: str, agree: "Agree") -> None:
    operands = [(a,) for a in finite_halves(name)[::41]]
    patterns, flags = zip(*(expected(name, F16, a) for (a,) in operands), strict=True)
    agree(clipping(name), operands, patterns, flags)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_half(name: str, agree: "Agree") -> None:
    operands = [(a,) for a in finite_halves(name)]
    patterns, flags = zip(*(expected(name, F16, a) for (a,) in operands), strict=True)
    agree(clipping(name), operands, patterns, flags)


def singles(name: str, count: int) -> list[int]:
    """Of all magnitudes, and more of those where the function is neither flat nor linear."""
    generator = np.random.default_rng(len(name))
    one = pattern_of(F32, 1.0)
    anywhere = generator.integers(F32.smallest_normal, F32.infinity, count)
    curved = generator.integers(pattern_of(F32, 2.0**-14), pattern_of(F32, 128.0), 3 * count)
    near_one = generator.integers(one - 200, one + 200, count)
    positive: list[int] = np.concatenate([anywhere, curved, near_one]).tolist()
    negative = [] if name in LOGARITHMS else [F32.sign_bit | a for a in positive]
    return positive + negative


@pytest.mark.parametrize("name", FUNCTIONS)
def test_some_singles(name: str, agree: "Agree") -> None:
    operands = [(a,) for a in singles(name, 150)]
    patterns, flags = zip(*(expected(name, F32, a) for (a,) in operands), strict=True)
    agree(getattr(f32, name), operands, patterns, flags)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_singles(name: str, agree: "Agree") -> None:
    operands = [(a,) for a in singles(name, 8000)]
    patterns, flags = zip(*(expected(name, F32, a) for (a,) in operands), strict=True)
    agree(getattr(f32, name), operands, patterns, flags)


@pytest.mark.parametrize(
    ("name", "value", "result"),
    [
        # Each is a tie, but for a term far beneath the last place: x²/2, x²/2, x³/48, x³/48.
        ("exp", 2.0**-24, 1 + 2.0**-23),
        ("exp", -3 * 2.0**-25, 1 - 2.0**-24),
        ("sigm", 3 * 2.0**-23, 0.5 + 2.0**-24),
        ("sigm", -3 * 2.0**-24, 0.5 - 2.0**-25),
    ],
)
def test_near_ties(name: str, value: float, result: float) -> None:
    assert getattr(f32, name)(pattern_of(F32, value)).bits == pattern_of(F32, result)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("exp", 128 * math.log(2)),
        ("exp", -126 * math.log(2)),
        ("sigm", -126 * math.log(2)),
        ("exp2", 128.0),
        ("exp2", -126.0),
    ],
)
def test_about_the_limits_of_singles(name: str, limit: float, agree: "Agree") -> None:
    """Where results begin to overflow, or to be flushed."""
    at_limit = pattern_of(F32, limit)
    operands = [(a,) for a in range(at_limit - 20, at_limit + 20)]
    patterns, flags = zip(*(expected(name, F32, a) for (a,) in operands), strict=True)
    assert len({pattern in (0, F32.infinity) for pattern in patterns}) == 2
    agree(getattr(f32, name), operands, patterns, flags)


ROWS = """
        −∞          −1          −0          +0          +∞
exp     0           .           1           1           ∞
exp2    0           .           1           1           ∞
ln      NaN,INV     NaN,INV     −∞,DIV0     −∞,DIV0     ∞
log2    NaN,INV     NaN,INV     −∞,DIV0     −∞,DIV0     ∞
tanh    −1          .           −0          0           1
sigm    0           .           ½           ½           1
"""
VALUES = {
    "−∞": -math.inf,
    "−1": -1.0,
    "−0": -0.0,
    "0": 0.0,
    "+0": 0.0,
    "½": 0.5,
    "1": 1.0,
    "∞": math.inf,
    "+∞": math.inf,
    "NaN": math.nan,
}
_HEADER, *_TABLE = (line.split() for line in ROWS.strip().splitlines())
SPECIAL_VALUES = [
    (name, operand, cell)
    for name, *cells in _TABLE
    for operand, cell in zip(_HEADER, cells, strict=True)
    if cell != "."
]


@pytest.mark.parametrize(("name", "operand", "cell"), SPECIAL_VALUES)
def test_special_values(name: str, operand: str, cell: str) -> None:
    text, _, flag = cell.partition(",")
    flags = Flags[flag] if flag else NONE
    value = VALUES[text]
    single = pattern_of(F32, value) if text != "NaN" else F32.quiet_nan
    assert getattr(f32, name)(pattern_of(F32, VALUES[operand])) == (single, flags)

    if math.isinf(value):
        value = math.copysign(65504, value)
        flags |= Flags.OFLO
    half = pattern_of(F16, value) if text != "NaN" else F16.quiet_nan
    assert getattr(f16, name)(pattern_of(F16, VALUES[operand]), nanoo=False) == (half, flags)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nans(name: str) -> None:
    for sign in (0, F32.sign_bit):
        assert getattr(f32, name)(sign | 0x7FC12345) == (F32.quiet_nan, NONE)
        assert getattr(f32, name)(sign | 0x7F812345) == (F32.quiet_nan, Flags.INV)
    for sign in (0, F16.sign_bit):
        assert getattr(f16, name)(sign | 0x7E45, nanoo=True) == (F16.quiet_nan, NONE)
        assert getattr(f16, name)(sign | 0x7C45, nanoo=True) == (F16.quiet_nan, Flags.INV)


def test_powers_of_two_are_exact_both_ways() -> None:
    for exponent in range(-126, 128):
        power, whole = pattern_of(F32, 2.0**exponent), pattern_of(F32, float(exponent))
        assert f32.exp2(whole) == (power, NONE)
        assert f32.log2(power) == (whole, NONE)
    for exponent in range(-24, 16):
        power, whole = pattern_of(F16, 2.0**exponent), pattern_of(F16, float(exponent))
        assert f16.exp2(whole, nanoo=True) == (power, NONE)
        assert f16.log2(power, nanoo=True) == (whole, NONE)


def test_powers_of_two_at_the_limits() -> None:
    """2**−25 is midway between 0 and the least half; 2**−150 between 0 and the least subnormal."""
    assert f16.exp2(pattern_of(F16, -25.0), nanoo=True) == (0, NONE)
    assert f16.exp2(pattern_of(F16, -24.5), nanoo=True) == (1, NONE)
    assert f32.exp2(pattern_of(F32, -127.0)) == (0, NONE)
    assert f32.exp2(pattern_of(F32, -150.0)) == (0, NONE)
    assert f32.exp2(pattern_of(F32, 128.0)) == (F32.infinity, Flags.OFLO)
    assert f32.exp2(F32.largest) == (F32.infinity, Flags.OFLO)
    assert f32.exp2(F32.sign_bit | F32.largest) == (0, NONE)


def test_logarithm_of_one_is_plus_zero() -> None:
    for name in LOGARITHMS:
        assert getattr(f32, name)(pattern_of(F32, 1.0)) == (0, NONE)
        assert getattr(f16, name)(pattern_of(F16, 1.0), nanoo=True) == (0, NONE)


def test_the_program_s_decimal_context_has_no_effect() -> None:
    operands = [pattern_of(F32, value) for value in (0.1, -0.1, 3.7, -2.5, 1e30, -1e30)]
    positive = [a for a in operands if a < F32.sign_bit]

    def results() -> list[Result]:
        return [
            getattr(f32, name)(a)
            for name in FUNCTIONS
            for a in (positive if name in LOGARITHMS else operands)
        ]

    before = results()
    with decimal.localcontext() as context:
        context.prec = 2
        context.Emax, context.Emin = 3, -3
        context.rounding = decimal.ROUND_UP
        context.traps[decimal.Inexact] = True
        assert results() == before
