"""A message with its own hash behind it, and the version at its start, as files have them."""

import hashlib

from tilewright.package.blobs import DIGEST_BYTES
from tilewright.package.faults import PackageError
from tilewright.package.message import HEAD_BYTES, Reader, message_bytes


def sealed(message: bytes) -> bytes:
    """A message, and its SHA-256."""
    return message + hashlib.sha256(message).digest()


def unsealed(data: bytes, what: str, limit: int) -> bytes:
    """The message of a whole file. Raises `PackageError` if it is damaged."""
    size = message_bytes(data[:HEAD_BYTES], what, limit)
    if len(data) != size + DIGEST_BYTES:
        raise PackageError(f"{what} is damaged: {len(data):,} bytes are no {size:,} and a hash")
    message = data[:size]
    if sealed(message) != data:
        raise PackageError(f"{what} is damaged: its content does not have the hash it states")
    return message


def check_version(
    root: Reader, magic: int, version: tuple[int, int], what: str, kind: str
) -> tuple[int, int]:
    """The version of a file of a `kind`, if we read it. Raises `PackageError` if not.

    A minor version adds fields. Files of older minor versions lack them, which has a meaning; what
    the fields of newer ones mean nobody can know, so those are refused.
    """
    if root.number("magic") != magic:
        raise PackageError(f"{what} is no {kind}")
    major, minor = root.number("major"), root.number("minor")
    if major != version[0] or minor > version[1]:
        raise PackageError(
            f"{what} is a {kind} of version {major}.{minor}; this tilewright reads "
            f"{version[0]}.0 to {version[0]}.{version[1]}"
        )
    return major, minor
