"""Words of code as lines: which words are instructions, bundles, or neither."""

import numpy as np
import pytest

from tilewright.elf.code_lines import CodeLine, Role, disassemble_words, has_faulty_repeat
from tilewright.isa import COISSUE, FORM_BY_NAME, FORMS, encode
from tilewright.target.geometry import MEMORY_BASE, MEMORY_SIZE


def word(name: str, *values: int, coissue: bool = False) -> int:
    return encode(FORM_BY_NAME[name], values, coissue)


def lines_of(*words: int) -> list[CodeLine]:
    return disassemble_words(np.array(words, dtype=np.uint32), MEMORY_BASE)


def texts_of(*words: int) -> list[str]:
    return [line.text for line in lines_of(*words)]


LOAD = word("ld32 a,m,m,u12", 4, 1, 15, 3, coissue=True)
ADD = word("f32add a,a,a", 1, 2, 3, coissue=True)
NOP = word("setzi m,x20", 14, 0)
REPEAT = word("rpt m,u8", 3, 0)
BUNDLE = (LOAD, ADD)


def test_a_line_knows_address_word_and_form() -> None:
    first, second = lines_of(NOP, word("br m", 10))
    assert first == CodeLine(0x4C000, 0x19E00000, "nop", None, FORM_BY_NAME["setzi m,x20"])
    assert (second.address, second.text) == (0x4C004, "br $m10")


def test_unknown_words_are_data() -> None:
    assert lines_of(0xABC) == [CodeLine(MEMORY_BASE, 0xABC, ".long 0x00000abc", None, None)]


def test_no_words_give_no_lines() -> None:
    assert lines_of() == []


def test_a_bundle_is_in_braces_over_two_lines() -> None:
    main, aux = lines_of(*BUNDLE)
    assert (main.role, main.text) == ("main", "{ ld32 $a4, $m1, $m15, 3")
    assert (aux.role, aux.text) == ("aux", "f32add $a1, $a2, $a3 }")


def test_bundles_may_start_at_any_word_and_follow_each_other() -> None:
    roles: list[Role | None] = [line.role for line in lines_of(NOP, *BUNDLE, *BUNDLE, NOP)]
    assert roles == [None, "main", "aux", "main", "aux", None]


LOAD_PAIR = "ld64 aa,m,m,u12"


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (LOAD, ADD & ~COISSUE, "the second is not marked"),
        (LOAD & ~COISSUE, ADD, "the first is not marked"),
        (ADD, LOAD, "aux before main"),
        (LOAD, LOAD, "both main"),
        (ADD, ADD, "both aux"),
        (LOAD, 0x80000000, "the second is unknown"),
        (word("ld32 a,m,m,u12", 1, 1, 15, 3, coissue=True), ADD, "both write $a1"),
        (word(LOAD_PAIR, 0, 1, 15, 3, coissue=True), ADD, "$a1 is in $a0:1"),
        (
            word("ld128 aq,m,m,u12", 0, 1, 15, 3, coissue=True),
            word("f32v2add aa,aa,aa", 2, 4, 4, coissue=True),
            "$a2:3 is in $a0:3",
        ),
        (
            word("ld32 a,m,m,u12", 15, 1, 15, 3, coissue=True),
            word("f32v2add aa,aa,aa", 14, 4, 4, coissue=True),
            "$a15 is in $a14:15, though both discard",
        ),
        (word("ld64putcs c8", 0, coissue=True), ADD, "supervisors have no bundles"),
    ],
)
def test_words_that_make_no_bundle(first: int, second: int, why: str) -> None:
    lines = lines_of(first, second)
    assert [line.role for line in lines] == [None, None], why
    for line in lines:
        # Marked words alone can only be written as data; unmarked ones stand for themselves.
        assert (line.form is None) == (line.word & COISSUE != 0), why


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (word(LOAD_PAIR, 2, 1, 15, 3, coissue=True), ADD),
        (word("st32 a,m,m,u12", 1, 1, 15, 3, coissue=True), ADD),
        (
            word("ld2x64pace aa,aa,mm+=,m,f4", 0, 2, 4, 6, 0, coissue=True),
            word("f32add a,a,a", 4, 2, 3, coissue=True),
        ),
        (word("brnzdec m,t19", 1, 0x4C000, coissue=True), ADD),
        (word("atom m,a", 1, 1, coissue=True), ADD),
        (word("setzi m,x20", 14, 0, coissue=True), word("setzi a,x20", 13, 0, coissue=True)),
    ],
)
def test_words_that_make_a_bundle(first: int, second: int) -> None:
    assert [line.role for line in lines_of(first, second)] == ["main", "aux"]


def test_the_word_after_sendpicp_is_its_data() -> None:
    send = word("sendpicp u6,u18,u3,u1", 51, 0, 0, 0)
    assert texts_of(send, NOP, NOP) == ["sendpicp 51, 0, 0, 0", ".long 0x19e00000", "nop"]


def test_data_of_sendpicp_may_look_like_sendpicp() -> None:
    send = word("sendpicp u6,u18,u3,u1", 51, 0, 0, 0)
    texts = texts_of(send, send, send, send)
    assert texts == ["sendpicp 51, 0, 0, 0", ".long 0xf6600000"] * 2


def test_sendpicp_must_start_at_a_multiple_of_8_bytes() -> None:
    send = word("sendpicp u6,u18,u3,u1", 51, 0, 0, 0)
    texts = texts_of(NOP, send, send, NOP, NOP)
    assert texts == ["nop", ".long 0xf6600000", "sendpicp 51, 0, 0, 0", ".long 0x19e00000", "nop"]


def test_sendpicp_may_be_the_last_word() -> None:
    assert texts_of(word("sendpicp u6,u18,u3,u1", 51, 0, 0, 0)) == ["sendpicp 51, 0, 0, 0"]


def test_words_can_be_declared_data() -> None:
    words = np.array([NOP, *BUNDLE], dtype=np.uint32)
    texts = [line.text for line in disassemble_words(words, 0, data=[0, 1])]
    assert texts == [f".long {each:#010x}" for each in words.tolist()]


@pytest.mark.parametrize(
    ("words", "is_faulty", "why"),
    [
        ((NOP, REPEAT, *BUNDLE), False, "a bundle at 8"),
        ((NOP, REPEAT), False, "nothing follows"),
        ((REPEAT,), False, "nothing follows, whatever the alignment"),
        ((REPEAT, *BUNDLE), True, "the body starts at 4"),
        ((NOP, REPEAT, NOP, NOP), True, "no bundle"),
        ((NOP, REPEAT, LOAD & ~COISSUE, ADD & ~COISSUE), True, "not marked as a bundle"),
        ((NOP, REPEAT, NOP), True, "half a bundle"),
        ((NOP, word("rpt u12,u8", 5, 1), *BUNDLE), True, "the body has two bundles"),
        ((NOP, word("rpt u12,u8", 5, 1), *BUNDLE, *BUNDLE, NOP), False, "two bundles"),
        ((NOP, word("rpt u12,u8", 5, 0), *BUNDLE, NOP, NOP), False, "what follows is free"),
        ((NOP, REPEAT, word("br m", 1, coissue=True), ADD), True, "a branch in the body"),
        ((NOP, REPEAT, word("trap u4", 1, coissue=True), ADD), True, "a trap in the body"),
        ((NOP, REPEAT, LOAD, word("uget a,c8", 1, 2, coissue=True)), True, "a get in the body"),
        ((REPEAT | COISSUE, ADD, *BUNDLE), False, "the rpt's own bundle is not of the body"),
        ((NOP, REPEAT | COISSUE, ADD, *BUNDLE), True, "the body starts at 12"),
        ((REPEAT | COISSUE, ADD), False, "nothing follows the bundle"),
        ((REPEAT | COISSUE, NOP, NOP), False, "a lone half is no rpt"),
    ],
)
def test_repeats_that_the_assembler_refuses(
    words: tuple[int, ...], is_faulty: bool, why: str
) -> None:
    assert has_faulty_repeat(lines_of(*words), is_followed=False) is is_faulty, why


def test_odd_bytes_after_a_final_repeat_are_its_faulty_body() -> None:
    assert has_faulty_repeat(lines_of(NOP, REPEAT), is_followed=True)


def test_the_code_of_a_whole_tile() -> None:
    generator = np.random.default_rng(3)
    count = MEMORY_SIZE // 4
    chosen = generator.integers(0, len(FORMS), count)
    words = np.array([form.base for form in FORMS], dtype=np.uint32)[chosen]
    words |= (
        generator.integers(0, 1 << 32, count, dtype=np.uint32)
        & ~np.array([form.mask for form in FORMS], dtype=np.uint32)[chosen]
    )
    lines = disassemble_words(words, MEMORY_BASE)
    assert len(lines) == count
    assert any(line.role for line in lines)
