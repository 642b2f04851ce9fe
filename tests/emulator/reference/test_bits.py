"""Bit vectors of any width, against Python's integers and text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.emulator.reference.bits import Bits, IntegerOperations, bits, signed

M = IntegerOperations()
WIDTHS = (1, 8, 16, 32, 64, 128)


def text(value: Bits) -> str:
    return f"{value.number:0{value.width}b}"


vectors = st.sampled_from(WIDTHS).flatmap(
    lambda width: st.tuples(
        st.just(width), st.integers(0, (1 << width) - 1), st.integers(0, (1 << width) - 1)
    )
)


@given(vectors)
def test_arithmetic_wraps(case: tuple[int, int, int]) -> None:
    width, a, b = case
    one, other = Bits(a, width), Bits(b, width)
    assert M.add(one, other) == Bits((a + b) % 2**width, width)
    assert M.sub(one, other) == Bits((a - b) % 2**width, width)
    assert M.mul(one, other) == Bits(a * b % 2**width, width)
    assert M.add(M.sub(one, other), other) == one


@given(vectors)
def test_logic(case: tuple[int, int, int]) -> None:
    width, a, b = case
    one, other = Bits(a, width), Bits(b, width)
    pairs = list(zip(text(one), text(other), strict=True))
    assert text(M.and_(one, other)) == "".join("01"[x == y == "1"] for x, y in pairs)
    assert text(M.or_(one, other)) == "".join("01"["1" in (x, y)] for x, y in pairs)
    assert text(M.xor(one, other)) == "".join("01"[x != y] for x, y in pairs)
    assert text(M.not_(one)) == "".join("01"[x == "0"] for x, _ in pairs)


@given(vectors, st.integers(0, 200))
def test_shifts(case: tuple[int, int, int], amount: int) -> None:
    width, a, _ = case
    value, by = Bits(a, width), Bits(amount, 32)
    kept = max(width - amount, 0)
    digits = text(value)
    assert text(M.shl(value, by)) == digits[width - kept :] + "0" * (width - kept)
    assert text(M.shr(value, by)) == "0" * (width - kept) + digits[:kept]
    assert text(M.sar(value, by)) == digits[0] * (width - kept) + digits[:kept]


@given(vectors)
def test_comparisons(case: tuple[int, int, int]) -> None:
    width, a, b = case
    one, other = Bits(a, width), Bits(b, width)
    half = 1 << (width - 1)
    assert M.eq(one, other) == Bits(int(a == b), 1)
    assert M.ult(one, other) == Bits(int(a < b), 1)
    # Adding half of the range turns the signed order into the unsigned one.
    assert M.slt(one, other) == Bits(int((a + half) % (2 * half) < (b + half) % (2 * half)), 1)
    assert M.select(M.eq(one, other), one, other) == other
    assert M.select(M.ult(one, other), one, other) == Bits(min(a, b), width)


@given(vectors)
def test_counting_and_reversing(case: tuple[int, int, int]) -> None:
    width, a, _ = case
    value = Bits(a, width)
    assert M.leading_zeros(value).number == (text(value) + "1").index("1")
    assert M.population(value).number == text(value).count("1")
    assert text(M.reverse_bits(value)) == text(value)[::-1]


@given(st.integers(0, (1 << 128) - 1), st.sampled_from([8, 16, 32, 64]))
def test_joining_what_was_split(number: int, width: int) -> None:
    lanes = M.split(Bits(number, 128), width)
    assert len(lanes) == 128 // width
    assert lanes[0] == Bits(number % 2**width, width)
    assert M.join(lanes) == Bits(number, 128)


def test_joining_lanes_of_different_widths() -> None:
    assert M.join([Bits(0xA, 4), Bits(0xBC, 8), Bits(1, 1)]) == Bits(0x1BCA, 13)


@pytest.mark.parametrize(("number", "extended"), [(0x7F, 0x7F), (0x80, 0xFFFFFF80), (0, 0)])
def test_extension(number: int, extended: int) -> None:
    assert M.sign_extend(Bits(number, 8), 32) == Bits(extended, 32)
    assert M.zero_extend(Bits(number, 8), 32) == Bits(number, 32)


def test_constants() -> None:
    assert M.const(-1) == Bits(0xFFFFFFFF, 32)
    assert M.const(-2, 8) == Bits(0xFE, 8)
    assert bits(0x1FF, 8) == Bits(0xFF, 8)
    assert [signed(Bits(number, 4)) for number in (0, 7, 8, 15)] == [0, 7, -8, -1]
