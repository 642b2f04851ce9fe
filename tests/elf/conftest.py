"""Objects made in memory, for the tests of the linker."""

import pytest

from tilewright.elf.object import (
    ARCHITECTURE_IPU21,
    Binding,
    ObjectFile,
    Relocation,
    Section,
    SectionFlag,
    SectionType,
    Symbol,
    SymbolType,
)
from tilewright.elf.relocations import RelocationType

CODE = SectionFlag.ALLOC | SectionFlag.EXECINSTR
DATA = SectionFlag.ALLOC | SectionFlag.WRITE
CALL = 0x18A00000
"""`call $lr, 0`"""
RETURN = 0x43A00000
"""`br $lr`"""


class ObjectMaker:
    """Makes one object; `file` is what it has made so far."""

    def __init__(self, name: str, flags: int = ARCHITECTURE_IPU21) -> None:
        self.file = ObjectFile(name, flags=flags)
        self._names: dict[str, Symbol] = {}

    def section(
        self,
        name: str,
        data: bytes = b"",
        *,
        flags: int = DATA,
        alignment: int = 4,
        size: int | None = None,
        type: int = SectionType.PROGBITS,
    ) -> Section:
        """A section with `data`, filled with zeros up to `size`."""
        if type != SectionType.NOBITS:
            data = data.ljust(size or 0, b"\0")
            size = len(data)
        section = Section(name, type, flags, alignment, data, size or 0)
        self.file.sections.append(section)
        return section

    def words(self, name: str, *words: int, flags: int = DATA, alignment: int = 4) -> Section:
        """A section of 32-bit words."""
        data = b"".join(word.to_bytes(4, "little") for word in words)
        return self.section(name, data, flags=flags, alignment=alignment)

    def define(
        self,
        name: str,
        section: Section,
        value: int = 0,
        *,
        binding: int = Binding.GLOBAL,
        type: int = SymbolType.NOTYPE,
        size: int = 0,
    ) -> Symbol:
        """A symbol in `section`. A local one is not found by `name`."""
        symbol = Symbol(name, section, value, size, binding, type)
        return self._add(symbol)

    def absolute(self, name: str, value: int, *, binding: int = Binding.GLOBAL) -> Symbol:
        return self._add(Symbol(name, value=value, binding=binding, is_absolute=True))

    def name(self, name: str, *, binding: int = Binding.GLOBAL) -> Symbol:
        """The global symbol `name`, made undefined if the object does not define it."""
        return self._names.get(name) or self._add(Symbol(name, binding=binding))

    def refer(
        self, section: Section, offset: int, type: int, target: Symbol | str, addend: int = 0
    ) -> None:
        """A relocation; a target given as text is a global name."""
        symbol = self.name(target) if isinstance(target, str) else target
        section.relocations.append(Relocation(offset, type, symbol, addend))

    def function(
        self, name: str, *callees: Symbol | str, binding: int = Binding.GLOBAL, words: int = 0
    ) -> Symbol:
        """A function in its own section: a call of each callee, and a return. `words` pads it."""
        code = [CALL] * len(callees) + [RETURN]
        code += [0x19E00000] * (words - len(code))
        section = self.words(f".text.{name}", *code, flags=CODE)
        symbol = self.define(
            name, section, binding=binding, type=SymbolType.FUNC, size=section.size
        )
        for index, callee in enumerate(callees):
            self.refer(section, 4 * index, RelocationType.ABS_19_S2, callee)
        return symbol

    def stack_size(
        self, function: Symbol, size: int, *, addend: int = 0, own: bool = False
    ) -> Section:
        """A section that records the stack use of `function`, as LLVM writes it."""
        number = bytearray()
        rest = size
        while rest > 0x7F:
            number.append(rest & 0x7F | 0x80)
            rest >>= 7
        number.append(rest)
        section = self.section(
            ".stack_sizes.own" if own else ".stack_sizes",
            bytes(4) + number,
            flags=SectionFlag.LINK_ORDER,
            alignment=1,
        )
        section.link = function.section
        self.refer(section, 0, RelocationType.ABS_32, function, addend)
        return section

    def _add(self, symbol: Symbol) -> Symbol:
        self.file.symbols.append(symbol)
        if symbol.binding != Binding.LOCAL:
            self._names[symbol.name] = symbol
        return symbol


@pytest.fixture
def maker() -> type[ObjectMaker]:
    return ObjectMaker
