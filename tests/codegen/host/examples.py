"""Shards and streams to exchange."""

import numpy as np
import numpy.typing as npt

from tilewright.codegen.host import HostCall
from tilewright.package import Shards

U8 = npt.NDArray[np.uint8]


def shards(
    tensor: npt.ArrayLike,
    tile: npt.ArrayLike,
    address: npt.ArrayLike,
    offset: npt.ArrayLike,
    size: npt.ArrayLike,
) -> Shards:
    """Columns that broadcast, in the order of packages."""
    columns = np.broadcast_arrays(tensor, tile, address, offset, size)
    table = Shards(*(np.array(each, ndmin=1) for each in columns))
    return table.sorted_by("tensor", "offset")


def even(tensor: int, tiles: npt.ArrayLike, address: int, size: int) -> Shards:
    """A tensor in equal parts on tiles."""
    tiles = np.asarray(tiles)
    return shards(tensor, tiles, address, size * np.arange(len(tiles)), size)


def stream(size: int, seed: int = 0) -> U8:
    """Random bytes."""
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


def random_call(random: np.random.Generator) -> tuple[HostCall, dict[int, U8]]:
    """Tensors in uneven parts on few tiles, some parts on several."""
    tiles = random.choice(1472, 6, replace=False)
    free = dict.fromkeys(tiles.tolist(), 0x5C000)
    rows: list[tuple[int, ...]] = []
    streams: dict[int, U8] = {}
    for tensor in range(random.integers(1, 6)):
        parts = int(random.integers(1, 12))
        sizes = 4 * random.integers(1, random.choice([20, 300, 6000]), parts)
        starts = np.cumsum(sizes) - sizes
        streams[tensor] = stream(int(sizes.sum()), tensor)
        sizes[-1] -= random.integers(0, 4)  # elements of less than a word
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
            for tile in random.choice(tiles, random.choice([1, 1, 3]), replace=False).tolist():
                address = free[tile] + 4 * int(random.integers(0, 3))
                free[tile] = address + -(-size // 4) * 4
                rows.append((tensor, tile, address, start, size))
    table = shards(*np.array(rows).T)
    is_sent = table.tensor % 2 == 0
    return HostCall("run", 1, table[is_sent], table[~is_sent]), streams
