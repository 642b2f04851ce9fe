"""Reading object files: from bytes, which are not trusted, to sections, symbols and relocations.

Symbol, string and relocation tables are consumed; every other section becomes a `Section`. Tables
that refer to symbols by index (section groups, LLVM's address significance and call graph tables)
are dropped, since the model has no indices.
"""

import struct
from collections.abc import Sequence
from pathlib import Path

from tilewright.elf.headers import Headers, SectionHeader, Source, read_headers, string_table
from tilewright.elf.object import (
    Binding,
    FileType,
    ObjectFile,
    Relocation,
    Section,
    SectionFlag,
    SectionType,
    Symbol,
)
from tilewright.elf.relocations import RULES, RelocationType, relocation_name
from tilewright.files import read_bytes

SYMBOL = struct.Struct("<IIIBBH")
RELOCATION = struct.Struct("<IIi")

UNDEFINED_INDEX = 0
ABSOLUTE_INDEX = 0xFFF1
FIRST_RESERVED_INDEX = 0xFF00
_COMMON_INDEX = 0xFFF2
_EXTENDED_INDEX = 0xFFFF

_REL = 9
_GROUP = 17
_EXTENDED_INDICES = 18
_LLVM_ADDRESS_SIGNIFICANCE = 0x6FFF4C03
_LLVM_CALL_GRAPH_PROFILE = 0x6FFF4C09
_TABLES = {SectionType.NULL, SectionType.SYMTAB, SectionType.RELA}
_DROPPED = {_GROUP, _LLVM_ADDRESS_SIGNIFICANCE, _LLVM_CALL_GRAPH_PROFILE}
_GROUP_MEMBER = 0x200
"""sh_flags bit of a section in a group; it goes with the group."""


def read_object_file(path: Path) -> ObjectFile:
    """The object in the file `path`. Raises `ObjectError` and `FileError`."""
    return read_object(read_bytes(path), str(path))


def read_object(data: bytes, name: str = "<bytes>") -> ObjectFile:
    """The object with the content `data`, which messages call `name`.

    Raises `ObjectError`, and nothing else, for any content that is not a well-formed relocatable
    object or executable for Colossus.
    """
    headers = read_headers(data, name)
    source = Source(name, data)
    for header in headers.sections:
        _refuse_foreign(source, header)
    sections = _read_sections(source, headers)
    table = _find_symbol_table(source, headers)
    symbols = _read_symbols(source, headers, table, sections) if table else []
    uses_null = _read_relocations(source, headers, table, sections, symbols)
    return ObjectFile(
        name,
        headers.file.type,
        headers.file.flags,
        headers.file.entry,
        list(sections.values()),
        symbols if uses_null else symbols[1:],
    )


def _refuse_foreign(source: Source, header: SectionHeader) -> None:
    if header.type == _REL:
        raise source.fault(
            header.place + 4,
            f"section {header.index} holds relocations without addends (SHT_REL); "
            "Colossus objects use SHT_RELA only",
        )
    if header.type == _EXTENDED_INDICES:
        raise source.fault(header.place + 4, "extended section numbering is not supported")


def _read_sections(source: Source, headers: Headers) -> dict[int, Section]:
    """The sections with content for the model, by section index, in file order."""
    is_relocatable = headers.file.type == FileType.RELOCATABLE
    sections = {}
    for header in headers.sections:
        if not _becomes_section(header):
            continue
        if is_relocatable and header.address:
            raise source.fault(
                header.place + 12,
                f"section {header.index} has the address {header.address:#x}, "
                "expected 0 in a relocatable object",
            )
        if header.address + header.size > 1 << 32:
            raise source.fault(
                header.place + 20, f"section {header.index} ends past the 32-bit address space"
            )
        sections[header.index] = _read_section(source, header)
    _link_sections(source, headers, sections)
    return sections


def _becomes_section(header: SectionHeader) -> bool:
    if header.type == SectionType.STRTAB:
        return bool(header.flags & SectionFlag.ALLOC)
    return header.type not in _TABLES and header.type not in _DROPPED


def _read_section(source: Source, header: SectionHeader) -> Section:
    end = header.offset + header.size
    return Section(
        name=header.name,
        type=header.type,
        flags=header.flags & ~_GROUP_MEMBER,
        alignment=max(header.alignment, 1),
        data=source.data[header.offset : end] if header.has_content else b"",
        size=header.size,
        address=header.address,
        entry_size=header.entry_size,
    )


def _link_sections(source: Source, headers: Headers, sections: dict[int, Section]) -> None:
    links: dict[int, int] = {}
    for index, section in sections.items():
        header = headers.sections[index]
        if not section.flags & SectionFlag.LINK_ORDER or not header.link:
            continue
        section.link = sections.get(header.link)
        if section.link is None:
            raise source.fault(
                header.place + 24,
                f"section {index} is ordered after section {header.link}, which is a table",
            )
        links[index] = header.link
    _refuse_loops(source, headers, links)


def _refuse_loops(source: Source, headers: Headers, links: dict[int, int]) -> None:
    """Each section links to one other at most, so a walk that meets itself is a loop."""
    walk_of: dict[int, int] = {}
    for start in links:
        index = start
        while index in links and index not in walk_of:
            walk_of[index] = start
            index = links[index]
        if index in links and walk_of[index] == start:
            raise source.fault(
                headers.sections[index].place + 24,
                f"sh_link of section {index} leads back to the section itself",
            )


def _find_symbol_table(source: Source, headers: Headers) -> SectionHeader | None:
    tables = [header for header in headers.sections if header.type == SectionType.SYMTAB]
    if not tables:
        return None
    if len(tables) > 1:
        raise source.fault(
            tables[1].place + 4,
            f"sections {tables[0].index} and {tables[1].index} are both symbol tables; "
            "an object has one",
        )
    return tables[0]


def _table_content(source: Source, header: SectionHeader, entry: struct.Struct, what: str) -> bytes:
    if header.entry_size != entry.size:
        raise source.fault(
            header.place + 36,
            f"sh_entsize of {what} {header.index} is {header.entry_size}, expected {entry.size}",
        )
    if header.size % entry.size:
        raise source.fault(
            header.place + 20,
            f"sh_size of {what} {header.index} is {header.size}, not a multiple of {entry.size}",
        )
    return source.data[header.offset : header.offset + header.size] if header.size else b""


def _read_symbols(
    source: Source, headers: Headers, table: SectionHeader, sections: dict[int, Section]
) -> list[Symbol]:
    """The symbols by symbol index. Number 0 stands for "no symbol", which counts as value 0."""
    content = _table_content(source, table, SYMBOL, "symbol table")
    count = len(content) // SYMBOL.size
    if not 1 <= table.info <= count:
        raise source.fault(
            table.place + 28,
            f"sh_info of the symbol table is {table.info}, expected the number of its first "
            f"global symbol, between 1 and {count}",
        )
    if any(content[: SYMBOL.size]):
        raise source.fault(table.offset, "symbol 0 is not zero")
    strings = headers.sections[table.link]
    if strings.type != SectionType.STRTAB:
        raise source.fault(
            table.place + 24, f"sh_link of the symbol table is {table.link}, not a string table"
        )
    reader = _SymbolReader(source, headers, table, sections)
    symbols = [Symbol("", is_absolute=True)]
    for index, row in enumerate(SYMBOL.iter_unpack(content)):
        if index:
            symbols.append(reader.read(index, row))
    return symbols


class _SymbolReader:
    """Makes symbols from rows of the symbol table, with what they have in common."""

    def __init__(
        self,
        source: Source,
        headers: Headers,
        table: SectionHeader,
        sections: dict[int, Section],
    ) -> None:
        self._source = source
        self._table = table
        self._sections = sections
        self._section_count = headers.file.section_count
        self._is_relocatable = headers.file.type == FileType.RELOCATABLE
        self._strings = string_table(source, headers.sections[table.link])

    def read(self, index: int, row: Sequence[int]) -> Symbol:
        name, value, size, info, other, section_index = row
        place = self._table.offset + index * SYMBOL.size
        binding = info >> 4
        self._check_binding(index, place, binding)
        if other > 3:
            raise self._source.fault(place + 13, f"symbol {index} has unknown st_other {other:#x}")
        section = None
        if section_index not in (UNDEFINED_INDEX, ABSOLUTE_INDEX):
            section = self._section(index, place, section_index)
            if self._is_relocatable and value > section.size:
                raise self._source.fault(
                    place + 4,
                    f"symbol {index} has the value {value:#x}, "
                    f"past the end of its section {section_index} ({section.size:#x})",
                )
        return Symbol(
            self._strings.get(name, place),
            section,
            value,
            size,
            binding,
            info & 0xF,
            other,
            section_index == ABSOLUTE_INDEX,
        )

    def _check_binding(self, index: int, place: int, binding: int) -> None:
        if binding > Binding.WEAK:
            raise self._source.fault(place + 12, f"symbol {index} has unknown binding {binding}")
        if (binding == Binding.LOCAL) == (index < self._table.info):
            return
        kind = "local" if binding == Binding.LOCAL else "global"
        raise self._source.fault(
            place + 12,
            f"symbol {index} is {kind}, but sh_info says that symbols are local "
            f"below {self._table.info} and global from there",
        )

    def _section(self, index: int, place: int, section_index: int) -> Section:
        section = self._sections.get(section_index)
        if section is not None:
            return section
        if section_index == _COMMON_INDEX:
            reason = "is a common symbol; compile with -fno-common"
        elif section_index == _EXTENDED_INDEX:
            reason = "uses extended section numbering, which is not supported"
        elif section_index >= FIRST_RESERVED_INDEX:
            reason = f"has the reserved section index {section_index:#x}"
        elif section_index >= self._section_count:
            reason = f"is in section {section_index}, but there are {self._section_count} sections"
        else:
            reason = f"is in section {section_index}, which is a table"
        raise self._source.fault(place + 14, f"symbol {index} {reason}")


def _read_relocations(
    source: Source,
    headers: Headers,
    table: SectionHeader | None,
    sections: dict[int, Section],
    symbols: list[Symbol],
) -> bool:
    """Give each section its relocations; True if any of them uses symbol 0."""
    uses_null = False
    for header in headers.sections:
        if header.type != SectionType.RELA:
            continue
        content = _table_content(source, header, RELOCATION, "relocation table")
        if table is None or header.link != table.index:
            raise source.fault(
                header.place + 24,
                f"sh_link of relocation table {header.index} is {header.link}, "
                "not the symbol table",
            )
        target = _relocated_section(source, header, sections)
        target.relocations = [
            _read_relocation(source, header.offset + number * RELOCATION.size, row, target, symbols)
            for number, row in enumerate(RELOCATION.iter_unpack(content))
        ]
        uses_null |= any(relocation.symbol is symbols[0] for relocation in target.relocations)
    return uses_null


def _relocated_section(
    source: Source, header: SectionHeader, sections: dict[int, Section]
) -> Section:
    target = sections.get(header.info)
    if target is None:
        reason = f"is {header.info}, not a section with content"
    elif target.type == SectionType.NOBITS:
        reason = f"is {header.info}, a section without content in the file"
    elif target.relocations:
        reason = f"is {header.info}, which has a relocation table already"
    else:
        return target
    raise source.fault(header.place + 28, f"sh_info of relocation table {header.index} {reason}")


def _read_relocation(
    source: Source, place: int, row: Sequence[int], target: Section, symbols: list[Symbol]
) -> Relocation:
    address, info, addend = row
    symbol_index, number = info >> 8, info & 0xFF
    if symbol_index >= len(symbols):
        raise source.fault(
            place + 4,
            f"relocation against symbol {symbol_index}, but there are {len(symbols)} symbols",
        )
    # In executables r_offset is an address; sections of relocatable objects have address 0.
    offset = address - target.address
    if not 0 <= offset <= target.size - relocated_bytes(number):
        raise source.fault(
            place,
            f"relocation {relocation_name(number)} at {address:#x} is outside its section, "
            f"which lies at {target.address:#x} to {target.address + target.size:#x}",
        )
    return Relocation(offset, number, symbols[symbol_index], addend)


def relocated_bytes(number: int) -> int:
    """How many bytes of its section a relocation of type `number` covers."""
    if number == RelocationType.NONE:
        return 0
    rule = RULES.get(number)
    return rule.width if rule else 1
