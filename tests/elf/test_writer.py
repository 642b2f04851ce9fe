"""The writer against pyelftools and GNU readelf, and back through the reader."""

import io
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tilewright.elf.headers import ObjectError
from tilewright.elf.object import (
    Binding,
    FileType,
    ObjectFile,
    Relocation,
    Section,
    SectionFlag,
    SectionType,
    Symbol,
    SymbolType,
    Visibility,
)
from tilewright.elf.reader import read_object
from tilewright.elf.writer import write_object

CODE = SectionFlag.ALLOC | SectionFlag.EXECINSTR
DATA = SectionFlag.ALLOC | SectionFlag.WRITE


def make_object(kind: FileType = FileType.RELOCATABLE) -> ObjectFile:
    """Code, data, zeros, read-only data at an odd address, and a linked section."""
    is_executable = kind == FileType.EXECUTABLE
    addresses = (0x4C018, 0x5C004, 0x80000, 0x5C001) if is_executable else (0, 0, 0, 0)
    text = Section(".text", flags=CODE, alignment=8, data=bytes(range(16)), size=16)
    data = Section(".data", flags=DATA, alignment=4, data=b"abcdefgh", size=8)
    bss = Section(".bss", SectionType.NOBITS, DATA, alignment=32, size=0x1000)
    rodata = Section(".rodata", flags=SectionFlag.ALLOC, data=b"xyz", size=3)
    sizes = Section(".stack_sizes", flags=SectionFlag.LINK_ORDER, data=bytes(5), size=5, link=text)
    comment = Section(
        ".comment", flags=SectionFlag.MERGE | SectionFlag.STRINGS, data=b"t\0", size=2, entry_size=1
    )
    for section, address in zip((text, data, bss, rodata), addresses, strict=True):
        section.address = address
    start = Symbol("start", text, text.address, 16, Binding.GLOBAL, SymbolType.FUNC)
    table = Symbol("table", data, data.address + 4, 4, Binding.LOCAL, SymbolType.OBJECT)
    weak = Symbol("weak", binding=Binding.WEAK, visibility=Visibility.HIDDEN)
    code = Symbol("", text, text.address, type=SymbolType.SECTION)
    end = Symbol("_RAM_END", value=0xE8000, binding=Binding.GLOBAL, is_absolute=True)
    text.relocations = [Relocation(0, 8, weak), Relocation(4, 3, table, -4)]
    sizes.relocations = [Relocation(0, 4, code, 8)]
    return ObjectFile(
        "made.o",
        kind,
        entry=text.address,
        sections=[text, data, bss, rodata, sizes, comment],
        symbols=[start, table, weak, code, end],
    )


def pyelftools(data: bytes) -> ELFFile:
    return ELFFile(io.BytesIO(data))


@pytest.mark.parametrize("kind", FileType)
def test_pyelftools_sees_the_sections(kind: FileType) -> None:
    obj = make_object(kind)
    theirs = pyelftools(write_object(obj))
    assert theirs["e_machine"] == 248
    assert (theirs["e_flags"], theirs["e_entry"]) == (0x21, obj.entry)
    for section in obj.sections:
        their = theirs.get_section_by_name(section.name)
        assert their is not None
        assert (their["sh_flags"], their["sh_addr"], their["sh_size"], their["sh_entsize"]) == (
            section.flags,
            section.address,
            section.size,
            section.entry_size,
        )
        assert their["sh_addralign"] == section.alignment
        if section.type != SectionType.NOBITS:
            assert their.data() == section.data
    sizes = theirs.get_section_by_name(".stack_sizes")
    assert sizes is not None
    assert theirs.get_section(sizes["sh_link"]).name == ".text"


@pytest.mark.parametrize("kind", FileType)
def test_pyelftools_sees_the_symbols_locals_first(kind: FileType) -> None:
    obj = make_object(kind)
    theirs = pyelftools(write_object(obj))
    table = theirs.get_section_by_name(".symtab")
    assert isinstance(table, SymbolTableSection)
    assert table["sh_info"] == 3
    seen = [
        (s.name, s["st_value"], s["st_size"], s["st_info"]["bind"], s["st_shndx"])
        for s in table.iter_symbols()
    ]
    text, data = (section.address for section in obj.sections[:2])
    assert seen == [
        ("", 0, 0, "STB_LOCAL", "SHN_UNDEF"),
        ("table", data + 4, 4, "STB_LOCAL", 2),
        ("", text, 0, "STB_LOCAL", 1),
        ("start", text, 16, "STB_GLOBAL", 1),
        ("weak", 0, 0, "STB_WEAK", "SHN_UNDEF"),
        ("_RAM_END", 0xE8000, 0, "STB_GLOBAL", "SHN_ABS"),
    ]
    assert table.get_symbol(4)["st_other"]["visibility"] == "STV_HIDDEN"


@pytest.mark.parametrize("kind", FileType)
def test_pyelftools_sees_the_relocations(kind: FileType) -> None:
    obj = make_object(kind)
    theirs = pyelftools(write_object(obj))
    table = theirs.get_section_by_name(".rela.text")
    assert isinstance(table, RelocationSection)
    assert (table["sh_flags"], table["sh_entsize"]) == (SectionFlag.INFO_LINK, 12)
    assert theirs.get_section(table["sh_info"]).name == ".text"
    assert theirs.get_section(table["sh_link"]).name == ".symtab"
    text = obj.sections[0].address
    assert [
        (r["r_offset"], r["r_info_type"], r["r_info_sym"], r["r_addend"])
        for r in table.iter_relocations()
    ] == [(text, 8, 4, 0), (text + 4, 3, 1, -4)]


def test_relocatable_objects_have_no_segments() -> None:
    theirs = pyelftools(write_object(make_object()))
    assert (theirs["e_type"], theirs["e_phoff"], theirs["e_phnum"]) == ("ET_REL", 0, 0)


def test_each_allocated_section_of_an_executable_is_a_segment() -> None:
    data = write_object(make_object(FileType.EXECUTABLE))
    theirs = pyelftools(data)
    assert theirs["e_type"] == "ET_EXEC"
    segments = [
        (s["p_type"], s["p_vaddr"], s["p_filesz"], s["p_memsz"], s["p_flags"], s["p_align"])
        for s in theirs.iter_segments()
    ]
    read, write, execute = 4, 2, 1
    assert segments == [
        ("PT_LOAD", 0x4C018, 16, 16, read | execute, 4),
        ("PT_LOAD", 0x5C001, 3, 3, read, 4),
        ("PT_LOAD", 0x5C004, 8, 8, read | write, 4),
        ("PT_LOAD", 0x80000, 0, 0x1000, read | write, 4),
    ]
    for segment in theirs.iter_segments():
        assert segment["p_offset"] % 4 == segment["p_vaddr"] % 4
    contents = [segment.data() for segment in theirs.iter_segments()]
    assert contents == [bytes(range(16)), b"xyz", b"abcdefgh", b""]


def test_content_is_aligned_in_the_file() -> None:
    theirs = pyelftools(write_object(make_object()))
    for section in theirs.iter_sections():
        if section["sh_addralign"]:
            assert section["sh_offset"] % min(section["sh_addralign"], 16) == 0


def test_a_huge_alignment_does_not_fill_the_file() -> None:
    section = Section(".data", flags=DATA, alignment=1 << 30, data=b"1", size=1)
    data = write_object(ObjectFile("aligned.o", sections=[section]))
    assert len(data) < 1024
    assert read_object(data).sections[0].alignment == 1 << 30


@pytest.mark.skipif(shutil.which("readelf") is None, reason="GNU readelf is not installed")
@pytest.mark.parametrize("kind", FileType)
@pytest.mark.parametrize("make", [make_object, lambda kind: ObjectFile("empty", kind)])
def test_readelf_has_no_complaint(
    make: Callable[[FileType], ObjectFile], kind: FileType, tmp_path: Path
) -> None:
    path = tmp_path / "made"
    path.write_bytes(write_object(make(kind)))
    result = subprocess.run(
        ["readelf", "-a", "-W", str(path)], capture_output=True, text=True, check=True
    )
    assert result.stderr == ""
    assert "warning" not in result.stdout.lower()
    assert "error" not in result.stdout.lower()
    assert ".shstrtab" in result.stdout


@pytest.mark.parametrize("kind", FileType)
def test_reading_and_writing_again_gives_the_same_bytes(kind: FileType) -> None:
    data = write_object(make_object(kind))
    assert write_object(read_object(data)) == data
    assert write_object(make_object(kind)) == data


names = st.text("abcXYZ_.$é", max_size=6)


@st.composite
def objects(draw: st.DrawFn) -> ObjectFile:
    """Any relocatable object."""
    contents = draw(st.lists(st.binary(min_size=4, max_size=40), max_size=5))
    sections = [
        Section(
            draw(names),
            flags=draw(st.sampled_from([0, CODE, DATA])),
            alignment=1 << draw(st.integers(0, 6)),
            data=content,
            size=len(content),
        )
        for content in contents
    ]
    symbols = []
    for name in draw(st.lists(names, min_size=1, max_size=12)):
        section = draw(st.sampled_from([None, *sections]))
        symbols.append(
            Symbol(
                name,
                section,
                draw(st.integers(0, section.size if section else 0xFFFFFFFF)),
                draw(st.integers(0, 0xFFFFFFFF)),
                draw(st.sampled_from(Binding)),
                draw(st.sampled_from(SymbolType)),
                draw(st.sampled_from(Visibility)),
                is_absolute=section is None and draw(st.booleans()),
            )
        )
    for section in sections:
        section.relocations = [
            Relocation(
                draw(st.integers(0, section.size - 4)),
                draw(st.sampled_from([0, 1, 2, 3, 4, 8, 9, 12, 17])),
                draw(st.sampled_from(symbols)),
                draw(st.integers(-(1 << 31), (1 << 31) - 1)),
            )
            for _ in range(draw(st.integers(0, 3)))
        ]
    return ObjectFile("any.o", flags=draw(st.integers(0, 0xFF)), sections=sections, symbols=symbols)


def content_of(obj: ObjectFile) -> object:
    """All that a file keeps of `obj`, with numbers in the place of references."""
    symbols = sorted(obj.symbols, key=lambda symbol: symbol.binding != Binding.LOCAL)
    section_numbers = {section: number for number, section in enumerate(obj.sections)}
    symbol_numbers = {symbol: number for number, symbol in enumerate(symbols)}
    return (
        obj.type,
        obj.flags,
        [(s.name, s.type, s.flags, s.alignment, s.data, s.size) for s in obj.sections],
        [
            [(r.offset, r.type, symbol_numbers[r.symbol], r.addend) for r in section.relocations]
            for section in obj.sections
        ],
        [
            (
                (s.name, section_numbers.get(s.section) if s.section else None, s.value, s.size),
                (s.binding, s.type, s.visibility, s.is_absolute),
            )
            for s in symbols
        ],
    )


@examples(150, deadline=2000)
@given(objects())
def test_any_object_comes_back_as_it_was(obj: ObjectFile) -> None:
    data = write_object(obj)
    assert content_of(read_object(data)) == content_of(obj)
    assert write_object(read_object(data)) == data


def broken(change: Callable[[ObjectFile], object]) -> ObjectFile:
    obj = make_object()
    change(obj)
    return obj


def foreign_relocation(obj: ObjectFile) -> None:
    obj.sections[0].relocations.append(Relocation(8, 8, Symbol("elsewhere")))


def foreign_section(obj: ObjectFile) -> None:
    obj.symbols[0].section = Section(".elsewhere", size=16)


def foreign_link(obj: ObjectFile) -> None:
    obj.sections[4].link = Section(".elsewhere")


def link_without_flag(obj: ObjectFile) -> None:
    obj.sections[1].link = obj.sections[0]


def wrong_size(obj: ObjectFile) -> None:
    obj.sections[0].size = 17


def data_without_content(obj: ObjectFile) -> None:
    obj.sections[2].data = b"1"


def own_table(obj: ObjectFile) -> None:
    obj.sections[0].type = SectionType.SYMTAB


def wrong_alignment(obj: ObjectFile) -> None:
    obj.sections[0].alignment = 12


def address(obj: ObjectFile) -> None:
    obj.sections[0].address = 0x4C000


def symbol_past_its_section(obj: ObjectFile) -> None:
    obj.symbols[1].value = 9


def relocation_past_its_section(obj: ObjectFile) -> None:
    obj.sections[0].relocations[0].offset = 13


def relocation_type(obj: ObjectFile) -> None:
    obj.sections[0].relocations[0].type = 256


def large_addend(obj: ObjectFile) -> None:
    obj.sections[0].relocations[0].addend = 1 << 31


def zero_in_name(obj: ObjectFile) -> None:
    obj.symbols[0].name = "sta\0rt"


def name_that_is_no_text(obj: ObjectFile) -> None:
    obj.symbols[0].name = "\udc80"


def negative_value(obj: ObjectFile) -> None:
    obj.symbols[4].value = -1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            foreign_relocation,
            r"relocation at .text\+0x8 is against 'elsewhere', which is no symbol",
        ),
        (foreign_section, "symbol 'start' is in .elsewhere, which is no section"),
        (foreign_link, "section .stack_sizes is linked to .elsewhere, not in the object"),
        (link_without_flag, "section .data is linked to another, but has no flag LINK_ORDER"),
        (wrong_size, "section .text has size 17, but 16 bytes of data"),
        (data_without_content, "section .bss has no content in the file, yet data"),
        (own_table, "section .text has type 2, a table"),
        (wrong_alignment, "section .text has alignment 12, not a power of two"),
        (address, "section .text has an address, but the object is relocatable"),
        (symbol_past_its_section, "symbol 'table' has the value 0x9, past the end of .data"),
        (relocation_past_its_section, r"at .text\+0xd is outside its section of 16 bytes"),
        (relocation_type, "has type 256, expected 0 to 255"),
        (large_addend, r"relocation at .text\+0x0 has a number that ELF32 cannot hold"),
        (zero_in_name, "holds a zero character"),
        (name_that_is_no_text, "is not Unicode text"),
        (negative_value, "symbol '_RAM_END' has a number that ELF32 cannot hold"),
    ],
)
def test_objects_that_cannot_be_written(
    change: Callable[[ObjectFile], object], reason: str
) -> None:
    with pytest.raises(ObjectError, match=f"^made.o: .*{reason}"):
        write_object(broken(change))


def test_too_many_sections_are_refused() -> None:
    sections = [Section("s") for _ in range(0xFF00)]
    with pytest.raises(ObjectError, match="65280 sections are too many"):
        write_object(ObjectFile("many.o", sections=sections))
