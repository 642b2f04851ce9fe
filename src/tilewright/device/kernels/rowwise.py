"""Softmax and normalised rows of halves: `softmax.S`, `norms.S`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.spec import (
    Accuracy,
    Array,
    Arrays,
    Kernel,
    Places,
    Role,
    Scalar,
    Size,
    Sizes,
)
from tilewright.device.kernels.vector import call_cycles, shares, source

_HALF = 2.0**-11
"""Relative error of a half."""
_ATOM = 4
_ROWS = Size("rows", maximum=1 << 14, usual=18)
_N = Size("n", maximum=1 << 14, usual=512)
EPSILON = np.float32(1e-5)
"""What the kernels are tried with."""
_EPSILON_BITS = int(EPSILON.view(np.uint32))

Rows = NDArray[np.float64]


def _atoms(sizes: Sizes) -> int:
    return -(-sizes["n"] // _ATOM)


def _count(sizes: Sizes) -> int:
    return sizes["rows"] * _atoms(sizes) * _ATOM


def _vector_count(sizes: Sizes) -> int:
    return sizes["n"]


def _rows_of(sizes: Sizes, inputs: Arrays) -> Rows:
    """x without its padding."""
    rows = inputs["x"].astype(np.float64).reshape(sizes["rows"], -1)
    unpadded: Rows = rows[:, : sizes["n"]]
    return unpadded


def _padded(rows: Rows) -> NDArray[Any]:
    padding = -rows.shape[1] % _ATOM
    return np.pad(rows, ((0, 0), (0, padding))).reshape(-1)


def softmax(sizes: Sizes, inputs: Arrays) -> Arrays:
    x = _rows_of(sizes, inputs)
    exponentials = np.exp(x - x.max(axis=1, keepdims=True))
    return {"z": _padded(exponentials / exponentials.sum(axis=1, keepdims=True))}


def layer_norm(sizes: Sizes, inputs: Arrays) -> Arrays:
    x = _rows_of(sizes, inputs)
    moved = x - x.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt((moved**2).mean(axis=1, keepdims=True) + float(EPSILON))
    gain, bias = inputs["gain"].astype(np.float64), inputs["bias"].astype(np.float64)
    return {"z": _padded(moved * scale * gain + bias)}


def rms_norm(sizes: Sizes, inputs: Arrays) -> Arrays:
    x = _rows_of(sizes, inputs)
    scale = 1 / np.sqrt((x**2).mean(axis=1, keepdims=True) + float(EPSILON))
    return {"z": _padded(x * scale * inputs["gain"].astype(np.float64))}


def _row_cycles(stored: int, row: int, atom: int, several: int) -> Callable[[Sizes, Places], int]:
    """Of workers that take `row` steps for a row of one atom, `several` more if it has more, and
    `atom` for each of those."""

    def cycles(sizes: Sizes, places: Places) -> int:
        further = _atoms(sizes) - 1
        each = row + (several if further else 0) + atom * further
        return call_cycles(stored, [_BEFORE_ROWS + each * share for share in shares(sizes["rows"])])

    return cycles


_BEFORE_ROWS = 26
_OPERANDS = (
    Array("z", "f2", Role.RESULT, _count),
    Array("x", "f2", Role.INPUT, _count),
    Scalar("rows", lambda sizes: sizes["rows"]),
    Scalar("n", _vector_count),
)
_GAIN = Array("gain", "f2", Role.INPUT, _vector_count)
_BIAS = Array("bias", "f2", Role.INPUT, _vector_count)
_EPSILON = Scalar("epsilon", lambda sizes: _EPSILON_BITS)


def _rowwise(
    name: str,
    summary: str,
    file: str,
    more: tuple[Array | Scalar, ...],
    reference: Callable[[Sizes, Arrays], Arrays],
    cycles: Callable[[Sizes, Places], int],
    accuracy: Accuracy,
) -> Kernel:
    return Kernel(
        name=name,
        summary=summary,
        source=source(file),
        operands=(*_OPERANDS, *more),
        sizes=(_ROWS, _N),
        reference=reference,
        cycles=cycles,
        elements=lambda sizes: sizes["rows"] * sizes["n"],
        accuracy=accuracy,
        in_place=(("z", "x"),),
    )


ROWWISE = (
    _rowwise(
        "softmax_f16",
        "z = softmax of each row",
        "softmax.S",
        (),
        softmax,
        _row_cycles(4, 52, 22, 2),
        Accuracy(2.0**-24, 3.02 * _HALF),
    ),
    _rowwise(
        "layer_norm_f16",
        "z = (x - mean) / sqrt(variance + epsilon) · gain + bias, row by row",
        "norms.S",
        (_GAIN, _BIAS, _EPSILON),
        layer_norm,
        _row_cycles(7, 66, 16, 2),
        Accuracy(8 * _HALF, 3.02 * _HALF),
    ),
    _rowwise(
        "rms_norm_f16",
        "z = x / sqrt(mean of x² + epsilon) · gain, row by row",
        "norms.S",
        (_GAIN, _EPSILON),
        rms_norm,
        _row_cycles(6, 45, 11, 2),
        Accuracy(2.0**-24, 3.02 * _HALF),
    ),
)
