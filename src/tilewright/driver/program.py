"""A program on a device, from the reset to its end; what goes wrong is told with a report."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tilewright.driver.auto_loader import LoaderImage
from tilewright.driver.board import Board, TilesExcepted
from tilewright.driver.configuration import ConfigurationImage
from tilewright.driver.errors import (
    DeviceHang,
    DeviceTimeout,
    DriverError,
    ProtocolError,
    TileError,
)
from tilewright.driver.failure import examine
from tilewright.driver.loader import load
from tilewright.driver.session import CallTimes, Session
from tilewright.driver.transport import Transport
from tilewright.driver.waiting import Limits
from tilewright.package import Application, EntryPoint

U8 = NDArray[np.uint8]
ResultT = TypeVar("ResultT")


class Program:
    """A program that has been loaded into a device, which is its alone, and waits for calls.

    After an error it cannot go on: `close` it, and load it again. Methods raise `TileError` for
    tiles that have excepted, `DeviceTimeout`, `DeviceHang` and other `DriverError`s.
    """

    def __init__(
        self,
        transport: Transport,
        application: Application,
        loader: LoaderImage,
        configuration: ConfigurationImage | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Reset the device, load the program, start it. If that fails, the device is closed."""
        self._board = Board(transport, limits)
        self._application = application
        self._session: Session | None = None
        try:
            with self._reporting(loader):
                self._board.initialise(configuration)
                load(self._board, application, loader)
            with self._reporting():
                self._session = Session(self._board, application)
                self._session.start()
        except BaseException:
            self.close()
            raise

    def call(
        self, entry: EntryPoint, inputs: Mapping[int, U8], outputs: Mapping[int, U8]
    ) -> list[CallTimes | None]:
        """Make the calls of an entry point: see `Session.call`."""
        assert self._session is not None
        with self._reporting():
            return self._session.call(entry, inputs, outputs)

    def stop(self) -> None:
        """End the program, and wait until all tiles have ended."""
        assert self._session is not None
        with self._reporting():
            self._session.stop()

    def close(self) -> None:
        """Let go of the device, in whatever state it is. May be called again."""
        session, self._session = self._session, None
        if session is not None:
            with suppress(DriverError):
                session.close()
        self._board.close()

    @contextmanager
    def _reporting(self, loader: LoaderImage | None = None) -> Iterator[None]:
        """Give errors of the block a report of the device; a loader runs on its tiles if given."""
        try:
            yield
        except TilesExcepted:
            raise TileError(examine(self._board, self._application, loader)) from None
        except DeviceTimeout as error:
            report = examine(self._board, self._application, loader)
            may_recover = self._board.transport.may_recover
            raise DeviceTimeout(str(error), report, may_recover=may_recover) from error
        except (DeviceHang, ProtocolError) as error:
            report = examine(self._board, self._application, loader)
            raise type(error)(str(error), report) from error


def repeated_once(attempt: Callable[[], ResultT], between: Callable[[], None]) -> ResultT:
    """The result of an attempt, which is repeated after a time-out, once, if that may help.

    An attempt is a whole one, from opening the device on, so that nothing goes on in a state that
    is known in part. Other errors are not repeated: they would come again. `between` cleans up.
    """
    try:
        return attempt()
    except DeviceTimeout as error:
        if not error.may_recover:
            raise
        between()
    return attempt()
