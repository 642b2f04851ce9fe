"""Cuts a section into pieces, each of which one statement of assembly can make again."""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.elf.code_lines import WORD_SIZE, CodeLine, disassemble_words, with_braces
from tilewright.elf.object import Relocation, Section, SectionType
from tilewright.elf.relocations import RULES, RelocationType
from tilewright.isa import Kind, Operand, decode

_OPERANDS: dict[int, tuple[Kind, int | None]] = {
    RelocationType.ABS_16: (Kind.VALUE, 16),
    RelocationType.ABS_20: (Kind.VALUE, 20),
    RelocationType.ABS_19_S2: (Kind.TARGET, None),
    RelocationType.RUN: (Kind.VERTEX_OFFSET, None),
}
"""The operand that makes a relocation: its kind and, where that is not enough, its width."""

_DIRECTIVES: dict[int, str] = {
    RelocationType.ABS_8: ".byte {}",
    RelocationType.ABS_16: ".half {}",
    RelocationType.ABS_32: ".long {}",
    RelocationType.ABS_64: ".quad {}",
    RelocationType.RELATIVE_16_S2: ".half ({})@relative@16@s2",
    RelocationType.ABS_18_S2: ".long ({})@abs18@s2",
    RelocationType.ABS_19_S2: ".long ({})@abs19@s2",
    RelocationType.ABS_16_S3: ".half ({})@16@s3",
    RelocationType.ABS_16_S4: ".half ({})@16@s4",
    RelocationType.ABS_16_S5: ".half ({})@16@s5",
    RelocationType.ABS_21: ".long ({})@abs@21",
}
"""The directive that makes a relocation; bits that the relocation keeps are 0."""

_PLAIN_DIRECTIVES = {1: ".byte", 2: ".half", 4: ".long", 8: ".quad"}


@dataclass(frozen=True, slots=True)
class Piece:
    """What one statement makes: `size` bytes from `offset` on that hold `value`.

    `line` is there for words of code, `relocation` if the statement makes one as well.
    """

    offset: int
    size: int
    value: int = 0
    line: CodeLine | None = None
    relocation: Relocation | None = None

    @property
    def allows_label(self) -> bool:
        """Whether a label may stand before the statement: not within a bundle."""
        return self.line is None or self.line.role != "aux"

    def text(self, expression: str = "") -> str:
        """The statement; `expression` is what the relocation refers to, with its addend."""
        if self.line is not None and self.relocation is not None:
            return _symbolic_text(self.line, self.relocation, expression)
        if self.line is not None:
            return self.line.text
        if self.relocation is not None:
            return _DIRECTIVES[self.relocation.type].format(expression)
        return f"{_PLAIN_DIRECTIVES[self.size]} {self.value:#0{2 + 2 * self.size}x}"


@dataclass(frozen=True, slots=True)
class CutSection:
    """A section in pieces.

    `label_places` are the offsets where a label may stand, `lost` the relocations that no statement
    can make. `lines` are the words as code, if the section is executable.
    """

    section: Section
    pieces: list[Piece]
    label_places: frozenset[int]
    lost: list[Relocation]
    lines: list[CodeLine]


def cut_section(
    section: Section, relocations: Sequence[Relocation], breaks: Collection[int]
) -> CutSection:
    """The pieces of `section`, in order and without gaps.

    `relocations` are those that the statements shall make. `breaks` are offsets where labels shall
    stand: data is cut there, instructions are not. Pieces of a NOBITS section have any size.
    """
    cutter = _Cutter(section, relocations, breaks)
    if section.type == SectionType.NOBITS:
        cutter.cut_space()
    elif section.is_executable:
        cutter.cut_code()
    else:
        cutter.cut_data(0, len(section.data))
    places = {piece.offset for piece in cutter.pieces if piece.allows_label} | {0, section.size}
    return CutSection(section, cutter.pieces, frozenset(places), cutter.lost, cutter.lines)


class _Cutter:
    """Cuts one section, from front to back."""

    def __init__(
        self, section: Section, relocations: Sequence[Relocation], breaks: Collection[int]
    ) -> None:
        self.pieces: list[Piece] = []
        self.lines: list[CodeLine] = []
        self.lost: list[Relocation] = []
        self._section = section
        self._data = section.data
        self._relocations: dict[int, Relocation] = {}
        self._keep_disjoint(relocations)
        self._stops = sorted({*breaks, *self._relocations})

    def _keep_disjoint(self, relocations: Sequence[Relocation]) -> None:
        """Of relocations that overlap, the first counts."""
        end = 0
        for relocation in sorted(relocations, key=lambda each: each.offset):
            rule = RULES.get(relocation.type)
            if rule is None or not end <= relocation.offset <= len(self._data) - rule.width:
                self.lost.append(relocation)
                continue
            self._relocations[relocation.offset] = relocation
            end = relocation.offset + rule.width

    def cut_space(self) -> None:
        start = 0
        while start < self._section.size:
            end = self._next_stop(start, self._section.size)
            self.pieces.append(Piece(start, end - start))
            start = end

    def cut_code(self) -> None:
        """Instructions, but data where a relocation fits no operand; and the odd bytes."""
        end = len(self._data) - len(self._data) % WORD_SIZE
        words = np.frombuffer(self._data[:end], dtype="<u4").astype(np.uint32)
        by_word = self._by_word()
        in_operands = {
            position: relocations[0]
            for position, relocations in by_word.items()
            if len(relocations) == 1 and _fits(int(words[position]), relocations[0])
        }
        is_no_operand = by_word.keys() - in_operands
        self.lines = disassemble_words(words, self._section.address, is_no_operand)
        is_data = [
            position in by_word and (position not in in_operands or line.form is None)
            for position, line in enumerate(self.lines)
        ]
        start = 0
        for position, line in enumerate(self.lines):
            if is_data[position]:
                continue
            # A relocation of 8 bytes may start in one word of data and end in the next.
            self.cut_data(start, position * WORD_SIZE)
            start = (position + 1) * WORD_SIZE
            self.pieces.append(
                Piece(start - WORD_SIZE, WORD_SIZE, line.word, line, in_operands.get(position))
            )
        self.cut_data(start, len(self._data))

    def cut_data(self, start: int, end: int) -> None:
        """Words, and single bytes where a break, a relocation or the end comes too soon."""
        while start < end:
            piece = self._relocated_piece(start) if start in self._relocations else None
            if piece is None:
                room = self._next_stop(start, end) - start
                piece = self._plain_piece(start, WORD_SIZE if room >= WORD_SIZE else 1)
            self.pieces.append(piece)
            start += piece.size

    def _by_word(self) -> dict[int, list[Relocation]]:
        """The relocations that touch each whole word."""
        by_word: dict[int, list[Relocation]] = {}
        for relocation in self._relocations.values():
            last = relocation.offset + RULES[relocation.type].width - 1
            for position in range(relocation.offset // WORD_SIZE, last // WORD_SIZE + 1):
                if (position + 1) * WORD_SIZE <= len(self._data):
                    by_word.setdefault(position, []).append(relocation)
        return by_word

    def _relocated_piece(self, offset: int) -> Piece:
        relocation = self._relocations[offset]
        rule = RULES[relocation.type]
        piece = self._plain_piece(offset, rule.width)
        kept = piece.value & ~sum((2 << high) - (1 << low) for high, low in rule.fields)
        if kept or relocation.type not in _DIRECTIVES:
            self.lost.append(relocation)
            return piece
        return Piece(offset, rule.width, piece.value, relocation=relocation)

    def _plain_piece(self, offset: int, size: int) -> Piece:
        return Piece(offset, size, int.from_bytes(self._data[offset : offset + size], "little"))

    def _next_stop(self, start: int, end: int) -> int:
        index = bisect_right(self._stops, start)
        return min(self._stops[index], end) if index < len(self._stops) else end


def _fits(word: int, relocation: Relocation) -> bool:
    """Whether an operand of the word's instruction makes the relocation, which is in the word."""
    instruction = decode(word)
    if instruction is None or relocation.offset % WORD_SIZE:
        return False
    return any(_makes(operand, relocation) for operand in instruction.form.operands)


def _makes(operand: Operand, relocation: Relocation) -> bool:
    kind, width = _OPERANDS.get(relocation.type, (None, None))
    return operand.kind is kind and width in (None, operand.field.width)


def _symbolic_text(line: CodeLine, relocation: Relocation, expression: str) -> str:
    """The instruction with `expression` for its relocated operand; never an alias such as `nop`."""
    instruction = decode(line.word)
    assert instruction is not None, "relocations are placed in instructions"
    operands = ", ".join(
        expression if _makes(operand, relocation) else operand.text(value)
        for operand, value in zip(instruction.form.operands, instruction.values, strict=True)
    )
    return with_braces(f"{instruction.form.mnemonic} {operands}", line.role)
