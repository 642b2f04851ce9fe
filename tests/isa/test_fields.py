"""Where the bits of a value live in a word."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.isa import Field


def test_parses_one_range() -> None:
    assert Field.parse("15:0").pieces == ((15, 0),)


def test_parses_a_single_bit() -> None:
    assert Field.parse("27").pieces == ((27, 27),)


def test_parses_split_fields_most_significant_bits_first() -> None:
    assert Field.parse("19:16,11:0").pieces == ((19, 16), (11, 0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("32:0", "outside 31:0"),
        ("0:4", "reversed"),
        ("7:0,3:0", "overlap"),
        ("", "invalid literal"),
    ],
)
def test_refuses_impossible_ranges(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Field.parse(text)


def test_width_and_mask_count_all_pieces() -> None:
    field = Field.parse("19:16,11:0")
    assert (field.width, field.mask) == (16, 0x000F_0FFF)


def test_inserts_upper_bits_into_the_first_piece() -> None:
    assert Field.parse("19:16,11:0").insert(0xABCD) == 0x000A_0BCD


def test_first_piece_may_lie_below_the_second() -> None:
    assert Field.parse("3:0,19:16").insert(0xA5) == 0x0005_000A


def test_extracts_from_arrays_as_from_numbers() -> None:
    field = Field.parse("9:8,3:0")
    words = np.array([0, 0xFFFF_FFFF, 0x0000_0205, 0x1234_5678], dtype=np.uint32)
    assert field.extract(words).tolist() == [field.extract(int(word)) for word in words]


@st.composite
def fields(draw: st.DrawFn) -> Field:
    """Fields of one to four pieces in any order."""
    edges = draw(st.lists(st.integers(0, 32), min_size=2, max_size=8, unique=True))
    edges = sorted(edges[: len(edges) // 2 * 2])
    pieces = [(high - 1, low) for low, high in zip(edges[::2], edges[1::2], strict=True)]
    return Field(tuple(draw(st.permutations(pieces))))


@given(fields(), st.integers(0, 2**32 - 1))
def test_extract_inverts_insert(field: Field, value: int) -> None:
    value &= (1 << field.width) - 1
    word = field.insert(value)
    assert word & ~field.mask == 0
    assert field.extract(word) == value


@given(fields(), st.integers(0, 2**32 - 1))
def test_insert_inverts_extract(field: Field, word: int) -> None:
    assert field.insert(field.extract(word)) == word & field.mask
