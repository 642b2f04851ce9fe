"""What commands print of texts that others have written: names in files, say."""

import sys
from io import TextIOWrapper

_KEPT = "\n\t"


def printable(text: str, kept: str = _KEPT) -> str:
    """A text whose control characters, which could do anything to a terminal, are escapes."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in kept else each.encode("unicode_escape").decode()
        for each in text
    )


def print_lines(lines: list[str]) -> None:
    """Print texts that are lines, whatever names they hold."""
    for line in lines:
        print(printable(line, ""))


def print_anything() -> None:
    """Print characters that the output's encoding lacks as escapes, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
