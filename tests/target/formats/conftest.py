"""Operands for the tests of the number formats, and the comparison of many results at once."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pytest

from tilewright.target.formats import Result

Operands = Sequence[tuple[int, ...]]
Agree = Callable[[Callable[..., Result], Operands, Iterable[int], Iterable[int]], None]

SPECIAL_F16 = [
    sign | magnitude
    for sign in (0, 0x8000)
    # 0, least and largest subnormal, least normal, ½, 1 and neighbours, 3, 65472, 65504, ∞, NaNs
    for magnitude in (
        *(0, 1, 0x3FF, 0x400, 0x3800, 0x3BFF, 0x3C00, 0x3C01, 0x4200, 0x7BFE, 0x7BFF),
        *(0x7C00, 0x7E00, 0x7FFF, 0x7C01, 0x7DFF),
    )
]
SPECIAL_F32 = [
    sign | magnitude
    for sign in (0, 0x80000000)
    # The same; and 2**63, 2**64, 2**-63, 2**-64, whose products and quotients are at the limits
    for magnitude in (
        *(0, 1, 0x7FFFFF, 0x800000, 0x800001, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001),
        *(0x40400000, 0x5F000000, 0x5F800000, 0x20000000, 0x1F800000, 0x7F7FFFFE, 0x7F7FFFFF),
        *(0x7F800000, 0x7FC00000, 0x7FFFFFFF, 0x7F800001, 0x7FBFFFFF),
    )
]


@pytest.fixture(scope="session")
def special_f16() -> list[int]:
    return SPECIAL_F16


@pytest.fixture(scope="session")
def special_f32() -> list[int]:
    return SPECIAL_F32


@pytest.fixture(scope="session")
def pairs_f16() -> list[tuple[int, int]]:
    """Every pair of special halves, and many others."""
    return [*itertools.product(SPECIAL_F16, SPECIAL_F16), *_random_pairs(16, 10, SPECIAL_F16)]


@pytest.fixture(scope="session")
def pairs_f32() -> list[tuple[int, int]]:
    """Every pair of special singles, and many others."""
    return [*itertools.product(SPECIAL_F32, SPECIAL_F32), *_random_pairs(32, 23, SPECIAL_F32)]


@pytest.fixture(scope="session")
def agree() -> Agree:
    """Asserts that an operation gives these patterns and flags for these operands."""

    def check(
        operation: Callable[..., Result],
        operands: Operands,
        patterns: Iterable[int],
        flags: Iterable[int],
    ) -> None:
        wrong = []
        for row, pattern, flag in zip(operands, patterns, flags, strict=True):
            result = operation(*row)
            if result != (pattern, flag):
                operand_text = ", ".join(f"{operand:#x}" for operand in row)
                wrong.append(f"({operand_text}): {result}, not {pattern:#x} with {flag}")
        assert not wrong, f"{len(wrong)} of {len(operands)}: " + "; ".join(wrong[:4])

    return check


def _random_pairs(
    width: int, fraction_bits: int, special: list[int], count: int = 5000
) -> Iterator[tuple[int, int]]:
    """Any two patterns; two of like exponents, so that sums cancel; a special one with any."""
    generator = np.random.default_rng(2021)
    a, b = generator.integers(0, 1 << width, (2, count)).tolist()
    yield from zip(a, b, strict=True)
    distances = generator.integers(-fraction_bits - 3, fraction_bits + 4, count).tolist()
    for left, right, distance in zip(a, b, distances, strict=True):
        fraction = right % (1 << fraction_bits)
        field = (left >> fraction_bits) + distance
        yield left, (field << fraction_bits | fraction) % (1 << width)
    for index, right in enumerate(b):
        yield special[index % len(special)], right
