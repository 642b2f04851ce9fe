"""Conversions between single, half and quarter, against NumPy and ml_dtypes."""

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tilewright.target.formats import (
    F16,
    F32,
    F143,
    F152,
    QUARTER_FORMATS,
    Flags,
    QuarterFormat,
    f8_to_f16,
    f16_to_f8,
    f16_to_f32,
    f32_to_f16,
)

if TYPE_CHECKING:
    from tests.target.formats.conftest import Agree

Doubles = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

NONE = Flags.NONE
SLICES = 1 << 16
ALL_HALVES = np.arange(1 << 16, dtype=np.uint16)
ALL_CODES = np.arange(1 << 8, dtype=np.uint8)
DTYPES = {"F143": ml_dtypes.float8_e4m3fnuz, "F152": ml_dtypes.float8_e5m2fnuz}
SCALES = [-32, -15, -3, 0, 2, 9, 31]


def single(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def half(value: float) -> int:
    return int(np.float16(value).view(np.uint16))


def half_values() -> Doubles:
    """Of all halves in order, with quiet NaNs."""
    values = ALL_HALVES.view(np.float16).astype(np.float64)
    return np.where(np.isnan(values), np.nan, values)


def signalling_halves() -> Mask:
    return np.asarray(np.isnan(half_values()) & (ALL_HALVES & 0x200 == 0))


def halves_of(values: Doubles, nanoo: bool) -> tuple[list[int], Mask]:
    """Nearest halves, and which of them overflow."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float16)
    infinite = np.isinf(rounded)
    clipped = np.where(infinite, np.copysign(65504, values), rounded).astype(np.float16)
    nan = np.isnan(rounded) | (infinite & nanoo)
    return np.where(nan, F16.quiet_nan, clipped.view(np.uint16)).tolist(), infinite


def test_every_half_to_single(agree: "Agree") -> None:
    with np.errstate(invalid="ignore"):
        values = half_values().astype(np.float32)
    patterns = np.where(np.isnan(values), F32.quiet_nan, values.view(np.uint32))
    operands = [(a,) for a in ALL_HALVES.tolist()]
    agree(f16_to_f32, operands, patterns.tolist(), (1 * signalling_halves()).tolist())


@pytest.mark.parametrize("nanoo", [False, True])
def test_single_to_nearest_half(
    nanoo: bool, pairs_f32: list[tuple[int, int]], agree: "Agree"
) -> None:
    """Any singles, and every midpoint between two halves with its neighbours."""
    midpoints = (half_values()[:0x7C00] + np.append(half_values()[1:0x7C00], 65536)) / 2
    near = midpoints.astype(np.float32).view(np.uint32)[::7]
    operands = np.concatenate(
        [np.array(pairs_f32, np.uint32)[:, 0], near - 1, near, near + 1, near | 0x80000000]
    )
    with np.errstate(invalid="ignore"):
        values = operands.view(np.float32).astype(np.float64)
    signalling = np.isnan(values) & (operands & 0x400000 == 0)
    patterns, infinite = halves_of(values, nanoo)
    agree(
        lambda a: f32_to_f16(a, nanoo=nanoo),
        [(a,) for a in operands.tolist()],
        patterns,
        (1 * signalling + 4 * infinite).tolist(),
    )


@pytest.mark.parametrize(
    "value",
    [
        1 + 2.0**-11,  # a tie
        -(1 + 2.0**-11),
        1 + 2.0**-23,  # least step of a single: 13 bits discarded
        3 - 2.0**-22,
        2 - 2.0**-23,  # goes up into the next binade
        1.5 * 2.0**-24,  # subnormal halves
        -(2.0**-14 - 2.0**-38),  # goes up into the normal ones
        2.0**-25,  # less than the least half: up for half of all slices
        2.0**-39 + 2.0**-62,  # more than 16 bits discarded: the last count for nothing
        2.0**-40,  # 1 in 65,536
        2.0**-41,  # never
    ],
)
def test_stochastic_rounding_goes_up_for_its_share_of_all_slices(value: float) -> None:
    exact = Fraction(float(np.float32(value)))
    beneath = int(np.float16(value).view(np.uint16))
    if abs(Fraction(float(np.uint16(beneath).view(np.float16)))) > abs(exact):
        beneath -= 1
    below, above = (Fraction(float(np.uint16(beneath + up).view(np.float16))) for up in (0, 1))
    share = (exact - below) / (above - below)
    results = [f32_to_f16(single(value), nanoo=True, random=r) for r in range(SLICES)]
    assert {flags for _, flags in results} == {NONE}
    assert {bits for bits, _ in results} <= {beneath, beneath + 1}
    ups = sum(bits == beneath + 1 for bits, _ in results)
    assert ups == math.floor(share * SLICES)
    # The larger the slice, the more goes up.
    assert [bits for bits, _ in results] == sorted(bits for bits, _ in results)


@pytest.mark.parametrize("nanoo", [False, True])
def test_stochastic_rounding_keeps_what_has_a_half(nanoo: bool) -> None:
    for random in (0, 1, 0x1FFF, 0x8000, 0xFFFF):
        for bits in range(0, 1 << 16, 61):
            widened = f16_to_f32(bits).bits
            assert f32_to_f16(widened, nanoo=nanoo, random=random) == f32_to_f16(
                widened, nanoo=nanoo
            )


def test_stochastic_rounding_overflows_by_chance() -> None:
    """A quarter of a step above the largest half: for a quarter of all slices."""
    a = single(65504 + 8)
    clipped = [f32_to_f16(a, nanoo=False, random=r) for r in range(SLICES)]
    assert {bits for bits, _ in clipped} == {F16.largest}
    assert sum(flags == Flags.OFLO for _, flags in clipped) == SLICES // 4
    assert f32_to_f16(a, nanoo=True, random=0xBFFF) == (F16.largest, NONE)
    assert f32_to_f16(a, nanoo=True, random=0xC000) == (F16.quiet_nan, Flags.OFLO)


@pytest.mark.parametrize("random", [None, 0, 0xFFFF])
def test_infinite_single_overflows(random: int | None) -> None:
    positive, negative = single(math.inf), single(-math.inf)
    assert f32_to_f16(positive, nanoo=False, random=random) == (F16.largest, Flags.OFLO)
    assert f32_to_f16(negative, nanoo=False, random=random) == (half(-65504), Flags.OFLO)
    assert f32_to_f16(negative, nanoo=True, random=random) == (F16.quiet_nan, Flags.OFLO)


@pytest.mark.parametrize("format", QUARTER_FORMATS)
def test_values_of_codes(format: QuarterFormat, agree: "Agree") -> None:
    """All are halves, as they are."""
    values = ALL_CODES.view(DTYPES[format.name]).astype(np.float64)
    patterns = np.where(np.isnan(values), F16.quiet_nan, values.astype(np.float16).view(np.uint16))
    agree(
        lambda code: f8_to_f16(code, format, 0, nanoo=True),
        [(code,) for code in ALL_CODES.tolist()],
        patterns.tolist(),
        [0] * 256,
    )


@pytest.mark.parametrize("nanoo", [False, True])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("format", QUARTER_FORMATS)
def test_every_code_to_half(format: QuarterFormat, scale: int, nanoo: bool, agree: "Agree") -> None:
    values = ALL_CODES.view(DTYPES[format.name]).astype(np.float64) * 2.0**scale
    patterns, infinite = halves_of(values, nanoo)
    agree(
        lambda code: f8_to_f16(code, format, scale, nanoo=nanoo),
        [(code,) for code in ALL_CODES.tolist()],
        patterns,
        (4 * infinite).tolist(),
    )


@pytest.mark.parametrize("nanoo", [False, True])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("format", QUARTER_FORMATS)
def test_halves_to_quarter(format: QuarterFormat, scale: int, nanoo: bool, agree: "Agree") -> None:
    """Every half unscaled, every 31st otherwise. Overflow in ml_dtypes is always a NaN."""
    step = 1 if scale == 0 else 31
    values = half_values() * 2.0**scale
    codes = values.astype(DTYPES[format.name]).view(np.uint8)
    overflow = (codes == 0x80) & ~np.isnan(values)
    if not nanoo:
        codes = np.where(overflow, np.where(values < 0, 0xFF, 0x7F), codes)
    flags = 1 * signalling_halves() + 4 * overflow
    agree(
        lambda a: f16_to_f8(a, format, scale, nanoo=nanoo),
        [(a,) for a in ALL_HALVES.tolist()[::step]],
        codes.tolist()[::step],
        flags.tolist()[::step],
    )


@pytest.mark.parametrize("scale", range(-6, 7))
def test_quarters_come_back(scale: int) -> None:
    """Through any half that holds them exactly, by the opposite scale."""
    for code in ALL_CODES.tolist():
        widened = f8_to_f16(code, F143, scale, nanoo=True).bits
        assert f16_to_f8(widened, F143, -scale, nanoo=True) == (code, NONE)


@pytest.mark.parametrize(
    ("format", "value", "code"),
    [
        (F143, 240, 0x7F),
        (F143, 2.0**-10, 0x01),
        (F143, 2.0**-7, 0x08),
        (F143, 1.0, 0x40),
        (F143, -1.0, 0xC0),
        (F143, 2.0**-11, 0x00),
        (F143, -(2.0**-11), 0x00),
        (F143, -0.0, 0x00),
        (F143, 3 * 2.0**-11, 0x02),
        (F152, 57344, 0x7F),
        (F152, 2.0**-17, 0x01),
        (F152, 2.0**-15, 0x04),
        (F152, 1.0, 0x40),
        (F152, -(2.0**-18), 0x00),
    ],
)
def test_codes_by_hand(format: QuarterFormat, value: float, code: int) -> None:
    assert f16_to_f8(half(value), format, 0, nanoo=True) == (code, NONE)


@pytest.mark.parametrize(("format", "fits", "too_large"), [(F143, 247, 248), (F152, 61408, 61440)])
def test_overflow_begins_half_a_step_above_the_largest(
    format: QuarterFormat, fits: float, too_large: float
) -> None:
    assert f16_to_f8(half(fits), format, 0, nanoo=True) == (0x7F, NONE)
    assert f16_to_f8(half(too_large), format, 0, nanoo=True) == (0x80, Flags.OFLO)
    assert f16_to_f8(half(-too_large), format, 0, nanoo=False) == (0xFF, Flags.OFLO)


def test_format_bits() -> None:
    assert QUARTER_FORMATS.index(F152) == 0
    assert QUARTER_FORMATS.index(F143) == 1
