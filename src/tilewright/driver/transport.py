"""The way to a device: everything that differs between an emulated chip and a card.

A transport moves words and pages and makes the kernel module's control calls. It knows nothing of
loaders, sessions or debugging; nothing above it knows what is behind it.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

MAILBOX_WORDS = 5
"""Words that a transaction with the board's controller sends, and receives."""


class Clock(Protocol):
    """The time in which a device lives, in seconds."""

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class Transport(Protocol):
    """Registers, host memory and control calls of one device.

    Registers are words in a space of `CONFIGURATION_SPACE` bytes, at offsets that are multiples of
    4. Writes may be posted: a read of the same register comes after them. Every method raises
    `TransportError` for what the device's side refuses. One thread at a time.
    """

    @property
    def tiles(self) -> int:
        """How many tiles the device has: the physical ids from 0 on."""

    @property
    def clock(self) -> Clock:
        """The time by which limits of waiting are meant."""

    @property
    def may_recover(self) -> bool:
        """Whether a reset may help after a time-out: an emulated device does the same again."""

    def read(self, offset: int) -> int: ...

    def write(self, offset: int, value: int) -> None: ...

    def attach_page(self, index: int, memory: NDArray[np.uint8]) -> None:
        """Let the device reach `memory`, whole pages, from 4 KiB × `index` of its host space on.

        It stays where it is and alive until it is detached.
        """

    def detach_page(self, index: int) -> None: ...

    def detach_pages(self) -> None:
        """Detach all that are attached; there may be none."""

    def attach_process(self) -> None:
        """Make the device this process's."""

    def set_identity(self, value: int) -> None:
        """What signals of this device carry."""

    def set_secondary_identity(self, value: int) -> None: ...

    def stop_monitoring(self) -> None:
        """Keep the kernel module from looking at the device, while it is reset."""

    def start_monitoring(self) -> None: ...

    def accumulate_errors(self) -> None: ...

    def announce_reset(self) -> None:
        """Tell the kernel module that the device has been reset."""

    def mailbox(self, request: tuple[int, ...]) -> tuple[int, ...]:
        """A transaction with the board's controller: `MAILBOX_WORDS` words each way."""

    def cycles(self) -> int | None:
        """The chip's cycle at this moment, None where the host cannot know it."""

    def findings(self) -> tuple[str, ...]:
        """Why the device will not go on, as far as no register shows it; empty on a card."""

    def close(self) -> None:
        """Let go of the device, whatever state it is in. May be called again."""
