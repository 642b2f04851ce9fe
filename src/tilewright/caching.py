"""Where compiled code is kept between processes, and what it depends on."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

DIRECTORY_VARIABLE = "TILEWRIGHT_CACHE"
"""The environment variable that says where caches are kept; empty for none."""


def cache_directory(kind: str) -> Path | None:
    """The folder for one kind of code: in $TILEWRIGHT_CACHE, or else in the user's cache folder.

    None if nothing is to be kept.
    """
    place = os.environ.get(DIRECTORY_VARIABLE)
    if place is None:
        return Path.home() / ".cache" / "tilewright" / kind
    return Path(place) / kind if place else None


def source_digest(packages: Iterable[str]) -> str:
    """A hash of the text of packages, those inside them included: their code and their tables."""
    digest = hashlib.sha256()
    for package in packages:
        for name, content in sorted(_files(resources.files(package), package)):
            digest.update(name.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for item in folder.iterdir():
        name = f"{prefix}/{item.name}"
        if item.is_dir():
            yield from _files(item, name)
        elif item.name.endswith((".py", ".txt")):
            yield name, item.read_bytes()
