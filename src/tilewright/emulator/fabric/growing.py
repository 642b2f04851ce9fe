"""Room for more entries, for compiled code that cannot know how many there will be."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.compiled import compiled

_LEAST_ROOM = 16


@compiled
def with_room(array: NDArray[Any], count: int) -> NDArray[Any]:
    """The array if it has room for one more than `count` entries, else a larger one with these."""
    if count < len(array):
        return array
    larger = np.empty(max(2 * len(array), _LEAST_ROOM), array.dtype)
    larger[:count] = array[:count]
    return larger
