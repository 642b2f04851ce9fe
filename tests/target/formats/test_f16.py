"""Halves, against NumPy with the chip's ways with NaNs and overflow.

Sums and products of halves are exact in double, so NumPy rounds them once.
"""

import itertools
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pytest

from tilewright.target.formats import F16, Flags, Result, f16

if TYPE_CHECKING:
    from tests.target.formats.conftest import Agree

Pairs = list[tuple[int, int]]
Halves = npt.NDArray[np.uint16]
Doubles = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

SIGN = 0x8000
INFINITY = 0x7C00
NAN = 0x7E00
SIGNALLING = 0x7C01
ONE = 0x3C00
LARGEST = 0x7BFF
ALL_ONES = 0xFFFF
ALL_HALVES = np.arange(1 << 16, dtype=np.uint16)


def pattern(value: float) -> int:
    return int(np.float16(value).view(np.uint16))


def halves(patterns: list[int]) -> Halves:
    return np.array(patterns, np.uint16)


def doubles(patterns: Halves) -> Doubles:
    return patterns.view(np.float16).astype(np.float64)


def is_signalling(patterns: Halves) -> Mask:
    return np.asarray(np.isnan(patterns.view(np.float16)) & (patterns & 0x200 == 0))


def overflowed(result: Doubles, nanoo: bool) -> tuple[npt.NDArray[np.int64], Mask]:
    """`result` as half patterns, with NaN or the largest for infinities; and where those were."""
    with np.errstate(over="ignore"):
        rounded = result.astype(np.float16)
    infinite = np.isinf(rounded)
    instead = np.full_like(result, np.nan) if nanoo else np.copysign(65504, result)
    patterns = np.where(infinite, instead.astype(np.float16), rounded).view(np.uint16)
    return np.where(np.isnan(rounded) | infinite & nanoo, NAN, patterns), infinite


@pytest.mark.parametrize("nanoo", [False, True])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "absadd"])
def test_arithmetic_of_two(name: str, nanoo: bool, pairs_f16: Pairs, agree: "Agree") -> None:
    exact: dict[str, Callable[[Doubles, Doubles], Doubles]] = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "absadd": lambda a, b: np.abs(a) + np.abs(b),
    }
    a, b = (halves(list(side)) for side in zip(*pairs_f16, strict=True))
    with np.errstate(invalid="ignore"):
        result = exact[name](doubles(a), doubles(b))
    patterns, infinite = overflowed(result, nanoo)
    new_nan = np.isnan(result) & ~np.isnan(doubles(a)) & ~np.isnan(doubles(b))
    flags = 1 * (new_nan | is_signalling(a) | is_signalling(b)) + 4 * infinite
    operation = getattr(f16, name)
    agree(lambda a, b: operation(a, b, nanoo=nanoo), pairs_f16, patterns.tolist(), flags.tolist())


@pytest.mark.parametrize(
    ("operation", "operands", "clipped", "flags"),
    [
        # 65504 + 15 rounds down, 65504 + 16 is a tie, and goes to the even 65536.
        (f16.add, (LARGEST, pattern(15)), LARGEST, Flags.NONE),
        (f16.add, (LARGEST, pattern(16)), LARGEST, Flags.OFLO),
        (f16.sub, (SIGN | LARGEST, pattern(16)), SIGN | LARGEST, Flags.OFLO),
        (f16.mul, (pattern(256), pattern(-256)), SIGN | LARGEST, Flags.OFLO),
        (f16.add, (INFINITY, SIGN | ONE), LARGEST, Flags.OFLO),
        (f16.mul, (SIGN | INFINITY, pattern(0.5)), SIGN | LARGEST, Flags.OFLO),
        (f16.sub, (INFINITY, INFINITY), NAN, Flags.INV),
        (f16.mul, (INFINITY, SIGN), NAN, Flags.INV),
        (f16.exp, (pattern(11.1),), LARGEST, Flags.OFLO),
        (f16.exp2, (pattern(16),), LARGEST, Flags.OFLO),
        (f16.ln, (SIGN,), SIGN | LARGEST, Flags.DIV0 | Flags.OFLO),
        (f16.log2, (INFINITY,), LARGEST, Flags.OFLO),
    ],
)
def test_overflow(
    operation: Callable[..., Result], operands: tuple[int, ...], clipped: int, flags: Flags
) -> None:
    assert operation(*operands, nanoo=False) == (clipped, flags)
    assert operation(*operands, nanoo=True) == (NAN if Flags.OFLO in flags else clipped, flags)


def test_subnormals_are_numbers() -> None:
    assert f16.add(1, 1, nanoo=True).bits == 2
    assert f16.sub(0x400, 1, nanoo=True).bits == 0x3FF
    assert f16.mul(1, pattern(0.5), nanoo=True).bits == 0
    assert f16.mul(3, pattern(0.5), nanoo=True).bits == 2
    assert f16.mul(SIGN | 1, pattern(1024), nanoo=True).bits == SIGN | 0x400
    assert f16.gt(1, 0).bits == ALL_ONES
    assert f16.maximum(SIGN | 1, SIGN | 2).bits == SIGN | 1


@pytest.mark.parametrize("name", ["eq", "ne", "gt", "ge", "lt", "le"])
def test_comparisons(name: str, pairs_f16: Pairs, agree: "Agree") -> None:
    a, b = (doubles(halves(list(side))) for side in zip(*pairs_f16, strict=True))
    holds = getattr(operator, name)(a, b)
    flags = 1 * (np.isnan(a) | np.isnan(b))
    agree(getattr(f16, name), pairs_f16, np.where(holds, ALL_ONES, 0).tolist(), flags.tolist())


@pytest.mark.parametrize("name", ["maximum", "minimum", "absmax"])
def test_extremes(name: str, pairs_f16: Pairs, agree: "Agree") -> None:
    def extreme(*pair: int) -> int:
        values = [value for value in doubles(halves(list(pair))).tolist() if value == value]
        if name == "absmax":
            values = [abs(value) for value in values]
        if not values:
            return NAN
        choose = min if name == "minimum" else max
        return pattern(choose(values, key=lambda value: (value, math.copysign(1, value))))

    a, b = (halves(list(side)) for side in zip(*pairs_f16, strict=True))
    flags = 1 * (is_signalling(a) | is_signalling(b))
    agree(getattr(f16, name), pairs_f16, itertools.starmap(extreme, pairs_f16), flags.tolist())


def test_clamp_is_a_maximum_then_a_minimum(special_f16: list[int]) -> None:
    for a, low, high in itertools.product(special_f16, special_f16[::3], special_f16[1::3]):
        raised = f16.maximum(a, low)
        lowered = f16.minimum(raised.bits, high)
        assert f16.clamp(a, low, high) == (lowered.bits, raised.flags | lowered.flags)


def test_clamp_between_minus_one_and_two() -> None:
    low, high = pattern(-1), pattern(2)
    values = doubles(ALL_HALVES)
    want = np.where(np.isnan(values), -1, np.clip(values, -1, 2)).astype(np.float16)
    assert [f16.clamp(a, low, high).bits for a in range(1 << 16)] == want.view(np.uint16).tolist()


def test_class_code_of_every_half() -> None:
    values = doubles(ALL_HALVES)
    negative = np.signbit(values)
    classes = np.select(
        [
            is_signalling(ALL_HALVES),
            np.isnan(values),
            np.isinf(values),
            values == 0,
            np.abs(values) < 2.0**-14,
        ],
        [1, 2, 4 - negative, 6 - negative, 8 - negative],
        10 - negative,
    )
    assert [f16.class_code(a) for a in range(1 << 16)] == [(n, Flags.NONE) for n in classes]


def test_sufromui_of_every_operand() -> None:
    exact = (2 * ALL_HALVES.astype(np.float64) + 1 - 2.0**16) / 2.0**17
    want = exact.astype(np.float16).view(np.uint16)
    assert [f16.sufromui(u) for u in range(1 << 16)] == [(bits, Flags.NONE) for bits in want]


def test_sufromui_at_its_ends() -> None:
    assert f16.sufromui(0).bits == pattern(-0.5)
    assert f16.sufromui(0x8000).bits == pattern(2.0**-17)
    assert f16.sufromui(0xFFFF).bits == pattern(0.5)


def test_patterns_of_the_format() -> None:
    assert (F16.sign_bit, F16.infinity, F16.quiet_nan) == (SIGN, INFINITY, NAN)
    assert (F16.largest, F16.smallest_normal, F16.ones) == (LARGEST, 0x0400, ALL_ONES)
