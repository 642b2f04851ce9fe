"""Opening packages: the manifest is read and checked whole, contents when they are used."""

import hashlib
import os
import stat
from contextlib import ExitStack
from io import FileIO
from pathlib import Path

from tilewright.files import FileError, open_at_once
from tilewright.package.application import Application
from tilewright.package.blobs import DIGEST_BYTES, MappedBlobs, blob_end
from tilewright.package.checks.application import validate
from tilewright.package.faults import FaultList, PackageError
from tilewright.package.layout import MAX_FILE, MAX_MANIFEST, blobs_start
from tilewright.package.manifest import decode_manifest
from tilewright.package.message import HEAD_BYTES, MAGIC_AT, MAGIC_BYTES, magic_bytes, message_bytes


def open_package(path: Path) -> Application:
    """The application in a file, checked, with its contents mapped into memory.

    The manifest has to have its hash and to satisfy everything that loading relies on. A blob is
    compared with its hash when it is first used; `validate(…, hashes=True)` does that for all.
    Closing the application, or leaving its `with`, forgets the file. Raises `PackageError`, with
    all faults, and `FileError`.
    """
    try:
        with ExitStack() as unless_opened:
            file = unless_opened.enter_context(open(path, "rb", 0, opener=open_at_once))
            application = _opened(str(path), file)
            unless_opened.pop_all()
            return application
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error


def _opened(what: str, file: FileIO) -> Application:
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise PackageError(f"{what} is no regular file")
    if status.st_size > MAX_FILE:
        raise PackageError(f"{what} has {status.st_size:,} bytes; the limit is {MAX_FILE:,}")
    application = _read(what, file, status.st_size)
    faults = validate(application)
    if faults:
        raise PackageError(f"{what} cannot be used", faults)
    return application


def _read(what: str, file: FileIO, size: int) -> Application:
    """The application, whose parts are not checked yet."""
    message, digest = _manifest(what, file, size)
    faults = FaultList()
    values, digests, sizes = decode_manifest(message, what, faults)
    start = blobs_start(len(message))
    end = start + blob_end(sizes)
    if end != size:
        faults.add("blobs", f"the file has {size:,} bytes; its blobs ask for {end:,}")
    if faults:
        raise PackageError(f"{what} cannot be used", faults.faults)
    blobs = MappedBlobs(what, file, start, digests, sizes)
    return Application(**values, blobs=blobs, digest=digest)


def _manifest(what: str, file: FileIO, size: int) -> tuple[bytes, bytes]:
    """The message, which has its hash, and that."""
    head = os.pread(file.fileno(), MAGIC_AT + MAGIC_BYTES, 0)
    if head[MAGIC_AT:] == magic_bytes("steps"):
        raise PackageError(f"{what} is a cycle profile, no package: `tilewright profile` shows it")
    length = message_bytes(head[:HEAD_BYTES], what, MAX_MANIFEST)
    start = blobs_start(length)
    data = os.pread(file.fileno(), start, 0) if start <= size else b""
    if len(data) != start:
        raise PackageError(
            f"{what} is cut off: it has {size:,} bytes, its start alone takes {start:,}"
        )
    message, digest = data[:length], data[length : length + DIGEST_BYTES]
    if hashlib.sha256(message).digest() != digest or any(data[length + DIGEST_BYTES :]):
        raise PackageError(f"{what} is damaged: its manifest does not have the hash it states")
    return message, digest
