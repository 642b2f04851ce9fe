"""Values that waited for the end of the file: they become numbers, or relocations."""

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.elf.asm.diagnostics import Diagnostics, Fault, Place
from tilewright.elf.asm.expressions import Node, Number, Value
from tilewright.elf.asm.instructions import encode_first
from tilewright.elf.asm.matching import out_of_range, subtrahend_fault
from tilewright.elf.asm.sections import DataFixup, OperandFixup, SectionBuilder
from tilewright.elf.asm.symbols import PRIVATE_PREFIX, Poisoned, SymbolTable
from tilewright.elf.object import Binding, Relocation, Section, Symbol
from tilewright.elf.relocations import RULES, RelocationError, RelocationType
from tilewright.isa import COISSUE, Kind, Operand

_PLAIN_DATA = (
    RelocationType.ABS_8,
    RelocationType.ABS_16,
    RelocationType.ABS_32,
    RelocationType.ABS_64,
)
"""Data directives without a modifier: their numbers may be negative too."""


def write_number(data: bytearray, offset: int, kind: RelocationType, number: int) -> None:
    """Write a number as the data of relocation type `kind`. Raises `Fault` if it does not fit."""
    rule = RULES[kind]
    if kind in _PLAIN_DATA:
        if not -(1 << (rule.bits - 1)) <= number < 1 << rule.bits:
            raise Fault(f"value out of range: {rule.bits} bits cannot hold {number}")
        number &= (1 << rule.bits) - 1
    try:
        rule.apply(data, offset, number)
    except RelocationError as error:
        raise Fault(str(error)) from None


@dataclass(frozen=True, slots=True)
class FixupResolver:
    """Applies the fixups of sections once all names are known."""

    symbols: SymbolTable
    section_symbols: Mapping[Section, Symbol]
    diagnostics: Diagnostics

    def apply(self, section: SectionBuilder) -> None:
        """Settle all fixups of `section`; faults are reported."""
        for fixup in section.fixups:
            if isinstance(fixup, OperandFixup):
                self._apply_operands(section, fixup)
            else:
                self._apply_data(section, fixup)

    # -- instructions -------------------------------------------------------------------------

    def _apply_operands(self, section: SectionBuilder, fixup: OperandFixup) -> None:
        numbers: list[int] = []
        for position, node in enumerate(fixup.values):
            value = self._resolve(node, fixup.places[position])
            if value is None:
                return
            operand = fixup.spellings[0].text_operands[position]
            if value.is_number and operand.kind is Kind.VERTEX_OFFSET:
                # Names of numbers too stand for addresses here.
                assert not isinstance(node, int)
                value = self.symbols.as_address(node, value.offset)
            if value.is_number:
                numbers.append(value.offset)
                continue
            kind = _operand_relocation(operand)
            if kind is None:
                message = _needs_number(operand, value)
                self.diagnostics.error(message, fixup.places[position])
                return
            self._relocate(section, fixup.offset, kind, value)
            numbers.append(0)
        self._encode(section, fixup, numbers)

    def _encode(self, section: SectionBuilder, fixup: OperandFixup, numbers: list[int]) -> None:
        if fixup.subtracts:
            message = subtrahend_fault(numbers[-1])
            if message is not None:
                self.diagnostics.error(message, fixup.places[-1])
                return
            numbers[-1] = -numbers[-1]
        result = encode_first(fixup.spellings, numbers, fixup.allow_overlong)
        if result is not None:
            word = result[1] | (COISSUE if fixup.coissue else 0)
            section.data[fixup.offset : fixup.offset + 4] = word.to_bytes(4, "little")
            return
        for position, number in enumerate(numbers):
            choices = [spelling.text_operands[position] for spelling in fixup.spellings]
            if not any(operand.accepts(number) for operand in choices):
                message = out_of_range(fixup.spellings, position, number)
                self.diagnostics.error(message, fixup.places[position])

    # -- data ---------------------------------------------------------------------------------

    def _apply_data(self, section: SectionBuilder, fixup: DataFixup) -> None:
        value = self._resolve(fixup.node, fixup.place)
        if value is None:
            return
        if not value.is_number:
            self._relocate(section, fixup.offset, fixup.type, value)
            return
        try:
            write_number(section.data, fixup.offset, fixup.type, value.offset)
        except Fault as fault:
            self.diagnostics.error(fault.message, fixup.place)

    # -- both ---------------------------------------------------------------------------------

    def _resolve(self, node: int | Node, place: Place) -> Value | None:
        """The value, or None if it has none, which is then reported."""
        try:
            return self.symbols.resolve(Number(node) if isinstance(node, int) else node)
        except Fault as fault:
            self.diagnostics.error(fault.message, place)
        except Poisoned:
            pass
        return None

    def _relocate(
        self, section: SectionBuilder, offset: int, kind: RelocationType, value: Value
    ) -> None:
        symbol, addend = value.symbol, value.offset
        assert symbol is not None
        if symbol.section is not None and self._is_private(symbol):
            addend += symbol.value
            symbol = self.section_symbols[symbol.section]
        section.section.relocations.append(Relocation(offset, kind, symbol, addend))

    def _is_private(self, symbol: Symbol) -> bool:
        """Whether the symbol stays out of the symbol table: numeric labels end in a colon."""
        name = symbol.name
        bound = self.symbols.bindings.get(name, Binding.LOCAL) is not Binding.LOCAL
        return name.endswith(":") or (name.startswith(PRIVATE_PREFIX) and not bound)


def _operand_relocation(operand: Operand) -> RelocationType | None:
    """How a symbol's value gets into an operand, None if it cannot."""
    match operand.kind:
        case Kind.VALUE:
            is_wide = operand.field.width == RULES[RelocationType.ABS_20].bits
            return RelocationType.ABS_20 if is_wide else RelocationType.ABS_16
        case Kind.TARGET:
            return RelocationType.ABS_19_S2
        case Kind.VERTEX_OFFSET:
            return RelocationType.RUN
        case _:
            return None


def _needs_number(operand: Operand, value: Value) -> str:
    assert value.symbol is not None
    name = value.symbol.name.rstrip(":")
    what = "a memory offset" if operand.unit else "this operand"
    reason = (
        f"'{name}' is not defined in this file"
        if value.symbol.section is None
        else f"'{name}' is an address"
    )
    return f"{what} must be a constant; {reason}"
