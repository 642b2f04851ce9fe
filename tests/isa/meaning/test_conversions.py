"""Conversions between formats and integers, against NumPy and hand-made tables of quarters."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest

from tilewright.emulator.faults import OperandFault

if TYPE_CHECKING:
    from tests.isa.meaning.conftest import Bench

Array = npt.NDArray[Any]

INV, OFLO = 1, 4
RND_SHIFT = 16
NANOO = 1 << 20


@pytest.fixture(autouse=True)
def _quiet_numpy() -> Any:
    with np.errstate(all="ignore"):
        yield


def load(worker: "Bench", register: int, lanes: Array) -> None:
    words = np.ascontiguousarray(lanes).view(np.uint32)
    worker.state["a"][register : register + len(words)] = words


def status(worker: "Bench") -> int:
    """The flags since the last look."""
    flags = int(worker.state["float_status"])
    worker.state["float_status"] = 0
    return flags


# -- half and single --------------------------------------------------------------------------

HALVES = np.concatenate(
    [
        [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x3C00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00],
        np.random.default_rng(1).integers(0, 1 << 16, 388),
    ]
).astype(np.uint16)


def singles_of(halves: Array) -> Array:
    """Exactly; NaNs become the chip's."""
    values = halves.view(np.float16).astype(np.float32)
    return np.where(np.isnan(values), np.uint32(0x7FC00000), values.view(np.uint32))


def test_the_lower_half_to_single(worker: "Bench") -> None:
    for half, single in zip(HALVES, singles_of(HALVES), strict=True):
        worker.issue("f16tof32 $a0, $a4", a4=0x7C01_0000 | int(half))
        assert worker.a[0] == int(single), hex(half)
        # The other half is a signalling NaN, and does not matter.
        assert status(worker) == (INV if np.isnan(half.view(np.float16)) & ~half >> 9 & 1 else 0)


def test_two_halves_to_singles(worker: "Bench") -> None:
    pairs = HALVES.reshape(-1, 2)
    for pair, singles in zip(pairs, singles_of(HALVES).reshape(-1, 2), strict=True):
        load(worker, 4, pair)
        worker.issue("f16v2tof32 $a0:1, $a4")
        assert worker.a[:2] == singles.tolist()


SINGLES = np.concatenate(
    [
        # ties, the last that is not too large and the first that is, subnormal halves
        np.array([1.00048828125, 1.00146484375, 65519.99, 65520, -65520, 1e30], np.float32),
        np.array([2**-25, 2**-25 * 1.0001, 2**-24 * 1.5, -(2**-26), 0.0, -0.0], np.float32),
        np.array([0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345], np.uint32).view(np.float32),
        np.random.default_rng(2).normal(0, 300, 184).astype(np.float32),
        (np.random.default_rng(3).normal(0, 1, 200) * 2.0**-17).astype(np.float32),
    ]
)


def halves_of(singles: Array, nanoo: bool) -> Array:
    halves = singles.astype(np.float16)
    instead = np.float16(np.nan) if nanoo else np.copysign(np.float16(65504), halves)
    halves = np.where(np.isinf(halves), instead, halves)
    return np.where(np.isnan(halves), np.uint16(0x7E00), halves.view(np.uint16))


@pytest.mark.parametrize("nanoo", [False, True])
def test_a_single_to_both_halves(worker: "Bench", nanoo: bool) -> None:
    worker.state["float_control"] = NANOO if nanoo else 0
    for single, half in zip(SINGLES, halves_of(SINGLES, nanoo), strict=True):
        load(worker, 4, np.array([single]))
        worker.issue("f32tof16 $a0, $a4")
        assert worker.a[0] == int(half) * 0x10001, single
        assert status(worker) == (OFLO if np.isinf(single.astype(np.float16)) else 0)


@pytest.mark.parametrize("nanoo", [False, True])
def test_singles_to_halves(worker: "Bench", nanoo: bool) -> None:
    worker.state["float_control"] = NANOO if nanoo else 0
    halves = halves_of(SINGLES, nanoo).reshape(-1, 4)
    for quad, expected in zip(SINGLES.reshape(-1, 4), halves, strict=True):
        load(worker, 4, quad)
        worker.issue("f32v4tof16 $a0:1, $a4:7")
        assert worker.a[:2] == expected.view(np.uint32).tolist(), quad
        worker.issue("f32v2tof16 $a2, $a6:7")
        assert worker.a[2] == worker.a[1]


def test_a_destination_may_be_part_of_the_source(worker: "Bench") -> None:
    load(worker, 0, np.array([1, 2, 3, 4], np.float32))
    worker.issue("f32v4tof16 $a2:3, $a0:3")
    assert worker.a[2:4] == [0x4000_3C00, 0x4400_4200]


# -- integers ---------------------------------------------------------------------------------

INTEGERS = np.concatenate(
    [
        [0, 1, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x80000001, 0x1000001, 0x1000003, 0xFFFFFF80],
        np.random.default_rng(4).integers(0, 1 << 32, 100),
    ]
).astype(np.uint32)


def test_integers_to_singles(worker: "Bench") -> None:
    for word in INTEGERS:
        worker.issue("f32fromui32 $a0, $a4", a4=int(word))
        worker.issue("f32fromi32 $a1, $a4")
        unsigned, signed = (
            word.astype(np.float64),
            word.view(np.int32).astype(np.float64),
        )
        expected = np.array([unsigned, signed]).astype(np.float32).view(np.uint32)
        assert worker.a[:2] == expected.tolist(), hex(word)
    assert status(worker) == 0


def away_from_zero(x: Array) -> Array:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


ROUNDINGS: list[Callable[[Array], Array]] = [np.rint, np.ceil, np.floor, np.trunc, away_from_zero]
TO_INTEGER = np.concatenate(
    [
        [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.4999999, 7.9, -7.9, 8388607.5, -0.7],
        [2**31 - 128, 2**31, -(2**31), -(2**31) - 256, 2**32 - 256, 2**32, 1e20, -1e20],
        [np.inf, -np.inf, np.nan],
    ]
).astype(np.float32)


@pytest.mark.parametrize("direction", range(5))
@pytest.mark.parametrize(
    ("mnemonic", "least", "greatest"),
    [("f32toi32", -(2**31), 2**31 - 1), ("f32toui32", 0, 2**32 - 1)],
)
def test_singles_to_integers(
    worker: "Bench", mnemonic: str, least: int, greatest: int, direction: int
) -> None:
    """In the direction of FP_CTL; out of range, the nearer end."""
    worker.state["float_control"] = direction << RND_SHIFT
    for single in TO_INTEGER:
        load(worker, 4, np.array([single]))
        worker.issue(f"{mnemonic} $a0, $a4")
        rounded = ROUNDINGS[direction](np.array(single, np.float64))
        if np.isnan(rounded):
            expected, flags = 0, INV
        else:
            expected = int(min(max(float(rounded), least), greatest))
            flags = INV if rounded != expected else 0
        assert worker.a[0] == expected & 0xFFFFFFFF, single
        assert status(worker) == flags, single


def test_a_rounding_direction_that_does_not_exist(worker: "Bench") -> None:
    worker.state["float_control"] = 5 << RND_SHIFT
    worker.check_fault(OperandFault, "rounding direction", "f32toi32 $a0, $a4", a4=0x3FC00000)


def test_the_direction_is_for_integers_only(worker: "Bench") -> None:
    """Everything else rounds to nearest."""
    worker.state["float_control"] = 1 << RND_SHIFT
    worker.set(a4=0x3F800000, a5=0x30000000, a6=0x00013C00)  # 1, 2**-31; 2**-24, 1
    worker.issue("f32add $a0, $a4, $a5")
    worker.issue("f16v2add $a1, $a6:BU, $a6")
    assert worker.a[:2] == [0x3F800000, 0x0002_3C00]


# -- quarters ---------------------------------------------------------------------------------

F152, F143 = 0, 1
LARGEST = {F152: 57344.0, F143: 240.0}
NAN = 0x80


def quarter_value(code: int, format: int) -> float:
    """1/4/3 bits with bias 8, or 1/5/2 bits with bias 16; 0x80 is the NaN."""
    if code == NAN:
        return float("nan")
    fraction_bits, bias = ((3, 8), (2, 16))[format == F152]
    exponent, fraction = (code & 0x7F) >> fraction_bits, code & ((1 << fraction_bits) - 1)
    share = fraction / (1 << fraction_bits)
    magnitude = (1 + share) * 2.0 ** (exponent - bias) if exponent else share * 2.0 ** (1 - bias)
    return -magnitude if code & 0x80 else magnitude


VALUES = {
    format: np.array([quarter_value(code, format) for code in range(256)])
    for format in (F152, F143)
}


def nearest_quarter(number: float, format: int, nanoo: bool) -> tuple[int, int]:
    """Code and flag. Past the largest comes what the next code would be."""
    if np.isnan(number):
        return NAN, 0
    positive = np.append(VALUES[format][:128], LARGEST[format] * (16 / 15, 8 / 7)[format == F152])
    distance = np.abs(positive - abs(number))
    best = np.flatnonzero(distance == distance.min())
    code = next(int(each) for each in best if len(best) == 1 or each % 2 == 0)
    if code > 127 or np.isinf(number):
        return (NAN if nanoo else 0xFF if number < 0 else 0x7F), OFLO
    return (code | 0x80 if number < 0 and code else code), 0


def test_the_table_of_quarters() -> None:
    for format, smallest, normal in ((F152, 2.0**-17, 2.0**-15), (F143, 2.0**-10, 2.0**-7)):
        values = VALUES[format]
        assert np.nanmax(values) == LARGEST[format] == values[127] == -values[255]
        assert values[1] == smallest
        assert values[4 if format == F152 else 8] == normal


@pytest.mark.parametrize("nanoo", [False, True])
@pytest.mark.parametrize("scale", [0, 1, -9, 31, -32])
@pytest.mark.parametrize("format", [F152, F143])
def test_quarters_to_halves(worker: "Bench", format: int, scale: int, nanoo: bool) -> None:
    """All codes, times 2**scale; the weights' format says the other."""
    worker.state["number_format"] = format << 1 | (1 - format)
    worker.state["number_scale"] = scale & 0x3F
    worker.state["float_control"] = NANOO if nanoo else 0
    halves = halves_of(np.ldexp(VALUES[format], scale), nanoo)
    for first in range(0, 256, 4):
        codes = range(first, first + 4)
        expected = halves[first : first + 4].view(np.uint32).tolist()
        worker.set(a4=int.from_bytes(bytes(codes), "little"))
        worker.issue("f8v4tof16 $a0:1, $a4")
        assert worker.a[:2] == expected, codes
        exact = np.ldexp(VALUES[format][first : first + 4], scale)
        assert status(worker) == (OFLO if np.isinf(exact.astype(np.float16)).any() else 0)
        worker.issue("f8v2tof16 $a2, $a4")
        assert worker.a[2] == expected[0], codes
        status(worker)


@pytest.mark.parametrize("nanoo", [False, True])
@pytest.mark.parametrize("scale", [0, 3, -7, 31, -32])
@pytest.mark.parametrize("format", [F152, F143])
def test_halves_to_quarters(worker: "Bench", format: int, scale: int, nanoo: bool) -> None:
    """Times 2**scale, to nearest, ties to even: at, between and around all quarters."""
    values = VALUES[format][:128]
    middles = (values[:-1] + values[1:]) / 2
    limit = LARGEST[format] * (1 + np.array([1 / 30, 1 / 31, 1 / 14, 1 / 15, 1]))
    wanted = np.concatenate([values[::5], middles[::3], middles[::9] * 1.01, limit])
    halves = np.concatenate([np.ldexp(wanted, -scale), [0.0, np.inf, np.nan, 65504.0]])
    halves = np.concatenate([halves, -halves]).astype(np.float16)
    halves = np.resize(halves, -(-len(halves) // 8) * 8)
    worker.state["number_format"] = format << 1 | (1 - format)
    worker.state["number_scale"] = scale & 0x3F
    worker.state["float_control"] = NANOO if nanoo else 0
    for eight in halves.reshape(-1, 8):
        expected = [
            nearest_quarter(float(np.ldexp(np.float64(half), scale)), format, nanoo)
            for half in eight
        ]
        codes = [code for code, _ in expected]
        load(worker, 4, eight)
        worker.issue("f16v8tof8 $a0:1, $a4:7")
        assert list(worker.group(0, 2).to_bytes(8, "little")) == codes, eight
        assert status(worker) == max(flag for _, flag in expected)
        worker.issue("f16v2tof8 $a2, $a5")
        assert list(worker.a[2].to_bytes(4, "little")) == codes[2:4] * 2, eight
        status(worker)


def test_quarters_there_and_back(worker: "Bench") -> None:
    """With the scale negated on the way back."""
    for format in (F152, F143):
        worker.state["number_format"] = format << 1
        for first in range(0, 256, 4):
            codes = bytes(range(first, first + 4))
            worker.state["number_scale"] = 0b111110  # -2
            worker.issue("f8v4tof16 $a4:5, $a0", a0=int.from_bytes(codes, "little"))
            worker.state["number_scale"] = 2
            worker.issue("f16v8tof8 $a0:1, $a4:7")
            assert worker.a[0].to_bytes(4, "little") == codes


def test_quarter_conversions_are_never_stochastic(worker: "Bench") -> None:
    worker.state["float_control"] = 1 << 19
    worker.state["random"] = [3, 5]
    worker.issue("f16v2tof8 $a0, $a4", a4=0x3C01_3C01)
    worker.issue("f8v4tof16 $a2:3, $a0")
    assert worker.a[2:4] == [0x3C00_3C00] * 2
    assert worker.state["random"].tolist() == [3, 5]
