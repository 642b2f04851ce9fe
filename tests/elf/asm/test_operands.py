"""Operands: registers, groups, suffixes, broadcasts, and how a list of them splits."""

from typing import TYPE_CHECKING

import pytest

from tilewright.elf.asm.operands import operand_spans, split_operands

if TYPE_CHECKING:
    from tests.elf.asm.conftest import Assemble, OneFault


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("  a ,  b  ", ["a", "b"]),
        ("a,", ["a", ""]),
        (",", ["", ""]),
        ('"a,b", c', ['"a,b"', "c"]),
        (r'"a\",b", c', [r'"a\",b"', "c"]),
        (r'"a\\", c', [r'"a\\"', "c"]),
    ],
)
def test_splitting(text: str, pieces: list[str]) -> None:
    assert split_operands(text) == pieces
    if text:
        assert [text[start:end] for start, end in operand_spans(text)] == pieces


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("$m0", 0),
        ("$m15", 15),
        ("$bp", 8),
        ("$fp", 9),
        ("$lr", 10),
        ("$sp", 11),
        ("$mworker_base", 12),
        ("$mvertex_base", 13),
        ("$mzero", 15),
    ],
)
def test_names_of_m_registers(assembly: "Assemble", name: str, number: int) -> None:
    assert assembly(f"add {name}, {name}, {name}").words() == [
        0x44000001 | number << 20 | number << 12 | number << 4
    ]


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *((f"$a{n}:{n + 1}", n) for n in range(0, 16, 2)),
        ("$azeros", 14),
        *((f"$ap{n}", 2 * n) for n in range(7)),
        ("$ap15", 14),
    ],
)
def test_names_of_pairs(assembly: "Assemble", name: str, number: int) -> None:
    assert assembly(f"f16v4acc {name}").words() == [0x59008000 | number << 20]


@pytest.mark.parametrize("first", [0, 4, 8, 12])
def test_names_of_quads(assembly: "Assemble", first: int) -> None:
    assert assembly(f"f16v8acc $a{first}:{first + 3}").words() == [0x59008100 | first << 20]


def test_names_of_m_pairs(assembly: "Assemble", one_fault: "OneFault") -> None:
    for first in range(0, 12, 2):
        made = assembly(f"tapack $m{first}:{first + 1}, $m1, $m2, $m3")
        assert made.words() == [0x4D132001 | first << 4]
    # $m12 to $m15 are read-only.
    one_fault("tapack «$m12:13», $m1, $m2, $m3", "pair")
    one_fault("tapack «$m14:15», $m1, $m2, $m3", "pair")


def test_single_zero_register(assembly: "Assemble") -> None:
    assert assembly("f32add $azero, $a15, $azero").words() == [0x58F0F0F0]


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("f16v2add $a1, $a2:BL, $a3", 0x58283011),
        ("f16v2add $a1, $a2:BU, $a3", 0x582C3011),
        ("f16v4add $a0:1, $a3:BL, $a4:5", 0x58384002),
        ("f16v4add $a0:1, $a3:BU, $a4:5", 0x583C4002),
        ("f32v2add $a0:1, $a3:B, $a4:5", 0x58384003),
        ("f32v2mul $a0:1, $azero:B, $a4:5", 0x58F84303),
        ("sort4x16hi $a1, $a2:BL, $a3", 0x58283618),
        ("sort4x16lo $a1, $a2:BU, $a3", 0x582C361C),
    ],
)
def test_broadcasts(assembly: "Assemble", source: str, word: int) -> None:
    assert assembly(source).words() == [word]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("f32v2add $a0:1, «$a3:BL», $a4:5", "expected"),
        ("f16v2add $a1, «$a2:B», $a3", "expected"),
        ("f16v2add $a1, $a2, «$a3:BL»", "expected an $a register such as $a1"),
        ("f32add $a1, «$a2:B», $a3", "expected an $a register"),
        ("f16v2add $a1, $a2:B«X», $a3", "unexpected 'X'"),
        ("sort4x16hi $a1, «$a2:BU», $a3", "expected"),
    ],
)
def test_broadcast_fault(one_fault: "OneFault", source: str, message: str) -> None:
    one_fault(source, message)


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("ld32step $m1, $m2, $m3+=, -1", 0x1C2131FF),
        ("ld32step $a1, $m2, $m3+=, $m4", 0x47243111),
        ("st32step $a1, $m2, $m3+=, -128", 0x5C203018),
        ("st64step $a2:3, $m2, $m3+=, 127", 0x5C2F3127),
        ("ld64a32 $a4:7, $m1++, $m2, $m3", 0x47231743),
        ("ldb16b16 $a2:3, $m1, $m2++, $m3>>", 0x45123920),
        ("ldd16a32 $a1, $m2++, $m3, $m4@", 0x45342A10),
        ("ldd16a64 $a2:3, $m2++, $m3, $m4@", 0x45342B20),
        ("ld2x64pace $a0:1, $a2:3, $m4:5+=, $m6, 0b1001", 0x46604029),
        ("ld2xst64pace $a4:7, $a2:3, $m4:5+=, $m6, 0b110101", 0x56644B25),
        ("ldst64pace $a4:5, $a2:3, $m4:5+=, $m6, 5", 0x56644125),
        ("st64pace $a2:3, $m4:5+=, $m6, 0xab", 0x5C6B422A),
        ("ld64a32pace $a4:5, $a3, $m4:5+=, $m6, 3", 0x46644333),
    ],
)
def test_suffixes(assembly: "Assemble", source: str, word: int) -> None:
    assert assembly(source).words() == [word]


def test_blanks_do_not_matter(assembly: "Assemble") -> None:
    variants = [
        "ld32step $m1,$m2,$m3+=,1",
        "ld32step  $m1 , $m2 , $m3+= , 1  ",
        "\tld32step\t$m1,\t$m2,\t$m3+=,\t1",
    ]
    assert {assembly(each).words()[0] for each in variants} == {0x1C213101}


def test_empty_operand(one_fault: "OneFault") -> None:
    one_fault("add $m0,« », 1", "expected an operand")
    one_fault("add $m0, $m1,« »", "expected an operand")
