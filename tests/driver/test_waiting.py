"""Waiting within limits, by a clock of the test's own."""

import pytest

from tilewright.driver import DeviceTimeout, DriverError, Limits
from tilewright.driver.waiting import wait_until


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


def test_it_ends_as_soon_as_it_is_so() -> None:
    clock = Clock()
    wait_until(lambda: clock.time >= 0.5, "half a second", clock, limit=1, poll=0.25)
    assert clock.time == 0.5


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_limits_are_seconds(seconds: float) -> None:
    with pytest.raises(DriverError, match=r"the limit 'mark' is (-1|nan) s"):
        Limits(mark=seconds)


def test_it_gives_up_after_the_limit() -> None:
    clock = Clock()
    with pytest.raises(DeviceTimeout, match=r"the end of the world took more than 2 s"):
        wait_until(lambda: False, "the end of the world", clock, limit=2, poll=0.5)
    assert clock.time == 2


def test_it_looks_once_more_when_the_limit_has_passed() -> None:
    """A host that was stopped for a while finds the device done, not late."""
    clock = Clock()
    looks = []

    def is_so() -> bool:
        looks.append(clock.time)
        clock.time += 5
        return len(looks) == 2

    wait_until(is_so, "it", clock, limit=1)
    assert looks == [0, 5]


def test_watching_is_rare_and_comes_before_giving_up() -> None:
    clock = Clock()
    watched = []
    with pytest.raises(DeviceTimeout):
        wait_until(
            lambda: False,
            "it",
            clock,
            limit=10,
            poll=1 / 128,
            watch=lambda: watched.append(clock.time),
        )
    assert watched == [each / 128 for each in (9, 19, 39, 79, 159, 319, 639, 1279)] + [10]


def test_what_watching_finds_is_what_is_told() -> None:
    def watch() -> None:
        raise RuntimeError("found")

    with pytest.raises(RuntimeError, match="found"):
        wait_until(lambda: False, "it", Clock(), limit=10, poll=0.1, watch=watch)
