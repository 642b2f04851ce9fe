"""Writing packages: manifest, its hash, and the contents of blobs, whole or not at all."""

import hashlib
from dataclasses import replace
from pathlib import Path

from tilewright.files import writing_atomically
from tilewright.package.application import Application
from tilewright.package.blobs import DIGEST_BYTES, blob_end, write_blobs
from tilewright.package.checks.application import validate
from tilewright.package.faults import FaultList, PackageError
from tilewright.package.layout import MAX_FILE, MAX_MANIFEST, blobs_start
from tilewright.package.manifest import check_rest, encode_manifest, rest_bytes


def write_package(application: Application, path: Path) -> Application:
    """Write an application to `path`; the same application, with the digest that it has there.

    The file replaces `path` when it is complete. Contents go from where they are to the file, no
    copy of them is made. Raises `PackageError`, with all faults, for an application that could not
    be opened again, and `FileError`.
    """
    faults = validate(application)
    if faults:
        raise PackageError(f"{path} is not written; the application has faults", faults)
    message = encode_manifest(application)
    digest = hashlib.sha256(message).digest()
    start = blobs_start(len(message))
    end = start + blob_end(application.blobs.sizes)
    if len(message) > MAX_MANIFEST or end > MAX_FILE:
        raise PackageError(
            f"{path} is not written; its manifest would have {len(message):,} bytes and the file "
            f"{end:,}; the limits are {MAX_MANIFEST:,} and {MAX_FILE:,}"
        )
    check_rest(rest_bytes(message, application), f"{path} is not written; it", FaultList())
    with writing_atomically(path) as file:
        file.write(message)
        file.write(digest)
        file.write(bytes(start - len(message) - DIGEST_BYTES))
        for part in write_blobs(application.blobs):
            file.write(part)
    return replace(application, digest=digest)
