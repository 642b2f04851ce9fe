"""What kernels cost a tile, by the formulas that the kernels state, for plans.

A formula is linear in rounds of work: its slopes are differences of exact values. So whole arrays
of shapes are priced at once, and what a kernel takes is said in one place, beside the kernel.
Kernels that nobody wrote yet are priced by the rates of the catalogue.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.codegen.mid.kernels import CATALOGUE
from tilewright.codegen.mid.orders import OUTPUT_GROUP, Precision
from tilewright.device.kernels.registry import KERNELS
from tilewright.device.kernels.softmax import FEW_ROWS
from tilewright.target.geometry import REGION1_BASE, WORKERS

Numbers = NDArray[Any]

CALL = 7
"""Cycles of the supervisor before a kernel's first: its operands, and the call."""
PANEL_ATOMS = 4
"""Atoms of 8 bytes in a row of a panel of halves."""
_ATOM = 8
_THIRDS = WORKERS // 2
"""Rows that workers of a reduction take at once."""


@lru_cache(maxsize=65536)
def call_cycles(kernel: str, **sizes: int) -> float:
    """Of one call, with what goes before it. Arrays lie in interleaved memory."""
    found = KERNELS[kernel]
    places = dict.fromkeys((array.name for array in found.arrays), REGION1_BASE)
    return CALL + found.cycles(sizes, places)


def _ceil(a: Any, b: Any) -> Any:
    return -(-a // b)


# Element by element


def vector_cycles(kernel: str, elements: Any) -> Any:
    """Of a call over so many elements (one number, or an array of them)."""
    if kernel not in KERNELS:
        return CATALOGUE[kernel].cycles(elements)
    per_round, first, further = _rounds(kernel)
    return first + further * np.maximum(_ceil(elements, per_round) - 1, 0)


@lru_cache(maxsize=256)
def _rounds(kernel: str) -> tuple[int, float, float]:
    """Elements of a round, in which each worker has an atom; cycles of the first and of others."""
    found = KERNELS[kernel]
    width = max(np.dtype(array.dtype).itemsize for array in found.arrays)
    round_of = WORKERS * _ATOM // width
    first, second, third = (_of_elements(kernel, count * round_of) for count in (1, 3, 5))
    return round_of, first, (third - second) / 2


def _of_elements(kernel: str, elements: int) -> float:
    others = {size.name: size.usual for size in KERNELS[kernel].sizes if size.name != "n"}
    return call_cycles(kernel, n=elements, **others)


def sum_cycles(kernel: str, elements: Any, blocks: Any) -> Any:
    """Of a call that adds up blocks of so many elements."""
    per_round, first, further, block = _sum_slopes(kernel)
    rounds = _ceil(elements, per_round)
    return first + (rounds - 1) * further + (rounds * blocks - 1) * block


@lru_cache(maxsize=8)
def _sum_slopes(kernel: str) -> tuple[int, float, float, float]:
    width = max(np.dtype(array.dtype).itemsize for array in KERNELS[kernel].arrays)
    per_round = WORKERS * _ATOM // width
    first = call_cycles(kernel, n=per_round, blocks=1)
    block = call_cycles(kernel, n=per_round, blocks=2) - first
    further = call_cycles(kernel, n=2 * per_round, blocks=1) - first - block
    return per_round, first, further, block


# Rows


def row_cycles(kernel: str, rows: int, columns: int, parts: int = 1) -> float:
    """Of a call over so many rows of so many columns; for rows in parts, of all of which it is told
    figures, over a part of each."""
    few = kernel.replace("softmax", "softmax_few")
    if few != kernel and few in KERNELS and rows <= FEW_ROWS.maximum:
        kernel = few
    if kernel not in KERNELS:
        return CATALOGUE[kernel].cycles(rows * columns)
    given = {"rows": rows, "n": columns, "first": columns, "parts": parts}
    names = [size.name for size in KERNELS[kernel].sizes]
    return call_cycles(kernel, **{name: given[name] for name in names})


# Products


def product_cycles(kernel: str, rows: Numbers, inner: Numbers, columns: Numbers) -> Numbers:
    """Of a call of a matrix kernel, with so many blocks of inner elements and of columns."""
    values, places = np.unique(rows, return_inverse=True)
    table = np.array([_product_slopes(kernel, value) for value in values.tolist()])
    once, column, block = table[places.reshape(-1)].T
    found: Numbers = once + columns * (column + (inner - 1) * block)
    return found


@lru_cache(maxsize=16384)
def _product_slopes(kernel: str, rows: int) -> tuple[float, float, float]:
    """Once, for each 16 columns, and for each further block of inner elements of them."""
    one, deeper, wider = (
        call_cycles(f"{kernel}.zero", rows=rows, inner=inner, columns=columns)
        for inner, columns in ((1, 1), (5, 1), (1, 5))
    )
    column = (wider - one) / 4
    return one - column, column, (deeper - one) / 4


# What follows products


def reduction_cycles(form: str, rows: Numbers, panels: Numbers, blocks: Numbers) -> Numbers:
    """Of a call that adds up terms: `blocks` that have arrived, and the tile's own."""
    first, each, panel, block = _reduction_slopes(form)
    units = _ceil(rows * panels, _THIRDS)  # of the worker with the last row, which sees all panels
    rest = (units - 1) * each + (panels - 1) * panel + (units * blocks - 1) * block
    found: Numbers = first + rest
    return found


@lru_cache(maxsize=16)
def _reduction_slopes(form: str) -> tuple[float, float, float, float]:
    """The first unit, others beside their blocks, a further panel, a further block of a unit."""

    def cycles(rows: int, panels: int, blocks: int) -> float:
        return call_cycles(f"add_terms_f16.{form}", rows=rows, panels=panels, blocks=blocks, more=0)

    first = cycles(_THIRDS, 1, 1)
    block = cycles(_THIRDS, 1, 2) - first
    each = cycles(2 * _THIRDS, 1, 1) - first - block
    panel = cycles(_THIRDS, 2, 1) - cycles(2 * _THIRDS, 1, 1)
    return first, each, panel, block


def panel_cycles(
    operation: str, precision: Precision, transposed: bool, rows: Any, panels: Any
) -> Any:
    """Of a call that meets panels with a row (a column, if they are transposed)."""
    along = "column" if transposed else "row"
    name = f"{operation}_{along}_{precision.value}"
    first, second, third = _panel_slopes(name)
    if transposed:
        shares = _ceil(rows * panels, WORKERS)
        return first + (shares - 1) * second + (panels - 1) * third
    atoms = PANEL_ATOMS * (2 if precision is Precision.F32 else 1)
    rounds = _ceil(atoms * panels, WORKERS)
    return first + (rows - 1) * rounds * second + (rounds - 1) * third


@lru_cache(maxsize=64)
def _panel_slopes(kernel: str) -> tuple[float, float, float]:
    def cycles(rows: int, panels: int) -> float:
        return call_cycles(kernel, rows=rows, width=OUTPUT_GROUP, panels=panels)

    if "_column_" in kernel:
        first, second = cycles(WORKERS, 1), cycles(2 * WORKERS, 1)
        return first, second - first, cycles(WORKERS, 2) - second
    first = cycles(1, 1)
    return first, cycles(2, 1) - first, (cycles(1, 6) - first) / (PANEL_ATOMS - 1)


# Copies and changes of order


def copy_cycles(size: Any) -> Any:
    """Of a call that copies so many bytes."""
    return vector_cycles("copy", _ceil(size, 4))


@lru_cache(maxsize=1)
def own_words_cycles() -> float:
    """Of a call that copies the words of a gather that a tile has itself: a few, with a pitch."""
    return call_cycles("copy_strided", rows=WORKERS, width=1)


def clear_cycles(size: Any) -> Any:
    """Of a call that fills so many bytes with zeros."""
    return vector_cycles("zero", _ceil(size, 4))


def cleared_rows_cycles(rows: Any, size: int) -> Any:
    """Of a call that fills the last `size` bytes of each of so many rows with zeros."""
    first, further = _clearing_slopes(-(-size // _ATOM))
    return first + (_ceil(rows, WORKERS) - 1) * further


@lru_cache(maxsize=64)
def _clearing_slopes(width: int) -> tuple[float, float]:
    one, two = (call_cycles("copy_strided", rows=n * WORKERS, width=width) for n in (1, 2))
    return one, two - one


def permuted_cycles(elements: float, calls: float, width: int) -> float:
    """Of calls that bring so many elements of `width` bytes into another order."""
    pairs = elements * width / 4 / max(calls, 1)
    first, per_pair = _permuting_slopes()
    return calls * (first + per_pair * pairs)


@lru_cache(maxsize=1)
def _permuting_slopes() -> tuple[float, float]:
    def cycles(pairs: int) -> float:
        return call_cycles("permute_16", rows=WORKERS, pairs=pairs, step=1, pitch=0)

    first, second = cycles(8), cycles(16)
    slope = (second - first) / (8 * WORKERS)
    return first - slope * 8 * WORKERS, slope
