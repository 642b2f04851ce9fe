"""Faults in assembly source as a good compiler reports them: place, line, caret, origin."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from tilewright.elf.asm.source import Line
from tilewright.errors import TilewrightError

MAX_ERRORS = 20
"""After this many errors the assembler stops looking for more."""


class Fault(Exception):
    """Raised inside the assembler for one fault in a piece of text.

    `start` and `end` are columns in that piece (0-based, half open), None for all of it.
    """

    def __init__(self, message: str, start: int | None = None, end: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end

    def shifted(self, origin: int, length: int) -> "Fault":
        """The same fault in the text of which this piece is `length` characters from `origin`."""
        start = 0 if self.start is None else self.start
        end = length if self.end is None else self.end
        return Fault(self.message, origin + start, origin + end)


class TooManyErrors(Exception):
    """Reading stops; what was found so far is in the `Diagnostics`."""


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a line: columns `start` to `end`, 0-based, half open."""

    line: Line
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning. `place` is None for faults that no source line shows."""

    severity: str
    message: str
    place: Place | None

    def __str__(self) -> str:
        """The message as printed, with source line, caret and the chain that led here."""
        if self.place is None:
            return f"{self.severity}: {self.message}"
        line = self.place.line
        column = self.place.start + 1
        head = f"{line.file}:{line.number}:{column}: {self.severity}: {self.message}"
        return "\n".join([head, *self._excerpt(), *_origins(line)])

    def _excerpt(self) -> Iterator[str]:
        assert self.place is not None
        line, start = self.place.line, self.place.start
        text = line.text.rstrip()
        # Tabs are kept before the caret, so that it stands under its column on any terminal.
        margin = "".join("\t" if char == "\t" else " " for char in text[:start])
        marks = "^" + "~" * (min(self.place.end, len(text)) - start - 1)
        yield f"{line.number:>5} | {text}"
        yield f"      | {margin}{marks}"
        if line.is_rewritten:
            yield "      (the line after macro expansion)"


_SHOWN_ORIGINS = 8
"""Of a longer chain, as endless recursion makes one, half of these are shown at each end."""


def _origins(line: Line) -> Iterator[str]:
    """Where the line comes from: macro expansions from the inside out, then includes."""
    chain = []
    origin = line.origin
    while origin is not None:
        chain.append(f"  {origin.reason} at {origin.line.file}:{origin.line.number}")
        origin = origin.line.origin
    half = _SHOWN_ORIGINS // 2
    if len(chain) > _SHOWN_ORIGINS:
        chain[half:-half] = [f"  … {len(chain) - _SHOWN_ORIGINS} more"]
    yield from chain


def in_order_of_text(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorted by the lines of the main file, which an expansion or include in them stands for."""
    return sorted(diagnostics, key=_line_of_main_file)


def _line_of_main_file(diagnostic: Diagnostic) -> float:
    if diagnostic.place is None:
        return math.inf
    line = diagnostic.place.line
    while line.origin is not None:
        line = line.origin.line
    return line.number


class AssemblyError(TilewrightError):
    """Source that does not assemble; `diagnostics` holds every error that was found."""

    heading = ""  # each diagnostic has its own

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        count = len(diagnostics)
        summary = f"{count} error{'s' if count > 1 else ''}"
        if count >= MAX_ERRORS:
            summary += " (there may be more)"
        super().__init__("\n".join([*map(str, diagnostics), summary]))


@dataclass(slots=True)
class Diagnostics:
    """The errors and warnings of one run, each reported once however often it is met."""

    errors: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    _seen: set[tuple[str, int, int, str]] = field(default_factory=set)

    def error(self, message: str, place: Place | None) -> None:
        """Record an error. Raises `TooManyErrors` at the limit."""
        if self._is_new(message, place):
            self.errors.append(Diagnostic("error", message, place))
        if len(self.errors) >= MAX_ERRORS:
            raise TooManyErrors

    def fatal(self, message: str, place: Place) -> NoReturn:
        """Record an error after which reading on is of no use. Raises `TooManyErrors`."""
        self.error(message, place)
        raise TooManyErrors

    def warn(self, message: str, place: Place | None) -> None:
        """Record a warning."""
        if self._is_new(message, place):
            self.warnings.append(Diagnostic("warning", message, place))

    def _is_new(self, message: str, place: Place | None) -> bool:
        """A line of a macro body that is wrong in each expansion is one fault."""
        if place is None:
            return True
        key = (place.line.file, place.line.number, place.start, message)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True
