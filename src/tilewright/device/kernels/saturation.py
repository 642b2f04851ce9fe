"""Rounding of references: results as the chip gives them with the float control of kernels.

Kernels run with `$FP_ICTL` 0 (docs/kernels.md): nearest, ties to even; halves that are too large
become the largest half; single-precision subnormals become 0.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_LARGEST_HALF = 65504.0
_SMALLEST_NORMAL_SINGLE = float(np.finfo(np.float32).tiny)


def saturated(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Exact values (f64) as elements of this type."""
    return to_half(values) if np.dtype(dtype) == np.float16 else to_single(values)


def to_half(values: NDArray[Any]) -> NDArray[np.float16]:
    """Nearest halves; what is too large, infinite values too, becomes ±65504."""
    clipped: NDArray[Any] = np.clip(values, -_LARGEST_HALF, _LARGEST_HALF)
    return clipped.astype(np.float16)


def to_single(values: NDArray[Any]) -> NDArray[np.float32]:
    """Nearest singles, subnormal ones flushed to a zero of the same sign."""
    rounded = values.astype(np.float32)
    is_subnormal = np.abs(rounded) < _SMALLEST_NORMAL_SINGLE
    return np.where(is_subnormal, np.copysign(np.float32(0), rounded), rounded)
