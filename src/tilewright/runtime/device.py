"""Devices: opening one, and loading packages into it."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Self

from tilewright.driver import (
    ConfigurationImage,
    Limits,
    LoaderImage,
    Program,
    Transport,
    read_configuration,
    read_loader,
)
from tilewright.package import Application, open_package
from tilewright.runtime.errors import SessionError
from tilewright.runtime.parameters import Parameters, bind_parameters
from tilewright.runtime.session import HostSession
from tilewright.tracing import span

EMULATOR = "emulator"

Connect = Callable[[int], Transport]
"""Opens the way to a device that has so many tiles."""


class Device:
    """A device, into which one package at a time can be loaded. Leaving its `with` closes it.

    Each loading opens the way to it anew, and begins with a reset. Calls of several threads follow
    one after the other.
    """

    def __init__(
        self,
        connect: Connect,
        loader: LoaderImage,
        configuration: ConfigurationImage | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._connect = connect
        self._loader, self._configuration, self._limits = loader, configuration, limits
        self._lock = RLock()
        self._session: HostSession | None = None
        self._is_closed = False

    def load(
        self, package: Application | str | Path, parameters: Parameters | None = None
    ) -> HostSession:
        """Load a package, or the one in a file, and wait until it is ready for runs.

        `parameters` are those that the package expects from a file: arrays by name, or the file.
        Raises `SessionError` if a session of this device is open, `PackageError`, `FileError` and
        `InputError` before the device is touched, and `DriverError`s.
        """
        with self._lock, span("runtime.load"), ExitStack() as opened:
            if self._is_closed:
                raise SessionError("the device is closed")
            if self._session is not None:
                raise SessionError("the device runs a package already; close that session first")
            if isinstance(package, str | Path):
                package = opened.enter_context(open_package(Path(package)))
            application = bind_parameters(package, parameters)
            package_file = opened.pop_all()

            def ended() -> None:
                self._session = None
                package_file.close()

            try:
                self._session = HostSession(application, package.digest, self._begin, ended)
            except BaseException:
                package_file.close()
                raise
            return self._session

    def close(self) -> None:
        """End what runs, and let go of the device. May be called again."""
        with self._lock:
            self._is_closed = True
            if self._session is not None:
                self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._is_closed = True
            if self._session is not None:
                self._session.__exit__(kind, error, trace)

    def _begin(self, application: Application) -> Program:
        transport = self._connect(application.tiles)
        return Program(transport, application, self._loader, self._configuration, self._limits)


def open_device(
    name: str = EMULATOR,
    *,
    loader: str | Path | None = None,
    configuration: str | Path | None = None,
    limits: Limits | None = None,
    engine: str = "llvm",
    threads: int | None = None,
) -> Device:
    """A device: "emulator" is an emulated chip, of as many tiles as each package asks for.

    `loader` is an ELF file with a tile loader, which a card needs and the emulator has; likewise
    `configuration` is a configuration image. `limits` are the driver's, of the device's time; an
    emulated device has `tilewright.driver.emulated.LIMITS` without. `engine` and `threads` are
    those of the emulated chip.
    Raises `SessionError` for names of no device or engine.
    """
    if name != EMULATOR:
        raise SessionError(f"no device '{name}': only '{EMULATOR}' can be opened so far")
    # The emulated chip takes a while to import.
    from tilewright.driver.emulated import ENGINES, LIMITS, LOADER, EmulatedTransport

    if engine not in ENGINES:
        raise SessionError(f"no engine '{engine}'; there are: {', '.join(ENGINES)}")

    return Device(
        lambda tiles: EmulatedTransport(tiles, engine=engine, threads=threads),
        LOADER if loader is None else read_loader(Path(loader)),
        None if configuration is None else read_configuration(Path(configuration)),
        limits or LIMITS,
    )
