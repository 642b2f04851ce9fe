"""Host memory as the device sees it: attached buffers in one space, in units of pages."""

from bisect import bisect_right
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import TilewrightError
from tilewright.target.host import HOST_PAGE, HOST_SPACE, HOST_WORD

NO_BUFFER = -1


class AttachError(TilewrightError):
    """Memory that cannot be attached, or detached, where it was asked for."""


class Buffer(NamedTuple):
    """Attached memory, as words, from `offset` in bytes on."""

    offset: int
    words: NDArray[np.uint32]

    @property
    def end(self) -> int:
        return self.offset + HOST_WORD * len(self.words)


class DeviceSpace:
    """What is attached, by offset."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        """In order of their offsets."""

    def attach(self, offset: int, memory: NDArray[np.uint8]) -> None:
        """Let the device reach `memory` from `offset` on, without a copy.

        Raises `AttachError` unless both are whole pages within the space, free so far.
        """
        added = Buffer(offset, _as_words(offset, memory))
        place = bisect_right(self._offsets(), offset)
        around = self.buffers[max(place - 1, 0) : place + 1]
        for each in around:
            if each.offset < added.end and offset < each.end:
                raise AttachError(
                    f"memory at {offset:#x} to {added.end:#x}: "
                    f"{each.offset:#x} to {each.end:#x} is attached already"
                )
        self.buffers.insert(place, added)

    def detach(self, offset: int) -> None:
        """Take away what was attached at `offset`. Raises `AttachError` if nothing was."""
        offsets = self._offsets()
        if offset not in offsets:
            raise AttachError(f"no memory is attached at {offset:#x}")
        del self.buffers[offsets.index(offset)]

    def find(self, offsets: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places in `buffers` that hold so many bytes from offsets on, else `NO_BUFFER`."""
        places = np.searchsorted(self._offsets(), offsets, side="right") - 1
        ends = np.array([each.end for each in self.buffers] or [0], np.int64)
        is_inside = (places >= 0) & (offsets + sizes <= ends[np.maximum(places, 0)])
        return np.where(is_inside, places, NO_BUFFER).astype(np.int64)

    def _offsets(self) -> list[int]:
        return [each.offset for each in self.buffers]


def _as_words(offset: int, memory: NDArray[np.uint8]) -> NDArray[np.uint32]:
    if offset % HOST_PAGE or not 0 <= offset <= HOST_SPACE - memory.nbytes:
        raise AttachError(
            f"{memory.nbytes} bytes at {offset:#x}: memory is attached at multiples of {HOST_PAGE},"
            f" below {HOST_SPACE:#x}"
        )
    if memory.dtype != np.uint8 or memory.ndim != 1 or not memory.flags.c_contiguous:
        raise AttachError(f"memory at {offset:#x} is no plain array of bytes")
    if not memory.nbytes or memory.nbytes % HOST_PAGE:
        raise AttachError(
            f"{memory.nbytes} bytes at {offset:#x}: memory is attached in pages of {HOST_PAGE}"
        )
    if memory.ctypes.data % HOST_WORD or not memory.flags.writeable:
        raise AttachError(f"memory at {offset:#x} cannot be written in words")
    return memory.view(np.uint32)
