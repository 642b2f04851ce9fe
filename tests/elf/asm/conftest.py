"""Sources and what the assembler makes of them, for the tests of its parts."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tilewright.elf.asm.diagnostics import Diagnostic
from tilewright.elf.assembler import AssemblyError, assemble, assemble_file
from tilewright.elf.object import ObjectFile, Section, Symbol
from tilewright.elf.relocations import RelocationType
from tilewright.isa import Mode


@dataclass(frozen=True, slots=True)
class Assembly:
    """An object, looked at by name."""

    object: ObjectFile

    def section(self, name: str) -> Section:
        """The only section of that name."""
        (found,) = (section for section in self.object.sections if section.name == name)
        return found

    def words(self, name: str = ".text") -> list[int]:
        """The 32-bit words of a section."""
        return [word for (word,) in struct.iter_unpack("<I", self.section(name).data)]

    def data(self, name: str = ".text") -> bytes:
        return self.section(name).data

    def symbol(self, name: str) -> Symbol:
        """The only symbol of that name."""
        (found,) = (symbol for symbol in self.object.symbols if symbol.name == name)
        return found

    def names(self) -> list[str]:
        """The names in the symbol table, without those of sections."""
        return [symbol.name for symbol in self.object.symbols if symbol.name]

    def relocations(self, name: str = ".text") -> list[tuple[int, RelocationType, str, int]]:
        """Offset, type, name and addend; a section symbol has its section's name."""
        return [
            (each.offset, RelocationType(each.type), _shown(each.symbol), each.addend)
            for each in self.section(name).relocations
        ]


def _shown(symbol: Symbol) -> str:
    if symbol.name:
        return symbol.name
    assert symbol.section is not None
    return symbol.section.name


@dataclass(frozen=True, slots=True)
class Seen:
    """A diagnostic: line and columns from 1, the last one included."""

    line: int
    first: int
    last: int
    message: str


def _seen(diagnostic: Diagnostic) -> Seen:
    place = diagnostic.place
    assert place is not None
    return Seen(place.line.number, place.start + 1, place.end, diagnostic.message)


Assemble = Callable[..., Assembly]
Faults = Callable[[str], list[Seen]]
OneFault = Callable[[str, str], None]


@pytest.fixture(scope="session")
def assembly() -> Assemble:
    """Assembles text, in worker mode unless told otherwise."""

    def run(text: str, mode: Mode = Mode.WORKER) -> Assembly:
        return Assembly(assemble(text, mode=mode))

    return run


@pytest.fixture(scope="session")
def faults() -> Faults:
    """The errors of a text, which must have some."""

    def run(text: str) -> list[Seen]:
        with pytest.raises(AssemblyError) as caught:
            assemble(text)
        return [_seen(diagnostic) for diagnostic in caught.value.diagnostics]

    return run


@pytest.fixture(scope="session")
def one_fault(faults: Faults) -> OneFault:
    """Checks that a text has one error, where `«` and `»` enclose what is wrong."""

    def check(marked: str, message: str) -> None:
        text, line, first, last = _without_marks(marked)
        found = faults(text)
        assert [(each.line, each.first, each.last) for each in found] == [(line, first, last)]
        assert message in found[0].message

    return check


@pytest.fixture(scope="session")
def one_warning(tmp_path_factory: pytest.TempPathFactory) -> OneFault:
    """Checks that a text assembles with one warning, at the place between the marks."""
    path: Path = tmp_path_factory.mktemp("warnings") / "source.s"

    def check(marked: str, message: str) -> None:
        text, line, first, last = _without_marks(marked)
        path.write_text(text, "utf-8")
        found = [_seen(warning) for warning in assemble_file(path).warnings]
        assert [(each.line, each.first, each.last) for each in found] == [(line, first, last)]
        assert message in found[0].message

    return check


@pytest.fixture(scope="session")
def warnings(tmp_path_factory: pytest.TempPathFactory) -> Faults:
    """The warnings of a text, which must assemble."""
    path: Path = tmp_path_factory.mktemp("warnings") / "source.s"

    def run(text: str) -> list[Seen]:
        path.write_text(text, "utf-8")
        return [_seen(warning) for warning in assemble_file(path).warnings]

    return run


def _without_marks(marked: str) -> tuple[str, int, int, int]:
    """The text, and the line and columns of what stood between the marks."""
    before, rest = marked.split("«")
    inside, after = rest.split("»")
    assert inside
    assert "\n" not in inside
    line = before.count("\n") + 1
    first = len(before) - (before.rfind("\n") + 1) + 1
    return before + inside + after, line, first, first + len(inside) - 1
