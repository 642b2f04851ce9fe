"""Rounding of numbers to a storage format: to nearest, ties to even."""

import math

import numpy as np
from numpy.typing import NDArray

from tilewright.graph.types import INDEX_LIMIT, DType, NumberFormat

F8_FRACTION_BITS = 3
F8_LEAST_EXPONENT = -7
"""Of normal numbers; subnormal ones are spaced as the least binade."""
F8_LARGEST = 240.0
"""1.875 · 2**7."""


def round_to(format: NumberFormat, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """`values` as `format` would hold them. I32 holds whole numbers, which need no rounding.

    F16 and F32 overflow to infinity. F8F143 has none and saturates, infinities too; a NaN stays.
    """
    with np.errstate(over="ignore"):
        if format.dtype is DType.F16:
            return values.astype(np.float16).astype(np.float64)
        if format.dtype is DType.F32:
            return values.astype(np.float32).astype(np.float64)
    if format.dtype is DType.F8F143:
        return np.ldexp(_round_to_f8(np.ldexp(values, -format.scale)), format.scale)
    return values


def largest(format: NumberFormat) -> float:
    """The largest number that `format` holds."""
    if format.dtype is DType.F8F143:
        return math.ldexp(F8_LARGEST, format.scale)
    if format.dtype is DType.I32:
        return INDEX_LIMIT - 1
    return float(np.finfo(np.float16 if format.dtype is DType.F16 else np.float32).max)


def _round_to_f8(values: NDArray[np.float64]) -> NDArray[np.float64]:
    clipped = np.clip(values, -F8_LARGEST, F8_LARGEST)
    _, exponents = np.frexp(clipped)  # of a significand in [½, 1)
    spacing = np.maximum(exponents - 1, F8_LEAST_EXPONENT) - F8_FRACTION_BITS
    rounded = np.ldexp(np.rint(np.ldexp(clipped, -spacing)), spacing)
    return np.asarray(rounded + 0.0)  # the format has no −0
