"""Waiting for a device, within limits."""

import time
from collections.abc import Callable
from dataclasses import dataclass, fields

from tilewright.driver.errors import DeviceTimeout, DriverError
from tilewright.driver.transport import Clock


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait for what, in seconds of the device's clock.

    The defaults are those with which a third party's stack drives cards. Raises `DriverError`
    for what is no length of time.
    """

    auto_loader: float = 2.0
    mark: float = 10.0
    """For a mark of host sync, which is how long a program may compute."""
    debug: float = 0.1
    completion: float = 10.0
    poll: float = 100e-6
    """Between two looks."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            seconds = getattr(self, limit.name)
            if not seconds >= 0:  # nor is what is no number
                raise DriverError(
                    f"the limit '{limit.name}' is {seconds:g} s; it cannot be below 0"
                )


class SystemClock:
    """The time of the host."""

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


_FIRST_WATCH = 10
"""Polls before the first look at what else may have happened; from then on twice as many."""


def wait_until(
    is_so: Callable[[], bool],
    what: str,
    clock: Clock,
    *,
    limit: float,
    poll: float = 0.0,
    watch: Callable[[], None] | None = None,
) -> None:
    """Poll until `is_so`, once more after the limit has passed.

    `watch` is called now and then, and may raise if waiting is in vain. Raises `DeviceTimeout`.
    """
    end = clock.now() + limit
    polls, next_watch = 0, _FIRST_WATCH
    while True:
        is_late = clock.now() >= end
        if is_so():
            return
        if is_late:
            if watch is not None:
                watch()
            raise DeviceTimeout(f"time-out: {what} took more than {limit:g} s of the device's time")
        polls += 1
        if watch is not None and polls == next_watch:
            watch()
            next_watch *= 2
        if poll:
            clock.sleep(poll)
