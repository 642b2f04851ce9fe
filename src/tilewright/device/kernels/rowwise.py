"""What kernels of rows share: rows of n elements each, padded to whole atoms."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.spec import Array, Arrays, Places, Role, Scalar, Size, Sizes
from tilewright.device.kernels.vector import call_cycles, per_atom, shares

ROWS = Size("rows", maximum=1 << 14, usual=18)
N = Size("n", maximum=1 << 14, usual=512)
PARTS = Size("parts", maximum=1 << 11, usual=3)
"""Of rows that are split over tiles."""

Rows = NDArray[np.float64]


def rows_of(sizes: Sizes, inputs: Arrays) -> Rows:
    """x without its padding."""
    rows = inputs["x"].astype(np.float64).reshape(sizes["rows"], -1)
    unpadded: Rows = rows[:, : sizes["n"]]
    return unpadded


def padded(rows: Rows, like: NDArray[Any]) -> Rows:
    """Rows with zeros behind them, as many as another array has elements."""
    pitch = like.size // len(rows)
    whole: Rows = np.pad(rows, ((0, 0), (0, pitch - rows.shape[1]))).reshape(-1)
    return whole


def row_atoms(sizes: Sizes, dtype: str) -> int:
    return -(-sizes["n"] // per_atom(dtype))


def padded_elements(dtype: str) -> Callable[[Sizes], int]:
    """Elements of all rows with their padding."""
    return lambda sizes: sizes["rows"] * row_atoms(sizes, dtype) * per_atom(dtype)


def elements(sizes: Sizes) -> int:
    """Those of all rows that count."""
    return sizes["rows"] * sizes["n"]


def rows_operands(dtype: str) -> tuple[Array | Scalar, ...]:
    """x, and how many rows of how many elements it has."""
    return (
        Array("x", dtype, Role.INPUT, padded_elements(dtype)),
        Scalar("rows", lambda sizes: sizes["rows"]),
        Scalar("n", lambda sizes: sizes["n"]),
    )


def split_cycles(
    dtype: str, stored: int, before: int, row: int, atom: int, part: int = 0
) -> Callable[[Sizes, Places], int]:
    """Of workers that take `before` steps once, `row` for a row of one atom, `atom` for each more,
    and `part` for what is known of each part; the supervisor stores so many words."""

    def cycles(sizes: Sizes, places: Places) -> int:
        each = row + atom * (row_atoms(sizes, dtype) - 1) + part * sizes.get("parts", 0)
        return call_cycles(stored, [before + each * share for share in shares(sizes["rows"])])

    return cycles
