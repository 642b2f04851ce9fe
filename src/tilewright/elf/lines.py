"""Line information: which line of which file each piece of code comes from, in DWARF form.

`line_sections` makes the debug sections of an object, `read_lines` and `read_line_table` read
those of any object, ours or LLVM's. Offsets and sizes are in bytes.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tilewright.elf.headers import ObjectError, Source, StringTable
from tilewright.elf.line_program import (
    PATH_ERRORS,
    SET_ADDRESS_OPERAND,
    Anchor,
    LineStrings,
    ProgramSequence,
    decode_line_programs,
)
from tilewright.elf.object import FileType, ObjectFile, Relocation, Section, SectionType, Symbol
from tilewright.elf.relocations import RULES, RelocationError, RelocationType, relocation_name

_COMPRESSED = 0x800
"""sh_flags bit of a compressed section."""


@dataclass(frozen=True, slots=True)
class LineRow:
    """The code from `offset` in `section` on comes from `line` (from 1) of `file`."""

    section: Section
    offset: int
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class LineSequence:
    """Rows of one piece of code in ascending order; it ends at offset `end`, exclusive."""

    rows: Sequence[LineRow]
    end: int


class LineTable:
    """Answers which line an offset comes from."""

    def __init__(self, sequences: Iterable[LineSequence]) -> None:
        marks: dict[Section, list[tuple[int, LineRow | None]]] = {}
        for sequence in sequences:
            if not sequence.rows:
                continue
            of_section = marks.setdefault(sequence.rows[0].section, [])
            of_section.extend((row.offset, row) for row in sequence.rows)
            of_section.append((sequence.end, None))
        self._rows: dict[Section, list[LineRow | None]] = {}
        self._offsets: dict[Section, list[int]] = {}
        for section, of_section in marks.items():
            # Where one sequence ends and another starts, the start counts: it is sorted last.
            of_section.sort(key=lambda mark: (mark[0], mark[1] is not None))
            self._offsets[section] = [offset for offset, _ in of_section]
            self._rows[section] = [row for _, row in of_section]

    def find(self, section: Section, offset: int) -> tuple[str, int] | None:
        """File and line of the code at `offset`, or None if nothing is known about it."""
        index = bisect_right(self._offsets.get(section, []), offset) - 1
        row = self._rows[section][index] if index >= 0 else None
        return (row.file, row.line) if row else None


def read_lines(obj: ObjectFile) -> list[LineRow]:
    """All rows of the line tables of `obj`, in their order. Raises `ObjectError`.

    Rows about code that is not in the object (removed by a linker) are left out.
    """
    return [row for sequence in _read_sequences(obj) for row in sequence.rows]


def read_line_table(obj: ObjectFile) -> LineTable:
    """The line tables of `obj`, for look-up. Raises `ObjectError`."""
    return LineTable(_read_sequences(obj))


def _read_sequences(obj: ObjectFile) -> Iterator[LineSequence]:
    for section in obj.sections:
        if section.name != ".debug_line":
            continue
        name = f"{obj.name}: {section.name}"
        source = Source(name, _relocated(name, section))
        strings = LineStrings(
            _strings(obj, source, ".debug_line_str"), _strings(obj, source, ".debug_str")
        )
        places = _Places(obj, source, section)
        for sequence in decode_line_programs(source, strings):
            placed = places.place(sequence)
            if placed is not None:
                yield placed


def _relocated(name: str, section: Section) -> bytes:
    """The content with all sections at address 0, so that addresses become offsets."""
    if section.flags & _COMPRESSED:
        raise ObjectError(f"{name} is compressed; compile with -gz=none")
    data = bytearray(section.data)
    for relocation in section.relocations:
        if relocation.type == RelocationType.NONE:
            continue
        if relocation.type != RelocationType.ABS_32:
            raise ObjectError(
                f"{name}: offset {relocation.offset:#x}: relocation "
                f"{relocation_name(relocation.type)} in a line table, expected 32"
            )
        try:
            target = relocation.symbol.value + relocation.addend
            RULES[RelocationType.ABS_32].apply(data, relocation.offset, target)
        except RelocationError as error:
            raise ObjectError(f"{name}: offset {relocation.offset:#x}: {error}") from error
    return bytes(data)


def _strings(obj: ObjectFile, source: Source, section_name: str) -> StringTable:
    section = next((each for each in obj.sections if each.name == section_name), None)
    if section is not None and section.flags & _COMPRESSED:
        raise ObjectError(f"{obj.name}: {section_name} is compressed; compile with -gz=none")
    return StringTable(source, section.data if section else b"", PATH_ERRORS)


class _Places:
    """Where the sequences of one `.debug_line` section lie: section and offset."""

    def __init__(self, obj: ObjectFile, source: Source, lines: Section) -> None:
        self._source = source
        self._is_executable = obj.type == FileType.EXECUTABLE
        self._relocated = {
            relocation.offset: relocation.symbol.section
            for relocation in lines.relocations
            if relocation.type != RelocationType.NONE
        }
        self._by_address = sorted(
            (section for section in obj.sections if section.is_allocated and section.size),
            key=lambda section: section.address,
        )
        self._addresses = [section.address for section in self._by_address]

    def place(self, sequence: ProgramSequence) -> LineSequence | None:
        """The sequence with its rows in place, or None if its code is in no section."""
        first = sequence.rows[0].anchor
        section = self._section(first)
        if section is None:
            return None
        rows = [
            LineRow(section, self._offset(section, row.anchor, row.advance), row.file, row.line)
            for row in sequence.rows
        ]
        end = self._offset(section, sequence.end_anchor, sequence.end_advance)
        offsets = [*(row.offset for row in rows), end]
        if offsets != sorted(offsets):
            raise self._fault(first, "addresses of a line sequence go backwards")
        return LineSequence(rows, end)

    def _section(self, anchor: Anchor) -> Section | None:
        if not self._is_executable:
            return self._relocated.get(-1 if anchor.position is None else anchor.position)
        index = bisect_right(self._addresses, anchor.value) - 1
        if index < 0:
            return None
        section = self._by_address[index]
        return section if anchor.value <= section.address + section.size else None

    def _offset(self, section: Section, anchor: Anchor, advance: int) -> int:
        if not self._is_executable and self._section(anchor) is not section:
            raise self._fault(anchor, "a line sequence runs over two sections")
        offset = anchor.value - section.address + advance
        if not 0 <= offset <= section.size:
            raise self._fault(
                anchor,
                f"line table knows code at {section.name}+{offset:#x}, "
                f"but the section ends at {section.size:#x}",
            )
        return offset

    def _fault(self, anchor: Anchor, reason: str) -> ObjectError:
        return self._source.fault(anchor.position or 0, reason)


SectionSymbol = Callable[[Section], Symbol]
"""Gives the STT_SECTION symbol of a section of a relocatable object, made if need be."""

_LINE_BASE, _LINE_RANGE = -5, 14
_MINIMUM_LENGTH = 4
"""Bytes of an instruction: address steps in the line program count in these."""
_OPERAND_COUNTS = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
_OPCODE_BASE = len(_OPERAND_COUNTS) + 1
_DWARF_VERSION = 4
_LANGUAGE_ASSEMBLER = 0x8001
"""DW_LANG_Mips_Assembler, which stands for any assembly language."""

_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _FIXED_ADVANCE_PC = 1, 2, 3, 4, 9
_END_SEQUENCE = bytes([0, 1, 1])
_SET_ADDRESS = bytes([0, 1 + SET_ADDRESS_OPERAND, 2])

# One abbreviation: number 1, DW_TAG_compile_unit, no children; then attributes and their forms.
_ABBREVIATIONS = bytes(
    [
        *(0x01, 0x11, 0x00),
        *(0x25, 0x08),  # DW_AT_producer, DW_FORM_string
        *(0x13, 0x05),  # DW_AT_language, DW_FORM_data2
        *(0x03, 0x08),  # DW_AT_name, DW_FORM_string
        *(0x10, 0x17),  # DW_AT_stmt_list, DW_FORM_sec_offset
        *(0x00, 0x00, 0x00),
    ]
)


def line_sections(
    rows: Sequence[LineRow],
    producer: str,
    source_name: str,
    section_symbol: SectionSymbol | None = None,
) -> list[Section]:
    """`.debug_info`, `.debug_abbrev` and `.debug_line` that hold `rows`; none for no rows.

    Rows of one section stand in ascending order of offsets; the last one reaches to the section's
    end. `section_symbol` is for relocatable objects: addresses become relocations against the
    symbols that it returns, also for the sections made here. Without it addresses are those of
    the sections. The result does not depend on the machine: no folder is recorded, paths stay as
    given. Raises `ObjectError`.
    """
    if not rows:
        return []
    lines = _line_section(rows, section_symbol)
    abbreviations = _debug_section(".debug_abbrev", _ABBREVIATIONS)
    info = _info_section(producer, source_name, abbreviations, lines, section_symbol)
    return [info, abbreviations, lines]


def _debug_section(name: str, data: bytes) -> Section:
    return Section(name, SectionType.PROGBITS, data=data, size=len(data))


def _line_section(rows: Sequence[LineRow], section_symbol: SectionSymbol | None) -> Section:
    files = {file: number for number, file in enumerate(dict.fromkeys(r.file for r in rows), 1)}
    by_section: dict[Section, list[LineRow]] = {}
    for row in rows:
        by_section.setdefault(row.section, []).append(row)
    section = _debug_section(".debug_line", b"")
    data = bytearray(_line_header(files))
    for code, of_section in by_section.items():
        _check_rows(code, of_section)
        data += _SET_ADDRESS
        first = of_section[0].offset
        address = 0 if section_symbol else code.address + first
        if section_symbol:
            section.relocations.append(_reference(data, section_symbol(code), first))
        data += address.to_bytes(SET_ADDRESS_OPERAND, "little")
        data += _sequence(of_section, code.size, files)
    data[:4] = (len(data) - 4).to_bytes(4, "little")
    section.data, section.size = bytes(data), len(data)
    return section


def _check_rows(section: Section, rows: Sequence[LineRow]) -> None:
    offsets = [row.offset for row in rows]
    if offsets != sorted(offsets) or offsets[0] < 0 or offsets[-1] > section.size:
        raise ObjectError(
            f"line rows of {section.name} are out of order, or outside its {section.size} bytes"
        )


def _reference(data: bytearray, symbol: Symbol, addend: int = 0) -> Relocation:
    """A relocation for the word that comes next in `data`."""
    return Relocation(len(data), RelocationType.ABS_32, symbol, addend)


def _line_header(files: Iterable[str]) -> bytes:
    """The header of the line table, with its length left open."""
    settings = bytes(
        [_MINIMUM_LENGTH, 1, 1, _LINE_BASE & 0xFF, _LINE_RANGE, _OPCODE_BASE, *_OPERAND_COUNTS]
    )
    no_folders = b"\0"
    # Each file has folder, time and size 0: unknown.
    names = b"".join(_string(file) + bytes(3) for file in files) + b"\0"
    part = settings + no_folders + names
    return bytes(4) + _DWARF_VERSION.to_bytes(2, "little") + len(part).to_bytes(4, "little") + part


def _string(text: str) -> bytes:
    try:
        raw = text.encode("utf-8", PATH_ERRORS)
    except UnicodeEncodeError as error:
        raise ObjectError(f"line information cannot hold the name {text!r}") from error
    if not raw or b"\0" in raw:
        raise ObjectError(f"line information cannot hold the name {text!r}")
    return raw + b"\0"


def _sequence(rows: Sequence[LineRow], end: int, files: dict[str, int]) -> bytes:
    """The program from after the address of the first row to the end mark."""
    out = bytearray()
    offset, file, line = rows[0].offset, 1, 1
    for row in rows:
        if files[row.file] != file:
            file = files[row.file]
            out += bytes([_SET_FILE]) + _leb128(file)
        out += _row(row.offset - offset, row.line - line)
        offset, line = row.offset, row.line
    return bytes(out + _advance(end - offset) + _END_SEQUENCE)


def _row(address_step: int, line_step: int) -> bytes:
    """The opcodes for one row, a single byte if it can be."""
    line_part = line_step - _LINE_BASE
    if address_step % _MINIMUM_LENGTH == 0 and 0 <= line_part < _LINE_RANGE:
        opcode = _OPCODE_BASE + line_part + _LINE_RANGE * (address_step // _MINIMUM_LENGTH)
        if opcode <= 0xFF:
            return bytes([opcode])
    line = bytes([_ADVANCE_LINE]) + _leb128(line_step, is_signed=True) if line_step else b""
    return line + _advance(address_step) + bytes([_COPY])


def _advance(step: int) -> bytes:
    """The opcodes that move the address by `step` bytes, which need not be whole instructions."""
    instructions, rest = divmod(step, _MINIMUM_LENGTH)
    whole = bytes([_ADVANCE_PC]) + _leb128(instructions) if instructions else b""
    return whole + (bytes([_FIXED_ADVANCE_PC, rest, 0]) if rest else b"")


def _leb128(value: int, is_signed: bool = False) -> bytes:
    out = bytearray()
    while True:
        low, value = value & 0x7F, value >> 7
        is_last = value == (-1 if low & 0x40 else 0) if is_signed else value == 0
        if is_last:
            return bytes([*out, low])
        out.append(low | 0x80)


def _info_section(
    producer: str,
    source_name: str,
    abbreviations: Section,
    lines: Section,
    section_symbol: SectionSymbol | None,
) -> Section:
    section = _debug_section(".debug_info", b"")
    data = bytearray(4) + _DWARF_VERSION.to_bytes(2, "little")
    if section_symbol:
        section.relocations.append(_reference(data, section_symbol(abbreviations)))
    data += bytes(4) + bytes([SET_ADDRESS_OPERAND, 1])
    data += _string(producer) + _LANGUAGE_ASSEMBLER.to_bytes(2, "little") + _string(source_name)
    if section_symbol:
        section.relocations.append(_reference(data, section_symbol(lines)))
    data += bytes(4)
    data[:4] = (len(data) - 4).to_bytes(4, "little")
    section.data, section.size = bytes(data), len(data)
    return section
