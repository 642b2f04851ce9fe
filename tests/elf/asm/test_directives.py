"""Data, strings and space; switches; messages; directives that do nothing."""

import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tilewright.elf.relocations import RelocationType

if TYPE_CHECKING:
    from tests.elf.asm.conftest import Assemble, Faults, OneFault

NOP = 0x19E00000
WIDTHS = {
    ".byte": 1,
    ".half": 2,
    ".short": 2,
    ".hword": 2,
    ".2byte": 2,
    ".long": 4,
    ".int": 4,
    ".word": 4,
    ".4byte": 4,
    ".quad": 8,
    ".8byte": 8,
}
every_width = pytest.mark.parametrize(("directive", "width"), WIDTHS.items())


# -- numbers --------------------------------------------------------------------------------------


@every_width
def test_numbers_are_little_endian(assembly: "Assemble", directive: str, width: int) -> None:
    data = assembly(f"{directive} 1, 0x12, -2").data()
    assert data == b"".join(value.to_bytes(width, "little", signed=True) for value in (1, 0x12, -2))


@every_width
def test_ends_of_the_range(
    assembly: "Assemble", one_fault: "OneFault", directive: str, width: int
) -> None:
    lowest, highest = -(1 << (8 * width - 1)), (1 << 8 * width) - 1
    data = assembly(f"{directive} {lowest}, {highest}").data()
    assert data == (1 << (8 * width - 1)).to_bytes(width, "little") + b"\xff" * width
    if width < 8:
        one_fault(f"{directive} 0, «{lowest - 1}»", "out of range")
        one_fault(f"{directive} «{highest + 1}»", "out of range")
        one_fault(f"{directive} «x», 0\n.set x, {highest + 1}", "out of range")


@given(st.lists(st.integers(-(2**31), 2**32 - 1), min_size=1, max_size=20))
@examples(30)
def test_longs(assembly: "Assemble", values: list[int]) -> None:
    expected = np.array(values, dtype=np.int64).astype(np.uint32).tobytes()
    assert assembly(".long " + ", ".join(map(str, values))).data() == expected


@every_width
def test_value_of_a_symbol(assembly: "Assemble", directive: str, width: int) -> None:
    kind = {
        1: RelocationType.ABS_8,
        2: RelocationType.ABS_16,
        4: RelocationType.ABS_32,
        8: RelocationType.ABS_64,
    }[width]
    made = assembly(f".data\n{directive} 7, sym, sym + 0x45\n")
    assert made.data(".data") == (7).to_bytes(width, "little") + bytes(2 * width)
    assert made.relocations(".data") == [(width, kind, "sym", 0), (2 * width, kind, "sym", 0x45)]


MODIFIED = [
    (".half", "@relative@16@s2", RelocationType.RELATIVE_16_S2),
    (".long", "@abs18@s2", RelocationType.ABS_18_S2),
    (".long", "@abs19@s2", RelocationType.ABS_19_S2),
    (".long", "@abs@21", RelocationType.ABS_21),
    (".half", "@16@s3", RelocationType.ABS_16_S3),
    (".half", "@16@s4", RelocationType.ABS_16_S4),
    (".half", "@16@s5", RelocationType.ABS_16_S5),
]


@pytest.mark.parametrize(("directive", "modifier", "kind"), MODIFIED)
def test_modifiers_choose_the_relocation(
    assembly: "Assemble", directive: str, modifier: str, kind: RelocationType
) -> None:
    source = f".data\n{directive} (sym + 8){modifier}, sym{modifier}, .Lhere{modifier}\n.Lhere:\n"
    made = assembly(source)
    width = WIDTHS[directive]
    assert made.data(".data") == bytes(3 * width)
    assert made.relocations(".data") == [
        (0, kind, "sym", 8),
        (width, kind, "sym", 0),
        (2 * width, kind, ".data", 3 * width),
    ]


@pytest.mark.parametrize(
    ("source", "data"),
    [
        # Memory starts at 0x4c000.
        (".half (0x4c000)@relative@16@s2", b"\x00\x00"),
        (".half (0x4c004 + 8)@relative@16@s2", b"\x03\x00"),
        (".half (0x4c000 + 4 * 0xffff)@relative@16@s2", b"\xff\xff"),
        (".long (0x50120)@abs18@s2", b"\x48\x40\x01\x00"),
        (".long (0x1ffffc)@abs19@s2", b"\xff\xff\x07\x00"),
        (".long 0x7ae40@abs@21", b"\x40\xae\x07\x00"),
        (".half (8 * 0x1234)@16@s3", b"\x34\x12"),
        (".half (16 * 0x1234)@16@s4", b"\x34\x12"),
        (".half (32 * 0x1234)@16@s5", b"\x34\x12"),
        (".half x@16@s3\n.set x, 8 * 0x1234", b"\x34\x12"),
    ],
)
def test_modifiers_apply_to_numbers(assembly: "Assemble", source: str, data: bytes) -> None:
    assert assembly(source).data() == data


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (".half «(0x4c002)@relative@16@s2»", "aligned"),
        (".half «(0x4bffc)@relative@16@s2»", "RELATIVE_16_S2"),
        (".long «(1 << 20)@abs18@s2»", "18_S2"),
        (".long «(1 << 21)@abs19@s2»", "19_S2"),
        (".long «(1 << 21)@abs@21»", "21"),
        (".half «4@16@s3»", "aligned"),
        (".byte «sym@abs@21»", "does not fit .byte"),
        (".long «sym@relative@16@s2»", "does not fit .long"),
        (".half «sym@abs18@s2»", "does not fit .half"),
        ("setzi $m0, «sym@abs@21»", "data directives only"),
        ("«.byte»", "needs a value"),
        (".byte 1,« »", "expected an expression"),
        (".long «$m3»", "not a register"),
        (".quad «$a2:3»", "not a register"),
    ],
)
def test_data_fault(one_fault: "OneFault", source: str, message: str) -> None:
    one_fault(source, message)


@pytest.mark.parametrize(
    "text", ["1", "-2.5", "0.1", "1e-45", "3.4e38", "1e39", "-0.0", ".5", "2f"]
)
def test_floats(assembly: "Assemble", text: str) -> None:
    with np.errstate(over="ignore"):
        expected = np.float32(float(text.rstrip("f"))).tobytes()
    assert assembly(f".float {text}\n.single {text}").data() == expected * 2


def test_floats_are_rounded_once(assembly: "Assemble") -> None:
    # Just above a tie between two floats: rounding to double first would fall on the tie.
    assert assembly(".float 1.00000005960464477540").words() == [0x3F800001]
    assert assembly(".float 1.000000059604644775390625").words() == [0x3F800000]


@pytest.mark.parametrize("text", ["abc", "1.0h", "1e", "--1", "1e9999", '"1"', "1" * 5000])
def test_what_is_no_float(faults: "Faults", text: str) -> None:
    (fault,) = faults(f".float 1.5, {text}")
    assert fault.first == 13


# -- strings and space ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "data"),
    [
        ('.ascii "abc"', b"abc"),
        ('.ascii "abc", "de"', b"abcde"),
        ('.asciz "abc"', b"abc\0"),
        ('.string "abc", ""', b"abc\0\0"),
        (r'.ascii "a\n\t\\\"\r\b\f"', b'a\n\t\\"\r\b\f'),
        (r'.ascii "\0\101\7x\1234"', b"\0A\7xS4"),
        (r'.ascii "\x41\xfez"', b"A\xfez"),
        ('.ascii "a;b{}#c//d/*e*/,f"', b"a;b{}#c//d/*e*/,f"),
        ('.ascii "é"', "é".encode()),
        ('.ascii ""', b""),
    ],
)
def test_strings(assembly: "Assemble", source: str, data: bytes) -> None:
    assert assembly(f"nop\n{source}\n.byte 0xee").data() == b"\0\0\xe0\x19" + data + b"\xee"


@pytest.mark.parametrize("text", ["abc", '"abc', "3", '"a" "b"'])
def test_what_is_no_string(faults: "Faults", text: str) -> None:
    assert len(faults(f".ascii {text}")) == 1


@pytest.mark.parametrize(
    ("source", "data"),
    [
        (".space 3", bytes(3)),
        (".skip 2, 0xab", b"\xab\xab"),
        (".zero 2 * 2", bytes(4)),
        (".space 0", b""),
        (".space 2, -1", b"\xff\xff"),
        (".fill 3", b"\0\0\0"),
        (".fill 2, 1, 7", b"\7\7"),
        (".fill 2, 4, 0x1234", b"\x34\x12\0\0" * 2),
        (".fill 1, 8, -1", b"\xff" * 8),
        (".fill 0, 4, 1", b""),
        (".org 4\n.byte 1", b"\0\0\0\0\1"),
        (".byte 9\nx: .byte 8\n.org x + 4\n.byte 1", b"\x09\x08\0\0\0\1"),
        (".byte 9\n.org . + 2\n.byte 1", b"\x09\0\0\1"),
    ],
)
def test_space(assembly: "Assemble", source: str, data: bytes) -> None:
    assert assembly(f".data\n{source}\n.byte 0xee").data(".data") == data + b"\xee"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (".space «-1»", "out of range"),
        (".space «1 << 40»", "out of range"),
        ("«.space»", "needs a number"),
        (".space «x»\n.set x, 4", "known here"),
        (".space «elsewhere»", "known here"),
        (".space 1, 2, «3»", "at most 2"),
        (".fill 1, «9»", "out of range"),
        (".fill «-1»", "out of range"),
        ("nop\n.org «2»", "goes back"),
        (".org «1 << 40»", "out of range"),
        (".data\nx: .text\n.org «x»", "current section"),
    ],
)
def test_space_fault(one_fault: "OneFault", source: str, message: str) -> None:
    one_fault(source, message)


# -- switches -------------------------------------------------------------------------------------


def test_code_is_worker_code_until_it_is_said_otherwise(assembly: "Assemble") -> None:
    made = assembly("exitz $mzero\n.supervisor\nsync 1\n.worker\nexitz $mzero\n")
    assert made.words() == [0x43F04000, 0x41800001, 0x43F04000]


def test_mode_is_not_bound_to_the_section(assembly: "Assemble") -> None:
    assert assembly('.supervisor\n.section .text.x, "ax"\nsync 1\n').words(".text.x") == [
        0x41800001
    ]


def test_switch_for_execution_modes(assembly: "Assemble", one_fault: "OneFault") -> None:
    allowed = ".allow_invalid_execution_mode\n"
    source = "sync 1\nget $m0, $FP_ICTL\n.supervisor\nexitz $mzero\nget $m0, $WSR\n"
    assert assembly(allowed + source).words() == [0x41800001, 0x41000020, 0x43F04000, 0x41000001]
    one_fault(f"{allowed}sync 1\n.error_on_invalid_execution_mode\n«sync» 1", "supervisor")


def test_switch_for_operands(assembly: "Assemble", one_fault: "OneFault") -> None:
    allowed = ".allow_invalid_operands\n"
    source = """
    f16v4acc $a1:2
    f16v4acc $a0:1
    f16v8acc $a5:8
    bri 1 << 21
    bri (1 << 21) + 8
    bri -4
    call $m0, 1 << 22
    """
    assert assembly(allowed + source).words() == [
        0x59008000,
        0x59008000,
        0x59408100,
        0x40800000,
        0x40800002,
        0x4087FFFF,
        0x18000000,
    ]
    source = f"{allowed}f16v4acc $a1:2\n.error_on_invalid_operands\nf16v4acc «$a1:2»\n"
    one_fault(source, "misaligned")


def test_switch_for_operands_covers_values_known_later(assembly: "Assemble") -> None:
    made = assembly(".allow_invalid_operands\nbri x\n.set x, (1 << 21) + 4\n")
    assert made.words() == [0x40800001]


@pytest.mark.parametrize(
    "operand", ["$a16:17", "$a0:2", "$m16"], ids=["number", "span", "single register"]
)
def test_switch_for_operands_does_not_invent_registers(faults: "Faults", operand: str) -> None:
    assert len(faults(f".allow_invalid_operands\nf16v4acc {operand}")) == 1


@pytest.mark.parametrize(
    "name",
    [
        ".worker",
        ".supervisor",
        ".allow_optimizations",
        ".warn_on_invalid_bundles",
        ".error_on_invalid_bundles",
        ".allow_invalid_operands",
        ".error_on_invalid_operands",
        ".allow_invalid_execution_mode",
        ".error_on_invalid_execution_mode",
        ".allow_invalid_repeat",
    ],
)
def test_switches_take_no_operands(assembly: "Assemble", one_fault: "OneFault", name: str) -> None:
    assert assembly(f"{name}\nnop").words() == [NOP]
    one_fault(f"{name} «x»", "takes no operands")


# -- messages and the rest ------------------------------------------------------------------------


def test_error_and_warning(one_fault: "OneFault", one_warning: "OneFault") -> None:
    one_fault('nop\n«.error» "the size is wrong"', "the size is wrong")
    one_fault("«.error»", ".error")
    one_warning('.warning «"look here"»', "look here")


def test_ignored_directives(assembly: "Assemble") -> None:
    source = """
    .file "kernel.c"
    .loc 1 2 3
    .ident "compiler 1.0"
    .extern foo
    .addrsig
    .addrsig_sym foo
    .cfi_startproc
    .cfi_def_cfa_offset 16
    nop
    .cfi_endproc
    """
    made = assembly(source)
    assert (made.words(), made.names()) == ([NOP], [])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("«.lnog» 1", "unknown directive '.lnog'; did you mean '.long'?"),
        ("«.endm»", ".endm without .macro"),
        ("«.endr»", ".endr without .rept"),
        ("«.exitm»", "outside a macro"),
        (".purgem «x»", "no macro 'x'"),
        ("«?»", "expected a label, directive, macro or instruction"),
        ("nop; «, nop»", "expected a label, directive, macro or instruction"),
    ],
)
def test_unknown_statement(one_fault: "OneFault", source: str, message: str) -> None:
    one_fault(source, message)


def test_data_in_a_bundle_is_a_fault(faults: "Faults") -> None:
    for directive in (".long 1", ".align 16", ".space 4", ".section .data", ".text"):
        (fault,) = faults(f"{{ nop\n{directive}\nfnop }}")
        assert (fault.line, fault.first) == (2, 1), directive


def test_integers_stand_for_themselves_in_every_notation(assembly: "Assemble") -> None:
    data = assembly(".long 65, 0x41, 0101, 0b1000001").data()
    assert data == struct.pack("<4I", 65, 65, 65, 65)
