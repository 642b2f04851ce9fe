"""Blobs: the bytes of a package, each content stored once and known by its SHA-256.

In memory they are arrays that whoever made the package gave; of a package opened, they are parts of
the mapped file. Those are compared with their hashes when they are first used.
"""

import hashlib
import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from io import FileIO
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from tilewright.package.faults import Fault, PackageError
from tilewright.package.tables import U8, U32
from tilewright.threads import threads

DIGEST_BYTES = hashlib.sha256().digest_size
ALIGNMENT = 64
"""Blobs start at multiples of this in a file, so that arrays can be read in place."""
MAX_BLOB = 0xFFFFFFFF

_CHUNK = 1 << 20
"""Bytes hashed at a time when whole files are verified."""

_AT_ONCE = 64
"""Contents that one job hashes."""

Content: TypeAlias = bytes | bytearray | memoryview | npt.NDArray[Any]


class Blobs(Protocol):
    """Blobs by number. `digests` has a row of 32 bytes for each, `sizes` are in bytes."""

    @property
    def digests(self) -> U8: ...

    @property
    def sizes(self) -> U32: ...

    def __getitem__(self, blob: int) -> U8:
        """The content, read-only. Raises `PackageError` if it does not have its hash."""

    def faults(self) -> list[Fault]:
        """Which contents do not have their hashes; reads all of them."""

    def close(self) -> None:
        """Forget the file, if there is one. Arrays already given stay valid."""


class BlobBuilder:
    """Gathers contents; equal ones get one number. Numbers follow the order of first use."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._contents: list[U8] = []

    def add(self, content: Content) -> int:
        """The number of a content: bytes, or an array in C order whose bytes are meant.

        Contents are kept, not copied: whoever gives an array leaves it unchanged from then on.
        """
        array = _flat(content)
        return self._add(_digest(array), array)

    def add_all(self, contents: Iterable[Content]) -> list[int]:
        """The numbers of many contents (rows of an array, say), which are hashed in parallel."""
        flat = [_flat(content) for content in contents]
        digests = _digests(len(flat), lambda number: _digest(flat[number]))
        return [self._add(*each) for each in zip(digests, flat, strict=True)]

    def build(self) -> "BlobArrays":
        return BlobArrays(self._contents, self._numbers)

    def _add(self, digest: bytes, content: U8) -> int:
        number = self._numbers.setdefault(digest, len(self._contents))
        if number == len(self._contents):
            self._contents.append(content)
        return number


class BlobArrays:
    """Blobs in memory."""

    def __init__(self, contents: Iterable[U8] = (), digests: Iterable[bytes] = ()) -> None:
        self._contents = tuple(contents)
        self.digests: U8 = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, DIGEST_BYTES)
        self.sizes: U32 = np.array([each.size for each in self._contents], "<u4")

    def __getitem__(self, blob: int) -> U8:
        return self._contents[blob]

    def faults(self) -> list[Fault]:
        return _faults(self.digests, lambda blob: _digest(self._contents[blob]))

    def close(self) -> None:
        """Nothing is to be forgotten."""


class ExtendedBlobs:
    """Blobs, and some more in memory; `added` are the numbers of those, as they were given.

    Contents that are there already get their numbers.
    """

    def __init__(self, base: Blobs, contents: Iterable[U8]) -> None:
        more = BlobBuilder()
        numbers = more.add_all(contents)
        extra = more.build()
        known = {base.digests[blob].tobytes(): blob for blob in range(len(base.sizes))}
        is_new = [digest.tobytes() not in known for digest in extra.digests]
        self._base = base
        self._extra = [extra[blob] for blob in range(len(extra.sizes)) if is_new[blob]]
        self.digests: U8 = np.concatenate([base.digests, extra.digests[is_new]])
        self.sizes: U32 = np.concatenate([base.sizes, extra.sizes[is_new]])
        places = {self.digests[blob].tobytes(): blob for blob in range(len(self.sizes))}
        self.added = [places[extra.digests[number].tobytes()] for number in numbers]

    def __getitem__(self, blob: int) -> U8:
        known = len(self._base.sizes)
        return self._base[blob] if blob < known else self._extra[blob - known]

    def faults(self) -> list[Fault]:
        known = len(self._base.sizes)
        more = _faults(self.digests[known:], lambda blob: _digest(self._extra[blob]), known)
        return [*self._base.faults(), *more]

    def close(self) -> None:
        self._base.close()


class MappedBlobs:
    """Blobs in a file, which lie one after the other from `start` on, each aligned."""

    def __init__(self, path: str, file: FileIO, start: int, digests: U8, sizes: U32) -> None:
        self.digests = digests
        self.sizes = sizes
        self._path = path
        self._offsets = start + blob_offsets(sizes)
        self._file = file
        self._memory: U8 | None = _mapped(file) if len(sizes) else np.empty(0, np.uint8)
        self._is_verified = np.zeros(len(sizes), bool)

    def __getitem__(self, blob: int) -> U8:
        if self._memory is None:
            raise PackageError(f"{self._path} was closed")
        place = int(self._offsets[blob])
        content = self._memory[place : place + int(self.sizes[blob])]
        if not self._is_verified[blob]:
            self._verify(blob, _digest(content))
        return content

    def faults(self) -> list[Fault]:
        found = _faults(self.digests, self._read_digest)
        if not found:
            self._is_verified[:] = True
        return found

    def close(self) -> None:
        """Forget the file. Arrays already given stay valid; the mapping ends with the last."""
        self._memory = None
        self._file.close()

    def _verify(self, blob: int, digest: bytes) -> None:
        if digest != self.digests[blob].tobytes():
            raise PackageError(f"{self._path} is damaged", [_fault(blob)])
        self._is_verified[blob] = True

    def _read_digest(self, blob: int) -> bytes:
        """Reads by parts, not through the mapping, so that memory stays small.

        Empty, which is no digest, if there is anything in the gap behind the content.
        """
        if self._memory is None:
            raise PackageError(f"{self._path} was closed")
        place, left = int(self._offsets[blob]), int(self.sizes[blob])
        digest = hashlib.sha256()
        while left:
            part = os.pread(self._file.fileno(), min(left, _CHUNK), place)
            if not part:
                break  # the file became shorter, so the hash is wrong
            digest.update(part)
            place, left = place + len(part), left - len(part)
        gap = os.pread(self._file.fileno(), -place % ALIGNMENT, place)
        return b"" if any(gap) else digest.digest()


def blob_offsets(sizes: U32) -> npt.NDArray[np.int64]:
    """Where blobs lie, counted from the first; each starts at a multiple of `ALIGNMENT`."""
    room = -(-sizes.astype(np.int64) // ALIGNMENT) * ALIGNMENT
    return np.cumsum(room) - room


def blob_end(sizes: U32) -> int:
    """Where the last blob ends, counted from the first."""
    return int(blob_offsets(sizes)[-1]) + int(sizes[-1]) if len(sizes) else 0


def write_blobs(blobs: Blobs) -> Iterator[memoryview]:
    """The parts to write one after the other: contents, and the zeros between them."""
    gap = 0
    for blob, size in enumerate(blobs.sizes.tolist()):
        yield memoryview(bytes(gap))
        yield blobs[blob].data
        gap = -size % ALIGNMENT


def _flat(content: Content) -> U8:
    array = content if isinstance(content, np.ndarray) else np.frombuffer(content, np.uint8)
    if not array.flags.c_contiguous:
        raise ValueError("a blob's array has to be contiguous, in C order")
    if array.nbytes > MAX_BLOB:
        raise ValueError(f"a blob has at most {MAX_BLOB} bytes, not {array.nbytes}")
    flat: U8 = array.reshape(-1).view(np.uint8)
    flat.flags.writeable = False
    return flat


def _digest(content: U8) -> bytes:
    return hashlib.sha256(content.data).digest()


def _digests(count: int, digest: Callable[[int], bytes]) -> Iterator[bytes]:
    """The digests of contents 0 to `count`, in order, made in parallel."""

    def some(first: int) -> list[bytes]:
        return [digest(each) for each in range(first, min(first + _AT_ONCE, count))]

    with threads() as pool:
        for found in pool.map(some, range(0, count, _AT_ONCE)):
            yield from found


def _faults(digests: U8, digest: Callable[[int], bytes], first: int = 0) -> list[Fault]:
    """Which contents do not have these digests; the number of the first is `first`."""
    return [
        _fault(first + blob)
        for blob, found in enumerate(_digests(len(digests), digest))
        if found != digests[blob].tobytes()
    ]


def _fault(blob: int) -> Fault:
    return Fault(
        f"blobs[{blob}]", "the content does not have its hash, or is not followed by zeros"
    )


def _mapped(file: FileIO) -> U8:
    return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
