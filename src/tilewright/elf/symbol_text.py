"""Names of symbols and places in assembly text: quoted, unique, and looked up by place."""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence

from tilewright.elf.object import Binding, Section, Symbol, SymbolType

_PLAIN_NAME = re.compile(r"[A-Za-z_.][\w.$]*", re.ASCII)
_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


def quoted(name: str) -> str:
    """`name` as the assembler reads it, in quotes unless it is a plain identifier.

    Names with `@` or a leading `$` are quoted too, lest they be taken for a relocation modifier or
    a register; so is `.`, the location counter.
    """
    if name != "." and _PLAIN_NAME.fullmatch(name):
        return name
    return f'"{"".join(_ESCAPES.get(character, character) for character in name)}"'


def with_addend(base: str, addend: int) -> str:
    """The expression for a place `addend` bytes past `base`."""
    return f"{base}{addend:+d}" if addend else base


def offset_of(symbol: Symbol) -> int:
    """Where a symbol lies in its section; values are addresses in executables."""
    assert symbol.section is not None
    return symbol.value - symbol.section.address


def is_named(symbol: Symbol) -> bool:
    """Whether text can show the symbol by name: it is no section, no file and has a name."""
    return bool(symbol.name) and symbol.type not in (SymbolType.SECTION, SymbolType.FILE)


class Names:
    """What symbols, and places without a symbol, are called in the text of one object."""

    def __init__(self, symbols: Sequence[Symbol], sections: Sequence[Section]) -> None:
        self._numbers = {section: number for number, section in enumerate(sections, start=1)}
        named = [each for each in symbols if is_named(each)]
        self._texts = _unique_texts(named)
        self._section_texts = _unique_section_texts(sections)
        self._prefix = ".L"
        while any(symbol.name.startswith(self._prefix) for symbol in named):
            self._prefix += "_"

    def can_refer_to(self, symbol: Symbol) -> bool:
        """Whether an expression can name the symbol; its section must be in the text."""
        if symbol.section is not None and symbol.section not in self._numbers:
            return False
        return symbol in self._texts or symbol.type == SymbolType.SECTION

    def of(self, symbol: Symbol) -> str:
        """The name of a symbol that has one."""
        return self._texts[symbol]

    def of_section(self, section: Section) -> str:
        """The name of a section."""
        return self._section_texts[section]

    def label(self, section: Section, offset: int) -> str:
        """A label that does not become a symbol: references to it name the section."""
        return f"{self._prefix}{offset:x}_{self._numbers[section]}"


class _UniqueNames:
    """Hands out names, each only once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._copies: dict[str, int] = {}

    def pick(self, name: str) -> str:
        """`name` itself, or with a number if it is taken."""
        candidate = name
        while candidate in self._taken:
            self._copies[name] = self._copies.get(name, 0) + 1
            candidate = f"{name}.{self._copies[name]}"
        self._taken.add(candidate)
        return candidate

    def reserve(self, names: Iterable[str]) -> None:
        """Hand out none of `names` any more."""
        self._taken.update(names)


def _unique_texts(symbols: Sequence[Symbol]) -> dict[Symbol, str]:
    """Each symbol's own name, if it can be had: local symbols of one object may share names."""
    names = _UniqueNames()
    texts = {each: quoted(each.name) for each in symbols if not each.is_defined}
    names.reserve(each.name for each in texts)
    for symbol in sorted(symbols, key=lambda each: each.binding == Binding.LOCAL):
        if symbol.is_defined:
            texts[symbol] = quoted(names.pick(symbol.name))
    return texts


def _unique_section_texts(sections: Iterable[Section]) -> dict[Section, str]:
    """Different names for different sections: the assembler would join sections of one name."""
    names = _UniqueNames()
    return {section: quoted(names.pick(section.name)) for section in sections}


class SymbolIndex:
    """Finds the symbol that a place belongs to: the last one at or before it in its section."""

    def __init__(self, symbols: Iterable[Symbol], sections: Collection[Section]) -> None:
        by_section: dict[Section, dict[int, Symbol]] = {section: {} for section in sections}
        # Of several symbols at one place the last one written stays: functions and global names.
        for symbol in sorted(symbols, key=_rank):
            if is_named(symbol) and symbol.section in by_section:
                by_section[symbol.section][offset_of(symbol)] = symbol
        self._places = {
            section: (sorted(symbols), [symbols[offset] for offset in sorted(symbols)])
            for section, symbols in by_section.items()
        }
        self._by_address = sorted(by_section, key=lambda section: section.address)
        self._addresses = [section.address for section in self._by_address]

    def find(self, section: Section, offset: int) -> tuple[Symbol, int] | None:
        """The symbol and the distance from it in bytes."""
        offsets, symbols = self._places[section]
        index = bisect_right(offsets, offset) - 1
        return (symbols[index], offset - offsets[index]) if index >= 0 else None

    def find_address(self, address: int) -> tuple[Symbol, int] | None:
        """The same for an address in an executable."""
        index = bisect_right(self._addresses, address) - 1
        if index < 0:
            return None
        section = self._by_address[index]
        offset = address - section.address
        return self.find(section, offset) if offset < section.size else None


def _rank(symbol: Symbol) -> tuple[bool, bool]:
    return symbol.type != SymbolType.NOTYPE, symbol.binding != Binding.LOCAL
