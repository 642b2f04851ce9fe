"""Sections: names, flags, types, alignment and the bytes that fill gaps."""

from typing import TYPE_CHECKING

import pytest

from tilewright.elf.object import SectionFlag, SectionType

if TYPE_CHECKING:
    from tests.elf.asm.conftest import Assemble, Faults, OneFault

A, W, X = SectionFlag.ALLOC, SectionFlag.WRITE, SectionFlag.EXECINSTR
M, S = SectionFlag.MERGE, SectionFlag.STRINGS
NOP = 0x19E00000
FNOP = 0x1AD00000


@pytest.mark.parametrize(
    ("directive", "name", "flags", "kind"),
    [
        (".text", ".text", A | X, SectionType.PROGBITS),
        (".data", ".data", A | W, SectionType.PROGBITS),
        (".bss", ".bss", A | W, SectionType.NOBITS),
        (".rodata", ".rodata", A, SectionType.PROGBITS),
        (".section .text.f", ".text.f", A | X, SectionType.PROGBITS),
        ('.section .text.f, ""', ".text.f", A | X, SectionType.PROGBITS),
        ('.section .text.f, "a"', ".text.f", A | X, SectionType.PROGBITS),
        ('.section ".text.f", "ax", @progbits', ".text.f", A | X, SectionType.PROGBITS),
        ('.section .text.f, "ax", "ax"', ".text.f", A | X, SectionType.PROGBITS),
        ('.section .text.f, "aw"', ".text.f", A | W | X, SectionType.PROGBITS),
        ('.section .data.table, "a"', ".data.table", A, SectionType.PROGBITS),
        (".section .data.x", ".data.x", A | W, SectionType.PROGBITS),
        (".section .rodata.x", ".rodata.x", A, SectionType.PROGBITS),
        (".section .bss.x", ".bss.x", A | W, SectionType.NOBITS),
        ('.section zeros, "aw", @nobits', "zeros", A | W, SectionType.NOBITS),
        ('.section zeros, "aw", %nobits', "zeros", A | W, SectionType.NOBITS),
        (".section .comment", ".comment", SectionFlag.NONE, SectionType.PROGBITS),
        ('.section .note, "", @note', ".note", SectionFlag.NONE, SectionType.NOTE),
        ('.section .s, "aMS", @progbits, 1', ".s", A | M | S, SectionType.PROGBITS),
        (".section .interleave_1_bank_a", ".interleave_1_bank_a", A | W, SectionType.PROGBITS),
        (".section .interleave_2_bank_a", ".interleave_2_bank_a", A | W, SectionType.PROGBITS),
        ('.section "odd; name", "a"', "odd; name", A, SectionType.PROGBITS),
    ],
)
def test_flags_and_type(
    assembly: "Assemble", directive: str, name: str, flags: int, kind: int
) -> None:
    section = assembly(f"{directive}\n.space 4\n").section(name)
    assert (SectionFlag(section.flags), section.type, section.size) == (flags, kind, 4)
    assert section.data == (b"" if kind == SectionType.NOBITS else bytes(4))


def test_entry_size_of_mergeable_sections(assembly: "Assemble", one_fault: "OneFault") -> None:
    made = assembly('.section .s, "aMS", @progbits, 1\n.asciz "x"\n.section .t, "a"\n.byte 1')
    assert (made.section(".s").entry_size, made.section(".t").entry_size) == (1, 0)
    one_fault('.section .s, "a", @progbits, «1»\n', "expected flags in quotes")


def test_content_of_one_section_is_gathered_from_everywhere(assembly: "Assemble") -> None:
    source = """
    .data
    .byte 1
    .text
    nop
    .data
    .byte 2
    .section .other, "a"
    .byte 3
    .data
    .byte 4
    """
    made = assembly(source)
    assert made.data(".data") == b"\1\2\4"
    assert made.data(".other") == b"\3"
    assert made.words() == [NOP]


def test_sections_keep_the_order_of_their_first_mention(assembly: "Assemble") -> None:
    made = assembly('.section b, "a"\n.byte 0\n.data\n.byte 0\n.text\nnop\n.section a\n.byte 0\n')
    kept = [each.name for each in made.object.sections if not each.name.startswith(".debug")]
    assert kept == [".text", "b", ".data", "a"]


def test_previous_and_stack_of_sections(assembly: "Assemble") -> None:
    source = """
    .data
    .byte 1
    .section x, "a"
    .byte 2
    .previous
    .byte 3
    .pushsection y, "a"
    .byte 4
    .pushsection x
    .byte 5
    .popsection
    .byte 6
    .popsection
    .byte 7
    .previous
    .byte 8
    """
    made = assembly(source)
    assert made.data(".data") == b"\1\3\7"
    assert made.data("x") == b"\2\5\x08"
    assert made.data("y") == b"\4\6"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("«.section»", "needs a name"),
        ('.section x, «"ay"»', "unknown section flag 'y'"),
        ('.section x, "a", «@progbit»', "unknown section type '@progbit'"),
        (".section x, «a»", "expected flags in quotes"),
        ('.section x, "a"\n«.section» x, "aw"', "other flags"),
        ('.section x, "aw"\n.text\n«.section» x, "aw", @nobits', "another type"),
        ("«.popsection»", "no .pushsection"),
        (".text «x»", "takes no operands"),
        (".data\n«add» $m0, $m0, 1", "need an executable section"),
        (".data\n«{» nop ; fnop }", "executable section"),
        (".bss\n«.byte» 1", "holds no bytes"),
        (".bss\n«.long» elsewhere", "holds no bytes"),
        (".byte 1\n«nop»", "aligned to 4 bytes"),
        (".byte 1\n«{» nop; fnop }", "aligned to 4 bytes"),
        (".align «3»", "power of two"),
        (".align «-8»", "power of two"),
        (".align «later»\n.set later, 8", "known here"),
        ("x: .align «x»", "not an address"),
        ("«.align»", "needs a number"),
        (".p2align «40»", "out of range"),
        (".align 8, 0, 4, «1»", "at most 3"),
    ],
)
def test_fault(one_fault: "OneFault", source: str, message: str) -> None:
    one_fault(source, message)


def test_a_reopened_section_needs_no_flags(assembly: "Assemble") -> None:
    made = assembly('.section x, "aw"\n.byte 1\n.text\n.section x\n.byte 2\n.section x, "wa"\n')
    assert made.data("x") == b"\1\2"


@pytest.mark.parametrize("mode", [".worker", ".supervisor"])
@pytest.mark.parametrize("directive", [".align 16", ".balign 16", ".p2align 4"])
def test_code_is_aligned_with_nops(assembly: "Assemble", mode: str, directive: str) -> None:
    made = assembly(f"{mode}\nbr $lr\n{directive}\nbr $lr\n")
    assert made.words() == [0x43A00000, NOP, NOP, NOP, 0x43A00000]
    assert made.section(".text").alignment == 16


@pytest.mark.parametrize("gap", [1, 2, 3])
def test_gaps_that_are_no_words_start_with_zeros(assembly: "Assemble", gap: int) -> None:
    used = 4 - gap
    made = assembly(f".space {used}, 0xff\n.align 8\nnop\n")
    assert made.data() == b"\xff" * used + bytes(gap) + NOP.to_bytes(4, "little") * 2


def test_data_is_aligned_with_zeros(assembly: "Assemble") -> None:
    made = assembly(".data\n.byte 1\n.align 4\n.byte 2\n.p2align 3\n.byte 3\n")
    assert made.data(".data") == b"\1\0\0\0\2\0\0\0\3"
    assert made.section(".data").alignment == 8


def test_alignment_where_none_is_needed(assembly: "Assemble") -> None:
    made = assembly("nop\nnop\n.align 8\nnop\n.align 1\n.align 4\n.p2align 0\n.p2align 2\n")
    assert made.words() == [NOP, NOP, NOP]
    assert made.section(".text").alignment == 8


def test_alignment_with_fill_and_limit(assembly: "Assemble") -> None:
    source = """
    .data
    .byte 1
    .align 4, 0xab
    .byte 2
    .align 8, 0xcd, 2
    .byte 3
    .balign 8, , 2
    .byte 4
    """
    assert assembly(source).data(".data") == bytes.fromhex("01ababab 02 03 0000 04")


def test_alignment_of_code_sections_is_at_least_that_of_a_word(assembly: "Assemble") -> None:
    made = assembly('.section .text.a\n.space 4\n.section b, "a"\n.space 4\n')
    assert (made.section(".text.a").alignment, made.section("b").alignment) == (4, 1)


def test_zeroed_space(assembly: "Assemble") -> None:
    made = assembly(".bss\na: .space 5\n.align 4\nb: .zero 3\n.byte 0\n.long 0\nc:\n")
    section = made.section(".bss")
    assert (section.type, section.size, section.data) == (SectionType.NOBITS, 16, b"")
    assert {name: made.symbol(name).value for name in "abc"} == {"a": 0, "b": 8, "c": 16}


def test_text_is_left_out_only_if_nothing_is_in_it(assembly: "Assemble") -> None:
    made = assembly(".data\n.byte 1\n")
    assert [section.name for section in made.object.sections] == [".data"]
    assert [section.name for section in assembly("start:\n").object.sections] == [".text"]


def test_fault_in_one_section_leaves_the_others_alone(faults: "Faults") -> None:
    found = faults(".data\nadd $m0, $m0, 1\n.text\nnop\nfoo $m0\n")
    assert [fault.line for fault in found] == [2, 5]
