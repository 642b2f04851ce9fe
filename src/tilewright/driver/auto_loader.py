"""The auto-loader: hardware that puts a small program, the tile loader, into all tiles."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tilewright.driver import registers
from tilewright.driver.board import Board
from tilewright.driver.errors import DriverError
from tilewright.driver.waiting import wait_until
from tilewright.elf.headers import read_headers
from tilewright.elf.reader import read_object
from tilewright.files import read_bytes
from tilewright.target.geometry import MEMORY_BASE, MEMORY_SIZE

LOADER_LIMIT = 4096
"""Bytes of a loader."""
_KIB = 1024
_LOAD = 1
"""The type of a segment that is loaded."""
_WORD = np.dtype("<u4")
_WORDS_AT_ONCE = 32
"""Words that are written before the auto-loader is looked at."""


class LoaderError(DriverError):
    """A loader image, or a program, that cannot be loaded."""


@dataclass(frozen=True)
class LoaderImage:
    """A tile loader, from the start of tile memory on; `symbols` are names of addresses in it.

    Raises `LoaderError` for one that is empty or too large.
    """

    content: bytes
    symbols: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < len(self.content) <= LOADER_LIMIT:
            raise LoaderError(
                f"a tile loader of {len(self.content)} bytes; it has 1 to {LOADER_LIMIT}"
            )

    @property
    def kib(self) -> int:
        """Its size in KiB, filled up."""
        return -(-len(self.content) // _KIB)

    @property
    def words(self) -> NDArray[np.uint32]:
        """Its words, filled up with zeros to whole KiB."""
        return np.frombuffer(self.content.ljust(self.kib * _KIB, b"\0"), _WORD)

    def symbol(self, address: int) -> str | None:
        """The last symbol at or before an address within the loader."""
        if not MEMORY_BASE <= address < MEMORY_BASE + len(self.content):
            return None
        before = [(value, name) for name, value in self.symbols.items() if value <= address]
        return max(before)[1] if before else None


def read_loader(path: Path) -> LoaderImage:
    """The tile loader in an ELF file. Raises `LoaderError`, and what reading the file raises."""
    content = read_bytes(path)
    headers = read_headers(content, str(path))
    segments = [each for each in headers.programs if each.type == _LOAD and each.memory_size]
    if len(segments) != 1 or segments[0].address != MEMORY_BASE:
        raise LoaderError(
            f"{path} is no tile loader: it has {len(segments)} segments to load; "
            f"it has to be one, at {MEMORY_BASE:#x}"
        )
    [segment] = segments
    if segment.memory_size > LOADER_LIMIT:
        raise LoaderError(f"{path}: {segment.memory_size} bytes of loader; at most {LOADER_LIMIT}")
    image = content[segment.offset : segment.offset + segment.file_size]
    symbols = {each.name: each.value for each in read_object(content, str(path)).symbols}
    return LoaderImage(image.ljust(segment.memory_size, b"\0"), symbols)


def install_loader(board: Board, loader: LoaderImage) -> None:
    """Put the loader into all tiles and let it run. Raises `DeviceTimeout`."""
    transport = board.transport
    transport.write(registers.AUTO_LOADER_CONTROL, 0)
    words = loader.words.tolist()
    for first in range(0, len(words), _WORDS_AT_ONCE):
        for word in words[first : first + _WORDS_AT_ONCE]:
            transport.write(registers.AUTO_LOADER_DATA, word)
        transport.read(registers.AUTO_LOADER_CONTROL)
    pointer = (len(words) - 1) & registers.AUTO_LOADER_POINTER_MASK
    first_tiles = registers.AUTO_LOADER_HAS_DATA | pointer
    _run(board, 0, loader.kib, first_tiles, "putting the tile loader into all tiles")
    last_tile = (transport.tiles - 1) << registers.AUTO_LOADER_TILE_SHIFT
    end = MEMORY_SIZE // _KIB
    _run(board, loader.kib, end, last_tile | pointer, "filling the memory of all tiles")


def _run(board: Board, start: int, end: int, control: int, what: str) -> None:
    """Let the auto-loader go through tile memory from KiB `start` to `end`."""
    transport = board.transport
    target = registers.AUTO_LOADER_ZONE << registers.AUTO_LOADER_ZONE_SHIFT
    target |= end << registers.AUTO_LOADER_END_SHIFT | start
    transport.write(registers.AUTO_LOADER_TARGET, target)
    transport.write(registers.AUTO_LOADER_CONTROL, control | registers.AUTO_LOADER_GO)
    wait_until(
        lambda: not transport.read(registers.AUTO_LOADER_CONTROL) & registers.AUTO_LOADER_GO,
        f"{what} (the auto-loader)",
        transport.clock,
        limit=board.limits.auto_loader,
        poll=board.limits.poll,
    )
