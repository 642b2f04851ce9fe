"""Frames of the tile loader: batches read back by the published layout."""

import struct

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewright.driver import LoaderError
from tilewright.driver.frames import BUFFER_BYTES, frame_count, write_batch


def images(*sizes: int) -> list[NDArray[np.uint8]]:
    random = np.random.default_rng(3)
    return [random.integers(0, 256, size, np.uint8) for size in sizes]


def test_a_batch_read_back() -> None:
    """Word by word, as the notes have the layout."""
    sizes = [1, 991, 992, 993, 17 * 992, 17 * 992 + 1, *[50_000] * 57, 643 * 992]
    given = images(*sizes)
    buffer = np.full(BUFFER_BYTES, 0xEE, np.uint8)
    end = write_batch(buffer, 128, given)
    content = buffer.tobytes()
    expected_start = 4096
    for slot, image in enumerate(given):
        start, count = struct.unpack_from("<II", content, 8 * slot)
        assert (start, count) == (expected_start, max(17, -(-image.size // 992)))
        expected_start += 1024 * count
        payload = b""
        for frame in range(count):
            place = start + 1024 * frame
            last = 1 << 27 if frame == count - 1 else 0
            assert struct.unpack_from("<4I", content, place) == (frame, 128 + slot, last, 0)
            payload += content[place + 16 : place + 1008]
            assert content[place + 1008 : place + 1024] == b"\xff" * 16
        assert payload == image.tobytes().ljust(992 * count, b"\0")
    assert end == expected_start
    assert set(content[end:]) == {0xEE}, "nothing beyond is touched"


def test_counts() -> None:
    assert [frame_count(0, size) for size in (0, 1, 0x4134, 17 * 992)] == [17, 17, 17, 17]
    assert frame_count(0, 17 * 992 + 1) == 18
    assert frame_count(0, 0xE7BB0 - 0x4C010) == 643


def test_an_image_that_is_too_large() -> None:
    with pytest.raises(LoaderError, match=r"tile 9 has 637,857 bytes.*0xe7bb0"):
        frame_count(9, 0xE7BB0 - 0x4C010 + 1)


def test_the_largest_batch_has_room() -> None:
    """The figure is that of a third party, for 64 tiles of 643 frames."""
    image = np.zeros(643 * 992, np.uint8)
    buffer = np.zeros(BUFFER_BYTES, np.uint8)
    assert write_batch(buffer, 0, [image] * 64) == 4096 + 64 * 643 * 1024 <= BUFFER_BYTES
