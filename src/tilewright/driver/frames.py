"""Frames: how images of tiles lie in host memory for the tile loader.

A batch has a descriptor for each of its tiles, in order of their physical ids: the byte offset of
the tile's first frame, and how many there are. Frames follow, packed.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tilewright.driver.auto_loader import LoaderError
from tilewright.target.geometry import LOADABLE_END
from tilewright.target.host import LOADER_BATCH_TILES, LOADER_FRAME_PAYLOAD, LOADER_FRAMES

FRAME_BYTES = 1024
HEADER_BYTES = 16
DESCRIPTOR_BYTES = 8
FRAMES_START = 4096
"""Where frames may start: behind the descriptors."""
LAST_FRAME = 1 << 27
"""The flag of a tile's last frame, in the third word of its header."""
TILE_MASK = 0xFFFF
EXECUTE = 0xFFFFFFFF
"""In place of the first offset: run what was loaded."""
_TRAILER_FILL = 0xFF
BUFFER_BYTES = 0x2842000
"""Room for the largest batch, as a third party's stack has it: 64 tiles of 643 frames, and more."""

_WORD = np.dtype("<u4")
_PAYLOAD = slice(HEADER_BYTES, HEADER_BYTES + LOADER_FRAME_PAYLOAD)

assert FRAMES_START + LOADER_BATCH_TILES * LOADER_FRAMES[-1] * FRAME_BYTES <= BUFFER_BYTES


def frame_count(tile: int, size: int) -> int:
    """How many frames an image of `size` bytes takes. Raises `LoaderError` if it is too large."""
    count = max(-(-size // LOADER_FRAME_PAYLOAD), LOADER_FRAMES[0])
    if count > LOADER_FRAMES[-1]:
        raise LoaderError(
            f"the image of tile {tile} has {size:,} bytes: it takes {count} frames, of which the "
            f"tile loader takes {LOADER_FRAMES[-1]}; it has to end at or below {LOADABLE_END:#x}"
        )
    return count


def write_batch(
    buffer: NDArray[np.uint8], first_tile: int, images: Sequence[NDArray[np.uint8]]
) -> int:
    """Write the batch of consecutive tiles into host memory; returns the bytes that it takes.

    Raises `LoaderError` for images that are too large.
    """
    counts = [frame_count(first_tile + slot, image.size) for slot, image in enumerate(images)]
    starts = FRAMES_START + FRAME_BYTES * (np.cumsum(counts) - counts)
    descriptors = buffer[: DESCRIPTOR_BYTES * len(images)].view(_WORD).reshape(-1, 2)
    descriptors[:, 0], descriptors[:, 1] = starts, counts
    for slot, image in enumerate(images):
        start, count = int(starts[slot]), counts[slot]
        frames = buffer[start : start + FRAME_BYTES * count].reshape(count, FRAME_BYTES)
        _write_frames(frames, first_tile + slot, image)
    return int(starts[-1]) + FRAME_BYTES * counts[-1]


def _write_frames(frames: NDArray[np.uint8], tile: int, image: NDArray[np.uint8]) -> None:
    header = frames[:, :HEADER_BYTES].view(_WORD)
    header[:, 0] = np.arange(len(frames))
    header[:, 1] = tile
    header[:, 2] = 0
    header[-1, 2] = LAST_FRAME
    header[:, 3] = 0
    whole = image.size // LOADER_FRAME_PAYLOAD
    payload = frames[:, _PAYLOAD]
    payload[:whole] = image[: whole * LOADER_FRAME_PAYLOAD].reshape(whole, LOADER_FRAME_PAYLOAD)
    rest = image[whole * LOADER_FRAME_PAYLOAD :]
    payload[whole:] = 0
    if rest.size:
        payload[whole, : rest.size] = rest
    frames[:, _PAYLOAD.stop :] = _TRAILER_FILL
