"""Orders in which the blocks of a tile are placed: the portfolio that the packer begins with."""

from collections.abc import Callable

import numpy as np

from tilewright.codegen.place.packing import BEST_FIT, FIRST_FIT, TileBlocks, Windows
from tilewright.codegen.place.requests import NONE, Ints

Keys = Callable[[TileBlocks, Windows], tuple[Ints, ...]]
"""What an order sorts by, all rows of a tile, the first key foremost, lower numbers first."""


def _size(tile: TileBlocks, windows: Windows) -> tuple[Ints, ...]:
    return -tile.size, -_lifetime(tile)


def _alignment(tile: TileBlocks, windows: Windows) -> tuple[Ints, ...]:
    return -tile.alignment, *_size(tile, windows)


def _area(tile: TileBlocks, windows: Windows) -> tuple[Ints, ...]:
    return -tile.size * _lifetime(tile), *_size(tile, windows)


def _longest(tile: TileBlocks, windows: Windows) -> tuple[Ints, ...]:
    return -_lifetime(tile), *_size(tile, windows)


def _particular(tile: TileBlocks, windows: Windows) -> tuple[Ints, ...]:
    """Those that few arenas suit first."""
    return np.diff(windows.start)[tile.option], *_size(tile, windows)


def _separated(tile: TileBlocks, windows: Windows) -> tuple[Ints, ...]:
    """Those with most separations first."""
    separations = np.zeros_like(tile.size)
    separations[: tile.blocks] = np.diff(tile.part_start)
    return -separations, *_size(tile, windows)


def _program(tile: TileBlocks, windows: Windows) -> tuple[Ints, ...]:
    return ()


ORDERS: dict[str, Keys] = {
    "size, largest first": _size,
    "alignment, then size": _alignment,
    "size x lifetime, largest first": _area,
    "particular memory, then size": _particular,
    "separated, then size": _separated,
    "longest lifetime first": _longest,
    "program order": _program,
}
"""By name. Ties fall to the earlier block, and residents go before all others in each order."""

_PORTFOLIO = tuple((keys, FIRST_FIT) for keys in ORDERS.values()) + tuple(
    (keys, BEST_FIT) for keys in (_size, _alignment, _area)
)


def sorted_order(tile: TileBlocks, windows: Windows, keys: Keys) -> Ints:
    """The blocks that can be moved, in an order."""
    foremost_last = (tile.first, *reversed(keys(tile, windows)), -tile.resident)
    order = np.lexsort(foremost_last)
    movable: Ints = order[tile.fixed[order] == NONE]
    return movable


def portfolio(tile: TileBlocks, windows: Windows) -> tuple[Ints, Ints]:
    """Orders, one in each row, and the fit of each."""
    orders = [sorted_order(tile, windows, keys) for keys, _ in _PORTFOLIO]
    return np.stack(orders), np.array([fit for _, fit in _PORTFOLIO], dtype=np.int64)


def _lifetime(tile: TileBlocks) -> Ints:
    lifetime: Ints = tile.last - tile.first + 1
    return lifetime
