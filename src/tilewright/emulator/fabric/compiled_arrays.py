"""Arrays in compiled code: room for more entries, and places in what is in order."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.compiled import compiled_part
from tilewright.emulator.fabric.findings import Number

_LEAST_ROOM = 16


@compiled_part
def with_room(array: NDArray[Any], count: int) -> NDArray[Any]:
    """The array if it has room for one more than `count` entries, else a larger one with these."""
    if count < len(array):
        return array
    larger = np.empty(max(2 * len(array), _LEAST_ROOM), array.dtype)
    for place in range(count):  # a slice would take its time to compile
        larger[place] = array[place]
    return larger


@compiled_part
def first_beyond(ordered: NDArray[np.int64], number: Number) -> int:
    """The first place whose number is greater."""
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] > number:
            high = middle
        else:
            low = middle + 1
    return low
