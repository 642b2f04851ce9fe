"""Objects as assembly text that assembles back to the same bytes, symbols and relocations."""

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.elf.code_lines import WORD_SIZE, has_faulty_repeat
from tilewright.elf.headers import ObjectError
from tilewright.elf.lines import LineTable, read_line_table
from tilewright.elf.listing import printable, relocation_target
from tilewright.elf.object import (
    Binding,
    FileType,
    ObjectFile,
    Relocation,
    Section,
    SectionFlag,
    SectionType,
    Symbol,
    SymbolType,
    Visibility,
)
from tilewright.elf.pieces import CutSection, Piece, cut_section
from tilewright.elf.relocations import relocation_name
from tilewright.elf.symbol_text import Names, SymbolIndex, is_named, offset_of, with_addend
from tilewright.isa import Kind, Mode, decode

_COMMENT_COLUMN = 44

_FLAG_LETTERS: dict[int, str] = {
    SectionFlag.ALLOC: "a",
    SectionFlag.WRITE: "w",
    SectionFlag.EXECINSTR: "x",
    SectionFlag.MERGE: "M",
    SectionFlag.STRINGS: "S",
}
_SECTION_TYPES: dict[int, str] = {SectionType.NOBITS: "@nobits", SectionType.NOTE: "@note"}
_BINDINGS: dict[int, str] = {Binding.GLOBAL: ".globl", Binding.WEAK: ".weak"}
_VISIBILITIES: dict[int, str] = {
    Visibility.INTERNAL: ".internal",
    Visibility.HIDDEN: ".hidden",
    Visibility.PROTECTED: ".protected",
}
_SYMBOL_TYPES: dict[int, str] = {SymbolType.FUNC: "@function", SymbolType.OBJECT: "@object"}


@dataclass(frozen=True, slots=True)
class CodeEntry:
    """One statement of an executable section, with what is known about its place.

    `address` is an offset into the section in relocatable objects. `value` are the `size` bytes.
    `mode` is set if only workers or only supervisors may execute it. `symbol` is the one at or
    before the address and `target` the one that an operand addresses or that a relocation refers
    to, each with the distance from it (`kernel+0x10`); `source` is file and line.
    """

    section: str
    address: int
    size: int
    value: int
    text: str
    mode: Mode | None
    symbol: str | None
    target: str | None
    source: tuple[str, int] | None

    def as_json(self) -> dict[str, str | int]:
        """A description in plain types; keys about which nothing is known are left out."""
        described: dict[str, str | int] = {
            "section": self.section,
            "address": self.address,
            "word": f"{self.value:0{2 * self.size}x}",
            "text": self.text,
        }
        if self.mode is not None:
            described["mode"] = self.mode.value
        if self.symbol is not None:
            described["symbol"] = self.symbol
        if self.target is not None:
            described["target"] = self.target
        if self.source is not None:
            described["source"] = f"{self.source[0]}:{self.source[1]}"
        return described


def disassemble_object(obj: ObjectFile) -> list[str]:
    """The lines of text: sections, labels, symbols, instructions and data.

    Only sections that take up memory are shown. Targets are symbolic in relocatable objects and
    addresses in executables. What text cannot say (a relocation on an instruction that takes no
    symbol, say) stands in a comment that starts with `lost:`.
    """
    return list(_Disassembly(obj).text())


def code_entries(obj: ObjectFile) -> list[CodeEntry]:
    """The statements of all executable sections, in order, with the texts of the disassembly."""
    return list(_Disassembly(obj).entries())


class _Disassembly:
    """An object cut into pieces, with all names that its text needs."""

    def __init__(self, obj: ObjectFile) -> None:
        self._is_executable = obj.type == FileType.EXECUTABLE
        self._symbols = obj.symbols
        sections = [section for section in obj.sections if section.is_allocated]
        self._names = Names(obj.symbols, sections)
        self._index = SymbolIndex(obj.symbols, sections)
        self._lines, self._lines_fault = _line_table(obj)
        self._in_section = _symbols_by_section(obj.symbols, sections)
        self._unnamed = {
            section: [each for each in self._relocations(section) if not self._can_name(each)]
            for section in sections
        }
        wanted = self._places_without_symbol(sections)
        self._cuts = [self._cut(section, wanted[section]) for section in sections]
        self._labels = {
            cut.section: self._labels_of(cut, wanted[cut.section]) for cut in self._cuts
        }
        # The assembler starts with worker code.
        self._mode = Mode.WORKER

    def text(self) -> Iterator[str]:
        if self._lines_fault:
            yield f"    # no source lines: {printable(self._lines_fault)}"
        if any(map(_has_faulty_repeat, self._cuts)):
            yield "    .allow_invalid_repeat"
        for symbol in self._symbols:
            if is_named(symbol) and (symbol.is_absolute or not symbol.is_defined):
                yield from self._sectionless(symbol)
        for cut in self._cuts:
            yield from self._section_text(cut)

    def entries(self) -> Iterator[CodeEntry]:
        for cut in self._cuts:
            if cut.section.is_executable:
                for piece in cut.pieces:
                    yield self._entry(cut.section, piece)

    def _relocations(self, section: Section) -> list[Relocation]:
        return [] if self._is_executable else section.relocations

    def _can_name(self, relocation: Relocation) -> bool:
        return self._names.can_refer_to(relocation.symbol)

    def _places_without_symbol(self, sections: list[Section]) -> dict[Section, set[int]]:
        """The places in each section that relocations reach by way of the section's symbol."""
        places: dict[Section, set[int]] = {section: set() for section in sections}
        for section in sections:
            for relocation in filter(self._can_name, self._relocations(section)):
                target, offset = _target(relocation)
                if target is not None:
                    places[target].add(offset)
        return places

    def _cut(self, section: Section, wanted: set[int]) -> CutSection:
        breaks = wanted | {offset_of(symbol) for symbol in self._in_section[section]}
        relocations = list(filter(self._can_name, self._relocations(section)))
        return cut_section(section, relocations, breaks)

    def _labels_of(self, cut: CutSection, wanted: set[int]) -> set[int]:
        """Where labels are made up: at wanted places that allow one, else at the start."""
        symbols = {offset_of(symbol) for symbol in self._in_section[cut.section]}
        needs_start = not wanted | symbols <= cut.label_places
        return wanted & cut.label_places | ({0} if needs_start else set())

    def _expression(self, relocation: Relocation) -> str:
        section, offset = _target(relocation)
        if section is None:
            return with_addend(self._names.of(relocation.symbol), relocation.addend)
        return self._place(section, offset)

    def _place(self, section: Section, offset: int) -> str:
        label = offset if offset in self._labels[section] else 0
        return with_addend(self._names.label(section, label), offset - label)

    def _sectionless(self, symbol: Symbol) -> Iterator[str]:
        """A symbol that is absolute, or undefined and not as references alone would make it."""
        attributes = list(self._attributes(symbol))
        if symbol.is_absolute:
            yield from self._variable(symbol, f"{symbol.value:#x}")
        elif symbol.binding != Binding.GLOBAL or len(attributes) > 1:
            yield from attributes

    def _attributes(self, symbol: Symbol) -> Iterator[str]:
        name = self._names.of(symbol)
        if symbol.binding in _BINDINGS:
            yield f"    {_BINDINGS[symbol.binding]} {name}"
        if symbol.visibility in _VISIBILITIES:
            yield f"    {_VISIBILITIES[symbol.visibility]} {name}"
        if symbol.type in _SYMBOL_TYPES:
            yield f"    .type {name}, {_SYMBOL_TYPES[symbol.type]}"

    def _label(self, symbol: Symbol) -> Iterator[str]:
        name = self._names.of(symbol)
        yield from self._attributes(symbol)
        if symbol.size:
            yield f"    .size {name}, {symbol.size}"
        yield f"{name}:"

    def _variable(self, symbol: Symbol, value: str) -> Iterator[str]:
        name = self._names.of(symbol)
        yield from self._attributes(symbol)
        if symbol.size:  # the assembler takes sizes of labels only
            yield f"    # lost: the size of {name}, {symbol.size} bytes"
        yield f"    .set {name}, {value}"

    def _section_text(self, cut: CutSection) -> Iterator[str]:
        section = cut.section
        yield ""
        yield f"    .section {self._names.of_section(section)}, {_section_kind(section)}"
        if section.alignment > 1:
            yield f"    .p2align {section.alignment.bit_length() - 1}"
        for relocation in [*cut.lost, *self._unnamed[section]]:
            yield self._lost(relocation)
        labels = self._labels_by_offset(cut)
        yield from labels.get(0, [])
        yield from self._inner_symbols(cut)
        source: tuple[str, int] | None = None
        for piece in cut.pieces:
            if piece.offset and piece.allows_label:
                yield from labels.get(piece.offset, [])
            yield from self._mode_switch(piece)
            here = self._source(section, piece)
            if here is not None and here != source:
                yield f"    # {printable(here[0])}:{here[1]}"
            source = here or source
            yield self._statement(section, piece)
        if section.size:
            yield from labels.get(section.size, [])

    def _labels_by_offset(self, cut: CutSection) -> dict[int, list[str]]:
        section = cut.section
        labels: dict[int, list[str]] = {
            offset: [f"{self._names.label(section, offset)}:"] for offset in self._labels[section]
        }
        for symbol in self._in_section[section]:
            if offset_of(symbol) in cut.label_places:
                lines = labels.setdefault(offset_of(symbol), [])
                lines += self._label(symbol)
        return labels

    def _inner_symbols(self, cut: CutSection) -> Iterator[str]:
        """Symbols where no label can stand, by their distance from the section's start."""
        for symbol in self._in_section[cut.section]:
            if offset_of(symbol) not in cut.label_places:
                yield from self._variable(symbol, self._place(cut.section, offset_of(symbol)))

    def _mode_switch(self, piece: Piece) -> Iterator[str]:
        mode = _mode(piece)
        if mode is not None and mode is not self._mode and piece.allows_label:
            self._mode = mode
            yield f"    .{mode.value}"

    def _statement(self, section: Section, piece: Piece) -> str:
        if section.type == SectionType.NOBITS:
            return f"    .space {piece.size}"
        indent = "    " if piece.allows_label else "      "
        statement = indent + self._piece_text(piece)
        target = self._target_symbol(piece)
        comment = f"# {section.address + piece.offset:08x}: {piece.value:0{2 * piece.size}x}"
        comment += f" <{printable(target)}>" if target else ""
        return f"{statement:<{_COMMENT_COLUMN - 1}} {comment}"

    def _piece_text(self, piece: Piece) -> str:
        if piece.relocation is None:
            return piece.text()
        return piece.text(self._expression(piece.relocation))

    def _lost(self, relocation: Relocation) -> str:
        base = relocation.symbol.section.name if relocation.symbol.section else "0"
        target = with_addend(relocation.symbol.name or base, relocation.addend)
        return (
            f"    # lost: relocation {relocation_name(relocation.type)} "
            f"at {relocation.offset:#x} against {printable(target)}"
        )

    def _source(self, section: Section, piece: Piece) -> tuple[str, int] | None:
        if self._lines is None or piece.line is None:
            return None
        return self._lines.find(section, piece.offset)

    def _target_symbol(self, piece: Piece) -> str | None:
        """The symbol that an operand addresses, in executables; elsewhere the text names it."""
        if not self._is_executable or piece.line is None or piece.line.form is None:
            return None
        instruction = decode(piece.line.word)
        assert instruction is not None
        for operand, value in zip(instruction.form.operands, instruction.values, strict=True):
            if operand.kind not in (Kind.TARGET, Kind.VALUE):
                continue
            found = self._index.find_address(value)
            # Any number may be the value of a symbol; only a hit shows that it is meant.
            if found and (operand.kind is Kind.TARGET or not found[1]):
                return _near(found)
        return None

    def _target(self, piece: Piece) -> str | None:
        if piece.relocation is not None:
            return relocation_target(piece.relocation)
        return self._target_symbol(piece)

    def _entry(self, section: Section, piece: Piece) -> CodeEntry:
        found = self._index.find(section, piece.offset)
        return CodeEntry(
            section=section.name,
            address=section.address + piece.offset,
            size=piece.size,
            value=piece.value,
            text=self._piece_text(piece),
            mode=_mode(piece),
            symbol=_near(found) if found else None,
            target=self._target(piece),
            source=self._source(section, piece),
        )


def _line_table(obj: ObjectFile) -> tuple[LineTable | None, str]:
    """The line table, or None and what is wrong with it: code can be shown without."""
    try:
        return read_line_table(obj), ""
    except ObjectError as error:
        return None, str(error)


def _symbols_by_section(
    symbols: list[Symbol], sections: list[Section]
) -> dict[Section, list[Symbol]]:
    by_section: dict[Section, list[Symbol]] = {section: [] for section in sections}
    for symbol in symbols:
        if is_named(symbol) and symbol.section in by_section:
            by_section[symbol.section].append(symbol)
    return by_section


def _target(relocation: Relocation) -> tuple[Section | None, int]:
    """The place that a relocation against a section's symbol means; no section for other ones."""
    symbol = relocation.symbol
    if symbol.type != SymbolType.SECTION or symbol.section is None:
        return None, 0
    return symbol.section, offset_of(symbol) + relocation.addend


def _has_faulty_repeat(cut: CutSection) -> bool:
    return has_faulty_repeat(cut.lines, is_followed=cut.section.size % WORD_SIZE != 0)


def _section_kind(section: Section) -> str:
    """The rest of a `.section` directive: flags, and type where it is not the usual one."""
    letters = "".join(letter for flag, letter in _FLAG_LETTERS.items() if section.flags & flag)
    kind = _SECTION_TYPES.get(section.type)
    if section.flags & SectionFlag.MERGE:
        return f'"{letters}", {kind or "@progbits"}, {section.entry_size}'
    return f'"{letters}", {kind}' if kind else f'"{letters}"'


def _mode(piece: Piece) -> Mode | None:
    """The only mode that may execute the piece, if it is code for one."""
    if piece.line is None or piece.line.form is None:
        return None
    if piece.line.role is not None:
        return Mode.WORKER
    return None if piece.line.form.mode is Mode.BOTH else piece.line.form.mode


def _near(found: tuple[Symbol, int]) -> str:
    symbol, distance = found
    return f"{symbol.name}+{distance:#x}" if distance else symbol.name
