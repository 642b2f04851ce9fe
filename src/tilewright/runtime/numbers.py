"""Between the numbers that users give and get, and the elements that a device stores.

- floats: any floating type, rounded to nearest, ties to even; finite numbers have to stay finite
- quarters: floats as the numbers meant, with the tensor's scale, or bytes as codes. Numbers beyond
  the largest become it; results are float32
- integers: any integer type, whose numbers have to fit
"""

from functools import cache
from math import ldexp
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from tilewright.package import ElementType, Tensor
from tilewright.target.formats import F143, F152, QuarterFormat
from tilewright.target.formats.exact import Number
from tilewright.target.formats.quarter import QUARTER_NAN, QUARTER_SIGN

_NARROW = ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
"""Floats that NumPy itself does not know, as files of parameters have them."""
_QUARTERS = {ElementType.F8F143: F143, ElementType.F8F152: F152}


def to_stored(tensor: Tensor, given: npt.ArrayLike) -> NDArray[Any]:
    """The elements of a tensor for the array that a user gives.

    Raises `ValueError`, which names the tensor, for another shape, a kind of number that the tensor
    does not hold, or numbers that do not fit.
    """
    array = _array(tensor, given)
    if array.dtype.name in _NARROW:
        array = array.astype(np.float32)
    dtype = tensor.element.dtype
    if array.shape != tensor.shape:
        raise _wrong(tensor, f"has shape {tensor.shape}, not {array.shape}")
    quarter = _QUARTERS.get(tensor.element)
    if array.dtype == dtype:
        return array
    if quarter is not None:
        if array.dtype.kind != "f":
            raise _wrong(tensor, f"holds quarters: it takes floats or codes, not {array.dtype}")
        return _to_quarters(np.ldexp(array.astype(np.float64), -tensor.scale), quarter)
    takes = "f" if dtype.kind == "f" else "iu"
    if array.dtype.kind not in takes:
        kind = "floats" if dtype.kind == "f" else "integers"
        raise _wrong(tensor, f"holds {dtype}: it takes {kind}, not {array.dtype}")
    with np.errstate(over="ignore"):
        stored: NDArray[Any] = array.astype(dtype)
    is_lost = _is_lost(array, stored)
    if is_lost.any():
        raise _wrong(tensor, f"holds {dtype}, into which {array[is_lost].flat[0]} does not fit")
    return stored


def _array(tensor: Tensor, given: npt.ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except (TypeError, ValueError) as error:
        raise _wrong(tensor, f"is given as no array: {error}") from None


def from_stored(tensor: Tensor, elements: NDArray[Any]) -> NDArray[Any]:
    """What the elements of a tensor stand for: float32 for quarters, else as they are."""
    quarter = _QUARTERS.get(tensor.element)
    if quarter is None:
        return elements
    meant: NDArray[Any] = np.ldexp(_values(quarter)[elements], tensor.scale).astype(np.float32)
    return meant


def _is_lost(array: NDArray[Any], stored: NDArray[Any]) -> NDArray[np.bool_]:
    """Which numbers another type does not hold: finite ones that become infinite, and integers
    that wrap around."""
    if stored.dtype.kind == "f":
        return np.asarray(np.isfinite(array) & ~np.isfinite(stored))
    return np.asarray((stored.astype(array.dtype) != array) | ((stored < 0) != (array < 0)))


def _wrong(tensor: Tensor, what: str) -> ValueError:
    return ValueError(f"tensor '{tensor.name}' {what}")


@cache
def _values(format: QuarterFormat) -> NDArray[np.float64]:
    """The number of each code."""
    values = np.full(256, np.nan)
    for code in range(256):
        read = format.read(code)
        if isinstance(read, Number):
            magnitude = ldexp(read.significand, read.exponent)
            values[code] = -magnitude if read.negative else magnitude
    return values


def _to_quarters(numbers: NDArray[np.float64], format: QuarterFormat) -> NDArray[np.uint8]:
    """The nearest codes, the even one of two."""
    positive = _values(format)[: format.largest + 1]
    middles = (positive[1:] + positive[:-1]) / 2
    magnitude = np.abs(numbers)
    codes = np.searchsorted(middles, magnitude)  # a middle goes to the code below
    is_tie = middles[np.minimum(codes, len(middles) - 1)] == magnitude
    codes += is_tie & (codes % 2 == 1)
    signed = np.where((numbers < 0) & (codes > 0), codes | QUARTER_SIGN, codes)
    return np.where(np.isnan(numbers), QUARTER_NAN, signed).astype(np.uint8)
