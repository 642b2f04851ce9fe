"""One device as the driver sees it: reset, marks of host sync, and its tiles' debugger."""

from tilewright.driver.configuration import ConfigurationImage
from tilewright.driver.debug import Debugger
from tilewright.driver.errors import DeviceHang, ProtocolError
from tilewright.driver.registers import MARK_MASK, SyncGroup
from tilewright.driver.transport import MAILBOX_WORDS, Transport
from tilewright.driver.waiting import Limits, wait_until

_RESET_REQUEST = (0x4078020E, *([0] * (MAILBOX_WORDS - 1)))
_ANSWERED_SHIFT = 16
"""The upper half of the first word of an answer is that of the request."""


class TilesExcepted(Exception):
    """Tiles were found that have excepted, while something else was waited for."""


class Board:
    """A device behind a transport. Closing it lets go of the device."""

    def __init__(self, transport: Transport, limits: Limits | None = None) -> None:
        self.transport = transport
        self.limits = limits or Limits()
        self.debugger = Debugger(transport, self.limits)

    def initialise(self, configuration: ConfigurationImage | None) -> None:
        """Take the device, reset it and replay its configuration, so that tiles can be loaded."""
        self.transport.attach_process()
        self.transport.set_identity(0)
        self._reset()
        if configuration is not None:
            configuration.replay(self.transport)
        for group in SyncGroup:
            self.set_mark(group, 0)
            if self.mark(group):
                raise ProtocolError(f"the mark of host sync group {group} cannot be cleared")

    def _reset(self) -> None:
        self.transport.stop_monitoring()
        answer = self.transport.mailbox(_RESET_REQUEST)
        if answer[0] >> _ANSWERED_SHIFT != _RESET_REQUEST[0] >> _ANSWERED_SHIFT:
            raise ProtocolError(f"the board's controller answers {answer[0]:#x} to a reset")
        self.transport.start_monitoring()
        self.transport.accumulate_errors()
        self.transport.announce_reset()
        self.transport.set_secondary_identity(0)

    def mark(self, group: SyncGroup) -> int:
        """The group's mark; 0 means that the device waits for the host, or has not started."""
        return self.transport.read(group.control) & MARK_MASK

    def set_mark(self, group: SyncGroup, value: int) -> None:
        self.transport.write(group.control, value)

    def await_mark(self, group: SyncGroup, what: str) -> None:
        """Wait until the device waits for the host.

        Raises `DeviceTimeout`; `TilesExcepted` if tiles have excepted meanwhile; `DeviceHang` if
        the transport knows why nothing will happen.
        """
        wait_until(
            lambda: self.mark(group) == 0,
            f"{what} (host sync group {group})",
            self.transport.clock,
            limit=self.limits.mark,
            poll=self.limits.poll,
            watch=self.watch,
        )

    def watch(self) -> None:
        """Look whether there is any use in waiting for the tiles. Raises as `await_mark` does."""
        if self.debugger.excepted_tiles().size:
            raise TilesExcepted
        findings = self.transport.findings()
        if findings:
            raise DeviceHang(f"the device will not go on: {findings[0].splitlines()[0]}")

    def close(self) -> None:
        self.transport.close()
