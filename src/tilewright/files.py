"""Reading and writing files so that a failed run leaves no half-written one."""

import os
import tempfile
from pathlib import Path

from tilewright.errors import TilewrightError


class FileError(TilewrightError):
    """A file that cannot be read or written; the message names it and the reason."""


def read_bytes(path: Path) -> bytes:
    """The content of `path`. Raises `FileError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write `content` (text as UTF-8) to `path`, whole or not at all. Raises `FileError`.

    The content goes to a temporary file in the same folder, which then replaces `path`.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as temporary:
            temporary.write(data)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise FileError(f"cannot write {path}: {error.strerror}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
