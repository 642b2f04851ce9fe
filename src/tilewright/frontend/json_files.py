"""Reading small JSON files that nobody vouches for: size, depth and kinds of values are checked."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.files import FileError, read_bytes

MOST_BYTES = 1 << 20
"""Of a file of settings; those of real checkpoints have a few kilobytes."""


@dataclass(frozen=True, slots=True)
class Settings:
    """A JSON object whose values are asked for by key and kind.

    What is missing or of the wrong kind becomes a line in `faults`, and the answer is then the
    default, or a harmless number of the right kind, so that reading can go on to the next fault.
    Null counts as missing.
    """

    name: str
    values: Mapping[str, Any]
    faults: list[str]

    def whole(self, key: str, default: int | None = None, *, least: int = 1, most: int) -> int:
        """A whole number from `least` to `most`. Without a default the key is needed."""
        value = self._value(key, default)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        self._refuse(key, value, f"a whole number from {least} to {most}")
        return least

    def number(self, key: str, default: float, *, least: float, most: float) -> float:
        """A number from `least` to `most`."""
        value = self._value(key, default)
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and least <= value <= most
        ):
            return float(value)
        self._refuse(key, value, f"a number from {least:g} to {most:g}")
        return default

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            self._refuse(key, value, "true or false")
        return value is True

    def text(self, key: str, default: str | None = None) -> str:
        """A string. Without a default the key is needed."""
        value = self._value(key, default)
        if isinstance(value, str):
            return value
        self._refuse(key, value, "a string")
        return ""

    def choice(self, key: str, options: Iterable[str], default: str | None = None) -> str | None:
        """One of `options`; `None` if it is none of them. Without a default the key is needed."""
        value = self._value(key, default)
        known = tuple(options)
        if isinstance(value, str) and value in known:
            return value
        found = "is missing" if value is None else f"is {quoted(value)}"
        self.fault(key, f"{found}; supported: {', '.join(known)}")
        return None

    def fault(self, key: str, message: str) -> None:
        """Note that the value of `key` will not do."""
        self.faults.append(f"{self.name}: {key} {message}")

    def _value(self, key: str, default: Any) -> Any:
        value = self.values.get(key)
        return default if value is None else value

    def _refuse(self, key: str, value: Any, expected: str) -> None:
        if self.values.get(key) is None:
            self.fault(key, f"is missing; it must be {expected}")
        else:
            self.fault(key, f"is {quoted(value)}; it must be {expected}")


def quoted(value: Any, most: int = 60) -> str:
    """A JSON value as in messages: on one line, cut to about `most` characters."""
    try:
        text = json.dumps(value)
    except (RecursionError, ValueError):  # nested too deep, or a number of thousands of digits
        return f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[:most]}…"


def shown(text: str) -> str:
    """Text from a file as in messages: as it is, unless it is long or does not print."""
    return text if text.isprintable() and len(text) <= 200 else quoted(text, 200)


def read_settings(path: Path, name: str, faults: list[str]) -> Settings | None:
    """The object in the file at `path`, called `name` in messages; `None` if there is none."""
    value = read_json(path, name, faults)
    if value is None:
        return None
    if not isinstance(value, dict):
        faults.append(f"{name}: expected an object, found {quoted(value)}")
        return None
    return Settings(name, value, faults)


def read_json(path: Path, name: str, faults: list[str]) -> Any:
    """The value in the file at `path`; `None`, and a line in `faults`, if it cannot be read."""
    content = read_small(path, name, MOST_BYTES, faults)
    if content is None:
        return None
    try:
        value = json.loads(content, parse_constant=_refuse_constant)
    except RecursionError:
        faults.append(f"{name}: nested too deep to be settings")
        return None
    except ValueError as fault:  # includes bytes that are no UTF-8
        faults.append(f"{name}: not JSON: {shown(str(fault))}")
        return None
    if value is None:
        faults.append(f"{name}: expected settings, found null")
    return value


def read_small(path: Path, name: str, most: int, faults: list[str]) -> bytes | None:
    """The content of a regular file of at most `most` bytes; otherwise `None`, and a fault."""
    try:
        if not path.is_file():
            faults.append(f"{name}: there is no such file")
            return None
        if path.stat().st_size > most:
            faults.append(f"{name}: larger than {most} bytes, which no such file should be")
            return None
        return read_bytes(path)
    except (FileError, OSError) as fault:
        faults.append(f"{name}: {fault}")
        return None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")
