"""The host's mark of a sync group: how many more barriers of the group may complete without it.

The host writes a mark and waits until it reads 0: then the device waits for the host, and what came
before the barrier is complete (`held-marks`).
"""

from tilewright.errors import TilewrightError

MARK_MASK = 0xFFFF


class MarkError(TilewrightError):
    """A mark that no register can hold."""


class GroupMark:
    """The mark of one group. A barrier takes one off it, and is *held* if nothing is left then.

    The host's next mark lets a held barrier pass, which takes nothing off that mark.
    """

    def __init__(self) -> None:
        self.value = 0
        self.is_held = False
        self._is_released = False

    def write(self, value: int) -> None:
        """What the host writes. Raises `MarkError` if it is more than 16 bits."""
        if not 0 <= value <= MARK_MASK:
            raise MarkError(f"a mark of {value}; marks are 0 to {MARK_MASK}")
        self.value = value
        if value and self.is_held:
            self.is_held, self._is_released = False, True

    def passes(self) -> bool:
        """Whether the barrier to which all tiles have come completes; it is asked until it does."""
        if self._is_released:
            self._is_released = False
            return True
        if self.is_held:
            return False
        self.value = max(self.value - 1, 0)
        self.is_held = self.value == 0
        return not self.is_held
