"""Driving a device at the level of its registers: reset, load, run, look into tiles.

- the way to a device: `Transport`, `Clock`; an emulated one: `tilewright.driver.emulated`
- a program on a device, from the reset to its end: `Program`, `CallTimes`, `repeated_once`
- what it is given: `LoaderImage`, `read_loader`; `ConfigurationImage`, `read_configuration`;
  `Limits`
- the steps: `Board`, `load`, `Session`; tiles: `Debugger`; after failures: `examine`,
  `FailureReport`
- errors: `DriverError` and its kinds

Everything speaks to a `Transport` alone. See docs/driver.md.
"""

from tilewright.driver.auto_loader import LoaderError, LoaderImage, install_loader, read_loader
from tilewright.driver.board import Board
from tilewright.driver.configuration import (
    ConfigurationError,
    ConfigurationImage,
    read_configuration,
)
from tilewright.driver.debug import Debugger, ExceptionType, ReceiveError
from tilewright.driver.errors import (
    DeviceHang,
    DeviceTimeout,
    DriverError,
    ProtocolError,
    TileError,
    TransportError,
)
from tilewright.driver.failure import ContextReport, FailureReport, TileReport, examine
from tilewright.driver.loader import load
from tilewright.driver.program import Program, repeated_once
from tilewright.driver.registers import SyncGroup
from tilewright.driver.session import CallTimes, Session, entries_of
from tilewright.driver.transport import Clock, Transport
from tilewright.driver.waiting import Limits, SystemClock

__all__ = [  # noqa: RUF022 - grouped by subject, not sorted
    # the way to a device
    "Transport",
    "Clock",
    "SystemClock",
    # a program on a device
    "Program",
    "CallTimes",
    "repeated_once",
    "Limits",
    "LoaderImage",
    "read_loader",
    "ConfigurationImage",
    "read_configuration",
    # the steps
    "Board",
    "SyncGroup",
    "install_loader",
    "load",
    "Session",
    "entries_of",
    # tiles
    "Debugger",
    "ExceptionType",
    "ReceiveError",
    "examine",
    "FailureReport",
    "TileReport",
    "ContextReport",
    # errors
    "DriverError",
    "TransportError",
    "ProtocolError",
    "DeviceTimeout",
    "DeviceHang",
    "TileError",
    "LoaderError",
    "ConfigurationError",
]
