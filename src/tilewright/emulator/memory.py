"""SRAM of tiles: one mapping for all of them, of which only what is touched takes up memory.

Memory that nobody has written reads as a pattern that is NaN as f32 and as both f16 halves, so that
reading too far shows. The pattern costs nothing: every tile maps the same pages, copied on writing.
"""

import ctypes
import mmap
import os

import numpy as np
from numpy.typing import NDArray

from tilewright.target.geometry import MEMORY_BASE, MEMORY_SIZE

UNWRITTEN_WORD = 0x7FC07E00
"""A quiet NaN as f32; its halves are quiet NaNs as f16."""

_PROTECTION = mmap.PROT_READ | mmap.PROT_WRITE
_MAP_FIXED, _MAP_PRIVATE, _MAP_NORESERVE = 0x10, 0x02, 0x4000
_FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]

assert MEMORY_SIZE % mmap.PAGESIZE == 0


class TileMemory:
    """The memory of `tiles` tiles, as an array of bytes `[tile, offset]` from `MEMORY_BASE` on."""

    def __init__(self, tiles: int) -> None:
        # The anonymous mapping reserves the addresses; pattern pages then replace it tile by tile.
        self._mapping = mmap.mmap(-1, tiles * MEMORY_SIZE, flags=_MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        whole = np.frombuffer(self._mapping, dtype=np.uint8)
        self.bytes: NDArray[np.uint8] = whole.reshape(tiles, MEMORY_SIZE)
        self.clear()

    def clear(self) -> None:
        """Make all memory unwritten, and free what it took up."""
        start = int(self.bytes.ctypes.data)
        pattern = _pattern_file()
        try:
            for tile in range(len(self.bytes)):
                _map_pattern(start + tile * MEMORY_SIZE, pattern)
        finally:
            os.close(pattern)

    def read(self, tile: int, address: int, size: int) -> bytes:
        """`size` bytes of a tile from `address` on, which must lie in its memory."""
        start = address - MEMORY_BASE
        return self.bytes[tile, start : start + size].tobytes()

    def write(self, tile: int, address: int, content: bytes) -> None:
        """Write bytes to a tile from `address` on, which must lie in its memory."""
        start = address - MEMORY_BASE
        self.bytes[tile, start : start + len(content)] = np.frombuffer(content, np.uint8)


def _pattern_file() -> int:
    """A file in memory that holds the unwritten memory of one tile."""
    file = os.memfd_create("tilewright-unwritten")
    os.write(file, UNWRITTEN_WORD.to_bytes(4, "little") * (MEMORY_SIZE // 4))
    return file


def _map_pattern(address: int, file: int) -> None:
    flags = _MAP_FIXED | _MAP_PRIVATE | _MAP_NORESERVE
    if _libc.mmap(address, MEMORY_SIZE, _PROTECTION, flags, file, 0) == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot map tile memory: {os.strerror(number)}")
