"""Source lines: where each comes from, without its comments, and how it splits into statements."""

import re
from collections.abc import Iterator
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


class UnterminatedComment(Exception):
    """A `/*` without its `*/`; `number` is the line it starts on."""

    def __init__(self, number: int) -> None:
        super().__init__("unterminated comment")
        self.number = number


_STRING = r'"(?:\\.|[^"\\\n])*"'
_C_COMMENTS = re.compile(rf"{_STRING}|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?", re.DOTALL)
_ALL_COMMENTS = re.compile(rf"{_STRING}|#[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?", re.DOTALL)
_HASH_COMMENT = re.compile(rf"{_STRING}|#.*")
_NOT_NEWLINE = re.compile(r"[^\n]")


def blank_comments(text: str, hash_starts_comment: bool) -> str:
    """`text` with comments replaced by blanks, so that lines and columns stay.

    `#` starts a comment only if asked for: before preprocessing it starts a directive.
    Raises `UnterminatedComment`.
    """
    pattern = _ALL_COMMENTS if hash_starts_comment else _C_COMMENTS
    if "#" not in text and "/" not in text:
        return text

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        if found.startswith('"'):
            return found
        if found.startswith("/*") and (len(found) < 4 or not found.endswith("*/")):
            raise UnterminatedComment(text.count("\n", 0, match.start()) + 1)
        return _NOT_NEWLINE.sub(" ", found)

    return pattern.sub(blank, text)


def blank_hash_comment(text: str) -> str:
    """A line without its `#` comment."""
    if "#" not in text:
        return text
    return _HASH_COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else "", text)


_SEPARATOR = re.compile(rf"{_STRING}|[;{{}}]")


def statements(text: str) -> Iterator[Statement]:
    """The statements of a line. Braces are statements of their own."""
    if ";" not in text and "{" not in text and "}" not in text:
        stripped = text.strip()
        if stripped:
            yield Statement(stripped, text.index(stripped[0]))
        return
    start = 0
    for match in _SEPARATOR.finditer(text):
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
