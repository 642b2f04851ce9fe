"""Colossus objects in memory: what the assembler makes, the linker joins, the reader returns.

Sections and symbols refer to each other as objects; indices exist only in files
(`tilewright.elf.reader`, `tilewright.elf.writer`). Constants are those of the ELF specification
and of the Colossus supplement (docs/objects.md).
"""

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag

MACHINE = 248
"""e_machine of Colossus objects."""
ARCHITECTURE_MASK = 0xFF
"""The bits of e_flags that name the architecture."""
ARCHITECTURE_IPU21 = 0x21


class FileType(IntEnum):
    """e_type."""

    RELOCATABLE = 1
    EXECUTABLE = 2


class SectionType(IntEnum):
    """sh_type, of the kinds that Colossus objects hold."""

    NULL = 0
    PROGBITS = 1
    SYMTAB = 2
    STRTAB = 3
    RELA = 4
    NOTE = 7
    NOBITS = 8


class SectionFlag(IntFlag):
    """sh_flags."""

    NONE = 0
    WRITE = 0x1
    ALLOC = 0x2
    EXECINSTR = 0x4
    MERGE = 0x10
    STRINGS = 0x20
    INFO_LINK = 0x40
    LINK_ORDER = 0x80


class Binding(IntEnum):
    """Upper half of st_info."""

    LOCAL = 0
    GLOBAL = 1
    WEAK = 2


class SymbolType(IntEnum):
    """Lower half of st_info."""

    NOTYPE = 0
    OBJECT = 1
    FUNC = 2
    SECTION = 3
    FILE = 4


class Visibility(IntEnum):
    """st_other."""

    DEFAULT = 0
    INTERNAL = 1
    HIDDEN = 2
    PROTECTED = 3


@dataclass(slots=True, eq=False)
class Section:
    """A section with content: everything but symbol, string and relocation tables.

    `size` is in bytes and equals `len(data)` unless the section is NOBITS (then `data` is empty).
    `link` is the section that sh_link names (LINK_ORDER sections). `address` is 0 in relocatable
    objects.
    """

    name: str
    type: int = SectionType.PROGBITS
    flags: int = SectionFlag.NONE
    alignment: int = 1
    data: bytes = b""
    size: int = 0
    address: int = 0
    entry_size: int = 0
    link: "Section | None" = None
    relocations: "list[Relocation]" = field(default_factory=list)

    @property
    def is_allocated(self) -> bool:
        return bool(self.flags & SectionFlag.ALLOC)

    @property
    def is_executable(self) -> bool:
        return bool(self.flags & SectionFlag.EXECINSTR)


@dataclass(slots=True, eq=False)
class Symbol:
    """A symbol: defined in `section`, absolute, or undefined (neither).

    `value` is an offset into `section` in relocatable objects, an address in executables and
    for absolute symbols.
    """

    name: str
    section: Section | None = None
    value: int = 0
    size: int = 0
    binding: int = Binding.LOCAL
    type: int = SymbolType.NOTYPE
    visibility: int = Visibility.DEFAULT
    is_absolute: bool = False

    @property
    def is_defined(self) -> bool:
        return self.section is not None or self.is_absolute


@dataclass(slots=True, eq=False)
class Relocation:
    """A place in a section whose value depends on a symbol; RELA, so the addend is explicit.

    `offset` is in bytes from the section's start; `type` is a `RelocationType` number (foreign
    objects may hold others, which linking refuses).
    """

    offset: int
    type: int
    symbol: Symbol
    addend: int = 0


@dataclass(slots=True, eq=False)
class ObjectFile:
    """A relocatable object or an executable. `name` says where it came from, for messages."""

    name: str
    type: int = FileType.RELOCATABLE
    flags: int = ARCHITECTURE_IPU21
    entry: int = 0
    sections: list[Section] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
