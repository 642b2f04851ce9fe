"""The auto-loader of an emulated device: words in, then two runs over the memory of all tiles.

The first run puts the words into all tiles, the second goes through the rest of their memory, which
stays unwritten here, and lets the tiles run (`sweep`).
"""

from collections.abc import Callable

from tilewright.driver.registers import (
    AUTO_LOADER_END_SHIFT,
    AUTO_LOADER_GO,
    AUTO_LOADER_HAS_DATA,
    AUTO_LOADER_KIB_MASK,
    AUTO_LOADER_POINTER_MASK,
    AUTO_LOADER_TILE_MASK,
    AUTO_LOADER_TILE_SHIFT,
    AUTO_LOADER_ZONE,
    AUTO_LOADER_ZONE_SHIFT,
)
from tilewright.target.geometry import MEMORY_SIZE

_KIB = 1024
_WORD = 4


class AutoLoader:
    """Three registers. A run that is set up in another way than is known to work never ends."""

    def __init__(
        self, tiles: int, install: Callable[[bytes], None], begin: Callable[[], None]
    ) -> None:
        """`install` puts a loader into all tiles, `begin` lets them run it."""
        self._tiles = tiles
        self._install, self._begin = install, begin
        self._words = bytearray()
        self._installed_kib: int | None = None
        self.control = 0
        self.target = 0
        self.finding: str | None = None

    def push(self, word: int) -> None:
        self._words += word.to_bytes(_WORD, "little")

    def command(self, control: int) -> None:
        """What the host writes to the control register."""
        self.control = control
        if not control & AUTO_LOADER_GO:
            self._words.clear()
            return
        wrong = self._run(control)
        if wrong is None:
            self.control &= ~AUTO_LOADER_GO
        else:
            self.finding = f"the auto-loader does not end: {wrong}"

    def _run(self, control: int) -> str | None:
        """Do a run; what is wrong with it, if it is none that works."""
        zone = self.target >> AUTO_LOADER_ZONE_SHIFT
        start = self.target & AUTO_LOADER_KIB_MASK
        end = self.target >> AUTO_LOADER_END_SHIFT & AUTO_LOADER_KIB_MASK
        words = len(self._words) // _WORD
        if zone != AUTO_LOADER_ZONE:
            return f"zone {zone} is not known to work"
        if control & AUTO_LOADER_POINTER_MASK != (words - 1) & AUTO_LOADER_POINTER_MASK:
            return f"the load pointer does not fit to {words} words"
        if control & AUTO_LOADER_HAS_DATA:
            if start or not words or end * _KIB != len(self._words):
                return f"{words} words for KiB {start} to {end}"
            self._install(bytes(self._words))
            self._installed_kib = end
            return None
        last_tile = control >> AUTO_LOADER_TILE_SHIFT & AUTO_LOADER_TILE_MASK
        if (start, end) != (self._installed_kib, MEMORY_SIZE // _KIB):
            return f"a second run over KiB {start} to {end}"
        if last_tile != self._tiles - 1:
            return f"tile {last_tile} as the last of {self._tiles}"
        self._begin()
        return None
