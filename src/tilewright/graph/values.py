"""Values, and places in the user's code."""

import json
import os
import sys
from dataclasses import dataclass

from tilewright.graph.faults import OperatorError
from tilewright.graph.types import ValueType

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
"""Where files of tilewright lie, spelled as the interpreter spells them in stack frames."""


@dataclass(frozen=True, slots=True)
class Location:
    """A line of the user's code, or a place in a graph's text (which has a column, from 1)."""

    file: str
    line: int
    column: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}"
        return place if self.column is None else f"{place}:{self.column}"


@dataclass(frozen=True, slots=True)
class Value:
    """Something that a graph computes with: a source, an operation's result, a body's argument.

    `id` is its creation number, unique in the whole graph. `name` is what the user called it: of a
    source its unique name, otherwise a label that may be empty.
    """

    id: int
    type: ValueType
    name: str = ""

    def __str__(self) -> str:
        """As in messages: `%3 "ffn up" f16[128, 1536]`."""
        return f"%{self.id}{f' {quoted(self.name)}' if self.name else ''} {self.type}"


def quoted(name: str) -> str:
    """`name` as the text form spells it: in double quotes, with JSON's escapes."""
    return json.dumps(name, ensure_ascii=not name.isprintable())


def user_location() -> Location | None:
    """The innermost line on the call stack that is not tilewright's own."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return Location(frame.f_code.co_filename, frame.f_lineno)
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None


def misuse(message: str) -> OperatorError:
    """An error that names the user's line."""
    location = user_location()
    return OperatorError(f"{location}: {message}" if location else message)
