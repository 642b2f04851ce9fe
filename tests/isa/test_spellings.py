"""The text of an instruction, and what each way to write one stands for."""

import re

import numpy as np
import pytest

from tests.for_each import for_each
from tilewright.isa import (
    FORM_BY_NAME,
    FORMS,
    SPELLINGS,
    Form,
    Instruction,
    Spelling,
    decode,
    encode,
    instruction_text,
    parse_register,
    spelling_of,
)

REGISTER = re.compile(r"(\$[\w:]*\d)(\+=|\+\+|>>|@)?(:B[LU]?)?")


def read_operand(text: str) -> tuple[str, int]:
    """Signature and value of an operand in canonical text."""
    match = REGISTER.fullmatch(text)
    if match is None:
        return "i", int(text, 0)
    name, suffix, broadcast = match[1], match[2] or "", match[3] or ""
    register = parse_register(name)
    assert register is not None
    file, first, count = register
    kind = {1: file, 2: file * 2, 4: f"{file}q"}[count]
    return kind + suffix + broadcast, first


def assemble(text: str) -> int:
    """The word of one instruction, by the rule that `SPELLINGS` states."""
    mnemonic, _, rest = text.partition(" ")
    operands = [read_operand(each) for each in rest.split(", ")] if rest else []
    signature = tuple(kind for kind, _ in operands)
    values = [value for _, value in operands]
    spelling = next(each for each in SPELLINGS[mnemonic][signature] if holds(each, values))
    return encode(spelling.form, spelling.expand(values))


def holds(spelling: Spelling, values: list[int]) -> bool:
    operands = spelling.text_operands
    return all(operand.accepts(value) for operand, value in zip(operands, values, strict=True))


def text_of(word: int) -> str:
    instruction = decode(word)
    assert instruction is not None
    return instruction_text(instruction)


def random_words_of(form: Form, count: int) -> list[int]:
    """Words of `form`: random ones, and some with small numbers, where aliases hide."""
    generator = np.random.default_rng(form.index)
    words = []
    for position in range(count):
        values = []
        for operand in form.operands:
            steps = (operand.maximum - operand.minimum) // operand.step
            steps = min(steps, 3) if position % 2 else steps
            low = max(operand.minimum, 0) if position % 2 else operand.minimum
            values.append(low + operand.step * int(generator.integers(0, steps + 1)))
        words.append(encode(form, values))
    return words


@for_each(FORMS, name=lambda form: form.name)
def test_text_assembles_back_to_the_word(form: Form) -> None:
    words = random_words_of(form, 40)
    assert [assemble(text_of(word)) for word in words] == words


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (0x19E00000, "nop"),
        (0x1AD00000, "fnop"),
        (0x19D00000, "setzi $m13, 0"),
        (0x44F0F321, "zero $m2"),
        (0x58F0FE20, "zero $a2"),
        (0x58E0EE21, "zero $a2:3"),
        (0x42129000, "mov $m2, $m1"),
        (0x4212C000, "oriz $m2, $m1, 0"),
        (0x52129000, "mov $a2, $a1"),
        (0x5820EE41, "mov $a4:5, $a2:3"),
        (0x5D020010, "mov $m2, $a1"),
        (0x44101322, "swap16 $m2, $m1"),
        (0x44103322, "roll16 $m2, $m1, $m3"),
        (0x58101624, "swap16 $a2, $a1"),
        (0x43F080FF, "strap"),
        (0x43E080FF, "put 255, $m14"),
        (0x47123A00, "movnz $m3, $m1, $m2"),
        (0x51030805, "get $a3, 5"),
        (0x51308005, "put 5, $a3"),
        (0x22120005, "add $m2, $m1, 5"),
        (0x20120005, "addz $m2, $m1, 5"),
        (0x2012FFFF, "add $m2, $m1, 65535"),
        (0x2212FFFF, "add $m2, $m1, -1"),
        (0x37120005, "subz $m2, 5, $m1"),
        (0x3912FFFF, "sub $m2, -1, $m1"),
        (0x44102632, "sub $m3, $m2, $m1"),
        (0x4212CABC, "or $m2, $m1, 2881486848"),
        (0x5212B005, "andc $a2, $a1, 5"),
        (0x5212F000, "andc $a2, $a1, 0"),
        (0x5212B000, "andczi $a2, $a1, 0"),
        (0x18A13004, "call $m10, 0x4c010"),
        (0x01F10003, "ld32 $m1, $m15, $m0, 3"),
        (0x0110F003, "ld32 $m0, $m1, $m15, 3"),
        (0x47123900, "stm32step $m2, $m3, $m1"),
        (0x56342A2A, "ld2xst64pace $a4:7, $a2:3, $m2:3+=, $m3, 42"),
        (0x45321940, "ldb16b16 $a4:5, $m3, $m2++, $m1>>"),
        (0x58080003, "f32v2add $a0:1, $a0:B, $a0:1"),
        (0x40C00000, "sans 0"),
    ],
)
def test_printed_text(word: int, text: str) -> None:
    assert text_of(word) == text


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("or $m2, $m15, $m15", 0x44F0F321),
        ("or $m2, $m1, 0", 0x42129000),
        ("movz $m3, $m1, $m2", 0x47123A00),
        ("uget $a3, 5", 0x51030805),
        ("uput 5, $a3", 0x51308005),
        ("atom $m2, $a1", 0x5D020010),
        ("adds $m2, $m1, 5", 0x22120005),
        ("cmpeqz $m2, $m1, 5", 0x26120005),
        ("cmpeqs $m2, $m1, 5", 0x28120005),
        ("maxz $m2, $m1, 5", 0x2E120005),
        ("maxs $m2, $m1, 5", 0x30120005),
        ("minz $m2, $m1, 5", 0x31120005),
        ("mins $m2, $m1, 5", 0x33120005),
        ("subs $m2, 5, $m1", 0x39120005),
        ("orzi $m2, $m1, 5", 0x42129005),
        ("ld32 $m0, $m1, 3", 0x0110F003),
        ("ld32 $m0, $m1, $m2", 0x4D12F000),
        ("st64 $a2:3, $m1, 3", 0x5F10F023),
        ("ldz8 $m0, $m1, 3", 0x0710F003),
        ("stm32step $m2, $m3+=, $m1", 0x47123900),
        ("f16v4sisov2amp $a2:3, $a4:5, $a6:7, 42", 0x5B62472A),
        ("f16v4sisov2slic $a2:3, $a4:5, $a6:7, 42", 0x5B62462A),
    ],
)
def test_other_ways_to_write_an_instruction(text: str, word: int) -> None:
    assert assemble(text) == word


def test_short_memory_forms_exist_for_every_access_with_a_delta() -> None:
    mnemonics = "ld32 ld64 ld128 ldb8 ldb16 lds8 lds16 ldz8 ldz16 st32 st64".split()
    for mnemonic in mnemonics:
        forms = [form for form in FORMS if form.mnemonic == mnemonic]
        for form in forms:
            data, base, _, offset = form.signature
            (short,) = SPELLINGS[mnemonic][data, base, offset]
            assert (short.form, short.expand([1, 2, 3])) == (form, (1, 2, 15, 3))


def test_step_accesses_have_no_short_form() -> None:
    signatures = SPELLINGS["ld32step"]
    assert {len(signature) for signature in signatures} == {4}


def test_every_form_has_its_own_name_as_a_spelling() -> None:
    for form in FORMS:
        assert form in {each.form for each in SPELLINGS[form.mnemonic][form.signature]}


def test_preferred_spellings_leave_out_fixed_operands() -> None:
    instruction = Instruction(FORM_BY_NAME["put c8,m"], (255, 15))
    spelling = spelling_of(instruction)
    assert (spelling.mnemonic, spelling.signature, spelling.is_preferred) == ("strap", (), True)
    assert spelling.text_operands == ()
    assert spelling.expand([]) == (255, 15)


def test_a_repeated_operand_is_written_once() -> None:
    (spelling,) = SPELLINGS["swap16"]["m", "m"]
    assert spelling.expand([2, 1]) == (2, 1, 1)
    assert spelling.can_print(Instruction(spelling.form, (2, 1, 1)))
    assert not spelling.can_print(Instruction(spelling.form, (2, 1, 3)))
