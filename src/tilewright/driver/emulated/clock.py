"""The time of an emulated device: it passes while the host waits, and as the chip's cycles do."""

from tilewright.target.timing import CLOCK

ACCESS_SECONDS = 1e-6
"""What an access to a register takes, roughly as over a bus: so that polling takes time, too."""


class EmulatedClock:
    """Seconds since the device came up. Nobody waits for them."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds

    def pass_cycles(self, cycles: int) -> None:
        self._now += cycles / CLOCK.value
