"""Encoding and decoding: laws that hold for every form, and words that are no instruction."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.for_each import for_each
from tilewright.isa import (
    COISSUE,
    FORM_BY_NAME,
    FORMS,
    UNKNOWN,
    EncodingError,
    Form,
    Instruction,
    Operand,
    decode,
    decode_words,
    encode,
    encode_words,
)

every_form = for_each(FORMS, name=lambda form: form.name)


def boundary_values(operand: Operand) -> list[int]:
    """The ends of the range, one step inside, and the values around 0."""
    low, high, step = operand.minimum, operand.maximum, operand.step
    candidates = {low, low + step, -step, 0, step, high - step, high}
    return sorted(value for value in candidates if low <= value <= high)


def mid_value(operand: Operand) -> int:
    middle = (operand.minimum + operand.maximum) // 2 + operand.step
    return middle - middle % operand.step


def boundary_instructions(form: Form) -> Iterator[Instruction]:
    """One operand at a time at its boundaries and the others in the middle; all at the ends."""
    middle = [mid_value(operand) for operand in form.operands]
    rows = {tuple(middle)}
    rows.add(tuple(operand.minimum for operand in form.operands))
    rows.add(tuple(operand.maximum for operand in form.operands))
    for place, operand in enumerate(form.operands):
        for value in boundary_values(operand):
            rows.add((*middle[:place], value, *middle[place + 1 :]))
    for row in sorted(rows):
        yield Instruction(form, row)
        if not form.is_solo:
            yield Instruction(form, row, coissue=True)


def word_of(instruction: Instruction) -> int:
    return encode(instruction.form, instruction.values, instruction.coissue)


BOUNDARY_WORDS = np.array(
    [word_of(each) for form in FORMS for each in boundary_instructions(form)], dtype=np.uint32
)


def random_words(count: int, seed: int) -> NDArray[np.uint32]:
    return np.random.default_rng(seed).integers(0, 1 << 32, count, dtype=np.uint32)


def random_code(count: int, seed: int) -> NDArray[np.uint32]:
    """Words of random forms with random bits in their operands; some name missing registers."""
    generator = np.random.default_rng(seed)
    chosen = generator.integers(0, len(FORMS), count)
    bases = np.array([form.base for form in FORMS], dtype=np.uint32)[chosen]
    masks = np.array([form.mask for form in FORMS], dtype=np.uint32)[chosen]
    return bases | random_words(count, seed + 1) & ~masks


def operand_bits(form: Form) -> int:
    """The bits that operands occupy, stated without `form.mask`."""
    bits = 0
    for operand in form.operands:
        for high, low in operand.field.pieces:
            bits |= (2 << high) - (1 << low)
    return bits


def fixed_bits(form: Form) -> list[int]:
    """The bits outside of operands, as masks; bit 31 is free where it marks a bundle."""
    free = operand_bits(form) | (0 if form.is_solo else COISSUE)
    return [1 << bit for bit in range(32) if not free >> bit & 1]


def scan(words: NDArray[np.uint32]) -> NDArray[np.int16]:
    """The form of each word by asking every form of the table; at most one may say yes."""
    found = np.full(words.shape, UNKNOWN, dtype=np.int16)
    for form in FORMS:
        fixed = np.uint32(sum(fixed_bits(form)))
        matches = words & fixed == form.base
        for operand in form.operands:
            if operand.is_register:
                numbers = operand.field.extract(words) << (4 - operand.field.width)
                matches &= (numbers <= operand.maximum) & (numbers % operand.count == 0)
        assert not (matches & (found != UNKNOWN)).any(), f"{form} shares words with another form"
        found[matches] = form.index
    return found


@every_form
def test_decode_inverts_encode(form: Form) -> None:
    for instruction in boundary_instructions(form):
        assert decode(word_of(instruction)) == instruction


@every_form
def test_one_step_outside_any_range_is_refused(form: Form) -> None:
    values = [mid_value(operand) for operand in form.operands]
    for place, operand in enumerate(form.operands):
        outside = [operand.minimum - operand.step, operand.maximum + operand.step]
        between = [value + 1 for value in boundary_values(operand)] if operand.step > 1 else []
        for value in outside + between:
            row = [*values[:place], value, *values[place + 1 :]]
            with pytest.raises(EncodingError, match=f"operand {place + 1} of '{form.mnemonic}'"):
                encode(form, row)


@every_form
def test_changing_a_fixed_bit_never_gives_the_same_form(form: Form) -> None:
    for instruction in boundary_instructions(form):
        word = word_of(instruction)
        for bit in fixed_bits(form):
            other = decode(word ^ bit)
            assert other is None or other.form is not form


def test_takes_exactly_its_operands() -> None:
    for form in FORMS:
        values = [mid_value(operand) for operand in form.operands]
        for row in (values[:-1], [*values, 0]):
            with pytest.raises(EncodingError, match=f"takes {len(values)} operands, got"):
                encode(form, row)


def test_solo_forms_are_refused_in_bundles() -> None:
    for form in FORMS:
        if form.is_solo:
            values = [mid_value(operand) for operand in form.operands]
            with pytest.raises(EncodingError, match="cannot be part of a bundle"):
                encode(form, values, coissue=True)


def test_the_bundle_mark_changes_bit_31_only() -> None:
    for form in FORMS:
        if not form.is_solo:
            values = [mid_value(operand) for operand in form.operands]
            assert encode(form, values, coissue=True) == encode(form, values) | COISSUE


def test_bit_31_of_sendpicp_is_part_of_its_opcode() -> None:
    instruction = decode(0xF54A0109)
    assert instruction is not None
    assert instruction.form is FORM_BY_NAME["sendpicp u6,u18,u3,u1"]
    assert not instruction.coissue


def test_encode_inverts_decode() -> None:
    words = [*random_words(20_000, 1).tolist(), *random_code(20_000, 2).tolist()]
    decoded = [(word, decode(word)) for word in words]
    assert [word for word, each in decoded if each and word_of(each) != word] == []
    assert sum(each is not None for _, each in decoded) > 20_000


def test_decode_words_agrees_with_decode() -> None:
    words = np.concatenate([random_words(100_000, 3), BOUNDARY_WORDS])
    expected = [each.form.index if (each := decode(word)) else UNKNOWN for word in words.tolist()]
    assert decode_words(words).tolist() == expected


def test_decode_words_agrees_with_a_scan_of_the_table() -> None:
    words = np.concatenate([random_words(50_000, 4), random_code(50_000, 5), BOUNDARY_WORDS])
    np.testing.assert_array_equal(decode_words(words), scan(words))


def test_a_changed_fixed_bit_gives_the_form_that_has_the_word_or_none() -> None:
    """No form ignores a bit: a word next to an instruction is another one's, or unknown."""
    words = [
        word_of(instruction) ^ bit
        for form in FORMS
        for instruction in boundary_instructions(form)
        for bit in fixed_bits(form)
    ]
    neighbours = np.unique(np.array(words, dtype=np.uint32))
    found = decode_words(neighbours)
    np.testing.assert_array_equal(found, scan(neighbours))
    assert (found == UNKNOWN).mean() > 0.5


def test_decode_words_keeps_the_shape() -> None:
    words = random_code(24, 6).reshape(2, 3, 4)
    found = decode_words(words)
    assert found.shape == words.shape
    np.testing.assert_array_equal(found.reshape(-1), decode_words(words.reshape(-1)))
    assert decode_words(np.zeros(0, dtype=np.uint32)).shape == (0,)


def test_decode_words_takes_strided_views() -> None:
    words = random_code(1000, 7)
    np.testing.assert_array_equal(decode_words(words[::3]), decode_words(words)[::3])


@given(st.integers(0, 2**32 - 1))
def test_any_word_decodes_or_is_unknown(word: int) -> None:
    instruction = decode(word)
    if instruction is not None:
        assert word_of(instruction) == word


@pytest.mark.parametrize(
    ("word", "why"),
    [
        (0x00000000, "memory that was never written"),
        (0x42800001, "and with bit 15 clear: a unary instruction that does not exist"),
        (0x50000500, "no sixth generator instruction"),
        (0x53000600, "accumulator reads of earlier tables"),
        (0x58000004, "an empty place of the arithmetic grid"),
        (0x5B000041, "an AMP form without the vector bit that it has"),
        (0x40880000, "bri has a field of 19 bits"),
        (0x440000F8, "bit 3 of a three-register instruction is unused"),
        (0x5C00E200, "st64pace through $m14:15"),
        (0x4600C000, "ld2x64pace through $m12:13"),
        (0x58000013, "f32v2add into the odd pair $a1:2"),
        (0xC3001000, "exitneg marked as half of a bundle"),
    ],
)
def test_words_that_are_no_instruction(word: int, why: str) -> None:
    assert decode(word) is None, why
    assert decode_words(np.array([word], dtype=np.uint32)).tolist() == [UNKNOWN]


@every_form
def test_arrays_are_encoded_as_single_words_are(form: Form) -> None:
    choices = [
        sorted({operand.minimum, operand.minimum + operand.step, operand.maximum})
        for operand in form.operands
    ]
    count = max((len(each) for each in choices), default=1)
    columns = [np.resize(each, count) for each in choices]
    expected = [encode(form, [int(column[row]) for column in columns]) for row in range(count)]
    found = encode_words(form, *columns)
    assert np.broadcast_to(found, count).tolist() == expected


def test_the_first_number_that_does_not_fit_an_array_is_told() -> None:
    form = FORM_BY_NAME["delaypic u7,u1,u18"]
    with pytest.raises(EncodingError, match=r"operand 1 of 'delaypic': .* cannot be 128"):
        encode_words(form, [3, 128, 200], 0, [0, 1, 2])
    with pytest.raises(EncodingError, match="takes 3 operands, got 2"):
        encode_words(form, [3], [0])
