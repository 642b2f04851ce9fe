"""An object prepared for linking: its sections, what they refer to, the names it defines."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tilewright.elf.faults import LinkError
from tilewright.elf.object import (
    ARCHITECTURE_MASK,
    Binding,
    FileType,
    ObjectFile,
    Relocation,
    Section,
    SectionType,
    Symbol,
    SymbolType,
)
from tilewright.elf.relocations import RULES, RelocationRule, RelocationType


@dataclass(slots=True, eq=False)
class InputSection:
    """A section of an object. `number` counts the sections of all objects prepared together.

    `references` holds the relocations of loaded sections; those of others keep nothing alive and
    are not applied.
    """

    file_name: str
    section: Section
    number: int
    references: "list[Reference]" = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.section.name} of {self.file_name}"


@dataclass(slots=True, eq=False)
class Reference:
    """A relocation and what it refers to: a `name`, or, when that is empty, a local place.

    A local place is `symbol.value` bytes into `section`, or an absolute value without one.
    `rule` is `None` for a relocation type that does not exist.
    """

    offset: int
    type: int
    rule: RelocationRule | None
    symbol: Symbol
    addend: int
    section: InputSection | None
    name: str

    @property
    def is_needed(self) -> bool:
        """Whether the name must be defined: an undefined weak one is 0."""
        return self.symbol.binding != Binding.WEAK

    def __str__(self) -> str:
        if self.name:
            return self.name
        if self.section is None:
            return self.symbol.name or "the null symbol"
        return self.symbol.name or self.section.section.name


@dataclass(slots=True, eq=False)
class Definition:
    """A global or weak symbol of an object; `section` is `None` for an absolute one."""

    file_name: str
    symbol: Symbol
    section: InputSection | None

    @property
    def is_weak(self) -> bool:
        return self.symbol.binding == Binding.WEAK

    def __str__(self) -> str:
        if self.section is None:
            return f"{self.symbol.value:#x} in {self.file_name}"
        return str(self.section)


class InputFile:
    """One object: its sections, the names it defines, and the names it needs."""

    def __init__(self, file: ObjectFile, first_number: int = 0) -> None:
        """Prepare `file`; its sections are numbered from `first_number`. Raises `LinkError`."""
        if file.type != FileType.RELOCATABLE:
            raise LinkError(f"{file.name} is linked already; only relocatable objects can be")
        self.file = file
        self.sections = [
            InputSection(file.name, section, first_number + index)
            for index, section in enumerate(file.sections)
        ]
        self._by_section = {each.section: each for each in self.sections}
        for symbol in file.symbols:
            if symbol.value < 0:
                raise LinkError(f"{self.name}: symbol {symbol.name} is negative: {symbol.value}")
        self.definitions = list(self._definitions())
        for each in self.sections:
            if each.section.is_allocated:
                _check_content(each)
                each.references = [
                    self._reference(relocation)
                    for relocation in each.section.relocations
                    if relocation.type != RelocationType.NONE
                ]
        self.needs = self._needs()

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def architecture(self) -> int:
        return self.file.flags & ARCHITECTURE_MASK

    def input_section(self, section: Section) -> InputSection:
        """The prepared form of one of this object's sections. Raises `LinkError` for others."""
        found = self._by_section.get(section)
        if found is None:
            raise LinkError(
                f"{self.name}: a symbol or relocation refers to section {section.name}, "
                "which is not among the object's sections"
            )
        return found

    def _definitions(self) -> Iterator[Definition]:
        for symbol in self.file.symbols:
            if symbol.binding == Binding.LOCAL or symbol.type == SymbolType.FILE:
                continue
            if symbol.section is not None:
                yield Definition(self.name, symbol, self.input_section(symbol.section))
            elif symbol.is_absolute:
                yield Definition(self.name, symbol, None)

    def _reference(self, relocation: Relocation) -> Reference:
        symbol = relocation.symbol
        # An undefined local symbol is malformed: as a name it is reported as undefined. The null
        # symbol, which has no name either, stands for the value 0.
        is_local = symbol.binding == Binding.LOCAL and (symbol.is_defined or not symbol.name)
        return Reference(
            relocation.offset,
            relocation.type,
            RULES.get(relocation.type),
            symbol,
            relocation.addend,
            self.input_section(symbol.section) if is_local and symbol.section else None,
            "" if is_local else symbol.name,
        )

    def _needs(self) -> list[str]:
        """Names that the loaded sections refer to and that must be defined, each once."""
        names = dict.fromkeys(
            reference.name
            for each in self.sections
            for reference in each.references
            if reference.name and reference.is_needed
        )
        return list(names)


def _check_content(each: InputSection) -> None:
    section = each.section
    size = 0 if section.type == SectionType.NOBITS else section.size
    if len(section.data) != size:
        raise LinkError(f"{each} has {len(section.data)} bytes of content, expected {size}")
    if section.type == SectionType.NOBITS and section.relocations:
        raise LinkError(f"{each} has relocations but no content")
    if section.alignment & (section.alignment - 1):
        raise LinkError(
            f"{each} has the alignment {section.alignment}, which is not a power of two"
        )
