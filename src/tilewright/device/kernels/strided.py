"""Arithmetic of arrays whose elements lie at distances of their own: `strided.S`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.binary import OPERATIONS, TYPES, sample_of
from tilewright.device.kernels.saturation import saturated
from tilewright.device.kernels.spec import (
    Array,
    Arrays,
    Kernel,
    Places,
    Role,
    Scalar,
    Size,
    Sizes,
    table,
)
from tilewright.device.kernels.vector import call_cycles, shares, source
from tilewright.target.timing import worker_steps

_ROWS = Size("rows", maximum=1 << 16, usual=64)
_N = Size("n", maximum=1 << 16, usual=32)
_X_STEP, _Y_STEP = (Size(f"{each} step", minimum=0, usual=1) for each in "xy")
_STORED = 4
_IDLE, _ONCE, _EACH_ROW = 14, 26, 15
"""Steps of a worker: without rows; before its first one; for each, beside its elements."""
_PAIRS, _PAIR, _ODD = 3, 6, 4
_SINGLES, _SINGLE = 4, 2
"""Beside the operation: of a row, and of each pair, odd half or single of it."""
_AS_SINGLES = 3
"""What it takes to do with singles what is done to halves."""


def _span(sizes: Sizes, step: str) -> int:
    """Elements of a row of an operand, from the first to the last."""
    return (sizes["n"] - 1) * sizes[step] + 1


def _kernel(name: str, type_name: str) -> Kernel:
    formula, operation = OPERATIONS[name]
    dtype = TYPES[type_name]
    size = np.dtype(dtype).itemsize
    is_half = type_name == "f16"

    def pitch(sizes: Sizes) -> int:
        """Elements from row to row of z: rows start at words."""
        return sizes["n"] + sizes["n"] % 2 if is_half else sizes["n"]

    def places(sizes: Sizes, step: str) -> NDArray[Any]:
        rows = np.arange(sizes["rows"])[:, None] * _span(sizes, step)
        places: NDArray[Any] = rows + np.arange(sizes["n"]) * sizes[step]
        return places

    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        x, y = (inputs[each].astype(np.float64)[places(sizes, f"{each} step")] for each in "xy")
        z = np.zeros((sizes["rows"], pitch(sizes)))
        z[:, : sizes["n"]] = operation(x, y)
        return {"z": saturated(z.reshape(-1), dtype)}

    def cycles(sizes: Sizes, places: Places) -> int:
        once, row = _steps(name, type_name, sizes["n"])
        return call_cycles(
            _STORED, [once + row * share if share else _IDLE for share in shares(sizes["rows"])]
        )

    def operand(each: str) -> Array:
        return Array(
            each,
            dtype,
            Role.INPUT,
            lambda sizes: sizes["rows"] * _span(sizes, f"{each} step"),
            alignment=size,
            sample=sample_of(name),
        )

    def row_bytes(each: str) -> Callable[[Sizes], int]:
        return lambda sizes: size * _span(sizes, f"{each} step")

    return Kernel(
        name=f"{name}_strided_{type_name}",
        summary=f"z = {formula}, rows of elements at even distances",
        source=source("strided.S"),
        operands=(
            Array("z", dtype, Role.RESULT, lambda sizes: sizes["rows"] * pitch(sizes), alignment=4),
            operand("x"),
            operand("y"),
            table(
                "table",
                (
                    Scalar("z pitch", lambda sizes: size * pitch(sizes)),
                    Scalar("x pitch", row_bytes("x")),
                    Scalar("y pitch", row_bytes("y")),
                    Scalar("x step", lambda sizes: sizes["x step"]),
                    Scalar("y step", lambda sizes: sizes["y step"]),
                    Scalar("n", lambda sizes: sizes["n"]),
                    Scalar("rows", lambda sizes: sizes["rows"]),
                ),
            ),
        ),
        sizes=(_ROWS, _N, _X_STEP, _Y_STEP),
        reference=reference,
        cycles=cycles,
        elements=lambda sizes: sizes["rows"] * sizes["n"],
    )


def _steps(name: str, type_name: str, n: int) -> tuple[int, int]:
    """Of a worker with rows: once, and for each row."""
    operation = worker_steps("f32div") if name == "div" else 1
    if type_name == "f32":
        elements = _SINGLES + operation + (n - 1) * (_SINGLE + operation)
        return _ONCE, _EACH_ROW + elements
    if name == "div":
        operation = _AS_SINGLES + 2 * operation
    elements = _PAIRS + n // 2 * (_PAIR + operation) + n % 2 * (_ODD + operation)
    return _ONCE, _EACH_ROW + elements


STRIDED = tuple(_kernel(name, type_name) for type_name in TYPES for name in OPERATIONS)
