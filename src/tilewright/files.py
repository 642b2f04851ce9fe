"""Reading and writing files so that a failed run leaves no half-written one."""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tilewright.errors import TilewrightError

_PREFIX_LENGTH = 50
"""Characters, each of which may take four of the 255 bytes of a name."""


class FileError(TilewrightError):
    """A file that cannot be read or written; the message names it and the reason."""


def read_bytes(path: Path) -> bytes:
    """The content of `path`. Raises `FileError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error


def open_at_once(path: str, flags: int) -> int:
    """An opener for `open` that does not wait for a writer, in case that the path names a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def check_writable(path: Path) -> None:
    """That `path` can be written, as far as can be known before long work. Raises `FileError`."""
    try:
        place = path.resolve() if path.is_symlink() else path
        folder = place.parent
        if place.is_dir():
            raise FileError(f"cannot write {path}: it is a folder")
        if not folder.is_dir():
            raise FileError(f"cannot write {path}: there is no folder {folder}")
        if place.exists() and not place.is_file():
            if not os.access(place, os.W_OK):
                raise FileError(f"cannot write {path}: permission denied")
            return
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise FileError(
            f"cannot write {path}: the folder {folder} takes no file ({error.strerror})"
        ) from error


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write `content` (text as UTF-8) to `path`, whole or not at all. Raises `FileError`."""
    with writing_atomically(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def writing_atomically(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which replaces `path` when the block ends without an exception.

    Until then the content has no name where the system allows that, so that even a process that
    is killed leaves nothing behind; elsewhere it is a temporary file in the same folder. What a
    link leads to is replaced, not the link. Devices and pipes are written to. Raises `FileError`
    for what the system refuses, inside the block as well.
    """
    try:
        place = path.resolve() if path.is_symlink() else path
        if place.exists() and not place.is_file():
            opened: AbstractContextManager[BinaryIO] = place.open("wb")
        else:
            opened = _unnamed_file(place) or _temporary_file(place)
        with opened as file:
            yield file
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def _temporary_file(path: Path) -> Iterator[BinaryIO]:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=_hidden_prefix(path))
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _unnamed_file(path: Path) -> AbstractContextManager[BinaryIO] | None:
    """None where files without a name are not to be had."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        handle = os.open(path.parent, flag | os.O_WRONLY, 0o666)
    except OSError:
        return None  # also where the folder is missing, which the other way reports
    return _named_at_end(handle, path)


@contextmanager
def _named_at_end(handle: int, path: Path) -> Iterator[BinaryIO]:
    with os.fdopen(handle, "wb") as file:
        yield file
        file.flush()
        name = _free_name(path)
        # A link replaces no file, so the whole content gets a name of its own first.
        _link(handle, name)
        try:
            os.replace(name, path)
        except OSError:
            with suppress(OSError):
                os.unlink(name)
            raise


def _link(handle: int, name: str) -> None:
    """Give an open file a name. Only beside a folder does `os.link` follow what /proc holds."""
    folder = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.link(str(handle), name, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _free_name(path: Path) -> str:
    return str(path.parent / f"{_hidden_prefix(path)}{secrets.token_hex(8)}")


def _hidden_prefix(path: Path) -> str:
    """Of names beside `path`, which may be as long as names may be."""
    return f".{path.name[:_PREFIX_LENGTH]}."


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
