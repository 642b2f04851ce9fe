"""Object files as text and as JSON: headers, sections, segments, symbols and relocations."""

from collections.abc import Collection, Sequence
from enum import IntEnum
from typing import Any

from tilewright.elf.headers import SEGMENT_LOAD, Headers, ProgramHeader, SectionHeader
from tilewright.elf.object import (
    ARCHITECTURE_IPU21,
    ARCHITECTURE_MASK,
    Binding,
    FileType,
    ObjectFile,
    Relocation,
    SectionFlag,
    SectionType,
    Symbol,
    SymbolType,
    Visibility,
)
from tilewright.elf.relocations import relocation_name

_ARCHITECTURES = {0x01: "IPU1", 0x02: "IPU2", ARCHITECTURE_IPU21: "IPU21"}
_FLAG_LETTERS = {
    SectionFlag.WRITE: "w",
    SectionFlag.ALLOC: "a",
    SectionFlag.EXECINSTR: "x",
    SectionFlag.MERGE: "M",
    SectionFlag.STRINGS: "S",
    SectionFlag.INFO_LINK: "I",
    SectionFlag.LINK_ORDER: "o",
}
"""As in `.section` directives; `I` marks relocation tables, `?` flags without a letter."""
_WIDEST = 48
"""A column grows up to this many characters; one long name then shifts its own line only."""
_SEGMENT_FLAGS = {4: "r", 2: "w", 1: "x"}


def object_lines(headers: Headers, obj: ObjectFile) -> list[str]:
    """Everything that this module prints of one object, an empty line between its parts."""
    parts = [
        header_lines(headers, obj.name),
        section_lines(headers),
        segment_lines(headers),
        symbol_lines(obj),
        relocation_lines(obj),
    ]
    lines: list[str] = []
    for part in parts:
        if part:
            lines += [*part, ""]
    return lines[:-1]


def header_lines(headers: Headers, name: str) -> list[str]:
    """What kind of file it is."""
    file = headers.file
    return [
        f"{printable(name)}: {_file_kind(headers)} for {_architecture(headers)}, "
        f"flags {file.flags:#x}, entry {file.entry:#x}"
    ]


def section_lines(headers: Headers) -> list[str]:
    """One line per section, tables included, under a heading."""
    heading = ["", "name", "type", "flags", "address", "offset", "size", "align", "link", "info"]
    rows = [
        [
            str(section.index),
            printable(section.name),
            _type_name(SectionType, section.type),
            section_flags(section.flags),
            f"{section.address:08x}",
            f"{section.offset:06x}",
            f"{section.size:06x}",
            str(section.alignment),
            str(section.link),
            str(section.info),
        ]
        for section in headers.sections[1:]
    ]
    return ["Sections:", *_columns([heading, *rows], right={0, 7, 8, 9})]


def segment_lines(headers: Headers) -> list[str]:
    """One line per program header under a heading; nothing if there are none."""
    if not headers.programs:
        return []
    heading = ["", "type", "flags", "address", "offset", "in file", "in memory", "align"]
    rows = [
        [
            str(index),
            _segment_type(program),
            _segment_flags(program),
            f"{program.address:08x}",
            f"{program.offset:06x}",
            f"{program.file_size:06x}",
            f"{program.memory_size:06x}",
            str(program.alignment),
        ]
        for index, program in enumerate(headers.programs)
    ]
    return ["Segments:", *_columns([heading, *rows], right={0, 7})]


def symbol_lines(obj: ObjectFile) -> list[str]:
    """One line per symbol under a heading; nothing if there are none."""
    if not obj.symbols:
        return []
    heading = ["value", "size", "binding", "type", "visibility", "section", "name"]
    rows = [
        [
            f"{symbol.value:08x}",
            f"{symbol.size:06x}",
            _type_name(Binding, symbol.binding),
            _type_name(SymbolType, symbol.type),
            _type_name(Visibility, symbol.visibility),
            printable(_symbol_section(symbol)),
            symbol_name(symbol),
        ]
        for symbol in obj.symbols
    ]
    return ["Symbols:", *_columns([heading, *rows])]


def relocation_lines(obj: ObjectFile) -> list[str]:
    """The relocations of each section under headings; nothing if there are none."""
    lines: list[str] = []
    for section in obj.sections:
        if not section.relocations:
            continue
        rows = [
            [f"{each.offset:08x}", relocation_name(each.type), relocation_target(each)]
            for each in section.relocations
        ]
        if lines:
            lines.append("")
        lines.append(f"Relocations of {printable(section.name)}:")
        lines += _columns([["offset", "type", "target"], *rows])
    return lines


def relocation_target(relocation: Relocation) -> str:
    """Symbol and addend as the assembler takes them, e.g. `table+8`."""
    name, addend = symbol_name(relocation.symbol), relocation.addend
    if not addend:
        return name
    return f"{name}{'-' if addend < 0 else '+'}{abs(addend):#x}"


def symbol_name(symbol: Symbol) -> str:
    """A name to print: section symbols go by the name of their section."""
    if symbol.name:
        return printable(symbol.name)
    if symbol.type == SymbolType.SECTION and symbol.section is not None:
        return printable(symbol.section.name)
    return f"{symbol.value:#x}" if symbol.is_absolute else "(no name)"


def section_flags(flags: int) -> str:
    """One letter per flag, as in `.section` directives; `-` for none."""
    letters = "".join(letter for flag, letter in _FLAG_LETTERS.items() if flags & flag)
    known = sum(_FLAG_LETTERS)
    return letters + ("?" if flags & ~known else "") or "-"


def printable(name: str) -> str:
    """`name` with control characters escaped: it comes from a file and goes to a terminal."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)


def object_as_json(headers: Headers, obj: ObjectFile) -> dict[str, Any]:
    """The content of the listing as values that `json.dumps` takes; addresses are numbers."""
    file = headers.file
    return {
        "file": obj.name,
        "type": _file_kind(headers),
        "architecture": _architecture(headers),
        "flags": file.flags,
        "entry": file.entry,
        "sections": [_section_as_json(section) for section in headers.sections[1:]],
        "segments": [_segment_as_json(program) for program in headers.programs],
        "symbols": [_symbol_as_json(symbol) for symbol in obj.symbols],
        "relocations": [
            {
                "section": section.name,
                "offset": relocation.offset,
                "type": relocation_name(relocation.type),
                "symbol": symbol_name(relocation.symbol),
                "addend": relocation.addend,
            }
            for section in obj.sections
            for relocation in section.relocations
        ],
    }


def _section_as_json(section: SectionHeader) -> dict[str, Any]:
    return {
        "index": section.index,
        "name": section.name,
        "type": _type_name(SectionType, section.type),
        "flags": section_flags(section.flags),
        "address": section.address,
        "offset": section.offset,
        "size": section.size,
        "alignment": section.alignment,
        "entry_size": section.entry_size,
        "link": section.link,
        "info": section.info,
    }


def _segment_as_json(program: ProgramHeader) -> dict[str, Any]:
    return {
        "type": _segment_type(program),
        "flags": _segment_flags(program),
        "address": program.address,
        "offset": program.offset,
        "file_size": program.file_size,
        "memory_size": program.memory_size,
        "alignment": program.alignment,
    }


def _symbol_as_json(symbol: Symbol) -> dict[str, Any]:
    return {
        "name": symbol_name(symbol),
        "value": symbol.value,
        "size": symbol.size,
        "binding": _type_name(Binding, symbol.binding),
        "type": _type_name(SymbolType, symbol.type),
        "visibility": _type_name(Visibility, symbol.visibility),
        "section": _symbol_section(symbol),
    }


def _file_kind(headers: Headers) -> str:
    return "executable" if headers.file.type == FileType.EXECUTABLE else "relocatable"


def _architecture(headers: Headers) -> str:
    number = headers.file.flags & ARCHITECTURE_MASK
    return _ARCHITECTURES.get(number, f"architecture {number:#x}")


def _type_name(kind: type[IntEnum], number: int) -> str:
    """The name of `number` in lower case, or the number itself if it has none."""
    try:
        return kind(number).name.lower()
    except ValueError:
        return f"{number:#x}"


def _segment_type(program: ProgramHeader) -> str:
    return "load" if program.type == SEGMENT_LOAD else f"{program.type:#x}"


def _segment_flags(program: ProgramHeader) -> str:
    return "".join(
        letter if program.flags & flag else "-" for flag, letter in _SEGMENT_FLAGS.items()
    )


def _symbol_section(symbol: Symbol) -> str:
    if symbol.section is not None:
        return symbol.section.name
    return "(absolute)" if symbol.is_absolute else "(undefined)"


def _columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """`rows` of equal length as aligned columns; those in `right` are aligned to the right."""
    widths = [min(max(map(len, column)), _WIDEST) for column in zip(*rows, strict=True)]
    return ["  " + _line(row, widths, right).rstrip() for row in rows]


def _line(row: Sequence[str], widths: Sequence[int], right: Collection[int]) -> str:
    return "  ".join(
        cell.rjust(width) if index in right else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
