"""The tile loaders of an emulated device, as they behave: one per tile, all in step.

A pass over the rows of tiles has one host sync of group 1 more than there are rows; between two of
them a row reads its batch. Passes go on until one in which every row is told to execute
(`loader-model`). Marks are those of programs (`held-loader`). Loading takes no time
(`loader-time`), and leaves memory above an image unwritten (`loader-clear`).
"""

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tilewright.driver.emulated.loader_program import LOADER, Check
from tilewright.driver.frames import (
    DESCRIPTOR_BYTES,
    EXECUTE,
    FRAME_BYTES,
    HEADER_BYTES,
    LAST_FRAME,
    TILE_MASK,
)
from tilewright.emulator.host.marks import GroupMark
from tilewright.emulator.memory import TileMemory
from tilewright.target.geometry import LOADER_FRAME_END, MEMORY_BASE
from tilewright.target.host import (
    HOST_SPACE,
    LOADER_BATCH_TILES,
    LOADER_FRAME_PAYLOAD,
    LOADER_FRAMES,
)

U8 = NDArray[np.uint8]
_WORD = np.dtype("<u4")
_KIND_SHIFT, _KIND_MASK = 28, 0xF


class LoadedChip(Protocol):
    """What loaders do to a chip: they write memory, and start tiles."""

    @property
    def memory(self) -> TileMemory: ...

    def start(self, tile: int, entry: int) -> None:
        """Let a tile execute what its memory holds, from `entry` on."""


class TileLoaders:
    """Loaders that have begun to run: they wait for the host in their first sync.

    `host_memory` gives what the device reaches, by offset, None if it reaches nothing at the
    moment. When they are through, `is_done`, and tiles run from the first loadable byte on.
    """

    def __init__(
        self, tiles: int, chip: LoadedChip, host_memory: Callable[[], Mapping[int, U8] | None]
    ) -> None:
        self._rows = tiles // LOADER_BATCH_TILES
        self._chip = chip
        self._host_memory = host_memory
        self._is_loaded = np.zeros(tiles, np.bool_)
        self._executes = np.zeros(self._rows, np.bool_)
        self._syncs = 0
        """Host syncs of the pass that have completed."""
        self._mark = GroupMark()
        self._is_broken = False
        """Tiles are missing that would have to come to the next sync."""
        self.finding: str | None = None
        self.is_done = False
        self._go_on()

    @property
    def mark(self) -> int:
        return self._mark.value

    def write_mark(self, value: int) -> None:
        self._mark.write(value)
        self._go_on()

    def _go_on(self) -> None:
        """Run until the loaders wait for the host, or are through."""
        while not (self.is_done or self._is_broken) and self._mark.passes():
            if self._syncs < self._rows:
                self._take_turn(self._syncs)
                self._syncs += 1
            else:
                self._end_pass()

    def _end_pass(self) -> None:
        self._syncs = 0
        self.is_done = bool(self._executes.all())
        if self.is_done:
            for tile in range(len(self._is_loaded)):
                self._chip.start(tile, LOADER_FRAME_END)
        elif self._executes.any():
            self._break("some rows of tiles were told to execute, others were not")

    def _take_turn(self, row: int) -> None:
        """The tiles of a row read their descriptors, and what those say."""
        host = self._host_memory()
        buffer = None if host is None else host.get(0)
        if buffer is None or buffer.size < DESCRIPTOR_BYTES * LOADER_BATCH_TILES:
            self._break(f"the loaders of row {row} wait for host memory that they do not reach")
            return
        listed = buffer[: DESCRIPTOR_BYTES * LOADER_BATCH_TILES].view(_WORD).reshape(-1, 2)
        for slot, (offset, count) in enumerate(listed.tolist()):
            tile = row * LOADER_BATCH_TILES + slot
            if offset == EXECUTE:
                self._executes[row] = True
                wrong = None if self._is_loaded[tile] else Check.NOTHING_LOADED
            else:
                wrong = self._read_image(tile, offset, count, buffer) if offset else None
            if wrong is not None:
                self._refuse(tile, wrong)

    def _read_image(self, tile: int, offset: int, count: int, buffer: U8) -> Check | None:
        """Load a tile; the check that failed, if one did."""
        if self._is_loaded[tile]:
            return Check.LOADED_TWICE
        if offset >= HOST_SPACE:
            return Check.OFFSET
        if count not in LOADER_FRAMES:
            return Check.COUNT
        end = offset + count * FRAME_BYTES
        if end > buffer.size:
            self._break(f"the loader of tile {tile} waits for frames that it does not reach")
            return None
        frames = buffer[offset:end].reshape(count, FRAME_BYTES)
        wrong = _check_headers(frames[:, :HEADER_BYTES].view(_WORD), tile)
        if wrong is None:
            payload = frames[:, HEADER_BYTES : HEADER_BYTES + LOADER_FRAME_PAYLOAD]
            start = LOADER_FRAME_END - MEMORY_BASE
            memory = self._chip.memory.bytes[tile, start : start + payload.size]
            memory.reshape(count, LOADER_FRAME_PAYLOAD)[:] = payload
            self._is_loaded[tile] = True
        return wrong

    def _refuse(self, tile: int, check: Check) -> None:
        """The tile ends in the code of the check, and comes to no further sync."""
        self._chip.memory.write(tile, MEMORY_BASE, LOADER.content)
        self._chip.start(tile, check.address)
        self._is_broken = True

    def _break(self, finding: str) -> None:
        self._is_broken = True
        self.finding = finding


def _check_headers(header: NDArray[np.uint32], tile: int) -> Check | None:
    """The first check that fails, in the order in which a tile reads.

    ASSUMED: the flag of the last frame is wrong on any other (`last-frame`).
    """
    count = len(header)
    is_last = np.arange(count) == count - 1
    failed = {
        Check.FRAME_INDEX: header[:, 0] != np.arange(count),
        Check.FRAME_TILE: header[:, 1] & TILE_MASK != tile,
        Check.FRAME_KIND: (header[:, 2] >> _KIND_SHIFT & _KIND_MASK != 0)
        | ((header[:, 2] & LAST_FRAME != 0) != is_last),
        Check.FRAME_ZERO: header[:, 3] != 0,
    }
    first = {check: int(np.argmax(wrong)) for check, wrong in failed.items() if wrong.any()}
    return min(first, key=first.__getitem__) if first else None
