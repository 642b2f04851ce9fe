"""Symbols that the linker defines itself when nothing else does: bounds of what it placed."""

from collections.abc import Iterable, Mapping, Sequence

from tilewright.elf.arenas import Arena, required_interleave
from tilewright.elf.inputs import InputSection
from tilewright.target.geometry import MEMORY_BASE, MEMORY_END

SUPPLIED_NAMES = (
    "__interleave_1_start",
    "__interleave_1_end",
    "__interleave_2_start",
    "__interleave_2_end",
    "__image_end",
    "_RAM_END",
)
"""Bounds of the `.interleave_N*` sections, and the first byte past the image and past memory."""


def supplied_values(
    names: Iterable[str], addresses: Mapping[InputSection, int], arenas: Sequence[Arena]
) -> dict[str, int]:
    """The values of those of `names` that the linker supplies."""
    return {name: _value(name, addresses, arenas) for name in names if name in SUPPLIED_NAMES}


def _value(name: str, addresses: Mapping[InputSection, int], arenas: Sequence[Arena]) -> int:
    if name == "_RAM_END":
        return MEMORY_END
    if name == "__image_end":
        return max(
            (address + each.section.size for each, address in addresses.items()),
            default=MEMORY_BASE,
        )
    factor = 1 if name.startswith("__interleave_1") else 2
    start, end = _interleaved_range(factor, addresses, arenas)
    return start if name.endswith("_start") else end


def _interleaved_range(
    factor: int, addresses: Mapping[InputSection, int], arenas: Sequence[Arena]
) -> tuple[int, int]:
    """From the first to past the last section that asks for `factor`; empty if none does."""
    ranges = [
        (address, address + each.section.size)
        for each, address in addresses.items()
        if required_interleave(each.section.name) == factor
    ]
    if ranges:
        return min(start for start, _ in ranges), max(end for _, end in ranges)
    start = next((arena.start for arena in arenas if arena.interleave == factor), 0)
    return start, start
