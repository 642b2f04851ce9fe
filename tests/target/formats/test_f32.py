"""Singles, against NumPy's float32 with the chip's ways with subnormals, NaNs and overflow."""

import itertools
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pytest

from tilewright.target.formats import F32, Flags, Result, Rounding, f32

if TYPE_CHECKING:
    from tests.target.formats.conftest import Agree

Pairs = list[tuple[int, int]]
Words = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]

SIGN = 0x80000000
INFINITY = 0x7F800000
NAN = 0x7FC00000
SIGNALLING = 0x7F800001
LEAST_NORMAL = 0x00800000
LARGEST_SUBNORMAL = 0x007FFFFF
ONE = 0x3F800000
ALL_ONES = 0xFFFFFFFF


def pattern(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def number(bits: int) -> Fraction:
    return Fraction(float(np.uint32(bits).view(np.float32)))


def words(patterns: list[int]) -> Words:
    return np.array(patterns, np.uint32)


def flushed(patterns: Words) -> Words:
    return np.where(patterns & INFINITY, patterns, patterns & SIGN).astype(np.uint32)


def is_nan(patterns: Words) -> Mask:
    return np.asarray(np.isnan(patterns.view(np.float32)))


def is_signalling(patterns: Words) -> Mask:
    return np.asarray(is_nan(patterns) & (patterns & 0x400000 == 0))


def ieee(
    operation: Callable[..., npt.NDArray[np.float32]], operands: list[Words], *, divides: bool
) -> tuple[list[int], list[int]]:
    """Patterns and flags by IEEE arithmetic, flushed before and after."""
    values = [flushed(operand).view(np.float32) for operand in operands]
    with np.errstate(all="ignore"):
        result = operation(*values)
    patterns = np.where(np.isnan(result), NAN, flushed(result.view(np.uint32)))
    new_nan = np.isnan(result) & ~np.any([np.isnan(value) for value in values], axis=0)
    signalling = np.any([is_signalling(operand) for operand in operands], axis=0)
    new_infinity = np.isinf(result) & np.all([np.isfinite(value) for value in values], axis=0)
    pole = new_infinity & (values[-1] == 0) if divides else np.zeros_like(new_infinity)
    flags = 1 * (new_nan | signalling) + 2 * pole + 4 * (new_infinity & ~pole)
    return patterns.tolist(), flags.tolist()


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "absadd"])
def test_arithmetic_of_two(name: str, pairs_f32: Pairs, agree: "Agree") -> None:
    by_numpy: dict[str, Callable[..., npt.NDArray[np.float32]]] = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "absadd": lambda a, b: np.abs(a) + np.abs(b),
    }
    a, b = zip(*pairs_f32, strict=True)
    want = ieee(by_numpy[name], [words(list(a)), words(list(b))], divides=name == "div")
    agree(getattr(f32, name), pairs_f32, *want)


def test_square_root(pairs_f32: Pairs, agree: "Agree") -> None:
    operands = [a for a, _ in pairs_f32]
    agree(f32.sqrt, [(a,) for a in operands], *ieee(np.sqrt, [words(operands)], divides=False))


def test_reciprocal(pairs_f32: Pairs, agree: "Agree") -> None:
    operands = [a for a, _ in pairs_f32]
    want = ieee(lambda a: np.float32(1) / a, [words(operands)], divides=True)
    agree(f32.oox, [(a,) for a in operands], *want)


def test_reciprocal_root_is_the_nearest(pairs_f32: Pairs) -> None:
    """Of a normal number: 1/√a lies between the midpoints to both neighbours of the result."""
    operands = [a for a, _ in pairs_f32 if LEAST_NORMAL <= a < INFINITY]
    assert len(operands) > 4000
    for a in operands:
        bits, flags = f32.oorx(a)
        below, here, above = (number(near) for near in (bits - 1, bits, bits + 1))
        assert flags == Flags.NONE
        assert ((below + here) / 2) ** 2 * number(a) <= 1 <= ((here + above) / 2) ** 2 * number(a)


@pytest.mark.parametrize(
    ("a", "result"),
    [
        (pattern(4), Result(pattern(0.5), Flags.NONE)),
        (pattern(2.0**-126), Result(pattern(2.0**63), Flags.NONE)),
        (0, Result(INFINITY, Flags.DIV0)),
        (SIGN, Result(SIGN | INFINITY, Flags.DIV0)),
        (1, Result(INFINITY, Flags.DIV0)),
        (INFINITY, Result(0, Flags.NONE)),
        (SIGN | INFINITY, Result(NAN, Flags.INV)),
        (pattern(-1), Result(NAN, Flags.INV)),
        (NAN | SIGN | 5, Result(NAN, Flags.NONE)),
        (SIGNALLING, Result(NAN, Flags.INV)),
    ],
)
def test_reciprocal_root_of(a: int, result: Result) -> None:
    assert f32.oorx(a) == result


@pytest.mark.parametrize(
    ("operation", "operands", "result"),
    [
        (f32.add, (LEAST_NORMAL, SIGN | LEAST_NORMAL + 1), Result(SIGN, Flags.NONE)),
        (f32.sub, (LEAST_NORMAL + 1, LEAST_NORMAL), Result(0, Flags.NONE)),
        (f32.add, (LARGEST_SUBNORMAL, ONE), Result(ONE, Flags.NONE)),
        (f32.add, (SIGN | 1, SIGN | 1), Result(SIGN, Flags.NONE)),
        (f32.mul, (LEAST_NORMAL, SIGN | ONE - 1), Result(SIGN | LEAST_NORMAL, Flags.NONE)),
        (f32.mul, (LEAST_NORMAL, ONE - 2), Result(0, Flags.NONE)),
        (f32.mul, (1, INFINITY), Result(NAN, Flags.INV)),
        (f32.div, (ONE, 1), Result(INFINITY, Flags.DIV0)),
        (f32.div, (1, SIGN | 1), Result(NAN, Flags.INV)),
        (f32.sqrt, (SIGN | 1,), Result(SIGN, Flags.NONE)),
        (f32.exp, (LARGEST_SUBNORMAL,), Result(ONE, Flags.NONE)),
        (f32.eq, (LARGEST_SUBNORMAL, SIGN), Result(ALL_ONES, Flags.NONE)),
        (f32.maximum, (SIGN | 1, 1), Result(0, Flags.NONE)),
        (f32.clamp, (1, SIGN | ONE, ONE), Result(0, Flags.NONE)),
    ],
)
def test_subnormals_count_as_zero(
    operation: Callable[..., Result], operands: tuple[int, ...], result: Result
) -> None:
    assert operation(*operands) == result


def test_ties_go_to_even() -> None:
    half_step = pattern(2.0**-24)
    assert f32.add(ONE, half_step).bits == ONE
    assert f32.add(ONE + 1, half_step).bits == ONE + 2
    assert f32.add(ONE, half_step + 1).bits == ONE + 1


@pytest.mark.parametrize("name", ["eq", "ne", "gt", "ge", "lt", "le"])
def test_comparisons(name: str, pairs_f32: Pairs, agree: "Agree") -> None:
    a, b = (flushed(words(list(side))) for side in zip(*pairs_f32, strict=True))
    holds = getattr(operator, name)(a.view(np.float32), b.view(np.float32))
    flags = 1 * (is_nan(a) | is_nan(b))
    agree(getattr(f32, name), pairs_f32, np.where(holds, ALL_ONES, 0).tolist(), flags.tolist())


@pytest.mark.parametrize("name", ["maximum", "minimum", "absmax"])
def test_extremes(name: str, pairs_f32: Pairs, agree: "Agree") -> None:
    def extreme(*pair: int) -> int:
        patterns = flushed(words(list(pair)))
        if name == "absmax":
            patterns &= np.uint32(~SIGN & ALL_ONES)
        values = [float(value) for value in patterns.view(np.float32) if not np.isnan(value)]
        if not values:
            return NAN
        choose = min if name == "minimum" else max
        return pattern(choose(values, key=lambda value: (value, math.copysign(1, value))))

    a, b = (words(list(side)) for side in zip(*pairs_f32, strict=True))
    flags = 1 * (is_signalling(a) | is_signalling(b))
    agree(getattr(f32, name), pairs_f32, itertools.starmap(extreme, pairs_f32), flags.tolist())


def test_clamp_is_a_maximum_then_a_minimum(special_f32: list[int]) -> None:
    for a, low, high in itertools.product(special_f32, special_f32[::3], special_f32[1::3]):
        raised = f32.maximum(a, low)
        lowered = f32.minimum(raised.bits, high)
        assert f32.clamp(a, low, high) == (lowered.bits, raised.flags | lowered.flags)


@pytest.mark.parametrize(
    ("a", "result"),
    [
        (pattern(-3), pattern(-1)),
        (pattern(0.25), pattern(0.25)),
        (pattern(7), pattern(2)),
        (INFINITY, pattern(2)),
        (NAN, pattern(-1)),
    ],
)
def test_clamp_between_minus_one_and_two(a: int, result: int) -> None:
    assert f32.clamp(a, pattern(-1), pattern(2)) == (result, Flags.NONE)


@pytest.mark.parametrize(
    ("a", "code"),
    [
        (SIGNALLING, 1),
        (NAN, 2),
        (SIGN | NAN, 2),
        (SIGN | INFINITY, 3),
        (INFINITY, 4),
        (SIGN, 5),
        (0, 6),
        (SIGN | LARGEST_SUBNORMAL, 7),
        (1, 8),
        (SIGN | LEAST_NORMAL, 9),
        (ONE, 10),
    ],
)
def test_class_code(a: int, code: int) -> None:
    assert f32.class_code(a) == (code, Flags.NONE)


DIRECTIONS: dict[Rounding, Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]] = {
    Rounding.NEAREST_EVEN: np.rint,
    Rounding.UP: np.ceil,
    Rounding.DOWN: np.floor,
    Rounding.ZERO: np.trunc,
    Rounding.NEAREST_AWAY: lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}
NEAR_INTEGERS = [
    pattern(sign * value)
    for sign in (1, -1)
    for whole in (0, 1, 2, 3, 1000, 1001, 2**22, 2**23 - 1, 2**24, 2**31 - 128, 2**31, 2**32, 2**40)
    for value in (
        whole,
        whole + 0.25,
        whole + 0.5,
        whole + 0.75,
        np.nextafter(np.float32(whole), 0),
    )
]


def operands_of_rounding(pairs: Pairs) -> Words:
    return words(NEAR_INTEGERS + [a for a, _ in pairs])


@pytest.mark.parametrize("mode", Rounding)
def test_to_integral(mode: Rounding, pairs_f32: Pairs, agree: "Agree") -> None:
    operands = operands_of_rounding(pairs_f32)
    with np.errstate(invalid="ignore"):
        exact = DIRECTIONS[mode](flushed(operands).view(np.float32).astype(np.float64))
    want = np.where(is_nan(operands), NAN, exact.astype(np.float32).view(np.uint32))
    agree(
        lambda a: f32.to_integral(a, mode),
        [(a,) for a in operands.tolist()],
        want.tolist(),
        is_signalling(operands).astype(int).tolist(),
    )


@pytest.mark.parametrize("mode", Rounding)
@pytest.mark.parametrize(
    ("operation", "least", "greatest"),
    [(f32.to_i32, -(2**31), 2**31 - 1), (f32.to_u32, 0, 2**32 - 1)],
)
def test_to_integer(
    operation: Callable[[int, Rounding], Result],
    least: int,
    greatest: int,
    mode: Rounding,
    pairs_f32: Pairs,
    agree: "Agree",
) -> None:
    operands = operands_of_rounding(pairs_f32)
    with np.errstate(invalid="ignore"):
        exact = DIRECTIONS[mode](flushed(operands).view(np.float32).astype(np.float64))
    near = np.where(np.isnan(exact), 0, np.clip(exact, least, greatest))
    agree(
        lambda a: operation(a, mode),
        [(a,) for a in operands.tolist()],
        (near.astype(np.int64) % 2**32).tolist(),
        (near != exact).astype(int).tolist(),
    )


def test_modes_5_to_7_mean_nothing() -> None:
    for code in (5, 6, 7):
        with pytest.raises(ValueError, match=str(code)):
            Rounding(code)


def test_from_integers(agree: "Agree") -> None:
    generator = np.random.default_rng(32)
    edges = [0, 1, 2**24 + 1, 2**24 + 3, 2**25 + 2, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 2**24]
    shifts = generator.integers(0, 32, 5000)
    integers = words(edges + (generator.integers(0, 2**32, 5000) >> shifts).tolist())
    operands = [(integer,) for integer in integers.tolist()]
    zeros = [0] * len(operands)
    signed = integers.view(np.int32).astype(np.float32)
    agree(f32.from_i32, operands, signed.view(np.uint32).tolist(), zeros)
    unsigned = integers.astype(np.float32)
    agree(f32.from_u32, operands, unsigned.view(np.uint32).tolist(), zeros)


def test_sufromui(agree: "Agree") -> None:
    """The value takes 33 bits, so a double holds it and is rounded once."""
    generator = np.random.default_rng(33)
    near_zero = [2**31 + offset for offset in range(-40, 40)]
    integers = [0, 1, 2**32 - 1, *near_zero, *generator.integers(0, 2**32, 5000).tolist()]
    doubles = (2 * np.array(integers, np.float64) + 1 - 2.0**32) / 2.0**33
    agree(
        f32.sufromui,
        [(integer,) for integer in integers],
        doubles.astype(np.float32).view(np.uint32).tolist(),
        [0] * len(integers),
    )


def test_sufromui_at_its_ends() -> None:
    assert f32.sufromui(0).bits == pattern(-0.5)
    assert f32.sufromui(2**31 - 1).bits == pattern(-(2.0**-33))
    assert f32.sufromui(2**31).bits == pattern(2.0**-33)
    assert f32.sufromui(2**32 - 1).bits == pattern(0.5)


def test_patterns_of_the_format() -> None:
    assert (F32.sign_bit, F32.infinity, F32.quiet_nan) == (SIGN, INFINITY, NAN)
    assert (F32.largest, F32.smallest_normal, F32.ones) == (0x7F7FFFFF, LEAST_NORMAL, ALL_ONES)
