"""Contents are stored once, and known by their hashes."""

import hashlib

import numpy as np
import pytest

from tilewright.package import BlobBuilder, PackageError
from tilewright.package.blobs import ExtendedBlobs, blob_end, blob_offsets


def test_equal_contents_are_one() -> None:
    blobs = BlobBuilder()
    numbers = [
        blobs.add(b"abcd"),
        blobs.add(np.frombuffer(b"abcd", "<u4")),
        blobs.add(memoryview(b"abcde")),
    ]
    numbers += blobs.add_all([b"x", b"abcd", b"x"])
    built = blobs.build()
    assert numbers == [0, 0, 1, 2, 0, 2]
    assert built.sizes.tolist() == [4, 5, 1]
    assert built[1].tobytes() == b"abcde"
    assert built.digests[2].tobytes() == hashlib.sha256(b"x").digest()
    assert built.faults() == []


def test_many_are_hashed_in_order() -> None:
    contents = np.arange(1000, dtype="<u4").reshape(500, 2)
    blobs = BlobBuilder()
    assert blobs.add_all(contents) == list(range(500))
    built = blobs.build()
    for number in (0, 63, 64, 499):
        expected = hashlib.sha256(contents[number].tobytes()).digest()
        assert built.digests[number].tobytes() == expected


def test_arrays_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match="contiguous"):
        BlobBuilder().add(np.arange(4)[::2])


def test_a_content_that_changed_is_found() -> None:
    content = np.arange(4, dtype=np.uint8)
    blobs = BlobBuilder()
    blobs.add(content)
    content[0] = 9
    assert [fault.path for fault in blobs.build().faults()] == ["blobs[0]"]


def test_more_blobs() -> None:
    base = BlobBuilder()
    base.add_all([b"a", b"b"])
    more = ExtendedBlobs(
        base.build(), [np.frombuffer(each, np.uint8) for each in (b"c", b"b", b"c")]
    )
    assert more.added == [2, 1, 2]
    assert [more[blob].tobytes() for blob in range(3)] == [b"a", b"b", b"c"]
    assert more.faults() == []
    content = np.array([1, 2], np.uint8)
    more = ExtendedBlobs(more, [content])
    content[0] = 9
    assert [fault.path for fault in more.faults()] == ["blobs[3]"]


def test_places() -> None:
    sizes = np.array([1, 64, 65, 3], np.uint32)
    assert blob_offsets(sizes).tolist() == [0, 64, 128, 256]
    assert blob_end(sizes) == 259
    assert blob_end(sizes[:0]) == 0
    assert blob_end(np.array([0xFFFFFFFF] * 3, np.uint32)) == 3 * 2**32 - 1


def test_errors_list_faults() -> None:
    from tilewright.package import Fault

    error = PackageError("bad", [Fault(f"a[{k}]", "wrong") for k in range(25)])
    lines = str(error).splitlines()
    assert lines[:2] == ["bad", "  a[0]: wrong"]
    assert lines[-1] == "  and 5 more"
    assert len(error.faults) == 25
