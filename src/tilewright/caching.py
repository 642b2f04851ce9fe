"""Where compiled code and packages are kept between processes, and what they depend on."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

_PACKAGE = __name__.partition(".")[0]
_IMPORT = re.compile(
    r"^ *(?:from|import) +(?P<module>[\w.]+)(?: +import +(?P<names>\([^)]*\)|[^\n(]*))?",
    re.MULTILINE,
)
"""Told by their text, since that is faster; what only looks like an import does no harm."""

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


@lru_cache(maxsize=1)
def tilewright_digest() -> str:
    """A hash of every file of this package: modules, kernels, tables, schemas."""
    root, digest = Path(__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            name = path.relative_to(root).as_posix().encode()
            content = path.read_bytes()
            digest.update(b"%s\0%d\0" % (name, len(content)) + content)
    return digest.hexdigest()


def imports_digest(module: str) -> str:
    """A hash of the text of a module and of all that it imports of this package, however far.

    Tables beside these modules count as well. Raises `ValueError` for a module without a file.
    """
    pending, found = [module], dict[str, bytes]()
    while pending:
        name = pending.pop()
        if name not in found:
            source = _source(name)
            found[name] = source.content
            pending += source.imports
    digest = hashlib.sha256()
    for name, content in sorted(found.items()):
        digest.update(name.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class _Source:
    """The text of a module with the tables beside it, and what it imports of this package."""

    content: bytes
    imports: tuple[str, ...]


@lru_cache
def _source(module: str) -> _Source:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"module {module} has no file")
    place = Path(spec.origin)
    text = place.read_bytes()
    tables = [each.read_bytes() for each in sorted(place.parent.glob("*.txt"))]
    own = {name for name in _imported(text.decode()) if name.split(".")[0] == _PACKAGE}
    imports = sorted(name for name in own if _is_module(name))
    return _Source(b"\0".join([text, *tables]), tuple(imports))


def _imported(text: str) -> Iterator[str]:
    """Names that may be modules of this package; its modules import each other by full names."""
    for match in _IMPORT.finditer(text):
        module, names = match["module"], re.findall(r"\w+", match["names"] or "")
        yield module
        yield from (f"{module}.{name}" for name in names)


def _is_module(name: str) -> bool:
    parent = name.rpartition(".")[0]
    return (not parent or _is_package(parent)) and find_spec(name) is not None


@lru_cache
def _is_package(name: str) -> bool:
    spec = find_spec(name) if _is_module(name) else None
    return spec is not None and spec.submodule_search_locations is not None


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for item in folder.iterdir():
        name = f"{prefix}/{item.name}"
        if item.is_dir():
            yield from _files(item, name)
        elif item.name.endswith((".py", ".txt")):
            yield name, item.read_bytes()
