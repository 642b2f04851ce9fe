"""What tiles get from the host or give to it: parts of tensors' streams in whole words."""

from dataclasses import dataclass

import numpy as np

from tilewright.codegen.host.columns import Columns, Ints, Mask
from tilewright.codegen.host.faults import HostError
from tilewright.codegen.host.window import STAGING_END
from tilewright.package import Shards
from tilewright.target.geometry import MEMORY_BASE, MEMORY_END, TILES
from tilewright.target.host import HOST_WORD, PACKET_WINDOW

_MOST_NAMED = 4


@dataclass(frozen=True, slots=True, eq=False)
class Parts(Columns):
    """`size` bytes from `offset` of the stream of `tensor` lie at `address` of `tile` (physical).

    Ordered by tile and address. All are multiples of words.
    """

    tensor: Ints
    offset: Ints
    size: Ints
    tile: Ints
    address: Ints


def sent_parts(shards: Shards) -> Parts:
    """What each tile gets, the same part once for each tile that holds it. Raises `HostError`."""
    return ordered(_whole_words(shards))


def fetched_parts(shards: Shards) -> Parts:
    """What the host gets: each byte once, from one of the tiles that hold it.

    Raises `HostError`.
    """
    parts = _whole_words(shards)
    parts = parts[np.lexsort((parts.tile, -parts.size, parts.offset, parts.tensor))]
    end = parts.offset + parts.size
    # Tensors one behind the other on one line, so that "fetched so far" never falls.
    line = parts.tensor * (end.max(initial=0) + 1)
    reached = np.concatenate([[0], np.maximum.accumulate(line + end)[:-1]])[: len(parts)]
    skipped = np.maximum(reached - line - parts.offset, 0)
    rest = Parts(
        parts.tensor,
        parts.offset + skipped,
        parts.size - skipped,
        parts.tile,
        parts.address + skipped,
    )
    return ordered(rest[rest.size > 0])


def ordered(parts: Parts) -> Parts:
    """By tile and address."""
    return parts[np.lexsort((parts.address, parts.tile))]


def _whole_words(shards: Shards) -> Parts:
    """Shards as parts; a last word that is not full goes as a whole."""
    columns = (shards.tensor, shards.offset, shards.size, shards.tile, shards.address)
    tensor, offset, size, tile, address = (each.astype(np.int64) for each in columns)
    parts = Parts(tensor, offset, -(-size // HOST_WORD) * HOST_WORD, tile, address)
    end = address + parts.size
    _refuse(parts, size < 1, "the shard is empty")
    _refuse(parts, tile >= TILES, "there is no such tile")
    is_odd = (offset | address) % HOST_WORD != 0
    _refuse(parts, is_odd, f"offsets and addresses have to be multiples of {HOST_WORD}")
    is_outside = (address < MEMORY_BASE) | (end > MEMORY_END)
    _refuse(parts, is_outside, "it is not within tile memory")
    is_within = (address < STAGING_END) & (end > PACKET_WINDOW[0])
    window = f"{PACKET_WINDOW[0]:#x} to {PACKET_WINDOW[1]:#x}"
    _refuse(parts, is_within, f"memory from {window} belongs to the exchange with the host")
    return parts


def _refuse(parts: Parts, is_wrong: Mask, why: str) -> None:
    rows = np.flatnonzero(is_wrong)
    if not len(rows):
        return
    named = "; ".join(
        f"tensor {parts.tensor[row]}, {parts.size[row]} bytes from {parts.offset[row]} "
        f"at {parts.address[row]:#x} of tile {parts.tile[row]}"
        for row in rows[:_MOST_NAMED].tolist()
    )
    more = f"; and {len(rows) - _MOST_NAMED} more" if len(rows) > _MOST_NAMED else ""
    raise HostError(f"{why}: {named}{more}")
