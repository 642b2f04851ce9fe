"""A field of an instruction word: where the bits of a value live."""

import dataclasses
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Words = TypeVar("Words", bound=int | NDArray[np.integer[Any]])


@dataclass(frozen=True, slots=True)
class Field:
    """Bit ranges (high, low) of a word, inclusive, the value's most significant bits first."""

    pieces: tuple[tuple[int, int], ...]
    width: int = dataclasses.field(init=False)
    """Bits of the value."""
    mask: int = dataclasses.field(init=False)
    """The bits of the word that belong to this field."""

    def __post_init__(self) -> None:
        width, mask = 0, 0
        for high, low in self.pieces:
            width += high - low + 1
            mask |= ((1 << (high - low + 1)) - 1) << low
        object.__setattr__(self, "width", width)
        object.__setattr__(self, "mask", mask)

    @classmethod
    def parse(cls, text: str) -> "Field":
        """From the table's notation: `15:0`, `27`, or `19:16,11:0`. Raises `ValueError`."""
        pieces = []
        for piece in text.split(","):
            high, _, low = piece.partition(":")
            pieces.append((int(high), int(low or high)))
        if any(not 31 >= high >= low >= 0 for high, low in pieces):
            raise ValueError(f"bit range outside 31:0 or reversed: [{text}]")
        field = cls(tuple(pieces))
        if field.width != field.mask.bit_count():
            raise ValueError(f"bit ranges overlap: [{text}]")
        return field

    def insert(self, value: Words) -> Words:
        """The word's bits for an unsigned `value` that fits; all other bits are 0.

        Takes an array of values as well.
        """
        word: Any = value & 0
        rest: Any = value
        for high, low in reversed(self.pieces):
            size = high - low + 1
            word = word | (rest & ((1 << size) - 1)) << low
            rest = rest >> size
        return cast("Words", word)

    def extract(self, word: Words) -> Words:
        """The unsigned value held by a word, or by each word of an array."""
        (high, low), *others = self.pieces
        value: Any = word >> low & ((1 << high - low + 1) - 1)
        for high, low in others:
            size = high - low + 1
            value = value << size | word >> low & ((1 << size) - 1)
        return cast("Words", value)
