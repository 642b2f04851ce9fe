"""The text form's tokens, and reading them one by one."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from tilewright.graph.faults import GraphTextError
from tilewright.graph.values import Location

T = TypeVar("T")

MOST_DIGITS = 20
"""Of a whole number; ids and extents need fewer."""

_TOKEN = re.compile(
    r"""
      (?P<blank>  [ \t\r\n]+ | \#[^\n]* )
    | (?P<string> "(?:[^"\\\n]|\\[^\n])*" )
    | (?P<id>     %[0-9]+ )
    | (?P<number> [-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)? )
    | (?P<word>   [A-Za-z_][A-Za-z_0-9]* )
    | (?P<mark>   [{}\[\],:=*^] )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is string, id, number, word, mark, or `end` after the last one."""

    kind: str
    text: str
    location: Location

    def __str__(self) -> str:
        return "the end of the text" if self.kind == "end" else self.text


def fault_at(location: Location, message: str) -> GraphTextError:
    return GraphTextError(f"{location}: {message}")


def tokens_of(text: str, file: str) -> Iterator[Token]:
    place, line, line_start = 0, 1, 0
    while place < len(text):
        location = Location(file, line, place - line_start + 1)
        found = _TOKEN.match(text, place)
        if found is None:
            what = "a string that does not end" if text[place] == '"' else repr(text[place])
            raise fault_at(location, f"found {what}, which is no part of a graph")
        kind = str(found.lastgroup)
        if kind != "blank":
            yield Token(kind, found.group(), location)
        newlines = found.group().count("\n")
        if newlines:
            line += newlines
            line_start = text.rindex("\n", place, found.end()) + 1
        place = found.end()
    yield Token("end", "", Location(file, line, place - line_start + 1))


class TokenReader:
    """Tokens in order, with one token of look-ahead."""

    def __init__(self, text: str, file: str) -> None:
        self._tokens = list(tokens_of(text, file))
        self._place = 0

    @property
    def next(self) -> Token:
        return self._tokens[self._place]

    @property
    def location(self) -> Location:
        return self.next.location

    def fail(self, expected: str) -> NoReturn:
        raise fault_at(self.location, f"expected {expected}, found {self.next}")

    def take(self, kind: str, what: str) -> Token:
        token = self.next
        if token.kind != kind:
            self.fail(what)
        self._place += 1
        return token

    def is_at(self, *texts: str) -> bool:
        """Whether the next token is one of these marks or words."""
        return self.next.kind in ("mark", "word") and self.next.text in texts

    def accept(self, text: str) -> bool:
        """Take the mark or word if it comes next."""
        if not self.is_at(text):
            return False
        self._place += 1
        return True

    def expect(self, text: str) -> None:
        if not self.accept(text):
            self.fail(f"`{text}`")

    def string(self, what: str) -> str:
        token = self.take("string", what)
        try:
            return str(json.loads(token.text))
        except ValueError as fault:
            raise fault_at(token.location, f"{token.text} is not a string: {fault}") from None

    def id(self) -> int:
        token = self.take("id", "a value such as %3")
        return self._whole(token, token.text[1:])

    def integer(self, what: str) -> int:
        token = self.take("number", what)
        return self._whole(token, token.text)

    def number(self, what: str) -> float:
        """A number; whole ones without a point as `int`."""
        token = self.take("number", what)
        if re.fullmatch("[-+]?[0-9]+", token.text):
            return self._whole(token, token.text)
        return float(token.text)

    def several(self, read_one: Callable[[], T]) -> list[T]:
        """One or more, with commas between."""
        items = [read_one()]
        while self.accept(","):
            items.append(read_one())
        return items

    def bracketed(self, read_one: Callable[[], T]) -> list[T]:
        """`[…]` with none or more, and commas between."""
        self.expect("[")
        if self.accept("]"):
            return []
        items = self.several(read_one)
        self.expect("]")
        return items

    def _whole(self, token: Token, digits: str) -> int:
        if len(digits) > MOST_DIGITS:
            raise fault_at(token.location, f"a number of {len(digits)} digits is too long")
        try:
            return int(digits)
        except ValueError:  # a point or exponent
            raise fault_at(token.location, f"expected a whole number, found {digits}") from None
