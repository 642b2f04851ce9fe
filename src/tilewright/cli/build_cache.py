"""Packages that were built before, by the content of all that they were made from.

Entries are written whole or not at all. The folder is bounded: what was not used for longest goes
first. What is damaged, and a folder that cannot be used, counts as nothing kept.
"""

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.caching import cache_directory, tilewright_digest
from tilewright.codegen.build import PackageConfig
from tilewright.errors import TilewrightError
from tilewright.files import read_bytes, write_atomically
from tilewright.graph import ComputeGraph
from tilewright.package import Application, open_package, write_package

LIMIT = 2 << 30
"""Bytes of packages that are kept at most."""
_PACKAGE, _NOTES = ".ipuexe", ".notes"


def build_key(
    graph: ComputeGraph, config: PackageConfig, parameters: Mapping[str, npt.ArrayLike] | None
) -> str:
    """A hash of all that a package is made from.

    These are the graph's text, the configuration, the runtime's source, names, types and bytes of
    parameters, tilewright's own files, and the versions of Python and NumPy. Raises `FileError` if
    the runtime's source cannot be read.
    """
    versions = (tilewright_digest(), sys.version, np.__version__)
    made_with = (repr(config.pipeline), config.toolchain.name)
    digest = hashlib.sha256(read_bytes(config.runtime))
    for part in (*versions, *made_with, str(graph)):
        digest.update(hashlib.sha256(part.encode()).digest())
    for name, values in sorted((parameters or {}).items()):
        array = np.ascontiguousarray(values)
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(hashlib.sha256(array.data).digest())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class BuildCache:
    """A folder of packages, each with notes; none if nothing is to be kept."""

    folder: Path | None
    limit: int = LIMIT

    def find(self, key: str) -> tuple[Application, dict[str, Any]] | None:
        """The package of a key, opened and compared with its hashes, and its notes."""
        if self.folder is None:
            return None
        package, notes = self._paths(self.folder, key)
        if not package.exists():
            return None
        try:
            kept = json.loads(_unsealed(read_bytes(notes)))
            application = open_package(package)
            application.verify()
        except (TilewrightError, ValueError):
            self._remove(package)
            return None
        with suppress(OSError):
            os.utime(package)
        return application, kept

    def keep(self, key: str, application: Application, notes: Mapping[str, Any]) -> None:
        """Keep a package under a key, if the folder can be written."""
        if self.folder is None:
            return
        package, beside = self._paths(self.folder, key)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(beside, _sealed(json.dumps(notes)))
            write_package(application, package)  # an entry exists when its package does
        except (OSError, TilewrightError):
            return
        self._evict(self.folder, package)

    def _evict(self, folder: Path, newest: Path) -> None:
        """Remove what was not used for longest, `newest` apart, until the rest fits."""
        entries = []
        for path in folder.glob(f"*{_PACKAGE}"):
            with suppress(OSError):  # another process has removed it
                status = path.stat()
                entries.append((path == newest, status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, _, size, _ in entries)
        for is_newest, _, size, path in sorted(entries):
            if total <= self.limit or is_newest:
                return
            self._remove(path)
            total -= size

    @staticmethod
    def _paths(folder: Path, key: str) -> tuple[Path, Path]:
        return folder / (key + _PACKAGE), folder / (key + _NOTES)

    @staticmethod
    def _remove(package: Path) -> None:
        for path in (package, package.with_suffix(_NOTES)):
            with suppress(OSError):
                path.unlink()


def _sealed(text: str) -> bytes:
    """A text behind a line with its hash."""
    content = text.encode()
    return hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def _unsealed(content: bytes) -> bytes:
    """Raises `ValueError` for what is not as it was written."""
    digest, _, text = content.partition(b"\n")
    if digest != hashlib.sha256(text).hexdigest().encode():
        raise ValueError("damaged")
    return text


def default_build_cache() -> BuildCache:
    """In $TILEWRIGHT_CACHE, or else in the user's cache folder."""
    return BuildCache(cache_directory("packages"))
