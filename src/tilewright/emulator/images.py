"""What is loaded into a tile: bytes at addresses, where to start, and names for messages."""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tilewright.errors import TilewrightError
from tilewright.target.geometry import MEMORY_BASE, MEMORY_END


class ImageError(TilewrightError):
    """An image that does not fit into a tile."""


class Piece(NamedTuple):
    """Bytes from `address` on."""

    address: int
    content: bytes


def _unknown_line(address: int) -> str:
    return ""


@dataclass(frozen=True)
class TileImage:
    """The memory of one tile as loaded; `symbols` maps names to addresses.

    `source_line` gives the `file:line` that the code at an address comes from, "" if unknown.

    Raises `ImageError` for bytes outside tile memory.
    """

    pieces: tuple[Piece, ...]
    entry: int
    symbols: Mapping[str, int] = field(default_factory=dict)
    source_line: Callable[[int], str] = _unknown_line

    def __post_init__(self) -> None:
        for address, content in self.pieces:
            if not MEMORY_BASE <= address <= MEMORY_END - len(content):
                raise ImageError(
                    f"{len(content)} bytes at {address:#x} do not lie in tile memory, "
                    f"{MEMORY_BASE:#x} to {MEMORY_END:#x}"
                )

    def nearest_symbol(self, address: int) -> str:
        """`name+0x10` for the last symbol at or before `address`, "" if there is none."""
        ordered = sorted((value, name) for name, value in self.symbols.items())
        index = bisect_right(ordered, (address, "\U0010ffff")) - 1
        if index < 0:
            return ""
        value, name = ordered[index]
        return name if value == address else f"{name}+{address - value:#x}"
