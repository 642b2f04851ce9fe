"""The reader against bytes made by hand, pyelftools, and files that are wrong on purpose."""

import io
import random
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tilewright.elf.headers import ObjectError, read_headers
from tilewright.elf.lines import LineRow, line_sections, read_line_table
from tilewright.elf.listing import object_lines
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
from tilewright.elf.reader import read_object, read_object_file
from tilewright.elf.writer import write_object
from tilewright.errors import TilewrightError
from tilewright.files import FileError

TEXT, RELA, SYMTAB, STRTAB, SHSTRTAB, BSS, SIZES, OTHER = range(1, 9)
"""Section numbers of the crafted object."""

_CONTENT = {
    TEXT: b"\x00\x00\xe0\x19\x00\x00\x08\x42",
    # at 4, 19_S2 against symbol 3, addend 8
    RELA: struct.pack("<IIi", 4, 3 << 8 | 8, 8),
    SYMTAB: b"".join(
        [
            bytes(16),
            struct.pack("<IIIBBH", 0, 0, 0, 3, 0, TEXT),  # the section symbol of .text
            struct.pack("<IIIBBH", 1, 4, 4, 0x12, 2, TEXT),  # start: global, function, hidden
            struct.pack("<IIIBBH", 7, 0, 0, 0x20, 0, 0),  # ext: weak, undefined
            struct.pack("<IIIBBH", 11, 0xE8000, 0, 0x10, 0, 0xFFF1),  # end: absolute
        ]
    ),
    STRTAB: b"\0start\0ext\0end\0",
    SHSTRTAB: b"\0.rela.text\0.symtab\0.strtab\0.shstrtab\0.bss\0.stack_sizes\0odd\0",
    BSS: b"",
    SIZES: b"\x01\x02\x03",
    OTHER: b"odd!",
}
_NAMES = [0, 6, 1, 12, 20, 28, 38, 43, 56]
_HEADERS = {  # type, flags, size (None: that of the content), link, info, alignment, entry size
    TEXT: (1, 6, None, 0, 0, 8, 0),
    RELA: (4, 0x40, None, SYMTAB, TEXT, 4, 12),
    SYMTAB: (2, 0, None, STRTAB, 2, 4, 16),
    STRTAB: (3, 0, None, 0, 0, 1, 0),
    SHSTRTAB: (3, 0, None, 0, 0, 1, 0),
    BSS: (8, 3, 0x100, 0, 0, 32, 0),
    SIZES: (1, 0x80, None, TEXT, 0, 0, 0),
    OTHER: (0x70000042, 0, None, 0, 0, 1, 0),
}
_FIELDS = ["name", "type", "flags", "addr", "offset", "size", "link", "info", "align", "entsize"]
_FILE_FIELDS = {
    "type": (16, "<H"),
    "machine": (18, "<H"),
    "version": (20, "<I"),
    "phoff": (28, "<I"),
    "shoff": (32, "<I"),
    "ehsize": (40, "<H"),
    "phentsize": (42, "<H"),
    "phnum": (44, "<H"),
    "shentsize": (46, "<H"),
    "shnum": (48, "<H"),
    "shstrndx": (50, "<H"),
}


def crafted() -> bytearray:
    """A relocatable object, made with nothing but `struct`; headers come last."""
    out = bytearray(52)
    rows = [struct.pack("<10I", *[0] * 10)]
    for number, (kind, flags, size, link, info, align, entry) in _HEADERS.items():
        content = _CONTENT[number]
        real_size = len(content) if size is None else size
        fields = (_NAMES[number], kind, flags, 0, len(out), real_size, link, info, align, entry)
        rows.append(struct.pack("<10I", *fields))
        out += content
    header = b"\x7fELF\x01\x01\x01".ljust(16, b"\0")
    counts = (52, 0, 0, 40, len(rows), SHSTRTAB)
    out[:52] = header + struct.pack("<HHIIIIIHHHHHH", 1, 248, 1, 0, 0, len(out), 0x21, *counts)
    return out + b"".join(rows)


def place(section: int, field: str) -> int:
    """Where the crafted object holds a field of a section header."""
    start: int = struct.unpack_from("<I", crafted(), 32)[0]
    return start + 40 * section + 4 * _FIELDS.index(field)


def content_place(section: int) -> int:
    start: int = struct.unpack_from("<I", crafted(), place(section, "offset"))[0]
    return start


def with_header(**fields: int) -> bytes:
    data = crafted()
    for field, value in fields.items():
        offset, layout = _FILE_FIELDS[field]
        struct.pack_into(layout, data, offset, value)
    return bytes(data)


def with_section(section: int, **fields: int) -> bytes:
    data = crafted()
    for field, value in fields.items():
        struct.pack_into("<I", data, place(section, field), value)
    return bytes(data)


def with_bytes(offset: int, replacement: bytes) -> bytes:
    data = crafted()
    data[offset : offset + len(replacement)] = replacement
    return bytes(data)


def with_symbol(index: int, *row: int) -> bytes:
    return with_bytes(content_place(SYMTAB) + 16 * index, struct.pack("<IIIBBH", *row))


def with_relocation(*row: int) -> bytes:
    return with_bytes(content_place(RELA), struct.pack("<IIi", *row))


def test_sections_of_the_crafted_object() -> None:
    obj = read_object(bytes(crafted()), "made.o")
    assert (obj.name, obj.type, obj.flags, obj.entry) == ("made.o", 1, 0x21, 0)
    text, bss, sizes, odd = obj.sections
    assert (text.name, text.type, text.flags, text.alignment) == (".text", 1, 6, 8)
    assert (text.data, text.size) == (_CONTENT[TEXT], 8)
    assert (bss.name, bss.type, bss.data, bss.size, bss.alignment) == (".bss", 8, b"", 0x100, 32)
    assert (sizes.name, sizes.data, sizes.link, sizes.alignment) == (
        ".stack_sizes",
        b"\x01\x02\x03",
        text,
        1,
    )
    assert (odd.name, odd.type, odd.data, odd.link) == ("odd", 0x70000042, b"odd!", None)


def test_symbols_and_relocations_of_the_crafted_object() -> None:
    obj = read_object(bytes(crafted()))
    text = obj.sections[0]
    local, start, ext, end = obj.symbols
    assert (local.name, local.section, local.type) == ("", text, SymbolType.SECTION)
    assert (start.name, start.section, start.value, start.size) == ("start", text, 4, 4)
    assert (start.binding, start.type) == (Binding.GLOBAL, SymbolType.FUNC)
    assert start.visibility == Visibility.HIDDEN
    assert (ext.name, ext.binding, ext.is_defined) == ("ext", Binding.WEAK, False)
    assert (end.name, end.value, end.is_absolute, end.section) == ("end", 0xE8000, True, None)
    (relocation,) = text.relocations
    assert relocation.symbol is ext
    assert (relocation.offset, relocation.type, relocation.addend) == (4, 8, 8)


def test_pyelftools_reads_the_same() -> None:
    data = bytes(crafted())
    theirs = ELFFile(io.BytesIO(data))
    headers = read_headers(data)
    assert [section.name for section in headers.sections] == [
        section.name for section in theirs.iter_sections()
    ]
    for ours, their in zip(headers.sections, theirs.iter_sections(), strict=True):
        assert (ours.offset, ours.size, ours.link, ours.info, ours.alignment, ours.entry_size) == (
            their["sh_offset"],
            their["sh_size"],
            their["sh_link"],
            their["sh_info"],
            their["sh_addralign"],
            their["sh_entsize"],
        )


def test_a_relocation_without_symbol_gets_an_absolute_symbol_of_value_0() -> None:
    obj = read_object(with_relocation(4, 8, 0x4C000))
    symbol = obj.sections[0].relocations[0].symbol
    assert symbol is obj.symbols[0]
    assert (symbol.name, symbol.value, symbol.is_absolute) == ("", 0, True)


def test_groups_are_dropped_with_the_mark_of_their_members() -> None:
    obj = read_object(with_section(OTHER, type=17))
    assert [section.name for section in obj.sections] == [".text", ".bss", ".stack_sizes"]
    text = read_object(with_section(TEXT, flags=0x206)).sections[0]
    assert text.flags == SectionFlag.ALLOC | SectionFlag.EXECINSTR


def test_relocation_offsets_of_executables_are_addresses() -> None:
    data = bytearray(with_header(type=FileType.EXECUTABLE))
    struct.pack_into("<I", data, place(TEXT, "addr"), 0x4C018)
    struct.pack_into("<I", data, content_place(RELA), 0x4C01C)
    obj = read_object(bytes(data))
    assert obj.sections[0].address == 0x4C018
    assert obj.sections[0].relocations[0].offset == 4


def test_read_object_file_names_the_path(tmp_path: Path) -> None:
    path = tmp_path / "made.o"
    path.write_bytes(crafted())
    assert read_object_file(path).name == str(path)
    with pytest.raises(FileError, match="missing"):
        read_object_file(tmp_path / "missing.o")


def sized(section: int, change: int) -> int:
    return len(_CONTENT[section]) + change


MALFORMED = {
    "empty file": (b"", 0, "it starts with nothing"),
    "magic": (with_bytes(0, b"\x7fELG"), 0, "not an ELF file: it starts with 7f 45 4c 47"),
    "an archive": (b"!<arch>\n" + bytes(60), 0, "not an ELF file"),
    "class": (with_bytes(4, b"\2"), 4, "EI_CLASS is 2, expected 1 (32 bit)"),
    "byte order": (with_bytes(5, b"\2"), 5, "EI_DATA is 2, expected 1 (little endian)"),
    "ident version": (with_bytes(6, b"\0"), 6, "EI_VERSION is 0, expected 1"),
    "shared library": (with_header(type=3), 16, "e_type is 3, expected 1 (relocatable) or 2"),
    "machine": (with_header(machine=243), 18, "e_machine is 243, expected 248"),
    "version": (with_header(version=2), 20, "e_version is 2, expected 1"),
    "header size": (with_header(ehsize=64), 40, "e_ehsize is 64, expected 52"),
    "program entry size": (
        with_header(phnum=1, phoff=52, phentsize=0),
        42,
        "e_phentsize is 0, expected 32",
    ),
    "program count": (with_header(phnum=0xFFFF), 44, "extended program header numbering"),
    "programs past the end": (
        with_header(phnum=1, phoff=0xFFFFFFF0, phentsize=32),
        28,
        "the program header table lies at 0xfffffff0 to 0x100000010, past the end",
    ),
    "section entry size": (with_header(shentsize=0), 46, "e_shentsize is 0, expected 40"),
    "no sections": (with_header(shnum=0), 48, "e_shnum is 0: no sections, or extended"),
    "too many sections": (with_header(shnum=0xFF00), 48, "e_shnum is 0xff00, a reserved number"),
    "sections past the end": (
        with_header(shnum=10),
        32,
        "the section header table lies at",
    ),
    "section offset": (with_header(shoff=0xFFFFFFFF), 32, "past the end of the file"),
    "no section names": (with_header(shstrndx=0), 50, "e_shstrndx is 0, expected a section"),
    "section names number": (with_header(shstrndx=9), 50, "e_shstrndx is 9, expected a section"),
    "section names type": (
        with_header(shstrndx=TEXT),
        place(TEXT, "type"),
        "e_shstrndx names a section of type 1",
    ),
    "section names content": (
        with_section(SHSTRTAB, offset=0xFFFFFF00),
        place(SHSTRTAB, "offset"),
        "the table of section names lies at 0xffffff00",
    ),
    "extended numbering": (
        with_section(0, size=70000),
        place(0, "name"),
        "section header 0 is not zero; extended section numbering",
    ),
    "section name": (
        with_section(TEXT, name=0x1000),
        place(TEXT, "name"),
        "string offset 0x1000 is outside its table of 60 bytes",
    ),
    "unterminated name": (
        with_section(SHSTRTAB, size=sized(SHSTRTAB, -1)),
        place(OTHER, "name"),
        "the string at 0x38 of its table has no closing zero byte",
    ),
    "name that is no text": (
        with_bytes(content_place(SHSTRTAB) + _NAMES[OTHER], b"\xff"),
        place(OTHER, "name"),
        "not UTF-8",
    ),
    "content past the end": (
        with_section(OTHER, offset=0x10000),
        place(OTHER, "offset"),
        "section 8 lies at 0x10000 to 0x10004, past the end",
    ),
    "content of huge size": (
        with_section(TEXT, size=0xFFFFFFFF),
        place(TEXT, "offset"),
        "past the end of the file",
    ),
    "link out of range": (
        with_section(OTHER, link=9),
        place(OTHER, "link"),
        "sh_link of section 8 is 9, but there are 9 sections",
    ),
    "alignment": (
        with_section(TEXT, align=12),
        place(TEXT, "align"),
        "sh_addralign of section 1 is 12, not a power of two",
    ),
    "overlapping sections": (
        with_section(OTHER, offset=content_place(TEXT)),
        place(TEXT, "offset"),
        "section 1 overlaps section 8",
    ),
    "section over the headers": (
        with_section(OTHER, offset=48),
        place(OTHER, "offset"),
        "section 8 overlaps the file header",
    ),
    "address in a relocatable object": (
        with_section(TEXT, addr=4),
        place(TEXT, "addr"),
        "section 1 has the address 0x4, expected 0",
    ),
    "relocations without addends": (
        with_section(RELA, type=9, entsize=8),
        place(RELA, "type"),
        "SHT_REL",
    ),
    "extended symbol sections": (
        with_section(OTHER, type=18),
        place(OTHER, "type"),
        "extended section numbering is not supported",
    ),
    "link loop of one": (
        with_section(SIZES, link=SIZES),
        place(SIZES, "link"),
        "sh_link of section 7 leads back to the section itself",
    ),
    "link loop of two": (
        with_section(SIZES, link=OTHER)[: place(OTHER, "flags")]
        + struct.pack("<I", 0x80)
        + with_section(OTHER, link=SIZES)[place(OTHER, "addr") :],
        place(SIZES, "link"),
        "sh_link of section 7 leads back to the section itself",
    ),
    "ordered after a table": (
        with_section(SIZES, link=SYMTAB),
        place(SIZES, "link"),
        "section 7 is ordered after section 3, which is a table",
    ),
    "two symbol tables": (
        with_section(OTHER, type=2, entsize=16),
        place(OTHER, "type"),
        "sections 3 and 8 are both symbol tables",
    ),
    "symbol entry size": (
        with_section(SYMTAB, entsize=0),
        place(SYMTAB, "entsize"),
        "sh_entsize of symbol table 3 is 0, expected 16",
    ),
    "symbol table size": (
        with_section(SYMTAB, size=sized(SYMTAB, -1)),
        place(SYMTAB, "size"),
        "not a multiple of 16",
    ),
    "empty symbol table": (
        with_section(SYMTAB, size=0),
        place(SYMTAB, "info"),
        "sh_info of the symbol table is 2",
    ),
    "first global is 0": (
        with_section(SYMTAB, info=0),
        place(SYMTAB, "info"),
        "sh_info of the symbol table is 0, expected the number of its first global",
    ),
    "first global out of range": (
        with_section(SYMTAB, info=6),
        place(SYMTAB, "info"),
        "between 1 and 5",
    ),
    "global among locals": (
        with_section(SYMTAB, info=3),
        content_place(SYMTAB) + 2 * 16 + 12,
        "symbol 2 is global, but sh_info says",
    ),
    "local among globals": (
        with_section(SYMTAB, info=1),
        content_place(SYMTAB) + 16 + 12,
        "symbol 1 is local, but sh_info says",
    ),
    "symbol names": (
        with_section(SYMTAB, link=TEXT),
        place(SYMTAB, "link"),
        "sh_link of the symbol table is 1, not a string table",
    ),
    "symbol names that are the table itself": (
        with_section(SYMTAB, link=SYMTAB),
        place(SYMTAB, "link"),
        "sh_link of the symbol table is 3, not a string table",
    ),
    "symbol 0": (with_symbol(0, 0, 1, 0, 0, 0, 0), content_place(SYMTAB), "symbol 0 is not zero"),
    "symbol name": (
        with_symbol(2, 99, 4, 4, 0x12, 2, TEXT),
        content_place(SYMTAB) + 32,
        "string offset 0x63 is outside its table of 15 bytes",
    ),
    "symbol binding": (
        with_symbol(2, 1, 4, 4, 0xA2, 0, TEXT),
        content_place(SYMTAB) + 44,
        "symbol 2 has unknown binding 10",
    ),
    "symbol visibility": (
        with_symbol(2, 1, 4, 4, 0x12, 0x80, TEXT),
        content_place(SYMTAB) + 45,
        "symbol 2 has unknown st_other 0x80",
    ),
    "symbol section": (
        with_symbol(2, 1, 4, 4, 0x12, 0, 9),
        content_place(SYMTAB) + 46,
        "symbol 2 is in section 9, but there are 9 sections",
    ),
    "symbol in a table": (
        with_symbol(2, 1, 4, 4, 0x12, 0, STRTAB),
        content_place(SYMTAB) + 46,
        "symbol 2 is in section 4, which is a table",
    ),
    "symbol value": (
        with_symbol(2, 1, 9, 4, 0x12, 0, TEXT),
        content_place(SYMTAB) + 36,
        "symbol 2 has the value 0x9, past the end of its section 1 (0x8)",
    ),
    "common symbol": (
        with_symbol(2, 1, 4, 4, 0x12, 0, 0xFFF2),
        content_place(SYMTAB) + 46,
        "symbol 2 is a common symbol; compile with -fno-common",
    ),
    "symbol with extended section": (
        with_symbol(2, 1, 4, 4, 0x12, 0, 0xFFFF),
        content_place(SYMTAB) + 46,
        "symbol 2 uses extended section numbering",
    ),
    "symbol in a reserved section": (
        with_symbol(2, 1, 4, 4, 0x12, 0, 0xFF03),
        content_place(SYMTAB) + 46,
        "symbol 2 has the reserved section index 0xff03",
    ),
    "relocation entry size": (
        with_section(RELA, entsize=0),
        place(RELA, "entsize"),
        "sh_entsize of relocation table 2 is 0, expected 12",
    ),
    "relocation table size": (
        with_section(RELA, size=11),
        place(RELA, "size"),
        "sh_size of relocation table 2 is 11, not a multiple of 12",
    ),
    "relocation symbols": (
        with_section(RELA, link=RELA),
        place(RELA, "link"),
        "sh_link of relocation table 2 is 2, not the symbol table",
    ),
    "relocations of themselves": (
        with_section(RELA, info=RELA),
        place(RELA, "info"),
        "sh_info of relocation table 2 is 2, not a section with content",
    ),
    "relocations of nothing": (
        with_section(RELA, info=77),
        place(RELA, "info"),
        "sh_info of relocation table 2 is 77, not a section with content",
    ),
    "relocations without bytes": (
        with_section(RELA, info=BSS),
        place(RELA, "info"),
        "is 6, a section without content in the file",
    ),
    "relocation offset": (
        with_relocation(5, 3 << 8 | 8, 0),
        content_place(RELA),
        "relocation 19_S2 at 0x5 is outside its section, which lies at 0x0 to 0x8",
    ),
    "relocation of unknown type": (
        with_relocation(8, 3 << 8 | 12, 0),
        content_place(RELA),
        "relocation type 12 at 0x8 is outside its section",
    ),
    "relocation symbol": (
        with_relocation(4, 5 << 8 | 8, 0),
        content_place(RELA) + 4,
        "relocation against symbol 5, but there are 5 symbols",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_files_are_refused_with_offset_and_reason(case: str) -> None:
    data, offset, reason = MALFORMED[case]
    with pytest.raises(ObjectError) as caught:
        read_object(data, "bad.o")
    message = str(caught.value)
    assert message.startswith(f"bad.o: offset {offset:#x}: ")
    assert reason in message


def test_two_relocation_tables_of_one_section_are_refused() -> None:
    data = bytearray(with_section(OTHER, type=4, link=SYMTAB, info=TEXT, size=12, entsize=12))
    struct.pack_into("<I", data, place(OTHER, "offset"), len(data))
    data += _CONTENT[RELA]
    with pytest.raises(ObjectError, match="is 1, which has a relocation table already"):
        read_object(bytes(data))


def executable_with_segment(**fields: int) -> bytes:
    """The crafted object as an executable whose one segment is described at its end."""
    data = bytearray(with_header(type=2, phnum=1, phentsize=32, phoff=len(crafted())))
    segment = {"type": 1, "offset": 52, "vaddr": 0, "paddr": 0, "filesz": 8, "memsz": 8}
    row = {**segment, "flags": 5, "align": 4, **fields}
    return bytes(data + struct.pack("<8I", *row.values()))


def test_program_headers() -> None:
    (program,) = read_headers(executable_with_segment(vaddr=0x4C000)).programs
    assert (program.type, program.offset, program.address, program.flags) == (1, 52, 0x4C000, 5)
    assert (program.file_size, program.memory_size, program.alignment) == (8, 8, 4)


@pytest.mark.parametrize(
    ("fields", "field_offset", "reason"),
    [
        ({"offset": 0xFFFFFFFF}, 4, "segment 0 reaches past the end of the file"),
        ({"filesz": 9}, 16, "segment 0 has 9 bytes in the file, more than its 8 in memory"),
        ({"align": 3}, 28, "p_align of segment 0 is 3, not a power of two"),
    ],
)
def test_malformed_segments(fields: dict[str, int], field_offset: int, reason: str) -> None:
    with pytest.raises(ObjectError) as caught:
        read_object(executable_with_segment(**fields), "bad")
    assert str(caught.value).startswith(f"bad: offset {len(crafted()) + field_offset:#x}: {reason}")


def test_a_section_past_the_address_space_is_refused() -> None:
    data = bytearray(with_header(type=2))
    struct.pack_into("<I", data, place(BSS, "addr"), 0xFFFFFF80)
    with pytest.raises(ObjectError, match="section 6 ends past the 32-bit address space"):
        read_object(bytes(data))


def test_files_cut_at_any_length_are_refused() -> None:
    data = bytes(crafted())
    for length in range(len(data)):
        with pytest.raises(ObjectError):
            read_object(data[:length])


def test_object_error_is_a_fault_for_users() -> None:
    assert issubclass(ObjectError, TilewrightError)


def peak_memory_of_refusal(data: bytes, reason: str) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(ObjectError, match=reason):
            read_object(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def many_sections(content: bytes, rows: list[tuple[int, ...]]) -> bytes:
    """A file with `content` after its header and `rows` as section headers after row 0."""
    counts = (52, 0, 0, 40, len(rows) + 1, 1)
    head = struct.pack("<HHIIIIIHHHHHH", 1, 248, 1, 0, 0, 52 + len(content), 0x21, *counts)
    table = b"".join(struct.pack("<10I", *row) for row in [(0,) * 10, *rows])
    return b"\x7fELF\x01\x01\x01".ljust(16, b"\0") + head + content + table


def test_sections_that_share_their_content_do_not_multiply_it() -> None:
    content = bytes(1 << 20)
    names = (0, 3, 0, 0, 52 + len(content) - 1, 1, 0, 0, 1, 0)
    shared = (0, 1, 0, 0, 52, len(content) - 1, 0, 0, 1, 0)
    data = many_sections(content, [names, *[shared] * 60_000])
    assert peak_memory_of_refusal(data, "overlaps section") < 12 * len(data)


def test_names_that_share_one_long_string_do_not_multiply_it() -> None:
    content = b"a" * (1 << 19) + b"\0"
    names = (0, 3, 0, 0, 52, len(content), 0, 0, 1, 0)
    rows = [(start, 1, 0, 0, 0, 0, 0, 0, 1, 0) for start in range(12_000)]
    data = many_sections(content, [names, *rows])
    assert peak_memory_of_refusal(data, "too many names share bytes") < 12 * len(data)


def test_a_huge_section_without_content_takes_no_memory() -> None:
    data = with_section(BSS, size=0xFFFFFFFF)
    tracemalloc.start()
    try:
        assert read_object(data).sections[1].size == 0xFFFFFFFF
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_many_symbols_are_read_in_little_memory() -> None:
    text = Section(".text", flags=6, data=bytes(16), size=16)
    symbols = [Symbol(f"a_symbol_of_a_kernel_{i}", text, 4, 0, 1, 2) for i in range(20_000)]
    text.relocations = [Relocation(0, 8, symbol) for symbol in symbols]
    data = write_object(ObjectFile("big.o", sections=[text], symbols=symbols))
    assert len(read_object(data).symbols) == 20_000
    tracemalloc.start()
    try:
        read_object(data)
        assert tracemalloc.get_traced_memory()[1] < 12 * len(data)
    finally:
        tracemalloc.stop()


def rich_object(kind: FileType) -> ObjectFile:
    """An object with all that the writer knows, line information included."""
    base = 0x4C018 if kind == FileType.EXECUTABLE else 0
    text = Section(".text", flags=6, alignment=8, data=bytes(range(24)), size=24, address=base)
    bss = Section(".bss", SectionType.NOBITS, 3, 16, size=64, address=base and 0x5C000)
    sizes = Section(".stack_sizes", flags=SectionFlag.LINK_ORDER, data=bytes(5), size=5, link=text)
    symbols = [
        Symbol("kernel.S", type=SymbolType.FILE, is_absolute=True),
        Symbol("", text, base, type=SymbolType.SECTION),
        Symbol("kernel", text, base + 8, 16, Binding.GLOBAL, SymbolType.FUNC),
        Symbol("ext", binding=Binding.WEAK),
    ]
    text.relocations = [Relocation(0, 8, symbols[3]), Relocation(4, 3, symbols[1], -4)]
    sizes.relocations = [Relocation(0, 4, symbols[2], 4)]

    def section_symbol(section: Section) -> Symbol:
        for symbol in symbols:
            if symbol.type == SymbolType.SECTION and symbol.section is section:
                return symbol
        symbols.append(Symbol("", section, section.address, type=SymbolType.SECTION))
        return symbols[-1]

    rows = [LineRow(text, 0, "kernel.S", 3), LineRow(text, 8, "other.S", 90)]
    is_relocatable = kind == FileType.RELOCATABLE
    lines = line_sections(rows, "t", "kernel.S", section_symbol if is_relocatable else None)
    return ObjectFile("rich", kind, 0x21, base, [text, bss, sizes, *lines], symbols)


RICH = {kind: write_object(rich_object(kind)) for kind in FileType}

mutations = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True),
        st.sampled_from([1, 2, 4]),
        st.one_of(st.integers(0, 40), st.sampled_from([0xFF, 0xFFFF, 0xFFF2, 0xFFFFFFFF])),
    ),
    min_size=1,
    max_size=6,
)


@examples(400, deadline=2000)
@given(st.sampled_from(FileType), mutations)
def test_mutated_files_give_object_errors_or_objects_that_can_be_written(
    kind: FileType, changes: list[tuple[float, int, int]]
) -> None:
    data = bytearray(RICH[kind])
    for position, width, value in changes:
        start = int(position * (len(data) - width))
        data[start : start + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")
    check_any_bytes(bytes(data))


def test_each_byte_changed_alone_gives_object_errors_or_objects_that_can_be_written() -> None:
    random_numbers = random.Random(7)
    for good in RICH.values():
        for position in range(len(good)):
            data = bytearray(good)
            data[position] ^= random_numbers.randrange(1, 256)
            check_any_bytes(bytes(data))


def check_any_bytes(data: bytes) -> None:
    """Either the bytes are refused with an `ObjectError`, or they can be read, used, written."""
    try:
        obj = read_object(data)
    except ObjectError:
        return
    assert object_lines(read_headers(data), obj)
    written = write_object(obj)
    assert write_object(read_object(written)) == written
    with suppress(ObjectError):
        read_line_table(obj)
