"""The table by which compiled code finds translations of worker code."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CONTROLS = ("float_control", "number_format", "number_scale")
"""Fields of a worker's record on which a translation depends, beside its PC."""

TRANSLATION = np.dtype(
    [
        ("function", np.uint64),
        ("support", np.uint64),
        ("places", np.uint64),
        ("words", np.uint64),
        ("size", np.uint64),
        ("pc", np.uint32),
        ("controls", np.uint32, len(CONTROLS)),
    ],
    align=True,
)
"""A translation of the code at `pc`: the addresses of the function, of its table of support
addresses, and of the `size` words that it depends on, with their offsets in tile memory, in words.
No function: a free place."""


class Known(NamedTuple):
    """A translation for a PC and controls, as a record of `TRANSLATION` holds it."""

    pc: int
    controls: tuple[int, ...]
    function: int
    support: int
    places: int
    words: int
    size: int


@dataclass(frozen=True, slots=True)
class Translations:
    """Translations by PC: that for one is at place `pc // 4`, modulo the size, or after it."""

    table: NDArray[Any]

    @classmethod
    def of(cls, known: list[Known]) -> "Translations":
        """A table that is at least half free, so that searches end soon."""
        size = 1 << max(4, (2 * len(known)).bit_length())
        table = np.zeros(size, TRANSLATION)
        for each in known:
            place = each.pc // 4 % size
            while table["function"][place]:
                place = (place + 1) % size
            for name, value in each._asdict().items():
                table[name][place] = value
        return cls(table)

    @property
    def address(self) -> int:
        return int(self.table.ctypes.data)

    @property
    def mask(self) -> int:
        """What a place is taken modulo, minus 1."""
        return len(self.table) - 1


NO_TRANSLATIONS = Translations.of([])
