"""Transports around another one that make something go wrong, or write down what passes."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tilewright.driver import SyncGroup, Transport
from tilewright.driver.frames import DESCRIPTOR_BYTES
from tilewright.driver.registers import AUTO_LOADER_CONTROL, AUTO_LOADER_GO


class Wrapped:
    """A transport that passes everything on. With `is_mute` it tells no findings, as a card."""

    is_mute = False
    may_recover = True

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.tiles, self.clock = inner.tiles, inner.clock

    def read(self, offset: int) -> int:
        return self.inner.read(offset)

    def write(self, offset: int, value: int) -> None:
        self.inner.write(offset, value)

    def attach_page(self, index: int, memory: NDArray[np.uint8]) -> None:
        self.inner.attach_page(index, memory)

    def detach_page(self, index: int) -> None:
        self.inner.detach_page(index)

    def detach_pages(self) -> None:
        self.inner.detach_pages()

    def attach_process(self) -> None:
        self.inner.attach_process()

    def set_identity(self, value: int) -> None:
        self.inner.set_identity(value)

    def set_secondary_identity(self, value: int) -> None:
        self.inner.set_secondary_identity(value)

    def stop_monitoring(self) -> None:
        self.inner.stop_monitoring()

    def start_monitoring(self) -> None:
        self.inner.start_monitoring()

    def accumulate_errors(self) -> None:
        self.inner.accumulate_errors()

    def announce_reset(self) -> None:
        self.inner.announce_reset()

    def mailbox(self, request: tuple[int, ...]) -> tuple[int, ...]:
        return self.inner.mailbox(request)

    def cycles(self) -> int | None:
        return self.inner.cycles()

    def findings(self) -> tuple[str, ...]:
        return () if self.is_mute else self.inner.findings()

    def close(self) -> None:
        self.inner.close()


class Recording(Wrapped):
    """Writes down every access: ("read", offset), ("write", offset, value) and so on."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.log: list[tuple[object, ...]] = []

    def read(self, offset: int) -> int:
        self.log.append(("read", offset))
        return super().read(offset)

    def write(self, offset: int, value: int) -> None:
        self.log.append(("write", offset, value))
        super().write(offset, value)

    def attach_page(self, index: int, memory: NDArray[np.uint8]) -> None:
        self.log.append(("attach", index, memory.size))
        super().attach_page(index, memory)

    def detach_page(self, index: int) -> None:
        self.log.append(("detach", index))
        super().detach_page(index)

    def mailbox(self, request: tuple[int, ...]) -> tuple[int, ...]:
        self.log.append(("mailbox", request))
        return super().mailbox(request)

    def close(self) -> None:
        self.log.append(("close",))
        super().close()

    def writes(self, *offsets: int) -> list[tuple[object, ...]]:
        """What was written to these registers, as offset and value."""
        return [each[1:] for each in self.log if each[0] == "write" and each[1] in offsets]


class MarkLost(Wrapped):
    """The n-th mark of a group does not reach the device."""

    is_mute = True

    def __init__(self, inner: Transport, group: SyncGroup, number: int) -> None:
        super().__init__(inner)
        self._group, self._left = group, number

    def write(self, offset: int, value: int) -> None:
        if offset == self._group.control and value:
            self._left -= 1
            if self._left == -1:
                return
        super().write(offset, value)


class MarkStuck(Wrapped):
    """The mark of a group stays as it is from the n-th that is written on."""

    is_mute = True

    def __init__(self, inner: Transport, group: SyncGroup, number: int) -> None:
        super().__init__(inner)
        self._group, self._left = group, number

    def write(self, offset: int, value: int) -> None:
        if offset == self._group.control and value:
            self._left -= 1
        super().write(offset, value)

    def read(self, offset: int) -> int:
        value = super().read(offset)
        return 1 if offset == self._group.control and self._left < 0 else value


class Late(Wrapped):
    """Acknowledgements come after a while of the device's time."""

    def __init__(self, inner: Transport, seconds: Callable[[], float]) -> None:
        super().__init__(inner)
        self._seconds = seconds

    def write(self, offset: int, value: int) -> None:
        if offset in (SyncGroup.LOADER.control, SyncGroup.PROGRAM.control):
            self.clock.sleep(self._seconds())
        super().write(offset, value)


class BatchChanged(Wrapped):
    """Something is done to the first batch of frames before its mark: `change(buffer)`."""

    def __init__(self, inner: Transport, change: Callable[[NDArray[np.uint8]], None]) -> None:
        super().__init__(inner)
        self._change = change
        self._buffer: NDArray[np.uint8] | None = None

    def attach_page(self, index: int, memory: NDArray[np.uint8]) -> None:
        self._buffer = memory
        super().attach_page(index, memory)

    def write(self, offset: int, value: int) -> None:
        if offset == SyncGroup.LOADER.control and value and self._buffer is not None:
            self._change(self._buffer)
            self._buffer = None
        super().write(offset, value)


class StuckGo(Wrapped):
    """The auto-loader never says that it is through."""

    def read(self, offset: int) -> int:
        value = super().read(offset)
        return value | AUTO_LOADER_GO if offset == AUTO_LOADER_CONTROL else value


class PagesLost(Wrapped):
    """Host memory is attached, but the device does not reach it."""

    is_mute = True

    def attach_page(self, index: int, memory: NDArray[np.uint8]) -> None: ...

    def detach_page(self, index: int) -> None: ...


class Interrupted(Wrapped):
    """The user interrupts when the mark of programs is read for the n-th time."""

    def __init__(self, inner: Transport, number: int) -> None:
        super().__init__(inner)
        self._left = number

    def read(self, offset: int) -> int:
        if offset == SyncGroup.PROGRAM.control:
            self._left -= 1
            if self._left == -1:
                raise KeyboardInterrupt
        return super().read(offset)


def words_of(buffer: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Descriptors of a batch, as rows of offset and number of frames."""
    return buffer[: 64 * DESCRIPTOR_BYTES].view("<u4").reshape(-1, 2)
