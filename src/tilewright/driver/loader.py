"""Loading programs: the images of all tiles, batch by batch, by the tile loader's protocol."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from tilewright.driver import registers
from tilewright.driver.auto_loader import LoaderError, LoaderImage, install_loader
from tilewright.driver.board import Board
from tilewright.driver.frames import BUFFER_BYTES, write_batch
from tilewright.driver.pages import attached, page_memory
from tilewright.driver.registers import SyncGroup
from tilewright.driver.transport import Transport
from tilewright.package import Application, TileImages, When
from tilewright.target.host import LOADER_BATCH_TILES

_SENTINEL = 0xFF


def load(board: Board, application: Application, loader: LoaderImage) -> None:
    """Load a program into a device that has been initialised.

    After that all tiles wait for the session to start. The application's contents are compared with
    their hashes before the first tile is loaded. Raises `PackageError` and `LoaderError` before
    anything is done; `DeviceTimeout`, `DeviceHang` and `TilesExcepted`, after which the device is
    half loaded and needs a reset.
    """
    application.verify()
    images = TileImages(application)
    _check_size(board.transport, application)
    _configure(board.transport, application, When.BEFORE_LOAD)
    install_loader(board, loader)
    [buffer] = page_memory([BUFFER_BYTES])
    with _only_loader_exchanges(board.transport), attached(board.transport, 0, buffer):
        _send(board, images, buffer)
        _execute(board, buffer, application.host.startup_mark)
    _configure(board.transport, application, When.AFTER_LOAD)


def _check_size(transport: Transport, application: Application) -> None:
    if application.tiles != transport.tiles:
        raise LoaderError(
            f"the program is for {application.tiles} tiles, the device has {transport.tiles}"
        )


def _configure(transport: Transport, application: Application, when: When) -> None:
    """Write the registers that the application asks for at this time."""
    table = application.configuration
    chosen = table[table.when == when]
    for offset, value in zip(chosen.offset.tolist(), chosen.value.tolist(), strict=True):
        transport.write(offset, value)


@contextmanager
def _only_loader_exchanges(transport: Transport) -> Iterator[None]:
    """Within the block, exchange blocks serve the loader's requests only; then the programs'."""
    control = transport.read(registers.CCSR)
    try:
        for offset in (*registers.WEST_REQUESTS, *registers.EAST_REQUESTS):
            transport.write(offset, registers.NO_REQUESTS)
        guarded = control & ~(registers.CCSR_NO_SNOOP | registers.CCSR_LINK_ECRC)
        transport.write(registers.CCSR, guarded)
        transport.read(registers.CCSR)
        for offset in registers.WEST_REQUESTS:
            transport.write(offset, registers.LOADING_REQUESTS)
        yield
    finally:
        for offset in registers.WEST_REQUESTS:
            transport.write(offset, registers.RUNNING_REQUESTS_WEST)
        for offset in registers.EAST_REQUESTS:
            transport.write(offset, registers.RUNNING_REQUESTS_EAST)
        transport.write(registers.CCSR, control)
        transport.read(registers.CCSR)


def _send(board: Board, images: TileImages, buffer: NDArray[np.uint8]) -> None:
    """Give each row of tiles its batch. Writing the mark comes after all writes to the buffer."""
    for first in range(0, len(images), LOADER_BATCH_TILES):
        tiles = range(first, first + LOADER_BATCH_TILES)
        write_batch(buffer, first, [images[tile] for tile in tiles])
        board.set_mark(SyncGroup.LOADER, 1)
        board.await_mark(SyncGroup.LOADER, f"loading tiles {tiles[0]} to {tiles[-1]}")


def _execute(board: Board, buffer: NDArray[np.uint8], startup_mark: int) -> None:
    """Tell the loaders of all rows to run what they have loaded, which they do on the next mark."""
    buffer[:] = _SENTINEL
    for mark in (1, startup_mark):
        board.set_mark(SyncGroup.LOADER, mark)
        board.await_mark(SyncGroup.LOADER, "ending the loading")
