"""Normalised rows: `norms.S`."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tilewright.device.kernels.rowwise import (
    ROWS,
    N,
    Rows,
    elements,
    padded,
    padded_elements,
    row_atoms,
    rows_of,
    rows_operands,
)
from tilewright.device.kernels.spec import (
    Accuracy,
    Array,
    Arrays,
    Kernel,
    Places,
    Role,
    Scalar,
    Sizes,
)
from tilewright.device.kernels.vector import HALF, SINGLE, call_cycles, shares, source

EPSILON = np.float32(1e-5)
"""What the kernels are tried with."""
_EPSILON_BITS = int(EPSILON.view(np.uint32))
_BEFORE_ROWS = 26
_EPSILON = Scalar("epsilon", lambda sizes: _EPSILON_BITS)


def layer_norm(sizes: Sizes, inputs: Arrays) -> Rows:
    x = rows_of(sizes, inputs)
    moved = x - x.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt((moved**2).mean(axis=1, keepdims=True) + float(EPSILON))
    gain, bias = inputs["gain"].astype(np.float64), inputs["bias"].astype(np.float64)
    normalised: Rows = moved * scale * gain + bias
    return normalised


def rms_norm(sizes: Sizes, inputs: Arrays) -> Rows:
    x = rows_of(sizes, inputs)
    scale = 1 / np.sqrt((x**2).mean(axis=1, keepdims=True) + float(EPSILON))
    normalised: Rows = x * scale * inputs["gain"].astype(np.float64)
    return normalised


@dataclass(frozen=True, slots=True)
class _Steps:
    """Of a worker, for a row of one atom, for each more, and once if there are more."""

    row: int
    atom: int
    several: int = 2


def _rowwise(
    name: str,
    dtype: str,
    summary: str,
    vectors: tuple[str, ...],
    function: Callable[[Sizes, Arrays], Rows],
    steps: _Steps,
    accuracy: Accuracy,
) -> Kernel:
    """`vectors` are names of operands of n elements."""

    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        rows = function(sizes, inputs)
        return {"z": padded(rows, inputs["x"])}

    more: tuple[Array | Scalar, ...] = tuple(
        Array(each, dtype, Role.INPUT, lambda sizes: sizes["n"]) for each in vectors
    )
    more += (_EPSILON,)

    def cycles(sizes: Sizes, places: Places) -> int:
        further = row_atoms(sizes, dtype) - 1
        each = steps.row + (steps.several if further else 0) + steps.atom * further
        workers = [_BEFORE_ROWS + each * share for share in shares(sizes["rows"])]
        return call_cycles(4 + len(more), workers)

    return Kernel(
        name=f"{name}_f{8 * np.dtype(dtype).itemsize}",
        summary=summary,
        source=source("norms.S"),
        operands=(
            Array("z", dtype, Role.RESULT, padded_elements(dtype)),
            *rows_operands(dtype),
            *more,
        ),
        sizes=(ROWS, N),
        reference=reference,
        cycles=cycles,
        elements=elements,
        accuracy=accuracy,
        in_place=(("z", "x"),),
    )


def _layer_norm(dtype: str, steps: _Steps, accuracy: Accuracy) -> Kernel:
    summary = "z = (x - mean) / sqrt(variance + epsilon) · gain + bias, row by row"
    vectors = ("gain", "bias")
    return _rowwise("layer_norm", dtype, summary, vectors, layer_norm, steps, accuracy)


def _rms_norm(dtype: str, steps: _Steps, accuracy: Accuracy) -> Kernel:
    summary = "z = x / sqrt(mean of x² + epsilon) · gain, row by row"
    return _rowwise("rms_norm", dtype, summary, ("gain",), rms_norm, steps, accuracy)


NORMS = (
    _layer_norm("f2", _Steps(66, 16), Accuracy(8 * HALF, 3.02 * HALF)),
    _rms_norm("f2", _Steps(45, 11), Accuracy(2.0**-24, 3.02 * HALF)),
    _layer_norm("f4", _Steps(53, 8), Accuracy(40 * SINGLE, 40 * SINGLE)),
    _rms_norm("f4", _Steps(36, 5), Accuracy(0, 40 * SINGLE)),
)
