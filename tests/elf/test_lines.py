"""Line information against pyelftools, GNU readelf and tables that LLVM made."""

import io
import re
import shutil
import subprocess
import tracemalloc
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tilewright.elf.headers import ObjectError
from tilewright.elf.lines import (
    LineRow,
    LineSequence,
    LineTable,
    line_sections,
    read_line_table,
    read_lines,
)
from tilewright.elf.object import (
    Binding,
    FileType,
    ObjectFile,
    Relocation,
    Section,
    SectionFlag,
    Symbol,
    SymbolType,
)
from tilewright.elf.reader import read_object
from tilewright.elf.writer import write_object

CODE = SectionFlag.ALLOC | SectionFlag.EXECINSTR
PRODUCER = "tilewright 0"


def code(name: str, size: int, address: int = 0) -> Section:
    return Section(name, flags=CODE, alignment=4, data=bytes(size), size=size, address=address)


def relocatable(sections: list[Section], rows: list[LineRow]) -> ObjectFile:
    """An object with `sections` and the line information of `rows`."""
    symbols: dict[Section, Symbol] = {}

    def section_symbol(section: Section) -> Symbol:
        return symbols.setdefault(section, Symbol("", section, type=SymbolType.SECTION))

    lines = line_sections(rows, PRODUCER, "main.S", section_symbol)
    return ObjectFile("made.o", sections=sections + lines, symbols=list(symbols.values()))


def executable(sections: list[Section], rows: list[LineRow]) -> ObjectFile:
    lines = line_sections(rows, PRODUCER, "main.S")
    return ObjectFile("made", FileType.EXECUTABLE, sections=sections + lines)


def through_a_file(obj: ObjectFile) -> ObjectFile:
    return read_object(write_object(obj), obj.name)


def plain(rows: list[LineRow]) -> list[tuple[str, int, str, int]]:
    return [(row.section.name, row.offset, row.file, row.line) for row in rows]


def two_sections(addresses: tuple[int, int] = (0, 0)) -> tuple[list[Section], list[LineRow]]:
    main, other = code(".text", 40, addresses[0]), code(".text.g", 5000, addresses[1])
    rows = [
        LineRow(main, 0, "src/main.S", 10),
        LineRow(main, 4, "src/main.S", 11),
        LineRow(main, 12, "inc/macros.h", 300),
        LineRow(main, 18, "src/main.S", 12),  # after two bytes of data
        LineRow(other, 8, "src/main.S", 5),
        LineRow(other, 4000, "src/main.S", 2),
        LineRow(other, 4000, "src/main.S", 70000),
    ]
    return [main, other], rows


def test_rows_of_a_relocatable_object_come_back() -> None:
    sections, rows = two_sections()
    obj = through_a_file(relocatable(sections, rows))
    assert plain(read_lines(obj)) == plain(rows)
    assert {row.section for row in read_lines(obj)} == set(obj.sections[:2])


def test_rows_of_an_executable_come_back() -> None:
    sections, rows = two_sections((0x4C018, 0x5C000))
    obj = through_a_file(executable(sections, rows))
    assert plain(read_lines(obj)) == plain(rows)


def test_pyelftools_decodes_the_same_rows_and_the_compile_unit() -> None:
    sections, rows = two_sections((0x4C018, 0x5C000))
    elf = ELFFile(io.BytesIO(write_object(executable(sections, rows))))
    dwarf = elf.get_dwarf_info(relocate_dwarf_sections=False)
    (unit,) = dwarf.iter_CUs()
    assert unit["version"] == 4
    top = unit.get_top_DIE()
    assert top.tag == "DW_TAG_compile_unit"
    assert {name: attribute.value for name, attribute in top.attributes.items()} == {
        "DW_AT_producer": PRODUCER.encode(),
        "DW_AT_language": 0x8001,
        "DW_AT_name": b"main.S",
        "DW_AT_stmt_list": 0,
    }
    program = dwarf.line_program_for_CU(unit)
    assert program is not None
    assert program["minimum_instruction_length"] == 4
    assert program["include_directory"] == []
    files = [entry.name.decode() for entry in program["file_entry"]]
    states = [entry.state for entry in program.get_entries() if entry.state]
    seen = [
        (state.address, None if state.end_sequence else (files[state.file - 1], state.line))
        for state in states
    ]
    main, other = sections
    expected: list[tuple[int, tuple[str, int] | None]] = [
        (row.section.address + row.offset, (row.file, row.line)) for row in rows
    ]
    expected.insert(4, (main.address + main.size, None))
    expected.append((other.address + other.size, None))
    assert seen == expected


@pytest.mark.skipif(shutil.which("readelf") is None, reason="GNU readelf is not installed")
def test_readelf_decodes_the_same_rows_without_complaint(tmp_path: Path) -> None:
    sections, rows = two_sections((0x4C018, 0x5C000))
    path = tmp_path / "made"
    path.write_bytes(write_object(executable(sections, rows)))
    result = subprocess.run(
        ["readelf", "-W", "--debug-dump=decodedline,info,abbrev", str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stderr == ""
    assert "DW_LANG" in result.stdout or "MIPS assembler" in result.stdout
    seen = re.findall(r"^\S+\.[Sh] +(\d+) +(0x[0-9a-f]+)", result.stdout, re.MULTILINE)
    assert [(int(line), int(address, 16)) for line, address in seen] == [
        (row.line, row.section.address + row.offset) for row in rows
    ]


def test_addresses_in_relocatable_objects_are_relocations_against_section_symbols() -> None:
    sections, rows = two_sections()
    obj = relocatable(sections, rows)
    info, abbreviations, lines = obj.sections[2:]
    assert [section.name for section in obj.sections[2:]] == [
        ".debug_info",
        ".debug_abbrev",
        ".debug_line",
    ]
    assert [(r.symbol.section, r.addend, r.type) for r in lines.relocations] == [
        (sections[0], 0, 4),
        (sections[1], 8, 4),
    ]
    assert info.relocations[0].offset == 6
    assert [r.symbol.section for r in info.relocations] == [abbreviations, lines]
    for section in (info, lines):
        assert all(relocation.symbol in obj.symbols for relocation in section.relocations)
        for relocation in section.relocations:
            assert section.data[relocation.offset : relocation.offset + 4] == bytes(4)


def test_no_rows_make_no_sections() -> None:
    assert line_sections([], PRODUCER, "main.S") == []


def test_small_steps_take_one_byte_each() -> None:
    text = code(".text", 4000)
    dense = [LineRow(text, 4 * i, "a.S", i + 1) for i in range(1000)]
    (_, _, lines) = line_sections(dense, PRODUCER, "a.S")
    assert lines.size < 1100


@pytest.mark.parametrize("offsets", [(4, 0), (-4, 0), (0, 44)])
def test_rows_out_of_order_or_outside_are_refused(offsets: tuple[int, int]) -> None:
    text = code(".text", 40)
    rows = [LineRow(text, offset, "a.S", 1) for offset in offsets]
    with pytest.raises(ObjectError, match=r"line rows of .text are out of order, or outside"):
        line_sections(rows, PRODUCER, "a.S")


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800"])
def test_names_that_cannot_be_stored_are_refused(name: str) -> None:
    text = code(".text", 4)
    with pytest.raises(ObjectError, match="line information cannot hold the name"):
        line_sections([LineRow(text, 0, name, 1)], PRODUCER, "a.S")


def test_file_names_that_are_no_text_come_back() -> None:
    text = code(".text", 4)
    rows = [LineRow(text, 0, "caf\udce9.S", 1)]
    assert plain(read_lines(through_a_file(relocatable([text], rows)))) == plain(rows)


@examples(100, deadline=2000)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.integers(0, 40), st.integers(0, 100_000)),
            st.sampled_from(["a.S", "b/c.S", "/d.h", "é.S"]),
            st.one_of(st.integers(1, 50), st.integers(0, 0xFFFFFFFF)),
        ),
        min_size=1,
    ),
    st.booleans(),
)
def test_any_rows_come_back(steps: list[tuple[int, str, int]], is_executable: bool) -> None:
    text = code(".text", sum(step for step, _, _ in steps), 0x4C000 if is_executable else 0)
    rows, offset = [], 0
    for step, file, line in steps:
        offset += step
        rows.append(LineRow(text, offset, file, line))
    text.data, text.size = bytes(offset + 4), offset + 4
    make = executable if is_executable else relocatable
    assert plain(read_lines(through_a_file(make([text], rows)))) == plain(rows)


# What llvm-mc 14 makes (for another 32-bit machine with words of 4 bytes) of a file with
#   .file 1 "src/kernels" "add.S"     .file 2 "other.S"
# four instructions in .text at lines 10, 11 (two) of file 1 and 300 of file 2, and in .text.g
# a hundred at line 5 and one at line 2 of file 1. Places of the relocations follow.
LLVM_TABLES = {
    2: (
        "630000000200330000000401fb0e0d0001010101000000010000017372632f6b65726e656c730000"
        "6164642e53000100006f746865722e530000000000000502000000000309010505210402050003a1"
        "022e0201000101000502000000001602640f0201000101",
        (0x40, 0x5A),
    ),
    3: (
        "630000000300330000000401fb0e0d0001010101000000010000017372632f6b65726e656c730000"
        "6164642e53000100006f746865722e530000000000000502000000000309010505210402050003a1"
        "022e0201000101000502000000001602640f0201000101",
        (0x40, 0x5A),
    ),
    4: (
        "64000000040034000000040101fb0e0d0001010101000000010000017372632f6b65726e656c7300"
        "006164642e53000100006f746865722e530000000000000502000000000309010505210402050003"
        "a1022e0201000101000502000000001602640f0201000101",
        (0x41, 0x5B),
    ),
    5: (
        "650000000500040033000000040101fb0e0d00010101010000000100000101011f02000000000000"
        "000002011f020f030000000001000000000100000000000005020000000003090105052104020500"
        "03a1022e0201000101000502000000001602640f0201000101",
        (0x42, 0x5C),
    ),
}
LLVM_STRINGS = b"/tmp\0src/kernels\0add.S\0other.S\0"
LLVM_STRING_PLACES = [(0x22, 0), (0x26, 5), (0x30, 17), (0x35, 17), (0x3A, 23)]


def llvm_object(version: int) -> ObjectFile:
    table, places = LLVM_TABLES[version]
    text, other = code(".text", 16), code(".text.g", 404)
    data = bytes.fromhex(table)
    lines = Section(".debug_line", data=data, size=len(data))
    sections = [text, other, lines]
    symbols = [Symbol("", each, type=SymbolType.SECTION) for each in (text, other)]
    for place, symbol in zip(places, symbols, strict=True):
        lines.relocations.append(Relocation(place, 4, symbol))
    if version == 5:
        strings = Section(".debug_line_str", data=LLVM_STRINGS, size=len(LLVM_STRINGS))
        sections.append(strings)
        symbols.append(Symbol("", strings, type=SymbolType.SECTION))
        lines.relocations += [Relocation(at, 4, symbols[2], to) for at, to in LLVM_STRING_PLACES]
    return ObjectFile("llvm.o", sections=sections, symbols=symbols)


@pytest.mark.parametrize("version", LLVM_TABLES)
def test_tables_of_llvm_are_read(version: int) -> None:
    obj = through_a_file(llvm_object(version))
    assert plain(read_lines(obj)) == [
        (".text", 0, "src/kernels/add.S", 10),
        (".text", 4, "src/kernels/add.S", 11),
        (".text", 12, "other.S", 300),
        (".text.g", 0, "src/kernels/add.S", 5),
        (".text.g", 400, "src/kernels/add.S", 2),
    ]


def test_symbol_values_count_in_line_tables() -> None:
    obj = llvm_object(4)
    text = obj.sections[0]
    label = Symbol("label", text, 4, binding=Binding.GLOBAL)
    obj.sections[2].relocations[0] = Relocation(0x41, 4, label, -4)
    assert plain(read_lines(obj))[:2] == [
        (".text", 0, "src/kernels/add.S", 10),
        (".text", 4, "src/kernels/add.S", 11),
    ]


@pytest.mark.parametrize(("kind", "is_undefined"), [(0, False), (0, True), (4, True)])
def test_rows_of_removed_code_are_left_out(kind: int, is_undefined: bool) -> None:
    obj = llvm_object(4)
    symbol = Symbol("gone") if is_undefined else obj.symbols[0]
    obj.sections[2].relocations[0] = Relocation(0x41, kind, symbol)
    assert {row.section.name for row in read_lines(obj)} == {".text.g"}


@pytest.mark.parametrize("address", [0, 0x5B000, 0xFFFFFFF0])
def test_rows_of_removed_code_are_left_out_of_executables(address: int) -> None:
    sections, rows = two_sections((0x4C018, 0x5C000))
    gone = LineRow(code(".text.gone", 8, address), 0, "src/main.S", 1)
    obj = executable(sections, [gone, *rows])
    assert plain(read_lines(obj)) == plain(rows)


def test_look_up() -> None:
    sections, rows = two_sections()
    main, other = sections
    table = read_line_table(relocatable(sections, rows))
    assert table.find(main, 0) == ("src/main.S", 10)
    assert table.find(main, 3) == ("src/main.S", 10)
    assert table.find(main, 4) == ("src/main.S", 11)
    assert table.find(main, 17) == ("inc/macros.h", 300)
    assert table.find(main, 18) == ("src/main.S", 12)
    assert table.find(main, 39) == ("src/main.S", 12)
    assert table.find(main, 40) is None
    assert table.find(main, 1 << 40) is None
    assert table.find(other, 7) is None
    assert table.find(other, 8) == ("src/main.S", 5)
    assert table.find(other, 4000) == ("src/main.S", 70000)
    assert table.find(code(".text", 40), 0) is None


def test_look_up_where_sequences_meet_and_in_gaps() -> None:
    text = code(".text", 40)
    first = LineSequence([LineRow(text, 0, "a.S", 1)], 8)
    second = LineSequence([LineRow(text, 8, "b.S", 2)], 12)
    later = LineSequence([LineRow(text, 20, "c.S", 3)], 24)
    for order in ([first, second, later], [later, second, first], [second, later, first]):
        table = LineTable(order)
        assert [table.find(text, offset) for offset in (7, 8, 12, 19, 20, 24)] == [
            ("a.S", 1),
            ("b.S", 2),
            None,
            None,
            ("c.S", 3),
            None,
        ]


def test_objects_without_line_information() -> None:
    text = code(".text", 4)
    obj = ObjectFile("plain.o", sections=[text])
    assert read_lines(obj) == []
    assert read_line_table(obj).find(text, 0) is None


SETTINGS_4 = bytes([4, 1, 1, 251, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
ONE_FILE = b"\0a.S\0\0\0\0\0"
START = bytes([0, 5, 2, 0, 0, 0, 0])
END = bytes([0, 1, 1])


def unit(
    program: bytes, part: bytes = SETTINGS_4 + ONE_FILE, version: int = 4, before: bytes = b""
) -> bytes:
    """A unit with its header's part and program as given; `before` stands before its length."""
    head = version.to_bytes(2, "little") + before + len(part).to_bytes(4, "little")
    body = head + part + program
    return len(body).to_bytes(4, "little") + body


def with_lines(data: bytes, relocation_type: int = 4) -> ObjectFile:
    """An object whose `.debug_line` is `data`; its first address operand is in `.text`."""
    text = code(".text", 16)
    lines = Section(".debug_line", data=data, size=len(data))
    place = data.find(START) + 3
    if place >= 3:
        lines.relocations.append(Relocation(place, relocation_type, Symbol("", text)))
    return ObjectFile("bad.o", sections=[text, lines])


def version_5(formats_and_entries: bytes) -> bytes:
    return unit(b"", SETTINGS_4 + formats_and_entries, 5, before=bytes([4, 0]))


def test_the_units_made_by_hand_are_good() -> None:
    second = bytes([1, 2, 1, 1])  # a row, 4 bytes on, another row
    assert plain(read_lines(with_lines(unit(START + second + END)))) == [
        (".text", 0, "a.S", 1),
        (".text", 4, "a.S", 1),
    ]


def test_opcodes_without_meaning_for_rows_are_skipped() -> None:
    program = (
        START
        + bytes([5, 7, 6, 7, 10, 11, 12, 1])  # column, statement, block, prologue, epilogue, isa
        + bytes([8])  # const_add_pc: (255 - 13) / 14 = 17 instructions
        + bytes([0, 2, 4, 9])  # discriminator
        + bytes([0, 3, 0x80, 1, 2])  # of a vendor
        + bytes([0, 8, 3])
        + b"b.S\0\0\0\0"  # define_file
        + bytes([4, 2, 9, 2, 0, 1])  # file 2, 2 bytes on, a row
        + END
    )
    obj = with_lines(unit(program))
    obj.sections[0].size = 80
    assert plain(read_lines(obj)) == [(".text", 17 * 4 + 2, "b.S", 1)]


def test_unknown_standard_opcodes_are_skipped_by_their_operand_counts() -> None:
    part = bytes([4, 1, 1, 251, 14, 15, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 2]) + ONE_FILE
    program = START + bytes([13, 14, 0x81, 0x01, 5, 1]) + END
    assert plain(read_lines(with_lines(unit(program, part)))) == [(".text", 0, "a.S", 1)]


def test_all_forms_of_version_5_strings_and_numbers() -> None:
    folders = bytes([1, 1, 0x0E, 2]) + bytes(4) + (5).to_bytes(4, "little")  # strp
    # Path as string; folder as udata; time as data4, size as block, MD5 as data16.
    formats = bytes([5, 1, 0x08, 2, 0x0F, 3, 0x06, 4, 0x09, 5, 0x1E])
    rest = bytes(4) + b"\2xx" + bytes(16)
    files = formats + b"\2a.S\0\0" + rest + b"b.S\0\1" + rest
    program = START + b"\1" + bytes([4, 0, 1]) + END
    data = unit(program, SETTINGS_4 + folders + files, 5, before=bytes([4, 0]))
    obj = with_lines(data)
    obj.sections.append(Section(".debug_str", data=b"/tmp\0src\0", size=9))
    assert plain(read_lines(obj)) == [(".text", 0, "src/b.S", 1), (".text", 0, "a.S", 1)]


def test_absolute_names_stand_in_no_folder() -> None:
    part = SETTINGS_4 + b"src\0\0/abs/a.S\0\1\0\0\0"
    obj = with_lines(unit(START + b"\1" + END, part))
    assert plain(read_lines(obj)) == [(".text", 0, "/abs/a.S", 1)]


MALFORMED = {
    "cut length": (b"\1\0", "4 bytes expected, but the part ends after 2"),
    "unit past the end": (b"\xff\0\0\0", "255 bytes expected, but the part ends after 0"),
    "64-bit": (b"\xff\xff\xff\xff" + bytes(8), "64-bit DWARF is not supported"),
    "version": (unit(b"", version=6), "line table version 6, expected 2 to 5"),
    "address size": (unit(b"", version=5, before=bytes([8, 0])), "addresses of 8 bytes"),
    "segments": (unit(b"", version=5, before=bytes([4, 1])), "segment selectors"),
    "wide instructions": (unit(b"", b"\4\2" + SETTINGS_4[2:]), "2 operations per instruction"),
    "line range": (unit(b"", SETTINGS_4[:4] + b"\0" + SETTINGS_4[5:]), "line_range is 0"),
    "opcode base": (unit(b"", SETTINGS_4[:5] + b"\0"), "opcode_base is 0"),
    "cut header": (unit(b"", SETTINGS_4[:-1]), "1 bytes expected, but the part ends after 0"),
    "unterminated name": (unit(b"", SETTINGS_4 + b"\0a.S"), "string without a closing zero byte"),
    "no end": (unit(START + b"\1"), "line program ends inside a sequence"),
    "file": (unit(START + bytes([4, 2, 1]) + END), "file number 2, but the unit has 1 files"),
    "file 0": (unit(START + bytes([4, 0, 1]) + END), "file number 0, but the unit has 1 files"),
    "folder": (
        unit(START + b"\1" + END, SETTINGS_4 + b"\0a.S\0\1\0\0\0"),
        "folder number 1 of file number 1, but the unit has 0 folders",
    ),
    "line": (unit(START + bytes([3, 0x7E, 1]) + END), "line number -1"),
    "large line": (
        unit(START + bytes([3, 0xFF, 0xFF, 0xFF, 0xFF, 0x3F, 1]) + END),
        "line number 17179869184",
    ),
    "long number": (unit(START + b"\2" + b"\x80" * 10), "LEB128 number of more than 10 bytes"),
    "address length": (unit(bytes([0, 4, 2, 0, 0, 0])), "address of 3 bytes, expected 4"),
    "extended length 0": (unit(b"\0\0"), "1 bytes expected, but the part ends after 0"),
    "extended past the end": (unit(b"\0\x7f"), "127 bytes expected"),
    "past the section": (unit(START + bytes([2, 5, 1]) + END), "bad.o: .debug_line: offset"),
    "backwards": (
        unit(START + bytes([2, 2, 1]) + START + b"\1" + END).replace(
            START + b"\1", bytes([0, 5, 2, 4, 0, 0, 0, 1])
        ),
        "a line sequence runs over two sections",
    ),
    "entries without content": (
        version_5(b"\0\x80\x80\x80\x80\1"),
        "268435456 file entries without content",
    ),
    "too many entries": (
        version_5(b"\1\1\x08\x80\x80\x80\x80\1a\0"),
        "string without a closing zero byte",
    ),
    "form": (version_5(b"\1\1\x25\1\0"), "form 0x25 is not one for line tables"),
    "string offset": (
        version_5(b"\1\1\x1f\1\0\0\0\0"),
        "string offset 0x0 is outside its table of 0 bytes",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_tables_are_refused_with_their_reason(case: str) -> None:
    data, reason = MALFORMED[case]
    with pytest.raises(ObjectError) as caught:
        read_lines(with_lines(data))
    assert str(caught.value).startswith("bad.o: .debug_line: offset 0x")
    assert reason in str(caught.value)


def test_sequences_that_go_backwards_are_refused() -> None:
    sections, rows = two_sections((0x4C018, 0x5C000))
    obj = executable(sections, rows)
    lines = obj.sections[-1]
    back = bytes([0, 5, 2]) + (0x4C018).to_bytes(4, "little")
    program = bytes([0, 5, 2]) + (0x4C020).to_bytes(4, "little") + b"\1" + back + b"\1" + END
    lines.data = unit(program)
    lines.size = len(lines.data)
    with pytest.raises(ObjectError, match="addresses of a line sequence go backwards"):
        read_lines(obj)


def test_relocations_that_do_not_fit_line_tables_are_refused() -> None:
    data = unit(START + b"\1" + END)
    with pytest.raises(ObjectError, match=r"relocation 16 in a line table, expected 32"):
        read_lines(with_lines(data, relocation_type=2))
    obj = with_lines(data)
    obj.sections[1].relocations[0].addend = -4
    with pytest.raises(ObjectError, match=r"bad.o: .debug_line: offset .*got -0x4"):
        read_lines(obj)


def test_compressed_sections_are_refused() -> None:
    obj = with_lines(unit(START + b"\1" + END))
    obj.sections[1].flags = 0x800
    with pytest.raises(ObjectError, match="is compressed; compile with -gz=none"):
        read_lines(obj)


def test_tables_cut_at_any_length_are_refused() -> None:
    data = unit(START + b"\1" + END)
    for length in range(1, len(data)):
        with pytest.raises(ObjectError):
            read_lines(with_lines(data[:length]))


def test_folders_shared_by_many_files_do_not_multiply_memory() -> None:
    folder = b"f" * 50_000
    files = b"a\0\1\0\0" * 10_000
    program = START + b"".join(
        bytes([4, 0x80 | number & 0x7F, number >> 7, 1]) for number in range(128, 10_000)
    )
    data = unit(program + END, SETTINGS_4 + folder + b"\0\0" + files + b"\0")
    obj = with_lines(data)
    tracemalloc.start()
    try:
        with pytest.raises(ObjectError, match="paths of files are too long for their number"):
            read_lines(obj)
        assert tracemalloc.get_traced_memory()[1] < 150 * len(data)
    finally:
        tracemalloc.stop()


def test_numbers_without_limit_are_refused() -> None:
    largest = b"\2" + b"\xff" * 9 + b"\x7f"
    data = unit(START + (largest + b"\1") * 20_000 + END)
    with pytest.raises(ObjectError):
        read_lines(with_lines(data))


@examples(300, deadline=2000)
@given(
    st.sampled_from(sorted(LLVM_TABLES)),
    st.lists(st.tuples(st.integers(0, 102), st.integers(0, 255)), min_size=1, max_size=5),
)
def test_mutated_tables_give_object_errors_or_rows(
    version: int, changes: list[tuple[int, int]]
) -> None:
    obj = llvm_object(version)
    lines = obj.sections[2]
    data = bytearray(lines.data)
    for position, value in changes:
        data[position] = value
    lines.data = bytes(data)
    try:
        rows = read_lines(obj)
    except ObjectError:
        return
    assert len(rows) < len(data)
    assert all(0 <= row.offset <= row.section.size for row in rows)
