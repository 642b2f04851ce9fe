"""Arenas: the ranges of tile memory that sections may be placed in."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tilewright.elf.faults import LinkError, link_error
from tilewright.elf.object import Section
from tilewright.target.geometry import (
    EXCHANGE_WINDOW,
    EXECUTABLE_END,
    LOADABLE_END,
    LOADER_FRAME_END,
    MEMORY_BASE,
    MEMORY_END,
    REGION1_BASE,
    RUNTIME_STATE,
    SUPERVISOR_FETCH_AHEAD,
)

ENTRY_STUB_SIZE = 8
"""Bytes kept free below the first arena, for the code that the loader jumps to."""

assert EXECUTABLE_END + SUPERVISOR_FETCH_AHEAD <= MEMORY_END
"""So what the supervisor fetches past the last instruction of any arena is always readable."""


@dataclass(frozen=True, slots=True)
class Arena:
    """The addresses from `start` up to `end`, exclusive.

    `interleave` is 1 in memory region 0 and 2 in region 1. Code goes to executable arenas only;
    data may go to any arena.
    """

    name: str
    start: int
    end: int
    is_executable: bool = False
    interleave: int = 1

    def allows(self, section: Section) -> bool:
        """Whether `section` may lie here, its size aside."""
        if section.is_executable and not self.is_executable:
            return False
        factor = required_interleave(section.name)
        return factor is None or factor == self.interleave


DEFAULT_ARENAS = (
    Arena("code0", LOADER_FRAME_END + ENTRY_STUB_SIZE, EXCHANGE_WINDOW[0], is_executable=True),
    Arena("code1", RUNTIME_STATE[1], EXECUTABLE_END, is_executable=True),
    Arena("region1", REGION1_BASE, LOADABLE_END, interleave=2),
)
"""Tile memory without loader frame, exchange window and run-time state."""


def required_interleave(section_name: str) -> int | None:
    """The interleave factor that a section's name asks for, `None` if it takes any."""
    for factor in (1, 2):
        if section_name.startswith(f".interleave_{factor}"):
            return factor
    return None


def check_arenas(arenas: Sequence[Arena]) -> None:
    """Refuse arenas that overlap or do not suit tile memory. Raises `LinkError` with all faults."""
    if not arenas:
        raise LinkError("there are no arenas, so no section can be placed")
    faults = [fault for arena in arenas if (fault := _fault_of(arena)) is not None]
    ordered = sorted(arenas, key=lambda arena: (arena.start, arena.end))
    for before, after in pairwise(ordered):
        if after.start < before.end:
            faults.append(f"{_describe(before)} and {_describe(after)} overlap")
    names = [arena.name for arena in arenas]
    faults += [
        f"there are {names.count(name)} arenas named {name}"
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    if faults:
        raise link_error("unusable arenas", faults)


def _fault_of(arena: Arena) -> str | None:
    if arena.start >= arena.end:
        return f"{_describe(arena)} is empty"
    if arena.start < MEMORY_BASE or arena.end > MEMORY_END:
        return f"{_describe(arena)} leaves tile memory, {MEMORY_BASE:#x}..{MEMORY_END:#x}"
    if arena.is_executable and arena.end > EXECUTABLE_END:
        return (
            f"{_describe(arena)} is executable, but instructions can be fetched only below "
            f"{EXECUTABLE_END:#x}"
        )
    if arena.interleave not in (1, 2):
        return f"{_describe(arena)} has interleave factor {arena.interleave}; there are 1 and 2"
    low, high = (MEMORY_BASE, REGION1_BASE) if arena.interleave == 1 else (REGION1_BASE, MEMORY_END)
    if arena.start < low or arena.end > high:
        return (
            f"{_describe(arena)} has interleave factor {arena.interleave}, which only "
            f"{low:#x}..{high:#x} has"
        )
    return None


def _describe(arena: Arena) -> str:
    return f"{arena.name} ({arena.start:#x}..{arena.end:#x})"
