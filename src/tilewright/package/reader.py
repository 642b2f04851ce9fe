"""Opening packages: the manifest is read and checked whole, contents when they are used."""

import hashlib
import os
import stat
from pathlib import Path

from tilewright.files import FileError
from tilewright.package.application import Application
from tilewright.package.blobs import DIGEST_BYTES, MappedBlobs, blob_end
from tilewright.package.checks.application import validate
from tilewright.package.faults import FaultList, PackageError
from tilewright.package.layout import MAX_FILE, MAX_MANIFEST, blobs_start
from tilewright.package.manifest import decode_manifest
from tilewright.package.message import HEAD_BYTES, message_bytes

_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
"""Without waiting, in case that the path names a pipe."""


def open_package(path: Path) -> Application:
    """The application in a file, checked, with its contents mapped into memory.

    The manifest has to have its hash and to satisfy everything that loading relies on. A blob is
    compared with its hash when it is first used; `validate(…, hashes=True)` does that for all.
    Closing the application, or leaving its `with`, forgets the file. Raises `PackageError`, with
    all faults, and `FileError`.
    """
    try:
        handle = os.open(path, _FLAGS)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    try:
        return _opened(str(path), handle)
    except OSError as error:
        os.close(handle)
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    except BaseException:
        os.close(handle)
        raise


def _opened(what: str, handle: int) -> Application:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise PackageError(f"{what} is no regular file")
    if status.st_size > MAX_FILE:
        raise PackageError(f"{what} has {status.st_size:,} bytes; the limit is {MAX_FILE:,}")
    application = _read(what, handle, status.st_size)
    faults = validate(application)
    if faults:
        raise PackageError(f"{what} cannot be used", faults)
    return application


def _read(what: str, handle: int, size: int) -> Application:
    """The application, whose parts are not checked yet."""
    message = _manifest(what, handle, size)
    faults = FaultList()
    values, digests, sizes = decode_manifest(message, what, faults)
    start = blobs_start(len(message))
    end = start + blob_end(sizes)
    if end != size:
        faults.add("blobs", f"the file has {size:,} bytes; its blobs ask for {end:,}")
    if faults:
        raise PackageError(f"{what} cannot be used", faults.faults)
    blobs = MappedBlobs(what, handle, start, digests, sizes)
    return Application(**values, blobs=blobs, digest=hashlib.sha256(message).digest())


def _manifest(what: str, handle: int, size: int) -> bytes:
    """The message, if it has its hash."""
    length = message_bytes(os.pread(handle, HEAD_BYTES, 0), what, min(size, MAX_MANIFEST))
    data = os.pread(handle, blobs_start(length), 0)
    message, digest = data[:length], data[length : length + DIGEST_BYTES]
    if len(data) != blobs_start(length):
        raise PackageError(f"{what} is cut off: it has only {size:,} bytes")
    if hashlib.sha256(message).digest() != digest or any(data[length + DIGEST_BYTES :]):
        raise PackageError(f"{what} is damaged: its manifest does not have the hash it states")
    return message
