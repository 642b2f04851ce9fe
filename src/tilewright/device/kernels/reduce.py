"""Rows brought to one number each: `reduce.S`."""

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.saturation import saturated, to_single
from tilewright.device.kernels.spec import Array, Arrays, Kernel, Places, Role, Scalar, Size, Sizes
from tilewright.device.kernels.vector import call_cycles, shares, source

_ROWS = Size("rows", maximum=1 << 16, usual=64)
_BLOCKS = Size("blocks", maximum=1 << 16, usual=4)
_N = Size("n", maximum=1 << 16, usual=64)
_TYPES = {"f16": "f2", "f32": "f4"}
_WORD = 4
_STORED = {"sum": 8, "max": 7}
_FACTOR = np.float32(0.75)
"""What sums are tried with."""


def _kernel(kind: str, type_name: str, result: str) -> Kernel:
    dtype, z_type = _TYPES[type_name], _TYPES[result]
    size = np.dtype(dtype).itemsize
    per_word = _WORD // size
    is_sum = kind == "sum"

    def pitch(sizes: Sizes) -> int:
        """Elements from block to block: whole words."""
        return -(-sizes["n"] // per_word) * per_word

    def row(sizes: Sizes) -> int:
        return sizes["blocks"] * pitch(sizes)

    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        x = inputs["x"].reshape(sizes["rows"], sizes["blocks"], pitch(sizes))[:, :, : sizes["n"]]
        if not is_sum:
            return {"z": np.fmax.reduce(x, axis=(1, 2)).astype(z_type)}
        total = _sums(x.astype(np.float32), per_word)
        return {"z": saturated(to_single(total.astype(np.float64) * _FACTOR), z_type)}

    def cycles(sizes: Sizes, places: Places) -> int:
        return call_cycles(_STORED[kind], _steps(kind, per_word, result, sizes))

    numbers = (
        Scalar("rows", lambda sizes: sizes["rows"]),
        Scalar("pitch", lambda sizes: size * row(sizes)),
        Scalar("blocks", lambda sizes: sizes["blocks"]),
        Scalar("block pitch", lambda sizes: size * pitch(sizes)),
        Scalar("n", lambda sizes: sizes["n"]),
    )
    factor = (Scalar("factor", lambda sizes: int(_FACTOR.view(np.uint32))),) if is_sum else ()
    return Kernel(
        name="_".join(dict.fromkeys(("reduce", kind, type_name, result))),
        summary="z = factor · Σ x, row by row" if is_sum else "z = the greatest of x, row by row",
        source=source("reduce.S"),
        operands=(
            Array("z", z_type, Role.RESULT, lambda sizes: sizes["rows"]),
            Array("x", dtype, Role.INPUT, lambda sizes: sizes["rows"] * row(sizes)),
            *numbers,
            *factor,
        ),
        sizes=(_ROWS, _BLOCKS, _N),
        reference=reference,
        cycles=cycles,
        elements=lambda sizes: sizes["rows"] * sizes["blocks"] * sizes["n"],
    )


def _sums(x: NDArray[np.float32], lanes: int) -> NDArray[np.float32]:
    """Of each row of blocks, in singles: every lane from its first element to its last."""
    rows, blocks, n = x.shape
    padded = np.zeros((rows, blocks, -(-n // lanes) * lanes), np.float32)
    padded[:, :, :n] = x
    each = np.cumsum(padded.reshape(rows, -1, lanes), axis=1, dtype=np.float32)[:, -1]
    total: NDArray[np.float32] = each.sum(axis=1, dtype=np.float32)
    return total


_IDLE, _ONCE, _TO_NEXT = 12, 25, 4
"""Steps of a worker: without rows; before its first one; from one to the next."""
_BEFORE_ROW = {("sum", 1): 4, ("max", 1): 4, ("sum", 2): 2, ("max", 2): 4}
_AFTER_ROW = {("sum", 1): 4, ("max", 1): 2, ("sum", 2): 2, ("max", 2): 2}
_ROWS_AT_ONCE = 2
"""Of halves to halves: their results share a word."""
_AFTER_PAIR = {"sum": 7, "max": 4}
_AFTER_HALVES = {"sum": 3, "max": 2}
_ODD = {"sum": 3, "max": 1}


def _steps(kind: str, per_word: int, result: str, sizes: Sizes) -> list[int]:
    """Of each worker, by the kind of reduction, the elements in a word, and the type of results."""
    n = sizes["n"]
    if per_word == 1:
        block = 4 + n
    else:
        block = 7 + n // 2 * (2 if kind == "sum" else 1) + n % 2 * _ODD[kind]
    row = _BEFORE_ROW[kind, per_word] + sizes["blocks"] * block + _AFTER_ROW[kind, per_word]
    rows = _ROWS_AT_ONCE if (per_word, result) == (2, "f16") else 1
    units = -(-sizes["rows"] // rows)
    if rows > 1:
        unit = 2 * row + 1 + _AFTER_PAIR[kind]
    else:
        unit = row + (_AFTER_HALVES[kind] if per_word > 1 else 0)
    steps = [_ONCE + (unit + _TO_NEXT) * share + 1 if share else _IDLE for share in shares(units)]
    if sizes["rows"] % rows:
        steps[(units - 1) % len(steps)] -= row + 1
    return steps


REDUCE = tuple(
    _kernel(kind, *types)
    for types in (("f16", "f16"), ("f32", "f32"), ("f16", "f32"))
    for kind in ("sum", "max")
)
