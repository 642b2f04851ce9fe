"""Numbers as a graph stores them: halves, or eight bits with a scale."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tilewright.graph import DType, NumberFormat, round_to
from tilewright.graph.rounding import F8_LARGEST
from tilewright.graph.types import GREATEST_SCALE, LEAST_SCALE


def as_halves(numbers: NDArray[np.float32]) -> NDArray[np.float16]:
    """To nearest, ties to even."""
    return numbers.astype(np.float16)


def as_eights(numbers: NDArray[np.float32], format: NumberFormat) -> NDArray[np.float32]:
    """The numbers that `format`, an F8F143, stores for `numbers`; float32 holds them exactly."""
    return round_to(format, numbers.astype(np.float64)).astype(np.float32)


def best_scale(tensors: Sequence[NDArray[np.float32]]) -> NumberFormat:
    """The F8F143 in which `tensors` together have the least sum of squared errors.

    They share a scale, since they are one operand of a repeated operation, which has one type. The
    result is the optimum. At the least scale s at which no number saturates, and above it, a number
    that one scale holds exactly the scale below holds too, so nothing above s is better. Below s,
    what saturation alone costs grows with each step, so the search ends where that exceeds the
    least error found.
    """
    scale = _least_without_saturation(tensors)
    best, least = scale, math.inf
    while scale >= LEAST_SCALE and _saturation(tensors, scale) < least:
        error = _error(tensors, DType.F8F143.scaled(scale))
        if error < least:
            best, least = scale, error
        scale -= 1
    return DType.F8F143.scaled(best)


def _least_without_saturation(tensors: Sequence[NDArray[np.float32]]) -> int:
    largest = max(float(np.abs(each).max()) for each in tensors)
    if largest == 0.0:
        return 0
    scale = math.ceil(math.log2(largest / F8_LARGEST))
    return min(max(scale, LEAST_SCALE), GREATEST_SCALE)


def _saturation(tensors: Sequence[NDArray[np.float32]], scale: int) -> float:
    """The squared error of numbers too large for the scale."""
    limit = math.ldexp(F8_LARGEST, scale)
    return sum(
        float(np.sum(np.square(np.maximum(np.abs(each) - limit, 0), dtype=np.float64)))
        for each in tensors
    )


def _error(tensors: Sequence[NDArray[np.float32]], format: NumberFormat) -> float:
    return sum(
        float(np.sum(np.square(each - as_eights(each, format), dtype=np.float64)))
        for each in tensors
    )
