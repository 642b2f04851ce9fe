"""Compiled translations on disk, so that another process need not compile them again.

An entry's name is a hash of everything that it depends on. Entries are written whole or not at all;
what is damaged anyway counts as missing.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tilewright.caching import cache_directory, source_digest
from tilewright.emulator.llvm.control import FloatControl
from tilewright.emulator.llvm.host import Host
from tilewright.files import FileError, write_atomically

_SOURCES = ("tilewright.isa", "tilewright.isa.meaning", "tilewright.emulator", "tilewright.target")
"""Packages whose text decides on what is translated, and how."""


@dataclass(frozen=True, slots=True)
class CompiledCode:
    """An object file, what it needs from outside, and the words that it was made from."""

    content: bytes
    requirements: tuple[str, ...]
    words: dict[int, int]


class ObjectCache:
    """A directory of compiled code. Without a directory nothing is kept."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def find(
        self, key: str, are_in_memory: Callable[[dict[int, int]], bool]
    ) -> CompiledCode | None:
        """The code under `key` whose words (by address) are those in memory."""
        if self._directory is None:
            return None
        for path in sorted(self._directory.glob(f"{key}-*")):
            code = _read(path)
            if code is not None and are_in_memory(code.words):
                return code
        return None

    def store(self, key: str, code: CompiledCode) -> None:
        """Keep code. A directory that cannot be written keeps nothing."""
        if self._directory is None:
            return
        content = _pack(code)
        words = hashlib.sha256(json.dumps(sorted(code.words.items())).encode()).hexdigest()
        path = self._directory / f"{key}-{words[:16]}"
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
        except (OSError, FileError):
            return


def default_cache() -> ObjectCache:
    """In $TILEWRIGHT_CACHE, or else in the user's cache directory."""
    return ObjectCache(cache_directory("worker-code"))


def cache_key(entry: int, control: FloatControl, host: Host) -> str:
    """What an entry depends on, but for the words of the code."""
    parts = [_version(), host.signature, f"{entry:#x}", repr(control)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


@lru_cache(maxsize=1)
def _version() -> str:
    """A hash of the table, the meanings, the formats and the translator."""
    return source_digest(_SOURCES)


_MAGIC = b"tilewright worker code 1\n"
_DIGEST_SIZE = 32


def _pack(code: CompiledCode) -> bytes:
    head = json.dumps([list(code.requirements), sorted(code.words.items())]).encode()
    body = len(head).to_bytes(8, "little") + head + code.content
    return _MAGIC + hashlib.sha256(body).digest() + body


def _read(path: Path) -> CompiledCode | None:
    try:
        packed = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST_SIZE
    body = packed[start:]
    if packed[:start] != _MAGIC + hashlib.sha256(body).digest():
        return None
    size = int.from_bytes(body[:8], "little")
    requirements, words = json.loads(body[8 : 8 + size])
    return CompiledCode(body[8 + size :], tuple(requirements), dict(words))
