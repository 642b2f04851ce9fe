"""Rows that are used again: which words to change where addresses move, and rows of equal shape."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.exchange.encode import Rows
from tilewright.exchange.phase import WORD_SIZE, Ints
from tilewright.exchange.timeline import NOTHING
from tilewright.isa import CONTROL_POINTER, FORM_BY_NAME, Field

NO_ROW = -1
"""The shape of a tile that has no row."""

_SEND_PLACE = FORM_BY_NAME["send u6,u18,u3"].operands[1].field
_POINTER = CONTROL_POINTER
"""Where rows hold source addresses, in items, and destinations, in words."""


@dataclass(frozen=True, eq=False)
class Patches:
    """Words to add to before a row is run again: `step` to word `word` of the row of `tile`.

    Sorted by tile and word. Sums stay inside the field that holds the address: `last_repeats` is
    how often all can be made before one leaves it.
    """

    tile: Ints
    word: Ints
    step: Ints
    last_repeats: int


def patches(
    rows: Rows, source_steps: npt.ArrayLike = 0, receiver_steps: npt.ArrayLike = 0
) -> Patches:
    """What to add to words of rows if addresses move by steps from one repeat to the next.

    Steps are in bytes, for each transfer and for each receiver of the phase, or one for all. Rows
    must have been made with the same `receiver_steps`. Raises `PhaseError` for a step that is not a
    whole number of items.
    """
    phase = rows.phase
    source = np.broadcast_to(np.asarray(source_steps, dtype=np.int64), phase.words.shape)
    receiver = np.broadcast_to(
        np.asarray(receiver_steps, dtype=np.int64), phase.receiver_tile.shape
    )
    size = _item_sizes(rows)
    reads, writes = rows.reads != NOTHING, rows.writes != NOTHING
    step = np.zeros(len(rows.words), dtype=np.int64)
    moved = source[rows.reads[reads]]
    phase.refuse(
        "a source address that moves by less than an item",
        rows.reads[reads][moved % size[reads] != 0],
    )
    step[reads] = moved // size[reads] * _unit(_SEND_PLACE)
    arrives = receiver[rows.writes[writes]]
    phase.refuse(
        "a destination that moves by less than a word",
        phase.receiver_transfer[rows.writes[writes]][arrives % WORD_SIZE != 0],
    )
    step[writes] += arrives // WORD_SIZE * _unit(_POINTER)
    changed = np.flatnonzero(step)
    tile = np.repeat(np.arange(len(rows.start) - 1), np.diff(rows.start))[changed]
    field = np.where(reads[changed], _SEND_PLACE.mask, _POINTER.mask)
    return Patches(
        tile,
        changed - rows.start[tile],
        step[changed],
        _room(rows.words[changed].astype(np.int64) & field, field, step[changed]),
    )


def row_shapes(*phases: Rows) -> list[Ints]:
    """For each phase, a number for the shape of each tile's row, or `NO_ROW`.

    Rows have the same number, in whichever phase, if they differ in addresses alone: then one can
    be made of the other by writing its addresses into it.
    """
    known: dict[bytes, int] = {}
    shapes = []
    for rows in phases:
        words = rows.words.copy()
        words[rows.reads != NOTHING] &= np.uint32(~_SEND_PLACE.mask & 0xFFFF_FFFF)
        words[rows.writes != NOTHING] &= np.uint32(~_POINTER.mask & 0xFFFF_FFFF)
        found = np.full(len(rows.start) - 1, NO_ROW, dtype=np.int64)
        for tile in np.flatnonzero(rows.is_active).tolist():
            shape = words[rows.start[tile] : rows.start[tile + 1]].tobytes()
            found[tile] = known.setdefault(shape, len(known))
        shapes.append(found)
    return shapes


def _item_sizes(rows: Rows) -> Ints:
    """Per word: the size of the items that its send has, in bytes."""
    wide = FORM_BY_NAME["send u6,u18,u3"].operands[2].field.extract(rows.words.astype(np.int64)) & 4
    return np.where(wide, 2 * WORD_SIZE, WORD_SIZE)


def _unit(field: Field) -> int:
    """The word to add for one more in a field."""
    return field.insert(1)


def _room(held: Ints, field: Ints, step: Ints) -> int:
    """How often steps can be added before a field overflows, or falls below 0."""
    if not len(step):
        return int(np.iinfo(np.int64).max)
    up = (field - held) // np.abs(step)
    down = held // np.abs(step)
    return int(np.where(step > 0, up, down).min())
