"""The object as a whole: stack usage, line rows, flags, and a file made of everything."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tilewright.elf.assembler import assemble, assemble_file
from tilewright.elf.lines import read_lines
from tilewright.elf.object import FileType, ObjectFile, Section, SectionFlag
from tilewright.elf.relocations import RelocationType

if TYPE_CHECKING:
    from tests.elf.asm.conftest import Assemble, Assembly, OneFault


# -- stack usage ----------------------------------------------------------------------------------


def stack_records(made: "Assembly", name: str) -> list[tuple[Section | None, bytes, list[object]]]:
    """Linked section, bytes and relocations of each section of that name."""
    return [
        (
            section.link,
            section.data,
            [(each.offset, each.type, each.symbol.name) for each in section.relocations],
        )
        for section in made.object.sections
        if section.name == name
    ]


def test_stack_usage(assembly: "Assemble") -> None:
    source = """
    .section .text.f, "ax"
    f: nop
    .section .text.g, "ax"
    g: nop
    .stack_usage f, 0
    .stack_usage g, 8 * 100
    .stack_usage g, 24, own
    """
    made = assembly(source)
    address = (0, RelocationType.ABS_32)
    assert stack_records(made, ".stack_sizes") == [
        (made.section(".text.f"), b"\0\0\0\0\0", [(*address, "f")]),
        (made.section(".text.g"), b"\0\0\0\0\xa0\x06", [(*address, "g")]),
    ]
    assert stack_records(made, ".stack_sizes.own") == [
        (made.section(".text.g"), b"\0\0\0\0\x18", [(*address, "g")])
    ]


def test_functions_of_one_section_share_a_record_section(assembly: "Assemble") -> None:
    made = assembly("f: nop\ng: nop\n.stack_usage f, 1\n.stack_usage g, 2\n")
    ((link, data, relocations),) = stack_records(made, ".stack_sizes")
    assert link is made.section(".text")
    assert data == b"\0\0\0\0\1\0\0\0\0\2"
    assert relocations == [
        (0, RelocationType.ABS_32, "f"),
        (5, RelocationType.ABS_32, "g"),
    ]


def test_stack_usage_of_a_section_name(assembly: "Assemble") -> None:
    # Some kernels name the section instead of the function.
    source = '.section .text.f, "ax"\nnop\n.stack_usage .text.f, 16\n'
    made = assembly(source)
    (section,) = (each for each in made.object.sections if each.name == ".stack_sizes")
    (relocation,) = section.relocations
    assert (section.link, section.data) == (made.section(".text.f"), b"\0\0\0\0\x10")
    assert relocation.symbol.section is made.section(".text.f")
    assert relocation.symbol.value == 0


def test_stack_usage_may_come_first(assembly: "Assemble") -> None:
    made = assembly(".stack_usage f, 3\nf: nop")
    assert len(stack_records(made, ".stack_sizes")) == 1


@given(st.integers(0, (1 << 21) - 1))
@examples(30)
def test_stack_bytes_are_uleb128(assembly: "Assemble", size: int) -> None:
    ((_, data, _),) = stack_records(assembly(f"f: nop\n.stack_usage f, {size}"), ".stack_sizes")
    value = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(data[4:]))
    assert value == size
    assert [byte >> 7 for byte in data[4:]] == [1] * (len(data) - 5) + [0]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (".stack_usage «nothing», 4", "no label or section"),
        ("f: nop\n.stack_usage f, «-1»", "0 or more"),
        ("f: nop\n.stack_usage f, «later»\nlater = 3", "known here"),
        ("f: nop\n«.stack_usage» f", "takes a function"),
        ("f: nop\n.stack_usage f, 3, «mine»", "expected 'own'"),
    ],
)
def test_stack_usage_fault(one_fault: "OneFault", source: str, message: str) -> None:
    one_fault(source, message)


# -- lines ----------------------------------------------------------------------------------------


def rows_of(obj: ObjectFile) -> list[tuple[str, int, str, int]]:
    return [
        (row.section.name, row.offset, Path(row.file).name, row.line) for row in read_lines(obj)
    ]


def test_every_instruction_has_its_line() -> None:
    source = """nop
    .macro two
    nop
    nop
    .endm
    two
    { nop
      fnop }
    ldconst $m0, 0x12345678
    .rept 2
    nop
    .endr
    .align 8
    .section .text.other, "ax"
    nop ; nop
    """
    assert rows_of(assemble(source, "kernel.s")) == [
        (".text", 0, "kernel.s", 1),
        (".text", 4, "kernel.s", 3),
        (".text", 8, "kernel.s", 4),
        (".text", 12, "kernel.s", 7),
        (".text", 16, "kernel.s", 8),
        (".text", 20, "kernel.s", 9),
        (".text", 28, "kernel.s", 11),
        (".text.other", 0, "kernel.s", 15),
    ]


def test_lines_of_included_files(tmp_path: Path) -> None:
    (tmp_path / "defs.h").write_text("nop\n.macro m\nnop\n.endm\n#define TWICE nop ; nop\n")
    main = tmp_path / "main.S"
    main.write_text('nop\n#include "defs.h"\nnop\nm\nTWICE\nnop\n')
    assert rows_of(assemble_file(main).object) == [
        (".text", 0, "main.S", 1),
        (".text", 4, "defs.h", 1),
        (".text", 8, "main.S", 3),
        (".text", 12, "defs.h", 3),
        (".text", 16, "main.S", 5),
        (".text", 24, "main.S", 6),
    ]


def test_data_has_no_lines() -> None:
    assert rows_of(assemble(".data\n.long 1\n.text\n.long 1\n")) == []


# -- the object -----------------------------------------------------------------------------------


def test_object() -> None:
    obj = assemble("nop", "name.s")
    assert (obj.name, obj.type, obj.flags) == ("name.s", FileType.RELOCATABLE, 0x21)


def test_empty_file() -> None:
    obj = assemble("")
    assert (obj.sections, obj.symbols) == ([], [])


def test_debug_sections_are_not_loaded(assembly: "Assemble") -> None:
    made = assembly("nop\n.data\n.long 1\n")
    loaded = [each.name for each in made.object.sections if each.flags & SectionFlag.ALLOC]
    assert loaded == [".text", ".data"]


def test_two_runs_give_the_same_object() -> None:
    source = "a: bri b\nb: nop\n.weak w\n.long w, c - a\n.set c, b\n.data\n1: .long 1b\n"

    def shape(obj: ObjectFile) -> object:
        return (
            [(each.name, each.data, len(each.relocations)) for each in obj.sections],
            [(each.name, each.value) for each in obj.symbols],
        )

    assert shape(assemble(source)) == shape(assemble(source))


def test_local_symbols_and_global_symbols_of_all_kinds(assembly: "Assemble") -> None:
    source = """
    .globl f
    f: bri .Lx
    .Lx: bri elsewhere
    x = 5
    1: bri 1b
    """
    made = assembly(source)
    assert made.names() == ["f", "x", "elsewhere"]
