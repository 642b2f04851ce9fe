"""The headers of an ELF file: file header, section headers, program headers, checked as raw data.

Nothing in a file is believed: each field is held against the file's size before it is used, and
the first wrong one is named with its byte offset. Time and memory stay within a small multiple of
the file's size whatever the file says.
"""

import struct
from dataclasses import dataclass
from itertools import pairwise

from tilewright.elf.object import MACHINE, FileType, SectionType
from tilewright.errors import TilewrightError

MAGIC = b"\x7fELF"
FILE_HEADER = struct.Struct("<16s2H5I6H")
SECTION_HEADER = struct.Struct("<10I")
PROGRAM_HEADER = struct.Struct("<8I")

SEGMENT_LOAD = 1
"""p_type of a segment with content for memory (PT_LOAD)."""

_CLASS_32 = 1
_LITTLE_ENDIAN = 1
_VERSION = 1
_EXTENDED_PROGRAM_COUNT = 0xFFFF
_FIRST_RESERVED_INDEX = 0xFF00
_SHARING = 8
"""How often the bytes of a string table may be used by names that overlap. Compilers let a name
be the tail of another (`.text.f` in `.rela.text.f`); only a crafted file has thousands of them."""


class ObjectError(TilewrightError):
    """An object file or archive that is malformed, or holds what Colossus objects do not."""


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes that are read and what messages call them."""

    name: str
    data: bytes

    def fault(self, offset: int, reason: str) -> ObjectError:
        """The error for a fault at byte `offset`."""
        return ObjectError(f"{self.name}: offset {offset:#x}: {reason}")

    def content(self, start: int, size: int, field_offset: int, what: str) -> bytes:
        """The bytes from `start`; `field_offset` is where the file states that place."""
        if start + size > len(self.data):
            raise self.fault(
                field_offset,
                f"{what} lies at {start:#x} to {start + size:#x}, "
                f"past the end of the file ({len(self.data):#x})",
            )
        return self.data[start : start + size]


@dataclass(frozen=True, slots=True)
class FileHeader:
    """The file header; sizes and offsets in bytes."""

    type: int
    machine: int
    entry: int
    flags: int
    program_offset: int
    program_count: int
    section_offset: int
    section_count: int
    names_index: int


@dataclass(frozen=True, slots=True)
class SectionHeader:
    """One section header. `place` is its own byte offset in the file, for messages."""

    index: int
    place: int
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int

    @property
    def has_content(self) -> bool:
        """Whether the section occupies bytes of the file."""
        return self.size > 0 and self.type not in (SectionType.NULL, SectionType.NOBITS)


@dataclass(frozen=True, slots=True)
class ProgramHeader:
    """One program header: a segment."""

    type: int
    offset: int
    address: int
    physical_address: int
    file_size: int
    memory_size: int
    flags: int
    alignment: int


@dataclass(frozen=True, slots=True)
class Headers:
    """All headers of one file, as they stand there; section 0 (the null section) included."""

    file: FileHeader
    sections: list[SectionHeader]
    programs: list[ProgramHeader]


class StringTable:
    """The strings of a string table, each found by its byte offset in the table.

    `errors` says what becomes of strings that are not UTF-8, as in `bytes.decode`.
    """

    def __init__(self, source: Source, content: bytes, errors: str = "strict") -> None:
        self._source = source
        self._content = content
        self._errors = errors
        self._found: dict[int, str] = {}
        self._allowance = _SHARING * len(content)

    def get(self, offset: int, field_offset: int) -> str:
        """The string at `offset`, which the source states at `field_offset`."""
        known = self._found.get(offset)
        if known is None:
            known = self._found[offset] = self._read(offset, field_offset)
        return known

    def _read(self, offset: int, field_offset: int) -> str:
        if offset >= len(self._content):
            raise self._source.fault(
                field_offset,
                f"string offset {offset:#x} is outside its table of {len(self._content)} bytes",
            )
        end = self._content.find(b"\0", offset)
        if end < 0:
            raise self._source.fault(
                field_offset, f"the string at {offset:#x} of its table has no closing zero byte"
            )
        self._allowance -= end - offset
        if self._allowance < 0:
            raise self._source.fault(field_offset, "too many names share bytes of one string")
        try:
            return self._content[offset:end].decode("utf-8", self._errors)
        except UnicodeDecodeError as error:
            raise self._source.fault(
                field_offset, f"the string at {offset:#x} of its table is not UTF-8"
            ) from error


def string_table(source: Source, header: SectionHeader) -> StringTable:
    """The strings of the string table section `header`, which was checked."""
    content = source.data[header.offset : header.offset + header.size]
    return StringTable(source, content)


def read_headers(data: bytes, name: str = "<bytes>") -> Headers:
    """All headers of the ELF file `data`, which messages call `name`. Raises `ObjectError`."""
    source = Source(name, data)
    header = _read_file_header(source)
    programs = _read_program_headers(source, header)
    sections = _read_section_headers(source, header)
    _refuse_overlaps(source, header, sections)
    return Headers(header, sections, programs)


def is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def _read_file_header(source: Source) -> FileHeader:
    data = source.data
    if data[:4] != MAGIC[: len(data)] or not data:
        raise source.fault(0, f"not an ELF file: it starts with {data[:4].hex(' ') or 'nothing'}")
    if len(data) < FILE_HEADER.size:
        raise source.fault(
            len(data), f"the file ends inside the ELF header of {FILE_HEADER.size} bytes"
        )
    ident, *fields = FILE_HEADER.unpack_from(data)
    _expect(source, 4, "EI_CLASS", ident[4], _CLASS_32, "32 bit")
    _expect(source, 5, "EI_DATA", ident[5], _LITTLE_ENDIAN, "little endian")
    _expect(source, 6, "EI_VERSION", ident[6], _VERSION)
    (kind, machine, version, entry, program_offset, section_offset, flags) = fields[:7]
    (own_size, program_size, program_count, section_size, section_count, names) = fields[7:]
    if kind not in (FileType.RELOCATABLE, FileType.EXECUTABLE):
        raise source.fault(16, f"e_type is {kind}, expected 1 (relocatable) or 2 (executable)")
    _expect(source, 18, "e_machine", machine, MACHINE, "Graphcore IPU")
    _expect(source, 20, "e_version", version, _VERSION)
    _expect(source, 40, "e_ehsize", own_size, FILE_HEADER.size)
    if program_count == _EXTENDED_PROGRAM_COUNT:
        raise source.fault(44, "extended program header numbering is not supported")
    if program_count:
        _expect(source, 42, "e_phentsize", program_size, PROGRAM_HEADER.size)
    if section_count == 0:
        raise source.fault(
            48, "e_shnum is 0: no sections, or extended section numbering; neither is supported"
        )
    if section_count >= _FIRST_RESERVED_INDEX:
        raise source.fault(48, f"e_shnum is {section_count:#x}, a reserved number")
    _expect(source, 46, "e_shentsize", section_size, SECTION_HEADER.size)
    if not 0 < names < section_count:
        raise source.fault(
            50, f"e_shstrndx is {names}, expected a section between 1 and {section_count - 1}"
        )
    return FileHeader(
        kind,
        machine,
        entry,
        flags,
        program_offset,
        program_count,
        section_offset,
        section_count,
        names,
    )


def _expect(
    source: Source, offset: int, field: str, found: int, expected: int, meaning: str = ""
) -> None:
    if found != expected:
        wanted = f"{expected} ({meaning})" if meaning else str(expected)
        raise source.fault(offset, f"{field} is {found}, expected {wanted}")


def _read_program_headers(source: Source, header: FileHeader) -> list[ProgramHeader]:
    size = header.program_count * PROGRAM_HEADER.size
    if size == 0:
        return []
    table = source.content(header.program_offset, size, 28, "the program header table")
    programs = [ProgramHeader(*row) for row in PROGRAM_HEADER.iter_unpack(table)]
    for index, program in enumerate(programs):
        _check_program(source, header.program_offset + index * PROGRAM_HEADER.size, index, program)
    return programs


def _check_program(source: Source, place: int, index: int, program: ProgramHeader) -> None:
    if program.offset + program.file_size > len(source.data):
        raise source.fault(place + 4, f"segment {index} reaches past the end of the file")
    if program.type == SEGMENT_LOAD and program.file_size > program.memory_size:
        raise source.fault(
            place + 16,
            f"segment {index} has {program.file_size} bytes in the file, "
            f"more than its {program.memory_size} in memory",
        )
    if program.alignment and not is_power_of_two(program.alignment):
        raise source.fault(
            place + 28, f"p_align of segment {index} is {program.alignment}, not a power of two"
        )


def _read_section_headers(source: Source, header: FileHeader) -> list[SectionHeader]:
    size = header.section_count * SECTION_HEADER.size
    table = source.content(header.section_offset, size, 32, "the section header table")
    rows = list(SECTION_HEADER.iter_unpack(table))
    if any(rows[0]):
        raise source.fault(
            header.section_offset,
            "section header 0 is not zero; extended section numbering is not supported",
        )
    names = _read_section_names(source, header, rows[header.names_index])
    sections = []
    for index, row in enumerate(rows):
        place = header.section_offset + index * SECTION_HEADER.size
        section = SectionHeader(index, place, names.get(row[0], place), *row[1:])
        if section.type != SectionType.NULL:
            _check_section(source, header, section)
        sections.append(section)
    return sections


def _read_section_names(source: Source, header: FileHeader, row: tuple[int, ...]) -> StringTable:
    place = header.section_offset + header.names_index * SECTION_HEADER.size
    if row[1] != SectionType.STRTAB:
        raise source.fault(
            place + 4, f"e_shstrndx names a section of type {row[1]}, expected 3 (string table)"
        )
    offset, size = row[4:6]
    content = source.content(offset, size, place + 16, "the table of section names")
    return StringTable(source, content)


def _check_section(source: Source, header: FileHeader, section: SectionHeader) -> None:
    place, index = section.place, section.index
    if section.has_content and section.offset + section.size > len(source.data):
        raise source.fault(
            place + 16,
            f"section {index} lies at {section.offset:#x} to {section.offset + section.size:#x}, "
            f"past the end of the file ({len(source.data):#x})",
        )
    if section.link >= header.section_count:
        raise source.fault(
            place + 24,
            f"sh_link of section {index} is {section.link}, "
            f"but there are {header.section_count} sections",
        )
    if section.alignment and not is_power_of_two(section.alignment):
        raise source.fault(
            place + 32,
            f"sh_addralign of section {index} is {section.alignment}, not a power of two",
        )


def _refuse_overlaps(source: Source, header: FileHeader, sections: list[SectionHeader]) -> None:
    """Sections that share bytes would let a small file ask for any amount of memory."""
    program_size = header.program_count * PROGRAM_HEADER.size
    section_size = header.section_count * SECTION_HEADER.size
    ranges = [
        (0, FILE_HEADER.size, 0, "the file header"),
        (header.section_offset, section_size, 32, "the section header table"),
    ]
    if program_size:
        ranges.append((header.program_offset, program_size, 28, "the program header table"))
    ranges.extend(
        (section.offset, section.size, section.place + 16, f"section {section.index}")
        for section in sections
        if section.has_content
    )
    ranges.sort()
    for (start, size, _, what), (other_start, _, field_offset, other) in pairwise(ranges):
        if start + size > other_start:
            raise source.fault(field_offset, f"{other} overlaps {what} in the file")
