"""Directives other than macros and conditionals: sections, symbols, data, alignment, switches."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Protocol

from tilewright.elf.asm.diagnostics import Fault, Place
from tilewright.elf.asm.expressions import (
    Expression,
    Node,
    Number,
    UnknownName,
    Value,
    bind,
    evaluate,
    name_of,
    parse_expression,
    unquote,
)
from tilewright.elf.asm.finish import StackUsage
from tilewright.elf.asm.fixups import write_number
from tilewright.elf.asm.instructions import Switches
from tilewright.elf.asm.operands import operand_spans
from tilewright.elf.asm.sections import DataFixup, SectionBuilder, Sections
from tilewright.elf.asm.symbols import CurrentScope, SymbolTable
from tilewright.elf.object import Binding, SectionFlag, SectionType, SymbolType, Visibility
from tilewright.elf.relocations import RelocationType
from tilewright.isa import Mode
from tilewright.target.formats import F32

_WIDTHS = {
    ".byte": RelocationType.ABS_8,
    ".half": RelocationType.ABS_16,
    ".short": RelocationType.ABS_16,
    ".hword": RelocationType.ABS_16,
    ".2byte": RelocationType.ABS_16,
    ".long": RelocationType.ABS_32,
    ".int": RelocationType.ABS_32,
    ".word": RelocationType.ABS_32,
    ".4byte": RelocationType.ABS_32,
    ".quad": RelocationType.ABS_64,
    ".8byte": RelocationType.ABS_64,
}
_BYTES = {
    RelocationType.ABS_8: 1,
    RelocationType.ABS_16: 2,
    RelocationType.ABS_32: 4,
    RelocationType.ABS_64: 8,
}
_MODIFIED = {
    ("relative@16@s2", 2): RelocationType.RELATIVE_16_S2,
    ("abs18@s2", 4): RelocationType.ABS_18_S2,
    ("abs19@s2", 4): RelocationType.ABS_19_S2,
    ("abs@21", 4): RelocationType.ABS_21,
    # The vendor's spelling of these three is not public; ours is assumed (docs/assembly.md).
    ("16@s3", 2): RelocationType.ABS_16_S3,
    ("16@s4", 2): RelocationType.ABS_16_S4,
    ("16@s5", 2): RelocationType.ABS_16_S5,
}
_SECTION_FLAGS = {
    "a": SectionFlag.ALLOC,
    "w": SectionFlag.WRITE,
    "x": SectionFlag.EXECINSTR,
    "M": SectionFlag.MERGE,
    "S": SectionFlag.STRINGS,
}
_SECTION_TYPES = {
    "progbits": SectionType.PROGBITS,
    "nobits": SectionType.NOBITS,
    "note": SectionType.NOTE,
}
_SYMBOL_TYPES = {
    "function": SymbolType.FUNC,
    "object": SymbolType.OBJECT,
    "notype": SymbolType.NOTYPE,
    "STT_FUNC": SymbolType.FUNC,
    "STT_OBJECT": SymbolType.OBJECT,
    "STT_NOTYPE": SymbolType.NOTYPE,
}
_BINDINGS = {
    ".globl": Binding.GLOBAL,
    ".global": Binding.GLOBAL,
    ".weak": Binding.WEAK,
    ".local": Binding.LOCAL,
}
_VISIBILITIES = {
    ".hidden": Visibility.HIDDEN,
    ".internal": Visibility.INTERNAL,
    ".protected": Visibility.PROTECTED,
}
_SWITCHES: dict[str, Callable[[Switches], Switches]] = {
    ".worker": partial(replace, mode=Mode.WORKER),
    ".supervisor": partial(replace, mode=Mode.SUPERVISOR),
    ".allow_optimizations": partial(replace, allow_optimizations=True),
    ".warn_on_invalid_bundles": partial(replace, relax_bundles=True),
    ".error_on_invalid_bundles": partial(replace, relax_bundles=False),
    ".allow_invalid_operands": partial(replace, allow_invalid_operands=True),
    ".error_on_invalid_operands": partial(replace, allow_invalid_operands=False),
    ".allow_invalid_execution_mode": partial(replace, allow_invalid_mode=True),
    ".error_on_invalid_execution_mode": partial(replace, allow_invalid_mode=False),
    ".allow_invalid_repeat": partial(replace, allow_invalid_repeat=True),
}
_MOVING = frozenset(
    {
        *".text .data .bss .rodata .section .pushsection .popsection .previous".split(),
        *".align .balign .p2align .space .skip .zero .fill .org".split(),
        *".ascii .asciz .string .float .single".split(),
        *_WIDTHS,
    }
)
_IGNORED_PREFIXES = (".cfi_",)
_IGNORED = frozenset({".extern", ".file", ".ident", ".loc", ".addrsig", ".addrsig_sym"})

_SYMBOL = re.compile(r'[A-Za-z_.$][\w.$@]*|"(?:\\.|[^"\\])+"')
_MAX_ALIGNMENT = 1 << 20
_MAX_DIGITS = 1000
_MAX_SPACE = 1 << 21
"""More than all of tile memory in one directive is a slip of the pen."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """One operand of a directive and the column where it starts."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + max(len(self.text), 1)

    def fault(self, message: str) -> Fault:
        return Fault(message, self.start, self.end)


class Host(Protocol):
    """What directives change: the state of the assembler."""

    sections: Sections
    symbols: SymbolTable
    stack_usages: list[StackUsage]

    @property
    def switches(self) -> Switches:
        """The switches in force."""

    def change_switches(self, switches: Switches) -> None:
        """Use other switches from here on."""

    def warn(self, message: str, start: int, end: int) -> None:
        """A warning at columns of the directive's operands."""

    def place(self, start: int, end: int) -> Place:
        """The place of columns of the directive's operands."""


class Directives:
    """Carries out directives on a `Host`."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._handlers: dict[str, Callable[[str, str], None]] = {
            ".text": self._named_section,
            ".data": self._named_section,
            ".bss": self._named_section,
            ".rodata": self._named_section,
            ".section": self._section,
            ".pushsection": self._push_section,
            ".popsection": self._pop_section,
            ".previous": self._previous,
            ".type": self._type,
            ".size": self._size,
            ".set": self._set,
            ".equ": self._set,
            ".equiv": self._set_once,
            ".align": self._align,
            ".balign": self._align,
            ".p2align": self._power_align,
            ".space": self._space,
            ".skip": self._space,
            ".zero": self._space,
            ".fill": self._fill,
            ".org": self._origin,
            ".ascii": self._strings,
            ".asciz": self._strings,
            ".string": self._strings,
            ".float": self._floats,
            ".single": self._floats,
            ".error": self._error,
            ".warning": self._warning,
            ".stack_usage": self._stack_usage,
            **dict.fromkeys(_WIDTHS, self._data),
            **dict.fromkeys(_BINDINGS, self._binding),
            **dict.fromkeys(_VISIBILITIES, self._visibility),
            **dict.fromkeys(_SWITCHES, self._switch),
            **dict.fromkeys(_IGNORED, self._ignore),
        }

    @property
    def names(self) -> list[str]:
        """All directives that are known here."""
        return list(self._handlers)

    def moves_location(self, name: str) -> bool:
        """Whether directive `name` changes the location counter, or another one counts then."""
        return name in _MOVING

    def run(self, name: str, text: str) -> bool:
        """Carry out directive `name` with operands `text`; False if there is no such directive.

        Raises `Fault` with columns in `text`, or without columns for the whole statement.
        """
        handler = self._handlers.get(name)
        if handler is None:
            return name.startswith(_IGNORED_PREFIXES)
        handler(name, text)
        return True

    # -- sections -----------------------------------------------------------------------------

    def _named_section(self, name: str, text: str) -> None:
        self._no_operands(name, text)
        self._host.sections.switch(name)

    def _section(self, name: str, text: str) -> None:
        pieces = _pieces(text)
        if not pieces or not pieces[0].text:
            raise Fault(f"{name} needs a name")
        section_name = name_of(pieces[0].text)
        flags: int | None = None
        kind: int | None = None
        entry_size = 0
        for piece in pieces[1:]:
            # FUNCTION_IS_WORKER of vendor kernels may stand after the flags: more flags.
            if piece.text.startswith('"'):
                flags = (flags or 0) | _flags(piece)
            elif piece.text[:1] in ("@", "%"):
                kind = _chosen(piece, _SECTION_TYPES, "section type")
            elif piece.text.isdecimal() and (flags or 0) & SectionFlag.MERGE:
                entry_size = int(piece.text)
            else:
                raise piece.fault("expected flags in quotes, or a type such as @progbits")
        self._host.sections.switch(section_name, flags, kind)
        if entry_size:
            self._section_builder.section.entry_size = entry_size

    def _push_section(self, name: str, text: str) -> None:
        self._host.sections.push()
        try:
            self._section(name, text)
        except Fault:
            self._host.sections.pop()
            raise

    def _pop_section(self, name: str, text: str) -> None:
        self._no_operands(name, text)
        self._host.sections.pop()

    def _previous(self, name: str, text: str) -> None:
        self._no_operands(name, text)
        self._host.sections.back()

    # -- symbols ------------------------------------------------------------------------------

    def _binding(self, name: str, text: str) -> None:
        for symbol in self._symbol_names(name, text):
            self._host.symbols.bindings[symbol] = _BINDINGS[name]

    def _visibility(self, name: str, text: str) -> None:
        for symbol in self._symbol_names(name, text):
            self._host.symbols.visibilities[symbol] = _VISIBILITIES[name]

    def _symbol_names(self, name: str, text: str) -> Iterator[str]:
        pieces = _pieces(text)
        if not pieces:
            raise Fault(f"{name} needs a symbol")
        for piece in pieces:
            yield _symbol(piece)

    def _type(self, name: str, text: str) -> None:
        symbol, kind = self._symbol_and_rest(name, text)
        chosen = replace(kind, text=kind.text.strip('"'))
        self._host.symbols.types[symbol] = _chosen(chosen, _SYMBOL_TYPES, "symbol type")

    def _size(self, name: str, text: str) -> None:
        symbol, size = self._symbol_and_rest(name, text)
        node = self._bound(self._expression(size), size)
        place = self._host.place(size.start, size.end)
        self._host.symbols.sizes[symbol] = (node, place)

    def _set(self, name: str, text: str) -> None:
        symbol, value = self._symbol_and_rest(name, text)
        self.assign(symbol, value.text, value.start)

    def _set_once(self, name: str, text: str) -> None:
        symbol, value = self._symbol_and_rest(name, text)
        if self._host.symbols.is_defined(symbol):
            raise Fault(f"'{symbol}' is defined already")
        self.assign(symbol, value.text, value.start)

    def assign(self, symbol: str, text: str, origin: int) -> None:
        """Give a variable the value of the expression `text`, which starts at column `origin`."""
        piece = _Piece(text, origin)
        line = self._host.place(piece.start, piece.end).line
        try:
            node: Node | None = self._bound(self._expression(piece), piece)
        except Fault:
            self._host.symbols.set_variable(symbol, None, line)
            raise
        self._host.symbols.set_variable(symbol, node, line)

    def _symbol_and_rest(self, name: str, text: str) -> tuple[str, _Piece]:
        pieces = _pieces(text)
        if not pieces or not pieces[0].text:
            raise Fault(f"{name} needs a symbol")
        symbol = _symbol(pieces[0])
        if len(pieces) == 1:
            raise Fault(
                f"{name} needs a comma and a value after the symbol", len(text), len(text) + 1
            )
        if len(pieces) > 2:
            raise pieces[2].fault(f"unexpected operand of {name}")
        return symbol, pieces[1]

    # -- data ---------------------------------------------------------------------------------

    def _data(self, name: str, text: str) -> None:
        pieces = _pieces(text)
        if not pieces:
            raise Fault(f"{name} needs a value")
        plain = _WIDTHS[name]
        width = _BYTES[plain]
        for piece in pieces:
            if re.fullmatch(r"\$[ma]\d+(:\d+)?", piece.text):
                raise piece.fault(f"{name} takes a value, not a register")
            expression = self._expression(piece)
            kind = plain
            if expression.modifier:
                modified = _MODIFIED.get((expression.modifier, width))
                if modified is None:
                    raise piece.fault(f"'@{expression.modifier}' does not fit {name}")
                kind = modified
            self._append_value(kind, width, self._bound(expression, piece), piece)

    def _append_value(self, kind: RelocationType, width: int, node: Node, piece: _Piece) -> None:
        section = self._section_builder
        if isinstance(node, Number):
            node = Value(node.value)
        if isinstance(node, Value) and node.is_number:
            data = bytearray(width)
            try:
                write_number(data, 0, kind, node.offset)
            except Fault as fault:
                raise piece.fault(fault.message) from None
            section.append(bytes(data))
            return
        if section.holds_no_bytes:
            raise Fault(f"section {section.section.name} holds no bytes, only zeroed space")
        place = self._host.place(piece.start, piece.end)
        section.fixups.append(DataFixup(section.size, node, place, kind))
        section.append(bytes(width))

    def _strings(self, name: str, text: str) -> None:
        for piece in _pieces(text):
            if not re.fullmatch(r'"(?:\\.|[^"\\])*"', piece.text):
                raise piece.fault("expected a string in double quotes")
            content = unquote(piece.text).encode("utf-8", "surrogateescape")
            self._section_builder.append(content + (b"" if name == ".ascii" else b"\0"))

    def _floats(self, name: str, text: str) -> None:
        for piece in _pieces(text):
            match = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?f?", piece.text)
            if match is None:
                raise piece.fault("expected a real number")
            number = piece.text.rstrip("f")
            if len(number) > _MAX_DIGITS:
                raise piece.fault("this number has too many digits")
            pattern = F32.encode(Fraction(number))
            sign = F32.sign_bit if number.startswith("-") else 0
            self._section_builder.append((pattern | sign).to_bytes(4, "little"))

    def _space(self, name: str, text: str) -> None:
        size, fill = self._numbers(name, text, _MAX_SPACE, None)
        self._section_builder.append(bytes([(fill or 0) & 0xFF]) * (size or 0))

    def _fill(self, name: str, text: str) -> None:
        repeats, size, value = self._numbers(name, text, _MAX_SPACE, 8, None)
        size = 1 if size is None else size
        unit = ((value or 0) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        self._section_builder.append(unit * (repeats or 0))

    def _origin(self, name: str, text: str) -> None:
        piece = _Piece(text, 0)
        value = self._value(self._expression(piece), piece)
        section = self._section_builder
        if value.symbol is not None and value.symbol.section is not section.section:
            raise piece.fault(".org needs a place in the current section")
        target = value.offset + (value.symbol.value if value.symbol else 0)
        if target < section.size:
            raise piece.fault(f".org goes back: from {section.size:#x} to {target:#x}")
        if target - section.size > _MAX_SPACE:
            raise piece.fault(_out_of_range(_MAX_SPACE, target - section.size))
        section.append(bytes(target - section.size))

    # -- alignment ----------------------------------------------------------------------------

    def _align(self, name: str, text: str) -> None:
        alignment, fill, limit = self._numbers(name, text, None, None, None)
        alignment = alignment or 1
        if alignment & (alignment - 1) or not 0 < alignment <= _MAX_ALIGNMENT:
            message = f"{name} takes a power of two in bytes, got {alignment}"
            raise _pieces(text)[0].fault(message)
        self._align_to(alignment, fill, limit)

    def _power_align(self, name: str, text: str) -> None:
        most = _MAX_ALIGNMENT.bit_length() - 1
        power, fill, limit = self._numbers(name, text, most, None, None)
        self._align_to(1 << (power or 0), fill, limit)

    def _align_to(self, alignment: int, fill: int | None, limit: int | None) -> None:
        pattern = None if fill is None else bytes([fill & 0xFF])
        self._section_builder.align(alignment, pattern, limit)

    # -- switches and messages ----------------------------------------------------------------

    def _switch(self, name: str, text: str) -> None:
        self._no_operands(name, text)
        self._host.change_switches(_SWITCHES[name](self._host.switches))

    def _error(self, name: str, text: str) -> None:
        raise Fault(f"{name}: {_plain(text)}" if text else f"{name} was reached")

    def _warning(self, name: str, text: str) -> None:
        self._host.warn(f"{name}: {_plain(text)}" if text else f"{name} was reached", 0, len(text))

    def _ignore(self, name: str, text: str) -> None:
        """For the compiler's own use, or without effect on an object."""

    def _stack_usage(self, name: str, text: str) -> None:
        pieces = _pieces(text)
        if len(pieces) not in (2, 3):
            raise Fault(f"{name} takes a function, its bytes of stack, and 'own' if callees add")
        if len(pieces) == 3 and pieces[2].text != "own":
            raise pieces[2].fault("expected 'own'")
        size = self._value(self._expression(pieces[1]), pieces[1])
        if not size.is_number or size.offset < 0:
            raise pieces[1].fault("the stack usage must be a number, 0 or more")
        function = _symbol(pieces[0])
        place = self._host.place(pieces[0].start, pieces[0].end)
        self._host.stack_usages.append(StackUsage(function, size.offset, len(pieces) == 3, place))

    # -- operands -----------------------------------------------------------------------------

    @property
    def _section_builder(self) -> SectionBuilder:
        return self._host.sections.current

    @property
    def _scope(self) -> CurrentScope:
        return CurrentScope(self._host.symbols, self._section_builder.here())

    def _no_operands(self, name: str, text: str) -> None:
        if text:
            raise Fault(f"{name} takes no operands", 0, len(text))

    def _expression(self, piece: _Piece) -> Expression:
        try:
            expression = parse_expression(piece.text)
        except Fault as fault:
            raise fault.shifted(piece.start, len(piece.text)) from None
        if expression.reads_differently_in_c:
            self._host.warn("C would read this otherwise; add parentheses", piece.start, piece.end)
        return expression

    def _bound(self, expression: Expression, piece: _Piece) -> Node:
        try:
            return bind(expression.node, self._scope)
        except Fault as fault:
            raise fault.shifted(piece.start, len(piece.text)) from None

    def _value(self, expression: Expression, piece: _Piece) -> Value:
        """The value, which must be known here. Raises `Fault`."""
        try:
            return evaluate(self._bound(expression, piece))
        except UnknownName as unknown:
            raise piece.fault(
                f"needs a value known here; '{unknown}' is not defined so far"
            ) from None

    def number(self, text: str) -> int:
        """A number that must be known here: a condition, a count. Raises `Fault`."""
        piece = _Piece(text, 0)
        value = self._value(self._expression(piece), piece)
        if not value.is_number:
            raise piece.fault("expected a number, not an address")
        return value.offset

    def _numbers(self, name: str, text: str, *limits: int | None) -> list[int | None]:
        """As many numbers as `limits`, None where one is left out; the first must be there.

        Each is at least 0 and at most its limit; None stands for no limits. Raises `Fault`.
        """
        pieces = _pieces(text)
        most = len(limits)
        if not pieces or not pieces[0].text:
            raise Fault(f"{name} needs a number")
        if len(pieces) > most:
            raise pieces[most].fault(f"{name} takes at most {most} operands")
        numbers: list[int | None] = []
        for piece, limit in zip(pieces, limits, strict=False):
            if not piece.text:
                numbers.append(None)
                continue
            value = self._value(self._expression(piece), piece)
            if not value.is_number:
                raise piece.fault("expected a number, not an address")
            if limit is not None and not 0 <= value.offset <= limit:
                raise piece.fault(_out_of_range(limit, value.offset))
            numbers.append(value.offset)
        return numbers + [None] * (most - len(numbers))


def _pieces(text: str) -> list[_Piece]:
    if not text:
        return []
    return [_Piece(text[start:end], start) for start, end in operand_spans(text)]


def _plain(text: str) -> str:
    return unquote(text) if text.startswith('"') and text.endswith('"') and len(text) > 1 else text


def _symbol(piece: _Piece) -> str:
    match = _SYMBOL.match(piece.text)
    if match is None:
        raise piece.fault("expected a symbol")
    if match.end() < len(piece.text):
        start = piece.start + match.end()
        raise Fault(
            f"unexpected token after '{match[0]}'; is a comma missing?",
            start + len(piece.text[match.end() :]) - len(piece.text[match.end() :].lstrip()),
            piece.end,
        )
    return name_of(piece.text)


def _flags(piece: _Piece) -> int:
    flags = 0
    for letter in _plain(piece.text):
        if letter not in _SECTION_FLAGS:
            known = ", ".join(_SECTION_FLAGS)
            raise piece.fault(f"unknown section flag '{letter}'; there are: {known}")
        flags |= _SECTION_FLAGS[letter]
    return flags


def _chosen(piece: _Piece, choices: Mapping[str, int], what: str) -> int:
    name = piece.text.lstrip("@%#")
    if name not in choices:
        raise piece.fault(f"unknown {what} '{piece.text}'; there are: @{', @'.join(choices)}")
    return choices[name]


def _out_of_range(most: int, value: int) -> str:
    return f"operand out of range: expected a number from 0 to {most}, got {value}"
