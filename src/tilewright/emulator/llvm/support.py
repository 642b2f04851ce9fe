"""What translated code uses from outside, by name: library functions, exact functions, tables.

- `libm.exp`: a function of the C library, from double to double
- `f32.exp`: the specification's function (the slow path): a pattern to flags and pattern
- `f16.exp`: a table of all halves; `f8.to_f16.1.-3`, `f8.from_f16.1.-3`: conversions by format bit
  and scale; `f8.class.1`. One word for each argument: flags above the pattern; overflow as without
  NANOO.
- `f8.value.1`: a table of the values of all quarters, as doubles
"""

import ctypes
import ctypes.util
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.emulator.llvm.tables import FLAGS_SHIFT
from tilewright.target import formats
from tilewright.target.formats import F16, QUARTER_FORMATS, Flags, Result, classify_quarter
from tilewright.target.formats.exact import Number

_MARGIN = 2.0**-45
"""Far above the error of NumPy's functions of doubles."""
_HALVES, _QUARTERS = 1 << 16, 1 << 8


class Support:
    """Makes and keeps what is asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._addresses: dict[str, int] = {}
        self._kept: list[Any] = []

    def address(self, name: str) -> int:
        """The address of the function or table `name`."""
        with self._lock:
            if name not in self._addresses:
                self._addresses[name] = self._make(name)
            return self._addresses[name]

    def _make(self, name: str) -> int:
        family, function, *numbers = name.split(".")
        if family == "libm":
            return self._keep_function(getattr(_library(), function))
        if family == "f32":
            return self._keep_function(_exact_single(function))
        if family == "f16":
            return self._keep_table(_half_function(function))
        return self._keep_table(_quarter_table(function, *map(int, numbers)))

    def _keep_function(self, function: Any) -> int:
        self._kept.append(function)
        address = ctypes.cast(function, ctypes.c_void_p).value
        assert address is not None
        return address

    def _keep_table(self, table: NDArray[Any]) -> int:
        self._kept.append(table)
        return int(table.ctypes.data)


SUPPORT = Support()
"""One for the process: tables are shared by all translations."""


def _library() -> Any:
    return ctypes.CDLL(ctypes.util.find_library("m"))


def _exact_single(function: str) -> Any:
    exact: Callable[[int], Result] = getattr(formats.f32, function)

    def call(pattern: int) -> int:
        result = exact(pattern)
        return result.bits | int(result.flags) << 32

    return ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint32)(call)


def _entry(result: Result) -> int:
    return result.bits | int(result.flags) << FLAGS_SHIFT


# -- functions of halves ----------------------------------------------------------------------

_DOUBLES: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "ln": np.log,
    "log2": np.log2,
    "tanh": np.tanh,
    "sigm": lambda x: 1.0 / (1.0 + np.exp(-x)),
}


def _half_function(function: str) -> NDArray[np.uint32]:
    """All values: from doubles where all within the margin round alike, else exactly."""
    patterns = np.arange(_HALVES, dtype=np.uint16)
    arguments = patterns.view(np.float16).astype(np.float64)
    with np.errstate(all="ignore"):
        values = _DOUBLES[function](arguments)
        low, high = (
            (values * (1 + margin)).astype(np.float16).view(np.uint16)
            for margin in (-_MARGIN, _MARGIN)
        )
    sure = (low == high) & np.isfinite(arguments) & np.isfinite(values)
    sure &= (low & F16.infinity) != F16.infinity
    table: NDArray[np.uint32] = low.astype(np.uint32)
    exact: Callable[..., Result] = getattr(formats.f16, function)
    huge = sure ^ sure
    with np.errstate(all="ignore"):
        huge |= np.isfinite(arguments) & (np.abs(values) > 2.0 * 65504) & (arguments != 0)
    # Overflows are many, and plain.
    signs = np.where(values < 0, F16.sign_bit, 0).astype(np.uint32)
    table[huge] = signs[huge] | F16.largest | int(Flags.OFLO) << FLAGS_SHIFT
    invalid = np.isnan(values) & ~np.isnan(arguments)
    table[invalid] = F16.quiet_nan | int(Flags.INV) << FLAGS_SHIFT
    nan = np.isnan(arguments)
    signalling = np.where(patterns & F16.quiet_bit, 0, int(Flags.INV)).astype(np.uint32)
    table[nan] = F16.quiet_nan | signalling[nan] << FLAGS_SHIFT
    for pattern in np.flatnonzero(~(sure | huge | invalid | nan)):
        table[pattern] = _entry(exact(int(pattern), nanoo=False))
    return table


# -- quarters ---------------------------------------------------------------------------------


def _quarter_table(function: str, format_bit: int, scale: int = 0) -> NDArray[Any]:
    format = QUARTER_FORMATS[format_bit]
    match function:
        case "value":
            return np.array([_value(format, code) for code in range(_QUARTERS)], np.float64)
        case "class":
            codes = [int(classify_quarter(format, code)) for code in range(_QUARTERS)]
            return np.array(codes, np.uint32)
        case "to_f16":
            results = [
                formats.f8_to_f16(code, format, scale, nanoo=False) for code in range(_QUARTERS)
            ]
        case _:
            results = [
                formats.f16_to_f8(half, format, scale, nanoo=False) for half in range(_HALVES)
            ]
    entries: NDArray[np.uint32] = np.array([_entry(result) for result in results], np.uint32)
    return entries


def _value(format: formats.QuarterFormat, code: int) -> float:
    value = format.read(code)
    if not isinstance(value, Number):
        return float("nan")
    size = value.significand * 2.0**value.exponent
    return -size if value.negative else size
