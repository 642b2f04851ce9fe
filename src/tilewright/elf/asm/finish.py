"""The end of the file: fixups, repeat checks, and the object with its symbols and line table."""

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright import __version__
from tilewright.elf.asm.diagnostics import Diagnostics, Fault, Place
from tilewright.elf.asm.fixups import FixupResolver
from tilewright.elf.asm.repeats import check_repeats
from tilewright.elf.asm.sections import SectionBuilder, Sections
from tilewright.elf.asm.symbols import Poisoned, SymbolTable
from tilewright.elf.lines import LineRow, line_sections
from tilewright.elf.object import (
    ObjectFile,
    Relocation,
    Section,
    SectionFlag,
    Symbol,
    SymbolType,
)
from tilewright.elf.relocations import RelocationType

_PRODUCER = f"tilewright {__version__}"


@dataclass(frozen=True, slots=True)
class StackUsage:
    """What `.stack_usage` says of a function, or of the section that holds it.

    `is_own`: the bytes are its own frame only, without those of the functions it calls.
    """

    name: str
    size: int
    is_own: bool
    place: Place


def finish_object(
    name: str,
    sections: Sections,
    symbols: SymbolTable,
    stack_usages: Sequence[StackUsage],
    check_repeat_bodies: bool,
    diagnostics: Diagnostics,
) -> ObjectFile:
    """Resolve what waited and make the object; faults go to `diagnostics`."""
    builders = list(sections)
    section_symbols = {builder.section: builder.symbol for builder in builders}
    symbols.report_faulty_variables(diagnostics)
    resolver = FixupResolver(symbols, section_symbols, diagnostics)
    for builder in builders:
        resolver.apply(builder)
        if check_repeat_bodies:
            check_repeats(builder, symbols, diagnostics)
        builder.section.data = bytes(builder.data)
        builder.section.size = builder.size
    _set_sizes(symbols, diagnostics)
    stack_sections = _stack_sections(stack_usages, sections, symbols, diagnostics)
    if diagnostics.errors:
        return ObjectFile(name)
    return _object(name, builders, section_symbols, symbols, stack_sections)


def _object(
    name: str,
    builders: Sequence[SectionBuilder],
    section_symbols: dict[Section, Symbol],
    symbols: SymbolTable,
    stack_sections: Sequence[Section],
) -> ObjectFile:
    rows = [row for builder in builders for row in _line_rows(builder)]

    def section_symbol(section: Section) -> Symbol:
        made = Symbol("", section, type=SymbolType.SECTION)
        return section_symbols.setdefault(section, made)

    debug_sections = line_sections(rows, _PRODUCER, name, section_symbol)
    named = list(symbols.finished())
    kept = [builder.section for builder in builders if _is_kept(builder, named)]
    all_sections = [*kept, *stack_sections, *debug_sections]
    referenced = {
        relocation.symbol for section in all_sections for relocation in section.relocations
    }
    used = [symbol for symbol in section_symbols.values() if symbol in referenced]
    return ObjectFile(name, sections=all_sections, symbols=[*used, *named])


def _is_kept(builder: SectionBuilder, named: Sequence[Symbol]) -> bool:
    """Sections that hold anything; `.text` is there from the start, and may stay empty."""
    if builder.size or builder.section.name != ".text":
        return True
    return any(symbol.section is builder.section for symbol in named)


def _line_rows(builder: SectionBuilder) -> list[LineRow]:
    rows: list[LineRow] = []
    for placed in builder.instructions:
        if rows and (rows[-1].file, rows[-1].line) == (placed.line.file, placed.line.number):
            continue
        rows.append(LineRow(builder.section, placed.offset, placed.line.file, placed.line.number))
    return rows


def _set_sizes(symbols: SymbolTable, diagnostics: Diagnostics) -> None:
    for name, (node, place) in symbols.sizes.items():
        try:
            value = symbols.resolve(node)
        except Fault as fault:
            diagnostics.error(fault.message, place)
            continue
        except Poisoned:
            continue
        if not symbols.is_defined(name):
            diagnostics.error(f"the size of '{name}', which is not defined in this file", place)
        elif not value.is_number or value.offset < 0:
            diagnostics.error(f"the size of '{name}' must be a number, 0 or more", place)
        else:
            symbols.final_sizes[name] = value.offset


def _stack_sections(
    usages: Sequence[StackUsage],
    sections: Sections,
    symbols: SymbolTable,
    diagnostics: Diagnostics,
) -> list[Section]:
    """One `.stack_sizes` section per function section and kind of usage."""
    made: dict[tuple[Section, bool], Section] = {}
    for usage in usages:
        function = _function_symbol(usage.name, sections, symbols)
        if function is None or function.section is None:
            message = f"stack usage of '{usage.name}', which is no label or section of this file"
            diagnostics.error(message, usage.place)
            continue
        name = ".stack_sizes.own" if usage.is_own else ".stack_sizes"
        section = made.setdefault(
            (function.section, usage.is_own),
            Section(name, flags=SectionFlag.LINK_ORDER, link=function.section),
        )
        section.relocations.append(Relocation(section.size, RelocationType.ABS_32, function))
        section.data += bytes(4) + _uleb128(usage.size)
        section.size = len(section.data)
    return list(made.values())


def _function_symbol(name: str, sections: Sections, symbols: SymbolTable) -> Symbol | None:
    label = symbols.label(name)
    if label is not None:
        return label
    builder = sections.find(name)
    return builder.symbol if builder is not None else None


def _uleb128(value: int) -> bytes:
    out = bytearray()
    while value >> 7:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
