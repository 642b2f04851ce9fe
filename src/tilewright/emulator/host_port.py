"""The host as the chip meets it: marks of sync groups, attached memory, packets.

    link = HostLink()
    chip = Chip(host=link)
    link.attach(0, memory)          # from offset 0 of the device's space on
    while chip.run().end is End.HOST:
        ...                         # the device waits; what came before is complete
        link.set_mark(2, 1)

Attached memory is read and written while the chip runs, and at no other time.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tilewright.emulator.barriers import Received
from tilewright.emulator.fabric import Executed
from tilewright.emulator.host.marks import GroupMark
from tilewright.emulator.host.space import DeviceSpace
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.records import Tiles
from tilewright.errors import TilewrightError
from tilewright.target.flags import SYNC_ZONES
from tilewright.target.geometry import TILES
from tilewright.target.topology import external_muxes

if TYPE_CHECKING:
    from tilewright.emulator.host.carrying import Link
    from tilewright.emulator.host.phase import HostPhase

_MARKED = {SYNC_ZONES["GS1H"]: 1, SYNC_ZONES["GS2H"]: 2}
"""Zones in whose barriers the host takes part, by the mark of a group."""


class HostGroupError(TilewrightError):
    """A sync group that does not exist."""


class HostLink:
    """The `HostPort` of a chip, and what the host does on its side of it."""

    def __init__(self) -> None:
        self._marks = {group: GroupMark() for group in _MARKED.values()}
        self._space = DeviceSpace()
        self._muxes = external_muxes(np.arange(TILES))
        self._phase: tuple[HostPhase, Link] | None = None
        """The phase under way, if there is one."""

    # -- the host -----------------------------------------------------------------------------

    def attach(self, offset: int, memory: NDArray[np.uint8]) -> None:
        """Let the device reach host memory, in pages of 4 KiB, from `offset` of its space on.

        It is not copied. Raises `AttachError`.
        """
        self._space.attach(offset, memory)

    def detach(self, offset: int) -> None:
        """Take away the memory that was attached at `offset`. Raises `AttachError`."""
        self._space.detach(offset)

    def mark(self, group: int) -> int:
        """What the host reads of the mark of sync group 1 or 2: 0 if the device waits for it, or
        has not come to a barrier yet."""
        return self._mark(group).value

    def set_mark(self, group: int, value: int) -> None:
        """Write the mark of a group. Raises `MarkError` for more than 16 bits."""
        self._mark(group).write(value)

    # -- the chip -----------------------------------------------------------------------------

    def may_complete(self, zone: int) -> bool:
        return zone not in _MARKED or self._marks[_MARKED[zone]].passes()

    def begin(self, tiles: int, masters: Tiles) -> None:
        # Compiled functions are loaded when there is something to move.
        from tilewright.emulator.host.carrying import Link
        from tilewright.emulator.host.phase import HostPhase

        self._phase = HostPhase(tiles, masters.tolist()), Link(tiles)

    def exchange(self, executed: Executed, memory: TileMemory) -> Received:
        from tilewright.emulator.host.packets import read_packets

        assert self._phase is not None, "packets of a phase that has begun"
        phase, link = self._phase
        sent = read_packets(executed, memory, self._muxes, link.busy_until)
        words = link.carry(phase.take(sent), self._space, memory)
        return Received(words, link.busy_until, sent.cursors)

    def check_requests(self) -> None:
        if self._phase is not None:
            self._phase[0].check_requests()

    def end(self) -> None:
        phase, self._phase = self._phase, None
        if phase is not None:
            phase[0].check_end()

    def _mark(self, group: int) -> GroupMark:
        if group not in self._marks:
            raise HostGroupError(f"there is no sync group {group}; the host has marks of 1 and 2")
        return self._marks[group]
