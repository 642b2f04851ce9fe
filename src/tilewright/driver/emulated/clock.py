"""The time of an emulated device: it passes while the host waits, and with what the host does."""

ACCESS_SECONDS = 1e-6
"""What an access to a register takes, roughly as over a bus: so that polling takes time, too
(`access-time`)."""


class EmulatedClock:
    """Seconds since the device came up. Nobody waits for them."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds
