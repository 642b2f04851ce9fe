"""What happens when something goes wrong between host and device: it is told, nothing is stuck."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.driver.wrapping import (
    BatchChanged,
    Interrupted,
    MarkLost,
    MarkStuck,
    PagesLost,
    StuckGo,
    Wrapped,
    words_of,
)
from tilewright.driver import (
    DeviceHang,
    DeviceTimeout,
    ExceptionType,
    ProtocolError,
    SyncGroup,
    TileError,
    Transport,
    repeated_once,
)

if TYPE_CHECKING:
    from .conftest import Make

Change = Callable[[NDArray[np.uint8]], None]


def put(row: int, column: int, value: int) -> Change:
    """Change a descriptor of the batch."""

    def change(buffer: NDArray[np.uint8]) -> None:
        words_of(buffer)[row, column] = value

    return change


def put_header(tile: int, frame: int, word: int, value: int) -> Change:
    """Change a header; frames count from 0, or from the tile's last one backwards."""

    def change(buffer: NDArray[np.uint8]) -> None:
        offset, count = words_of(buffer)[tile].tolist()
        buffer[offset + 1024 * (frame % count) :][:16].view("<u4")[word] = value

    return change


# -- loading --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "tile", "check"),
    [
        (put(3, 1, 16), 3, "count"),
        (put(3, 1, 644), 3, "count"),
        (put(63, 0, 1 << 27), 63, "offset"),
        (put_header(1, 5, 0, 6), 1, "frame_index"),
        (put_header(1, 5, 1, 0), 1, "frame_tile"),
        (put_header(1, 5, 2, 1 << 28), 1, "frame_kind"),
        (put_header(1, 5, 2, 1 << 27), 1, "frame_kind"),
        (put_header(1, -1, 2, 0), 1, "frame_kind"),
        (put_header(0, 0, 3, 1), 0, "frame_zero"),
    ],
)
def test_a_tile_refuses_what_it_is_sent(
    driven: "Make", change: Change, tile: int, check: str
) -> None:
    """It ends in `trap 1`, with the address of the check in $m1; the host reads both."""
    with pytest.raises(TileError) as raised:
        driven(lambda inner: BatchChanged(inner, change)).load()
    error = raised.value
    assert error.tile == tile
    assert error.context is not None
    assert error.context.exception is ExceptionType.PATCHED_BREAK_1
    assert error.context.loader_check == check
    assert f"check '{check}' of the tile loader" in str(error)
    assert error.report is not None
    assert error.report.marks == (1, 0), "the row does not come to the next sync"


def test_a_tile_that_was_left_out_will_not_execute(driven: "Make") -> None:
    with pytest.raises(TileError, match="check 'nothing_loaded'"):
        driven(lambda inner: BatchChanged(inner, put(7, 0, 0))).load()


def test_frames_beyond_host_memory(driven: "Make") -> None:
    """The tile waits for them for ever. An emulated device can tell, a card cannot."""

    class Mute(BatchChanged):
        is_mute = True

    change = put(3, 0, 0x2842000 - 1024)
    with pytest.raises(DeviceHang, match="the loader of tile 3 waits for frames"):
        driven(lambda inner: BatchChanged(inner, change)).load()
    with pytest.raises(DeviceTimeout, match=r"loading tiles 0 to 63 .* more than 1 s"):
        driven(lambda inner: Mute(inner, change)).load()


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_mark_of_loading_is_lost(driven: "Make", lost: int) -> None:
    """The one of the batch, the order to execute, and the one that ends loading.

    A mark that is lost reads as 0, which is what the host waits for: it shows at the next step,
    when the loaders are a step behind.
    """
    with pytest.raises((DeviceTimeout, TileError)):
        driven(lambda inner: MarkLost(inner, SyncGroup.LOADER, lost)).load()


def test_an_auto_loader_that_never_ends(driven: "Make") -> None:
    with pytest.raises(DeviceTimeout, match=r"\(the auto-loader\) took more than 2 s") as raised:
        driven(StuckGo).load()
    assert raised.value.report is not None
    assert raised.value.report.tiles == ()


def test_pages_that_the_device_does_not_reach(driven: "Make") -> None:
    with pytest.raises(DeviceTimeout, match="loading tiles 0 to 63"):
        driven(PagesLost).load()


def test_marks_that_cannot_be_cleared(driven: "Make") -> None:
    class Set(Wrapped):
        def read(self, offset: int) -> int:
            return 7 if offset == SyncGroup.PROGRAM.control else super().read(offset)

    with pytest.raises(ProtocolError, match="mark of host sync group 2 cannot be cleared"):
        driven(Set).load()


def test_a_reset_that_is_answered_by_something_else(driven: "Make") -> None:
    class Odd(Wrapped):
        def mailbox(self, request: tuple[int, ...]) -> tuple[int, ...]:
            return (0x1234, *super().mailbox(request)[1:])

    with pytest.raises(ProtocolError, match="answers 0x1234 to a reset"):
        driven(Odd).load()


def test_a_wrong_startup_mark(driven: "Make", package: Any) -> None:
    """That of a whole device: the program begins before its pages are there."""
    from dataclasses import replace

    wrong = replace(package, host=replace(package.host, startup_mark=23))
    with pytest.raises(DeviceTimeout, match="ending the loading"):
        driven(application=wrong).load()


# -- running --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", range(6))
def test_a_mark_of_a_run_is_lost(driven: "Make", lost: int) -> None:
    """It reads as 0, as if the device had taken it. The host is a phase ahead from then on, which
    shows at the latest when the program is to end."""
    device = driven(lambda inner: MarkLost(inner, SyncGroup.PROGRAM, 5 + lost)).load()
    device.run(device.x())
    assert device.program is not None
    with pytest.raises(DeviceTimeout, match=r"ending the program took more than 0\.1 s"):
        device.program.stop()


@pytest.mark.parametrize("phase", range(6))
def test_a_phase_that_the_device_does_not_acknowledge(driven: "Make", phase: int) -> None:
    """Its mark stays as the host has written it."""
    device = driven(lambda inner: MarkStuck(inner, SyncGroup.PROGRAM, 5 + phase)).load()
    step = "what follows it" if phase % 2 else "the transfer"
    with pytest.raises(DeviceTimeout, match=f"'run', batch {phase // 2} of 3: {step}") as raised:
        device.run(device.x())
    assert raised.value.report is not None
    assert raised.value.report.marks == (1, 1)
    assert raised.value.report.tiles == ()


def test_the_first_page_is_not_there(driven: "Make") -> None:
    class Lost(Wrapped):
        def attach_page(self, index: int, memory: NDArray[np.uint8]) -> None:
            if memory.size != 4096:
                super().attach_page(index, memory)

        def detach_page(self, index: int) -> None:
            if index:
                super().detach_page(index)

    with pytest.raises(DeviceHang, match="where no memory is attached"):
        driven(lambda inner: Lost(inner)).load()


def test_an_interrupted_run_lets_go_of_the_device(driven: "Make") -> None:
    closed = []

    class Watched(Interrupted):
        def close(self) -> None:
            closed.append(True)
            super().close()

    device = driven(lambda inner: Watched(inner, 25)).load()
    with pytest.raises(KeyboardInterrupt):
        device.run(device.x())
    assert device.program is not None
    device.program.close()
    assert closed == [True]


# -- repeating ------------------------------------------------------------------------------------


def test_a_whole_attempt_is_repeated_after_a_timeout(driven: "Make") -> None:
    attempts: list[Transport] = []

    def wrap(inner: Transport) -> Transport:
        attempts.append(inner)
        return PagesLost(inner) if len(attempts) == 1 else inner

    cleaned = []
    device = repeated_once(lambda: driven(wrap).load(), lambda: cleaned.append(True))
    x = device.x()
    assert np.array_equal(device.run(x), x + device.w)
    assert (len(attempts), cleaned) == (2, [True])


def test_it_is_repeated_once_only_and_for_timeouts_only() -> None:
    calls = []

    def fails(error: Exception) -> Callable[[], None]:
        def attempt() -> None:
            calls.append(error)
            raise error

        return attempt

    in_vain = DeviceTimeout("late", may_recover=False)
    for error, count in ((DeviceTimeout("late"), 2), (in_vain, 1), (ProtocolError("odd"), 1)):
        calls.clear()
        with pytest.raises(type(error)):
            repeated_once(fails(error), lambda: None)
        assert len(calls) == count
