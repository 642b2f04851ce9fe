"""Where pieces pass through host memory, and what the host copies there.

Pieces lie one behind the other as in their streams, so that the host copies many at once. Each has
a slot, which starts at a multiple of what destinations on tiles are multiples of, since packets
begin there; what is shorter than that lies behind all others, in slots of a power of two. A piece
that several tiles get has one slot.
"""

from dataclasses import replace

import numpy as np

from tilewright.codegen.host.pieces import Pieces, slot_sizes
from tilewright.package import Slices
from tilewright.target.host import HOST_PAGE
from tilewright.target.host_packets import DESTINATION_UNIT

COMMAND_PAGE, DATA_PAGE = 0, 1
"""Rows of the pages: one unit for the command word, all the rest for data."""
DATA_START = HOST_PAGE
"""Where the data page starts in the space of the device."""


def in_host_memory(pieces: Pieces, start: int) -> tuple[Pieces, int]:
    """The pieces of one batch with their places from `start` (whole host pages) on, and the end."""
    keys = np.stack([pieces.tensor, pieces.offset, pieces.size, pieces.lead])
    slots, row = np.unique(keys, axis=1, return_inverse=True)
    sizes = slot_sizes(slots[2] + slots[3])
    order = np.argsort(-np.minimum(sizes, DESTINATION_UNIT), kind="stable")
    place = np.empty_like(sizes)
    place[order] = np.cumsum(sizes[order]) - sizes[order]
    end = start + -(-int(sizes.sum()) // HOST_PAGE) * HOST_PAGE
    return replace(pieces, host=start + place[row.reshape(-1)]), end


def slices(pieces: Pieces) -> Slices:
    """What the host copies for the pieces of all batches: those that adjoin in one go."""
    columns = np.stack(
        [pieces.batch, pieces.tensor, pieces.offset, pieces.host + pieces.lead, pieces.size]
    )
    unique = np.unique(columns, axis=1)
    batch, tensor, offset, host, size = unique
    goes_on = (
        (batch[1:] == batch[:-1])
        & (tensor[1:] == tensor[:-1])
        & (offset[1:] == offset[:-1] + size[:-1])
        & (host[1:] == host[:-1] + size[:-1])
    )
    first = np.flatnonzero(np.concatenate([[True], ~goes_on])[: len(size)])
    merged = np.add.reduceat(size, first) if len(first) else size
    return Slices(
        batch=batch[first],
        tensor=tensor[first],
        offset=offset[first],
        page=np.full(len(first), DATA_PAGE),
        page_offset=host[first] - DATA_START,
        size=merged,
    )
