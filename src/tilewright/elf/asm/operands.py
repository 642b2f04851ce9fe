"""Operands of instructions: text to registers and expressions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.elf.asm.diagnostics import Fault
from tilewright.elf.asm.expressions import Half, Node, Number, parse_expression
from tilewright.isa import RegisterError, parse_register
from tilewright.target.csr import CSRS, Csr


@dataclass(frozen=True, slots=True)
class RegisterOperand:
    """A register or group as it stands in the text; `signature` as in `Operand.signature`."""

    file: str
    first: int
    count: int
    suffix: str
    signature: str


@dataclass(frozen=True, slots=True)
class ImmediateOperand:
    """An expression. `is_literal`: made of numbers only, so its value never changes.

    `csr`: the operand is the name of that control register.
    """

    node: Node
    is_literal: bool
    csr: Csr | None = None
    warns: bool = False
    signature: str = "i"


TextOperand = RegisterOperand | ImmediateOperand

_COMMA = re.compile(r'"(?:\\.|[^"\\])*"|,')
_REGISTER = re.compile(r"(\$\w+(?::\d\w*)?)(\+=|\+\+|>>|@)?(:B[LU]?)?")


def operand_spans(text: str) -> Iterator[tuple[int, int]]:
    """First and last column of each comma-separated operand, blanks trimmed."""
    start = 0
    for end in (*_commas(text), len(text)):
        piece = text[start:end]
        stripped = piece.strip()
        first = start + len(piece) - len(piece.lstrip()) if stripped else start
        yield first, first + len(stripped)
        start = end + 1


def split_operands(text: str) -> list[str]:
    """The comma-separated operands, blanks trimmed; none for an empty text."""
    if '"' in text:
        return [text[start:end] for start, end in operand_spans(text)]
    return [piece.strip() for piece in text.split(",")] if text else []


def _commas(text: str) -> Iterator[int]:
    for match in _COMMA.finditer(text):
        if match[0] == ",":
            yield match.start()


class OperandParser:
    """Parses operand texts, remembering what it has seen.

    With `allow_misaligned`, register groups may start anywhere and are rounded down.
    """

    def __init__(self, allow_misaligned: bool) -> None:
        self._allow_misaligned = allow_misaligned
        self._known: dict[str, TextOperand] = {}

    def parse(self, text: str) -> TextOperand:
        """The operand that `text` denotes. Raises `Fault` with columns in `text`."""
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._parse(text)
        return known

    def _parse(self, text: str) -> TextOperand:
        if not text:
            raise Fault("expected an operand")
        if text[0] == "$":
            operand = self._register(text)
            if operand is not None:
                return operand
            if text[1:] in CSRS:
                csr = CSRS[text[1:]]
                return ImmediateOperand(Number(csr.index), is_literal=True, csr=csr)
        expression = parse_expression(text)
        if expression.modifier:
            raise Fault(f"'@{expression.modifier}' is for data directives only")
        is_literal = isinstance(expression.node, Number | Half)
        return ImmediateOperand(
            expression.node, is_literal, warns=expression.reads_differently_in_c
        )

    def _register(self, text: str) -> RegisterOperand | None:
        """The register at the start of `text`; None if a symbol or CSR starts it."""
        match = _REGISTER.match(text)
        if match is None:
            return None
        name, suffix, broadcast = match[1], match[2] or "", match[3] or ""
        try:
            register = parse_register(name, self._allow_misaligned)
        except RegisterError as error:
            raise Fault(str(error), 0, len(name)) from None
        if register is None:
            self._check_group_text(name)
            return None
        if match.end() < len(text):
            raise _trailing(text, match.end(), name)
        file, first, count = register
        group = file * {1: 1, 2: 2}.get(count, 1) + {4: "q", 8: "o"}.get(count, "")
        return RegisterOperand(file, first, count, suffix, group + suffix + broadcast)

    def _check_group_text(self, name: str) -> None:
        base, colon, _ = name.partition(":")
        if colon and parse_register(base) is not None:
            raise Fault(
                f"no register group {name}: expected two numbers, as in $a0:1", 0, len(name)
            )


def _trailing(text: str, place: int, register: str) -> Fault:
    rest = text[place:]
    if rest[0].isspace():
        start = place + len(rest) - len(rest.lstrip())
        return Fault(f"missing comma after {register}", start, start + 1)
    if re.match(r":[A-Za-z]", rest):
        return Fault(f"no register group {text}: expected numbers, :B, :BL or :BU", 0, len(text))
    return Fault(f"unexpected '{rest}' after register {register}", place, len(text))
