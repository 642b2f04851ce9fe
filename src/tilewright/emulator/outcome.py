"""How a run of a chip ended, as text too."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from tilewright.emulator.barriers import Waiting, describe_tiles, describe_waiting
from tilewright.emulator.reference.tile import Stopped


class End(Enum):
    """Why a chip stopped running."""

    STOPPED = auto()
    """Every tile that was loaded has trapped or faulted."""
    STUCK = auto()
    """Tiles wait for a barrier that cannot complete."""
    HOST = auto()
    """All tiles wait for a mark of the host; `Chip.run` can go on when it is there."""
    LIMIT = auto()
    """The cycle limit was reached; `Chip.run` can go on."""
    BREAK = auto()
    """An observer stopped its tile; `Chip.run` can go on."""


_WAITING = {
    End.STUCK: "a barrier cannot complete",
    End.HOST: "a barrier waits for the host",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: in which cycle, where tiles wait, and how others stopped, by tile.

    `descriptions` tell the same of the stopped ones as text, faults with instruction, symbol and
    line. `unloaded` are tiles that have no program, `broken` is the tile that an observer stopped.
    Tiles of higher numbers may be behind it. The text of an outcome tells all this.
    """

    end: End
    cycle: int
    waiting: tuple[Waiting, ...]
    stopped: Mapping[int, Stopped]
    descriptions: Mapping[int, str]
    unloaded: tuple[int, ...]
    broken: tuple[int, Stopped] | None = None

    def __str__(self) -> str:
        lines = []
        if self.waiting:
            heading = _WAITING.get(self.end, "at barriers")
            lines += [f"{heading}:", *(f"  {line}" for line in describe_waiting(self.waiting))]
        causes: dict[str, list[int]] = {}
        for tile, description in self.descriptions.items():
            causes.setdefault(description, []).append(tile)
        lines += [f"  stopped: {describe_tiles(tiles)}: {why}" for why, tiles in causes.items()]
        if self.broken:
            tile, at = self.broken
            where = f"worker {at.context - 1}" if at.context else "supervisor"
            lines.append(f"  break: tile {tile}, {where} at pc {at.pc:#x}")
        if self.unloaded:
            lines.append(f"  without a program: {describe_tiles(self.unloaded)}")
        return "\n".join([f"{self.end.name.lower()} in cycle {self.cycle}", *lines])
