"""Writing object files: the same sections, symbols and relocations always give the same bytes.

The file holds, in this order: file header, program headers (executables only), the content of the
sections, their relocation tables, `.symtab`, `.strtab`, `.shstrtab`, and the section headers.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.elf.headers import (
    FILE_HEADER,
    MAGIC,
    PROGRAM_HEADER,
    SECTION_HEADER,
    SEGMENT_LOAD,
    ObjectError,
    is_power_of_two,
)
from tilewright.elf.object import (
    MACHINE,
    Binding,
    FileType,
    ObjectFile,
    Relocation,
    Section,
    SectionFlag,
    SectionType,
    Symbol,
)
from tilewright.elf.reader import (
    ABSOLUTE_INDEX,
    FIRST_RESERVED_INDEX,
    RELOCATION,
    SYMBOL,
    UNDEFINED_INDEX,
    relocated_bytes,
)

_IDENT = MAGIC + bytes([1, 1, 1]) + bytes(9)
"""32 bit, little endian, version 1, no OS ABI."""
_TABLE_TYPES = {SectionType.NULL, SectionType.SYMTAB, SectionType.RELA}
_TABLE_ALIGNMENT = 4
_SEGMENT_ALIGNMENT = 4
_MAXIMUM_FILE_ALIGNMENT = 16
"""Content is aligned in the file no further than this; its alignment in memory is another thing."""
_READABLE, _WRITABLE, _EXECUTABLE = 4, 2, 1
"""p_flags."""


def write_object(obj: ObjectFile) -> bytes:
    """The bytes of `obj` as an ELF file. Raises `ObjectError` if it cannot be written."""
    for section in obj.sections:
        _check_section(obj, section)
    symbols = _ordered_symbols(obj)
    indices = _Indices.of(obj, symbols)
    strings, names = _Strings(), _Strings()
    tables = [
        *_relocation_tables(obj, indices),
        _symbol_table(obj, symbols, indices, strings),
        _Table(".strtab", SectionType.STRTAB, strings.content),
    ]
    for name in [*(section.name for section in obj.sections), *(table.name for table in tables)]:
        names.add(_encoded(obj, name))
    names.add(b".shstrtab")
    tables.append(_Table(".shstrtab", SectionType.STRTAB, names.content))
    if 1 + len(obj.sections) + len(tables) >= FIRST_RESERVED_INDEX:
        raise ObjectError(
            f"{obj.name}: {len(obj.sections)} sections are too many; "
            f"section numbers end at {FIRST_RESERVED_INDEX - 1:#x}"
        )
    return _lay_out(obj, tables, names, indices)


@dataclass(frozen=True, slots=True)
class _Table:
    """A symbol, string or relocation table: a section that the model does not have."""

    name: str
    type: int
    content: bytes | bytearray
    flags: int = 0
    link: int = 0
    info: int = 0
    entry_size: int = 0

    @property
    def alignment(self) -> int:
        return 1 if self.type == SectionType.STRTAB else _TABLE_ALIGNMENT


class _Strings:
    """A string table under construction; equal strings are stored once."""

    def __init__(self) -> None:
        self.content = bytearray(b"\0")
        self._offsets = {b"": 0}

    def add(self, text: bytes) -> int:
        """The offset of `text`, which is appended if it is new."""
        offset = self._offsets.get(text)
        if offset is None:
            offset = self._offsets[text] = len(self.content)
            self.content += text + b"\0"
        return offset


@dataclass(frozen=True, slots=True)
class _Indices:
    """The numbers that sections and symbols get in the file."""

    sections: dict[Section, int]
    symbols: dict[Symbol, int]
    symbol_table: int

    @classmethod
    def of(cls, obj: ObjectFile, symbols: Sequence[Symbol]) -> "_Indices":
        relocated = sum(bool(section.relocations) for section in obj.sections)
        return cls(
            {section: index for index, section in enumerate(obj.sections, 1)},
            {symbol: index for index, symbol in enumerate(symbols, 1)},
            1 + len(obj.sections) + relocated,
        )


def _check_section(obj: ObjectFile, section: Section) -> None:
    what = f"{obj.name}: section {section.name}"
    if section.type in _TABLE_TYPES:
        raise ObjectError(f"{what} has type {section.type}, a table that the writer makes itself")
    if section.type != SectionType.NOBITS and section.size != len(section.data):
        raise ObjectError(f"{what} has size {section.size}, but {len(section.data)} bytes of data")
    if section.type == SectionType.NOBITS and (section.data or section.relocations):
        raise ObjectError(f"{what} has no content in the file, yet data or relocations")
    if not is_power_of_two(section.alignment):
        raise ObjectError(f"{what} has alignment {section.alignment}, not a power of two")
    if obj.type == FileType.RELOCATABLE and section.address:
        raise ObjectError(f"{what} has an address, but the object is relocatable")
    if section.link is not None and not section.flags & SectionFlag.LINK_ORDER:
        raise ObjectError(f"{what} is linked to another, but has no flag LINK_ORDER")


def _ordered_symbols(obj: ObjectFile) -> list[Symbol]:
    """Locals before globals, as ELF demands; otherwise in the given order."""
    return sorted(obj.symbols, key=lambda symbol: symbol.binding != Binding.LOCAL)


def _encoded(obj: ObjectFile, name: str) -> bytes:
    if "\0" in name:
        raise ObjectError(f"{obj.name}: the name {name!r} holds a zero character")
    try:
        return name.encode()
    except UnicodeEncodeError as error:
        raise ObjectError(f"{obj.name}: the name {name!r} is not Unicode text") from error


def _relocation_tables(obj: ObjectFile, indices: _Indices) -> list[_Table]:
    return [
        _Table(
            ".rela" + section.name,
            SectionType.RELA,
            b"".join(_relocation(obj, section, each, indices) for each in section.relocations),
            flags=SectionFlag.INFO_LINK,
            link=indices.symbol_table,
            info=indices.sections[section],
            entry_size=RELOCATION.size,
        )
        for section in obj.sections
        if section.relocations
    ]


def _relocation(
    obj: ObjectFile, section: Section, relocation: Relocation, indices: _Indices
) -> bytes:
    what = f"{obj.name}: relocation at {section.name}+{relocation.offset:#x}"
    symbol = indices.symbols.get(relocation.symbol)
    if symbol is None:
        raise ObjectError(
            f"{what} is against '{relocation.symbol.name}', which is no symbol of the object"
        )
    if not 0 <= relocation.type <= 0xFF:
        raise ObjectError(f"{what} has type {relocation.type}, expected 0 to 255")
    if not 0 <= relocation.offset <= section.size - relocated_bytes(relocation.type):
        raise ObjectError(f"{what} is outside its section of {section.size} bytes")
    # In executables r_offset is an address; sections of relocatable objects have address 0.
    address = section.address + relocation.offset
    return _pack(RELOCATION, what, address, symbol << 8 | relocation.type, relocation.addend)


def _pack(layout: struct.Struct, what: str, *fields: int | bytes) -> bytes:
    try:
        return layout.pack(*fields)
    except struct.error as error:
        raise ObjectError(f"{what} has a number that ELF32 cannot hold: {error}") from error


def _symbol_table(
    obj: ObjectFile, symbols: Sequence[Symbol], indices: _Indices, strings: _Strings
) -> _Table:
    rows = [bytes(SYMBOL.size)]
    for symbol in symbols:
        what = f"{obj.name}: symbol '{symbol.name}'"
        rows.append(
            _pack(
                SYMBOL,
                what,
                strings.add(_encoded(obj, symbol.name)),
                symbol.value,
                symbol.size,
                symbol.binding << 4 | symbol.type,
                symbol.visibility,
                _section_index(obj, what, symbol, indices),
            )
        )
    return _Table(
        ".symtab",
        SectionType.SYMTAB,
        b"".join(rows),
        link=indices.symbol_table + 1,
        info=1 + sum(symbol.binding == Binding.LOCAL for symbol in symbols),
        entry_size=SYMBOL.size,
    )


def _section_index(obj: ObjectFile, what: str, symbol: Symbol, indices: _Indices) -> int:
    if symbol.is_absolute:
        return ABSOLUTE_INDEX
    if symbol.section is None:
        return UNDEFINED_INDEX
    index = indices.sections.get(symbol.section)
    if index is None:
        raise ObjectError(f"{what} is in {symbol.section.name}, which is no section of the object")
    if obj.type == FileType.RELOCATABLE and symbol.value > symbol.section.size:
        raise ObjectError(
            f"{what} has the value {symbol.value:#x}, past the end of {symbol.section.name} "
            f"({symbol.section.size:#x})"
        )
    return index


def _lay_out(
    obj: ObjectFile, tables: Sequence[_Table], names: _Strings, indices: _Indices
) -> bytes:
    segments = _segment_sections(obj)
    programs_size = PROGRAM_HEADER.size * len(segments)
    out = bytearray(FILE_HEADER.size + programs_size)
    headers = [bytes(SECTION_HEADER.size)]
    offsets: dict[Section, int] = {}
    for section in obj.sections:
        _pad_for_section(out, obj, section)
        offsets[section] = len(out)
        headers.append(_section_header(obj, section, len(out), names, indices))
        out += section.data
    for table in tables:
        _pad(out, table.alignment)
        headers.append(_table_header(table, len(out), names))
        out += table.content
    _pad(out, _TABLE_ALIGNMENT)
    programs = [_program_header(obj, section, offsets[section]) for section in segments]
    header = _file_header(obj, len(segments), len(out), len(headers))
    out[: FILE_HEADER.size + programs_size] = b"".join([header, *programs])
    return bytes(out) + b"".join(headers)


def _segment_sections(obj: ObjectFile) -> list[Section]:
    """The sections that get a segment of their own, by address as ELF demands."""
    if obj.type != FileType.EXECUTABLE:
        return []
    loaded = [section for section in obj.sections if section.is_allocated and section.size]
    return sorted(loaded, key=lambda section: section.address)


def _pad(out: bytearray, alignment: int, remainder: int = 0) -> None:
    """Append zero bytes until the length is `remainder` modulo `alignment`."""
    out += bytes((remainder - len(out)) % alignment)


def _pad_for_section(out: bytearray, obj: ObjectFile, section: Section) -> None:
    alignment = min(section.alignment, _MAXIMUM_FILE_ALIGNMENT)
    if obj.type == FileType.EXECUTABLE:  # p_offset and p_vaddr must agree modulo p_align
        alignment = max(alignment, _SEGMENT_ALIGNMENT)
    _pad(out, alignment, section.address % alignment)


def _section_header(
    obj: ObjectFile, section: Section, offset: int, names: _Strings, indices: _Indices
) -> bytes:
    what = f"{obj.name}: section {section.name}"
    link = indices.sections.get(section.link, 0) if section.link else 0
    if section.link and not link:
        raise ObjectError(f"{what} is linked to {section.link.name}, not in the object")
    return _pack(
        SECTION_HEADER,
        what,
        names.add(_encoded(obj, section.name)),
        section.type,
        section.flags,
        section.address,
        offset,
        section.size,
        link,
        0,
        section.alignment,
        section.entry_size,
    )


def _table_header(table: _Table, offset: int, names: _Strings) -> bytes:
    return SECTION_HEADER.pack(
        names.add(table.name.encode()),
        table.type,
        table.flags,
        0,
        offset,
        len(table.content),
        table.link,
        table.info,
        table.alignment,
        table.entry_size,
    )


def _program_header(obj: ObjectFile, section: Section, offset: int) -> bytes:
    flags = _READABLE
    if section.flags & SectionFlag.WRITE:
        flags |= _WRITABLE
    if section.is_executable:
        flags |= _EXECUTABLE
    return _pack(
        PROGRAM_HEADER,
        f"{obj.name}: segment of {section.name}",
        SEGMENT_LOAD,
        offset,
        section.address,
        section.address,
        len(section.data),
        section.size,
        flags,
        _SEGMENT_ALIGNMENT,
    )


def _file_header(obj: ObjectFile, segments: int, section_offset: int, sections: int) -> bytes:
    fields = (
        obj.type,
        MACHINE,
        1,
        obj.entry,
        FILE_HEADER.size if segments else 0,
        section_offset,
        obj.flags,
        FILE_HEADER.size,
        PROGRAM_HEADER.size if segments else 0,
        segments,
        SECTION_HEADER.size,
        sections,
        sections - 1,
    )
    return _pack(FILE_HEADER, f"{obj.name}: file header", _IDENT, *fields)
