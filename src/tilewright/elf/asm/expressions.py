"""Expressions: text to trees, and trees to values.

A value is a number, or a symbol plus a number. What is known when a statement is read is bound at
once (the location counter, labels, variables as they are then); names that are still unknown stay
in the tree and are looked up again at the end of the file.

Operators bind, from loosest to tightest: `||`, `&&`, comparisons, `+ -`, `| ^ & !`, `* / % << >>`,
unary `- + ~ !`. That is the ELF table of the vendor's code base, inferred; C binds differently, so
an unparenthesised expression that C would read otherwise draws a warning. Comparisons give -1 for
true, as GNU as does (assumed). Arithmetic is that of 64 bits; division truncates.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from tilewright.elf.asm.diagnostics import Fault
from tilewright.elf.object import Symbol
from tilewright.target.formats import F16


@dataclass(frozen=True, slots=True)
class Value:
    """`symbol + offset`, or the number `offset` if there is no symbol."""

    offset: int
    symbol: Symbol | None = None

    @property
    def is_number(self) -> bool:
        return self.symbol is None


@dataclass(frozen=True, slots=True)
class Number:
    """A number."""

    value: int


@dataclass(frozen=True, slots=True)
class Half:
    """A half-precision literal: a bit pattern, so that its minus flips the sign bit."""

    bits: int


@dataclass(frozen=True, slots=True)
class Name:
    """A symbol, or with `is_local` a numeric label such as `1f`. Columns `start` to `end`.

    `is_quoted`: the name stood in quotes, so it is no control register.
    `instance`: which `1:` of the file a forward reference means, once that is bound.
    """

    text: str
    start: int
    end: int
    is_local: bool = False
    is_quoted: bool = False
    instance: int | None = None


@dataclass(frozen=True, slots=True)
class Here:
    """The location counter."""


@dataclass(frozen=True, slots=True)
class Unary:
    """An operator before its operand."""

    operator: str
    operand: "Node"


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between its operands. `start` is the operator's column."""

    operator: str
    left: "Node"
    right: "Node"
    start: int


Node = Number | Half | Name | Here | Unary | Binary | Value


class Scope(Protocol):
    """What names mean at some moment."""

    def here(self) -> Value:
        """The location counter."""

    def lookup(self, name: Name) -> Node | None:
        """What a name stands for, None if that is not known yet."""


class UnknownName(Exception):
    """A value was needed of a name that has none (yet)."""

    def __init__(self, name: Name) -> None:
        super().__init__(name.text)
        self.name = name


# -- text to tree ---------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<half>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?h\b | infh\b)
    | (?P<real>\d+\.\d*(?:[eE][+-]?\d+)?f?\b | \d+\. | \.\d+(?:[eE][+-]?\d+)?f?\b)
    | (?P<number>0[xX][0-9a-fA-F]+\b | 0[bB][01]+\b | \d+\b)
    | (?P<local>\d+[fb]\b)
    | (?P<name>[A-Za-z_$][\w.$@]*|\.[A-Za-z_$@][\w.$@]*)
    | (?P<quoted>"(?:\\.|[^"\\])+")
    | (?P<here>\.)
    | (?P<operator>\|\||&&|==|!=|<>|<<|>>|<=|>=|[-+*/%|^&!~<>()])
    )""",
    re.VERBOSE,
)

_WORD = re.compile(r"\w[\w.]*")

_ELF_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("==", "!=", "<>", "<", "<=", ">", ">="),
    ("+", "-"),
    ("|", "^", "&", "!"),
    ("*", "/", "%", "<<", ">>"),
)
_C_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|", "!"),
    ("^",),
    ("&",),
    ("==", "!=", "<>"),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)

_MODIFIERS = re.compile(r"@(relative@16@s2|abs18@s2|abs19@s2|abs@21|16@s[345])$")


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression. `modifier` is what follows it after `@` (data directives only).

    `reads_differently_in_c`: without parentheses that C's precedence would place elsewhere.
    """

    node: Node
    modifier: str = ""
    reads_differently_in_c: bool = False


@lru_cache(maxsize=65536)
def parse_expression(text: str) -> Expression:
    """Parse all of `text`. Raises `Fault` with columns in `text`."""
    body, modifier = text, ""
    if "@" in text and (match := _MODIFIERS.search(text)):
        body, modifier = text[: match.start()], match[1]
    tokens = _tokenise(body)
    try:
        node = _Parser(tokens, len(body), _ELF_LEVELS).parse()
        differs = len(tokens) > 4 and node != _Parser(tokens, len(body), _C_LEVELS).parse()
    except RecursionError:
        raise Fault(_TOO_DEEP) from None
    return Expression(node, modifier, differs)


_TOO_DEEP = "expression is nested too deeply"


_MAX_DEPTH = 64
"""Parentheses and unary operators inside each other."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def _tokenise(text: str) -> list[_Token]:
    tokens = []
    place = 0
    end = len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            start = place + len(text[place:]) - len(text[place:].lstrip())
            word = _WORD.match(text, start)
            if word is not None:
                raise Fault(f"not a number: {word[0]}", *word.span())
            raise Fault(f"unexpected '{text[start]}' in expression", start, start + 1)
        kind = match.lastgroup
        start = match.start(kind)
        if kind == "real":
            raise Fault(f"real number without the suffix 'h': {match[kind]}", start, match.end())
        tokens.append(_Token(kind, match[kind], start, match.end()))
        place = match.end()
    return tokens


class _Parser:
    """Precedence climbing over a list of tokens."""

    def __init__(
        self, tokens: list[_Token], length: int, levels: tuple[tuple[str, ...], ...]
    ) -> None:
        self._tokens = tokens
        self._length = length
        self._levels = {
            operator: level for level, operators in enumerate(levels) for operator in operators
        }
        self._next = 0
        self._depth = 0

    def parse(self) -> Node:
        if not self._tokens:
            raise Fault("expected an expression")
        node = self._binary(0)
        if self._next < len(self._tokens):
            token = self._tokens[self._next]
            raise Fault(f"unexpected '{token.text}' after expression", token.start, token.end)
        return node

    def _binary(self, lowest: int) -> Node:
        node = self._unary()
        while self._next < len(self._tokens):
            token = self._tokens[self._next]
            level = self._levels.get(token.text, -1) if token.kind == "operator" else -1
            if level < lowest:
                break
            self._next += 1
            node = Binary(token.text, node, self._binary(level + 1), token.start)
        return node

    def _unary(self) -> Node:
        if self._next == len(self._tokens):
            raise Fault("expected a value at the end of this", max(self._length - 1, 0))
        token = self._tokens[self._next]
        self._next += 1
        if token.kind != "operator":
            return _leaf(token)
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise Fault(_TOO_DEEP, token.start, token.end)
        node = self._prefixed(token)
        self._depth -= 1
        return node

    def _prefixed(self, token: _Token) -> Node:
        if token.text == "(":
            return self._parenthesised(token)
        if token.text not in ("-", "+", "~", "!"):
            raise Fault(f"expected a value, found '{token.text}'", token.start, token.end)
        operand = self._unary()
        if isinstance(operand, Half) and token.text in "+-":
            return Half(operand.bits ^ (F16.sign_bit if token.text == "-" else 0))
        if isinstance(operand, Number):
            return Number(_UNARY[token.text](operand.value))
        return Unary(token.text, operand)

    def _parenthesised(self, opening: _Token) -> Node:
        node = self._binary(0)
        if self._next == len(self._tokens) or self._tokens[self._next].text != ")":
            raise Fault("this parenthesis is not closed", opening.start, opening.end)
        self._next += 1
        return node


def _leaf(token: _Token) -> Node:
    match token.kind:
        case "number":
            return Number(_integer(token))
        case "half":
            return Half(_half(token))
        case "here":
            return Here()
        case "local":
            return Name(token.text, token.start, token.end, is_local=True)
        case "quoted":
            return Name(name_of(token.text), token.start, token.end, is_quoted=True)
        case _:
            return Name(token.text, token.start, token.end)


def _integer(token: _Token) -> int:
    text = token.text.lower()
    try:
        if text.startswith("0b"):
            value = int(text[2:], 2)
        elif len(text) > 1 and text[0] == "0" and text[1] != "x":
            value = int(text, 8)
        else:
            value = int(text, 0)
    except ValueError:
        raise Fault(f"not a number: {token.text}", token.start, token.end) from None
    if value >> 64:
        raise Fault(f"number does not fit 64 bits: {token.text}", token.start, token.end)
    return value


_MANTISSA_DIGITS = 1000
_EXPONENT_DIGITS = 4
"""Decimal exponents with more digits are far outside any format, and are clipped."""


def _half(token: _Token) -> int:
    if token.text == "infh":
        return F16.infinity
    mantissa, _, exponent = token.text[:-1].lower().partition("e")
    if len(mantissa) > _MANTISSA_DIGITS:
        raise Fault("this number has too many digits", token.start, token.end)
    digits = exponent.lstrip("+-").lstrip("0")[:_EXPONENT_DIGITS]
    power = int(digits or "0") * (-1 if exponent.startswith("-") else 1)
    return F16.encode(Fraction(mantissa) * Fraction(10) ** power)


def name_of(text: str) -> str:
    """The symbol or section that `text` names, in quotes or not.

    Raises `Fault` for names that an object cannot hold: with a zero character, or not UTF-8.
    """
    name = unquote(text) if text.startswith('"') else text
    if "\0" in name or (not name.isprintable() and any(0xD800 <= ord(c) < 0xE000 for c in name)):
        raise Fault("a name cannot hold a zero character or bytes that are not UTF-8")
    return name


def unquote(text: str) -> str:
    """The content of a double-quoted string, backslash escapes resolved.

    Bytes above 127 that are written as numbers become what `surrogateescape` encodes to them.
    """
    return _ESCAPE.sub(_unescaped, text[1:-1])


_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]+)|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def _unescaped(match: re.Match[str]) -> str:
    if match[3]:
        return _ESCAPES.get(match[3], match[3])
    byte = (int(match[1], 8) if match[1] else int(match[2], 16)) & 0xFF
    return chr(byte) if byte < 0x80 else chr(0xDC00 + byte)


# -- tree to value --------------------------------------------------------------------------------


def _wrap(value: int) -> int:
    """Into 64 bits: values from -2**63 to 2**64 - 1 stay as they are."""
    if -(1 << 63) <= value < 1 << 64:
        return value
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _truth(flag: bool) -> int:
    return -1 if flag else 0


def _divide(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _shift_left(left: int, right: int) -> int:
    return left << right if right < 64 else 0


_UNARY: Mapping[str, Callable[[int], int]] = {
    "-": lambda value: -value,
    "+": lambda value: value,
    "~": lambda value: ~value,
    "!": lambda value: int(not value),
}
_BINARY: Mapping[str, Callable[[int, int], int]] = {
    "||": lambda left, right: int(bool(left or right)),
    "&&": lambda left, right: int(bool(left and right)),
    "==": lambda left, right: _truth(left == right),
    "!=": lambda left, right: _truth(left != right),
    "<>": lambda left, right: _truth(left != right),
    "<": lambda left, right: _truth(left < right),
    "<=": lambda left, right: _truth(left <= right),
    ">": lambda left, right: _truth(left > right),
    ">=": lambda left, right: _truth(left >= right),
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "|": lambda left, right: left | right,
    "^": lambda left, right: left ^ right,
    "&": lambda left, right: left & right,
    "!": lambda left, right: left | ~right,
    "*": lambda left, right: left * right,
    "/": _divide,
    "%": lambda left, right: left - _divide(left, right) * right,
    "<<": _shift_left,
    ">>": lambda left, right: left >> min(right, 64),
}


def first_name(node: Node) -> str | None:
    """The first name in a tree, None if there is none."""
    match node:
        case Name(text):
            return text
        case Unary(_, operand):
            return first_name(operand)
        case Binary(_, left, right):
            return first_name(left) or first_name(right)
        case _:
            return None


def bind(node: Node, scope: Scope) -> Node:
    """The tree with everything put in that is known now; a `Value` or `Number` if all is.

    Raises `Fault`.
    """
    try:
        return _bind(node, scope)
    except RecursionError:
        raise Fault(_TOO_DEEP) from None


def _bind(node: Node, scope: Scope) -> Node:
    match node:
        case Here():
            return scope.here()
        case Name():
            found = scope.lookup(node)
            return node if found is None else found
        case Half(bits):
            return Number(bits)
        case Unary(operator, operand):
            return _fold(Unary(operator, _bind(operand, scope)))
        case Binary(operator, left, right, start):
            return _fold(Binary(operator, _bind(left, scope), _bind(right, scope), start))
        case _:
            return node


def _fold(node: Unary | Binary) -> Node:
    operands = (node.operand,) if isinstance(node, Unary) else (node.left, node.right)
    if all(isinstance(operand, Number | Value) for operand in operands):
        return evaluate(node)
    return node


def evaluate(node: Node) -> Value:
    """The value of a bound tree. Raises `UnknownName`, and `Fault` for what has no value."""
    match node:
        case Value():
            return node
        case Number(value):
            return Value(value)
        case Half(bits):
            return Value(bits)
        case Name():
            raise UnknownName(node)
        case Unary(operator, operand):
            return Value(_wrap(_UNARY[operator](_number(evaluate(operand), operator))))
        case Binary(operator, left, right, start):
            return _combine(operator, evaluate(left), evaluate(right), start)
        case Here():
            raise AssertionError("the location counter is bound when a statement is read")


def _number(value: Value, operator: str) -> int:
    if value.symbol is not None:
        raise Fault(f"'{operator}' needs a number, not the address of '{_shown(value.symbol)}'")
    return value.offset


def _shown(symbol: Symbol) -> str:
    """A symbol as the text names it: sections stand for the location counter, `1:` for `1b`."""
    return symbol.name.rstrip(":") or "."


def _combine(operator: str, left: Value, right: Value, start: int) -> Value:
    if operator == "+" and (left.is_number or right.is_number):
        return Value(_wrap(left.offset + right.offset), left.symbol or right.symbol)
    if operator == "-" and right.is_number:
        return Value(_wrap(left.offset - right.offset), left.symbol)
    if operator in _DISTANCE_OPERATORS and (distance := _distance(left, right)) is not None:
        return Value(_wrap(distance if operator == "-" else _BINARY[operator](distance, 0)))
    if not (left.is_number and right.is_number):
        raise Fault(_not_computable(operator, left, right), start, start + len(operator))
    if operator in ("/", "%") and right.offset == 0:
        raise Fault("division by zero", start, start + 1)
    if operator in ("<<", ">>") and right.offset < 0:
        raise Fault("shift by a negative number", start, start + 2)
    return Value(_wrap(_BINARY[operator](left.offset, right.offset)))


_DISTANCE_OPERATORS = ("-", "==", "!=", "<>", "<", "<=", ">", ">=")


def _distance(left: Value, right: Value) -> int | None:
    """`left - right` in bytes if both are places in one section, or one symbol."""
    one, other = left.symbol, right.symbol
    if one is None or other is None:
        return None
    if one is other:
        return left.offset - right.offset
    if one.section is None or one.section is not other.section:
        return None
    return one.value + left.offset - other.value - right.offset


def _not_computable(operator: str, left: Value, right: Value) -> str:
    names = [_shown(value.symbol) for value in (left, right) if value.symbol is not None]
    if operator == "-" and len(names) == 2:
        return (
            f"'{names[0]}' - '{names[1]}' is not a constant: "
            "both must be defined in the same section of this file"
        )
    return f"'{operator}' cannot be applied to the address of '{names[0]}'"
