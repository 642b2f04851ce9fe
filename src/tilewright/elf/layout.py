"""Layout: the address of each kept section, by first fit into arenas that fill from the front."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewright.elf.arenas import Arena
from tilewright.elf.faults import link_error
from tilewright.elf.inputs import InputSection
from tilewright.elf.object import Section

INSTRUCTION_SIZE = 4
"""Bytes of an instruction; code is aligned to it even if its section asks for less."""

Cursors = tuple[int, ...]
"""The first free address of each arena, in the order of the arenas."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Addresses by section, in order of placement, and where each arena goes on."""

    addresses: dict[InputSection, int]
    cursors: Cursors


def initial_cursors(arenas: Sequence[Arena]) -> Cursors:
    return tuple(arena.start for arena in arenas)


def place_sections(
    sections: Iterable[InputSection], arenas: Sequence[Arena], cursors: Cursors
) -> Layout:
    """Give each section, in this order, the first allowed arena whose rest holds it.

    Cursors move forward only: nothing is placed before what an arena holds already, but a small
    section may take the rest of an arena that a larger one skipped. Raises `LinkError` with all
    sections that found no place.
    """
    addresses: dict[InputSection, int] = {}
    free = list(cursors)
    faults = []
    for each in sections:
        address = _place(each.section, arenas, free)
        if address is None:
            faults.append(_no_place(each, arenas, free))
        else:
            addresses[each] = address
    if faults:
        raise link_error("sections that do not fit into tile memory", faults)
    return Layout(addresses, tuple(free))


def _place(section: Section, arenas: Sequence[Arena], free: list[int]) -> int | None:
    alignment = _alignment(section)
    for index, arena in enumerate(arenas):
        address = -(-free[index] // alignment) * alignment
        if address + section.size <= arena.end and arena.allows(section):
            free[index] = address + section.size
            return address
    return None


def _alignment(section: Section) -> int:
    lowest = INSTRUCTION_SIZE if section.is_executable else 1
    return max(section.alignment, lowest)


def _no_place(each: InputSection, arenas: Sequence[Arena], free: list[int]) -> str:
    section = each.section
    size = f"{each}: {section.size} bytes, aligned to {_alignment(section)}"
    allowed = [arena for arena in arenas if arena.allows(section)]
    if not allowed:
        return f"{size}, may lie in none of {', '.join(arena.name for arena in arenas)}"
    largest = max(arena.end - arena.start for arena in allowed)
    rests = ", ".join(
        f"{arena.name} {arena.end - cursor}"
        + ("" if arena in allowed else " (not allowed for this section)")
        for arena, cursor in zip(arenas, free, strict=True)
    )
    too_large = "is larger than every arena allowed for it; " if section.size > largest else ""
    return f"{size}, {too_large}free bytes: {rests}"
