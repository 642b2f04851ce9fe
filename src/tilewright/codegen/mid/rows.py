"""How many messages a plan's exchange phases take, and the instruction rows they need: an estimate.

A message fills a contiguous run of a shard from a contiguous run of one source tile. Runs are
counted on the target's last tile, which has one of the largest shards; what it has itself it
copies.
"""

from functools import lru_cache

import numpy as np

from tilewright.codegen.mid.dispatch import Gather, Loop, OperatorDispatch, Scatter, Slot, Step
from tilewright.codegen.mid.storage import WORD, Storage, seen_numbers
from tilewright.target.geometry import MEMORY_SIZE
from tilewright.target.rates import ROW_WORDS_PER_MESSAGE


def row_bytes(dispatch: OperatorDispatch) -> int:
    """Of the rows of a tile that receives, all phases; a loop's body counts once."""
    return messages(dispatch) * ROW_WORDS_PER_MESSAGE * WORD


def messages(dispatch: OperatorDispatch) -> int:
    """Messages that a tile receives, all phases; a loop's body counts once."""
    slots = {slot.name: slot for slot in dispatch.slots}
    return sum(_messages(step, slots) for step in dispatch.steps)


def _messages(step: Step, slots: dict[str, Slot]) -> int:
    if isinstance(step, Loop):
        return sum(_messages(each, slots) for each in step.body)
    if isinstance(step, Scatter):
        arriving = slots[step.arriving]
        moves = sum(received_runs(slots[a].storage, slots[b].storage) for a, b in step.extra)
        return arriving.shape[0] + moves
    if isinstance(step, Gather):
        return sum(received_runs(slots[a].storage, slots[b].storage) for a, b in step.moves)
    return 0


@lru_cache(maxsize=4096)
def received_runs(source: Storage, target: Storage) -> int:
    """Contiguous runs that the last tile of `target` takes from other tiles of `source`.

    Where shapes differ (the parts of a concatenation) every row counts as one run. What no tile can
    hold, of which no plan comes, counts as one.
    """
    layout = target.layout
    if not target.shape or layout.shard_bytes > MEMORY_SIZE:
        return 1
    offset = np.arange(layout.shard_elements)
    last = np.full_like(offset, layout.format.tiles - 1)
    coordinates, held = layout.coordinates(last, offset)
    if source.shape != target.shape:
        return int(np.count_nonzero(held)) // max(1, layout.largest_shard[-1])
    numbers = np.ravel_multi_index([each[held] for each in coordinates], target.base)
    numbers = seen_numbers(target, numbers)
    tile, place = source.locate(np.unravel_index(numbers, source.shape))
    tile, place = np.atleast_1d(tile), np.atleast_1d(place)  # a scalar's views are of one element
    starts = np.ones(len(tile), bool)
    starts[1:] = (np.diff(tile) != 0) | (np.diff(place) != 1) | (np.diff(offset[held]) != 1)
    return int(np.count_nonzero(starts & (tile != layout.format.tiles - 1)))
