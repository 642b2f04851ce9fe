"""Source lines: where each comes from, without its comments, and how it splits into statements."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """Why a line is read: `reason` names the expansion or include, `line` holds its cause."""

    reason: str
    line: "Line"


@dataclass(slots=True)
class Line:
    """A line of source, comments blanked out.

    `file` and `number` (from 1) tell where its text was written, `origin` what brought it here.
    `is_rewritten`: macro expansion has changed the text, so columns are not those of the file.
    """

    text: str
    file: str
    number: int
    origin: Origin | None = None
    is_rewritten: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, stripped; `column` is where it starts in its line."""

    text: str
    column: int

    @property
    def end(self) -> int:
        """The column after its last."""
        return self.column + len(self.text)


class UnterminatedComment(Exception):
    """A `/*` without its `*/`; `number` is the line it starts on."""

    def __init__(self, number: int) -> None:
        super().__init__("unterminated comment")
        self.number = number


STRING = r'"(?:\\.|[^"\\\n])*"'
_C_COMMENTS = re.compile(rf"{STRING}|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?", re.DOTALL)
_ALL_COMMENTS = re.compile(rf"{STRING}|#[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?", re.DOTALL)
_HASH_COMMENT = re.compile(rf"{STRING}|#.*")
_NOT_NEWLINE = re.compile(r"[^\n]")
_NEWLINE = re.compile(r"\n")
_NOT_CONTINUED_NEWLINE = re.compile(r"[^\n\\]|\\(?!\r?\n)")
_PLAIN_NEWLINE = re.compile(r"(?<!\\)\n")


def blank_comments(text: str, hash_starts_comment: bool) -> str:
    """`text` with comments replaced by blanks, so that lines and columns stay.

    Where a comment over several lines stands inside a line, what follows it moves up to that line,
    and the newlines behind it. `#` starts a comment only if asked for: before preprocessing it
    starts a directive, and lines can be continued inside comments. Raises `UnterminatedComment`.
    """
    if "#" not in text and "/" not in text:
        return text
    pattern = _ALL_COMMENTS if hash_starts_comment else _C_COMMENTS
    hidden = _NOT_NEWLINE if hash_starts_comment else _NOT_CONTINUED_NEWLINE
    line_end = _NEWLINE if hash_starts_comment else _PLAIN_NEWLINE
    pieces: list[str] = []
    last, owed = 0, 0
    for match in pattern.finditer(text):
        found = match[0]
        if found.startswith('"'):
            continue
        if found.startswith("/*") and (len(found) < 4 or not found.endswith("*/")):
            raise UnterminatedComment(text.count("\n", 0, match.start()) + 1)
        before = text[last : match.start()]
        if owed and line_end.search(before):
            before, owed = line_end.sub("\n" * (owed + 1), before, count=1), 0
        blank = hidden.sub(" ", found)
        if "\n" in blank and _first_line(text, match.end()) and _last_line([*pieces, before]):
            owed += len(blank)
            blank = line_end.sub("", blank)
            owed -= len(blank)
        pieces += [before, blank]
        last = match.end()
    rest = text[last:]
    if owed and line_end.search(rest):
        rest, owed = line_end.sub("\n" * (owed + 1), rest, count=1), 0
    return "".join([*pieces, rest, "\n" * owed])


def _first_line(text: str, start: int) -> str:
    """What follows place `start` in its line, stripped."""
    end = text.find("\n", start)
    return text[start : len(text) if end < 0 else end].strip()


def _last_line(pieces: Sequence[str]) -> str:
    """The line in which the pieces end, stripped."""
    line = ""
    for piece in reversed(pieces):
        _, newline, tail = piece.rpartition("\n")
        line = tail + line
        if newline:
            break
    return line.strip()


def blank_hash_comment(text: str) -> str:
    """A line without its `#` comment."""
    if "#" not in text:
        return text
    return _HASH_COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else "", text)


_SEPARATOR = re.compile(rf'{STRING}|".*|[;{{}}]')
"""Strings hide separators; one without its end hides the rest of the line."""


def statements(text: str, start: int = 0) -> Iterator[Statement]:
    """The statements of a line from column `start` on. Braces are statements of their own."""
    if ";" not in text and "{" not in text and "}" not in text:
        yield from _statement(text, start, len(text))
        return
    for match in _SEPARATOR.finditer(text, start):
        if match[0][0] == '"':
            continue
        yield from _statement(text, start, match.start())
        if match[0] != ";":
            yield Statement(match[0], match.start())
        start = match.end()
    yield from _statement(text, start, len(text))


def _statement(text: str, start: int, end: int) -> Iterator[Statement]:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        yield Statement(stripped, start + len(piece) - len(piece.lstrip()))
