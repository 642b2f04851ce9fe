"""What can go wrong between the host and a device."""

from typing import TYPE_CHECKING

from tilewright.errors import TilewrightError

if TYPE_CHECKING:
    from tilewright.driver.failure import FailureReport


class DriverError(TilewrightError):
    """A device that could not be used; `report` tells how it was found, if it could be read."""

    def __init__(self, message: str, report: "FailureReport | None" = None) -> None:
        self.report = report
        super().__init__(f"{message}\n{report}" if report is not None else message)


class TransportError(DriverError):
    """The way to the device refused something: an offset, a page, a control call."""


class ProtocolError(DriverError):
    """The device answered what the protocol does not allow, or is asked for what it cannot do."""


class DeviceTimeout(DriverError):
    """The device did not do in time what was waited for.

    If it `may_recover`, this alone justifies to repeat an attempt, from the reset on.
    """

    def __init__(
        self, message: str, report: "FailureReport | None" = None, *, may_recover: bool = True
    ) -> None:
        self.may_recover = may_recover
        super().__init__(message, report)


class DeviceHang(DriverError):
    """The device's own side tells why it will not go on, which registers do not show."""


class TileError(DriverError):
    """Tiles have excepted: `tile` is the first of those in `report`, `context` what it was at."""

    def __init__(self, report: "FailureReport") -> None:
        self.tile = report.tiles[0].tile
        self.context = next(iter(report.tiles[0].contexts), None)
        what = "has excepted" if self.context is None else self.context.heading
        super().__init__(f"tile {self.tile}, {what}", report)
