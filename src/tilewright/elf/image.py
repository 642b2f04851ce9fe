"""A linked image: what one tile's memory holds, and which object each part came from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tilewright.elf.arenas import Arena
from tilewright.elf.faults import LinkError
from tilewright.elf.inputs import InputSection
from tilewright.elf.layout import Layout
from tilewright.elf.lines import LineRow, line_sections, read_lines
from tilewright.elf.object import (
    Binding,
    FileType,
    ObjectFile,
    Section,
    SectionType,
    Symbol,
    SymbolType,
)
from tilewright.elf.reach import Scope
from tilewright.elf.relocate import Values
from tilewright.elf.stack import StackNeed, stack_needs

_LISTED_LOCALS = (SymbolType.FUNC, SymbolType.OBJECT)
_UNLISTED = (SymbolType.SECTION, SymbolType.FILE)
_PRODUCER = "tilewright"
_UNIT_NAME = "image"
"""What line information calls the whole; not the file's name, so that it can be renamed."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes without a gap, from `address` on."""

    address: int
    data: bytes

    @property
    def end(self) -> int:
        return self.address + len(self.data)


@dataclass(frozen=True, slots=True)
class PlacedSection:
    """A section of an object and where it lies; `size` is in bytes."""

    name: str
    file_name: str
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class ImageSymbol:
    """A symbol with its final address (or absolute value).

    `file_name` is the object that defines it, "" for those that the linker or its caller supply.
    """

    name: str
    address: int
    size: int
    type: int
    binding: int
    file_name: str


@dataclass(frozen=True, eq=False)
class Image:
    """The result of a link. What follows from it is worked out when it is asked for."""

    architecture: int
    entries: Mapping[str, int]
    """Entry symbols and their addresses, in the order asked for."""
    keep: tuple[str, ...]
    arenas: tuple[Arena, ...]
    layout: Layout
    contents: Mapping[InputSection, bytes]
    scope: Scope
    supplied: Mapping[str, int]
    """Symbols that the linker itself defined for this image."""

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """What memory holds, by address. Sections without a gap between them share a segment."""
        runs: list[tuple[int, list[bytes]]] = []
        end = -1
        for each, address in sorted(self.layout.addresses.items(), key=_address):
            data = self.contents[each]
            if not data:
                continue
            if address == end:
                runs[-1][1].append(data)
            else:
                runs.append((address, [data]))
            end = address + len(data)
        return tuple(Segment(address, b"".join(run)) for address, run in runs)

    @cached_property
    def sections(self) -> tuple[PlacedSection, ...]:
        """The sections kept, by address."""
        return tuple(
            PlacedSection(each.section.name, each.file_name, address, each.section.size)
            for each, address in sorted(self.layout.addresses.items(), key=_address)
        )

    @cached_property
    def discarded(self) -> tuple[PlacedSection, ...]:
        """The loaded sections that nothing led to, in input order, with address 0."""
        return tuple(
            PlacedSection(each.section.name, each.file_name, 0, each.section.size)
            for file in self.scope.files
            for each in file.sections
            if each.section.is_allocated and each not in self.layout.addresses
        )

    @cached_property
    def symbol_list(self) -> tuple[ImageSymbol, ...]:
        """Global symbols, and local ones of functions and objects, by address, then name."""
        found = [
            ImageSymbol(
                symbol.name,
                self._symbol_address(symbol, section),
                symbol.size,
                symbol.type,
                symbol.binding,
                file_name,
            )
            for file_name, symbol, section in (*self._symbols(), *self._supplied_symbols())
        ]
        return tuple(sorted(found, key=lambda each: (each.address, each.name, each.file_name)))

    @cached_property
    def symbols(self) -> dict[str, int]:
        """The address of each global symbol, in the order of `symbol_list`."""
        return {
            symbol.name: symbol.address
            for symbol in self.symbol_list
            if symbol.binding != Binding.LOCAL
        }

    def address_of(self, name: str) -> int:
        """The address of the global symbol `name`. Raises `LinkError` if the image lacks it."""
        address = self._values.of_name(name)
        is_known = name in self.supplied or self.scope.definition(name) is not None
        if address is None or not is_known:
            raise LinkError(f"the image has no symbol {name}")
        return address

    @cached_property
    def stack_needs(self) -> tuple[StackNeed, ...]:
        """What calling each entry and each kept symbol takes. Raises `LinkError`."""
        roots = dict.fromkeys((*self.entries, *self.keep))
        return stack_needs(roots, self.scope.files, self._values)

    def to_object(self, name: str = "image") -> ObjectFile:
        """The image as an executable: sections at their addresses, symbols, line information.

        Messages call it `name`; the content does not depend on that. Execution starts at the first
        entry. Raises `ObjectError` for malformed line information.
        """
        sections = {
            each: self._output_section(each, address)
            for each, address in sorted(self.layout.addresses.items(), key=_address)
            if each.section.size
        }
        symbols = [
            self._output_symbol(symbol, section, sections)
            for _, symbol, section in (*self._symbols(), *self._supplied_symbols())
        ]
        lines = line_sections(list(self._output_lines(sections)), _PRODUCER, _UNIT_NAME)
        return ObjectFile(
            name=name,
            type=FileType.EXECUTABLE,
            flags=self.architecture,
            entry=next(iter(self.entries.values()), 0),
            sections=[*sections.values(), *lines],
            symbols=symbols,
        )

    @cached_property
    def _values(self) -> Values:
        return Values(self.layout.addresses, self.scope.definition, self.supplied)

    def _symbols(self) -> Iterator[tuple[str, Symbol, InputSection | None]]:
        """The symbols of all objects that have a place here, with file name and section."""
        for file in self.scope.files:
            for symbol in file.file.symbols:
                if symbol.type in _UNLISTED or not symbol.is_defined:
                    continue
                section = file.input_section(symbol.section) if symbol.section else None
                if section is not None and section not in self.layout.addresses:
                    continue
                if symbol.binding == Binding.LOCAL:
                    is_listed = section is not None and symbol.type in _LISTED_LOCALS
                else:
                    is_listed = self._is_chosen(symbol)
                if is_listed:
                    yield file.name, symbol, section

    def _supplied_symbols(self) -> Iterator[tuple[str, Symbol, None]]:
        """The symbols that the caller or the linker defined; no file holds them."""
        for definition in self.scope.library.absolutes.values():
            yield "", definition.symbol, None
        for name, address in self.supplied.items():
            symbol = Symbol(name, value=address, binding=Binding.GLOBAL, is_absolute=True)
            yield "", symbol, None

    def _is_chosen(self, symbol: Symbol) -> bool:
        """Whether the name of a global symbol means this symbol."""
        definition = self.scope.definition(symbol.name)
        return definition is not None and definition.symbol is symbol

    def _symbol_address(self, symbol: Symbol, section: InputSection | None) -> int:
        return symbol.value + (self.layout.addresses[section] if section else 0)

    def _output_section(self, each: InputSection, address: int) -> Section:
        source = each.section
        return Section(
            name=source.name,
            type=source.type,
            flags=source.flags,
            alignment=max(source.alignment, 1),
            data=b"" if source.type == SectionType.NOBITS else self.contents[each],
            size=source.size,
            address=address,
            entry_size=source.entry_size,
        )

    def _output_symbol(
        self, symbol: Symbol, section: InputSection | None, sections: Mapping[InputSection, Section]
    ) -> Symbol:
        """The symbol with its address; one in an empty section, which is left out, is absolute."""
        place = sections.get(section) if section else None
        return Symbol(
            name=symbol.name,
            section=place,
            value=self._symbol_address(symbol, section),
            size=symbol.size,
            binding=symbol.binding,
            type=symbol.type,
            visibility=symbol.visibility,
            is_absolute=place is None,
        )

    def _output_lines(self, sections: Mapping[InputSection, Section]) -> Iterator[LineRow]:
        """The lines of the sections that were kept, ordered within each section."""
        for file in self.scope.files:
            kept = []
            for row in read_lines(file.file):
                section = sections.get(file.input_section(row.section))
                if section is not None:
                    kept.append(LineRow(section, row.offset, row.file, row.line))
            yield from sorted(kept, key=lambda row: row.offset)


def _address(placed: tuple[InputSection, int]) -> int:
    return placed[1]
