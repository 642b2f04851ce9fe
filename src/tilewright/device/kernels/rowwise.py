"""Normalised rows: `norms.S`; split over tiles: `norms_split.S`."""

from collections.abc import Callable
from dataclasses import dataclass

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
from tilewright.device.kernels.vector import call_cycles, per_atom, shares, source

_HALF, _SINGLE = 2.0**-11, 2.0**-24
"""Relative error of rounding to nearest."""
_ROWS = Size("rows", maximum=1 << 14, usual=18)
_N = Size("n", maximum=1 << 14, usual=512)
EPSILON = np.float32(1e-5)
"""What the kernels are tried with."""
_EPSILON_BITS = int(EPSILON.view(np.uint32))

Rows = NDArray[np.float64]


def _rows_of(sizes: Sizes, inputs: Arrays) -> Rows:
    """x without its padding."""
    rows = inputs["x"].astype(np.float64).reshape(sizes["rows"], -1)
    unpadded: Rows = rows[:, : sizes["n"]]
    return unpadded


def layer_norm(sizes: Sizes, inputs: Arrays) -> Rows:
    x = _rows_of(sizes, inputs)
    moved = x - x.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt((moved**2).mean(axis=1, keepdims=True) + float(EPSILON))
    gain, bias = inputs["gain"].astype(np.float64), inputs["bias"].astype(np.float64)
    normalised: Rows = moved * scale * gain + bias
    return normalised


def rms_norm(sizes: Sizes, inputs: Arrays) -> Rows:
    x = _rows_of(sizes, inputs)
    scale = 1 / np.sqrt((x**2).mean(axis=1, keepdims=True) + float(EPSILON))
    normalised: Rows = x * scale * inputs["gain"].astype(np.float64)
    return normalised


_BEFORE_ROWS = 26
_EPSILON = Scalar("epsilon", lambda sizes: _EPSILON_BITS)


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
    file: str,
    vectors: tuple[str, ...],
    function: Callable[[Sizes, Arrays], Rows],
    steps: _Steps,
    accuracy: Accuracy,
) -> Kernel:
    """`vectors` are names of operands of n elements."""
    grain = per_atom(dtype)

    def atoms(sizes: Sizes) -> int:
        return -(-sizes["n"] // grain)

    def count(sizes: Sizes) -> int:
        return sizes["rows"] * atoms(sizes) * grain

    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        rows = function(sizes, inputs)
        return {"z": np.pad(rows, ((0, 0), (0, -sizes["n"] % grain))).reshape(-1)}

    more: tuple[Array | Scalar, ...] = tuple(
        Array(each, dtype, Role.INPUT, lambda sizes: sizes["n"]) for each in vectors
    )
    more += (_EPSILON,)

    def cycles(sizes: Sizes, places: Places) -> int:
        further = atoms(sizes) - 1
        each = steps.row + (steps.several if further else 0) + steps.atom * further
        workers = [_BEFORE_ROWS + each * share for share in shares(sizes["rows"])]
        return call_cycles(4 + len(more), workers)

    return Kernel(
        name=f"{name}_f{8 * np.dtype(dtype).itemsize}",
        summary=summary,
        source=source(file),
        operands=(
            Array("z", dtype, Role.RESULT, count),
            Array("x", dtype, Role.INPUT, count),
            Scalar("rows", lambda sizes: sizes["rows"]),
            Scalar("n", lambda sizes: sizes["n"]),
            *more,
        ),
        sizes=(_ROWS, _N),
        reference=reference,
        cycles=cycles,
        elements=lambda sizes: sizes["rows"] * sizes["n"],
        accuracy=accuracy,
        in_place=(("z", "x"),),
    )


def _layer_norm(dtype: str, steps: _Steps, accuracy: Accuracy) -> Kernel:
    summary = "z = (x - mean) / sqrt(variance + epsilon) · gain + bias, row by row"
    vectors = ("gain", "bias")
    return _rowwise("layer_norm", dtype, summary, "norms.S", vectors, layer_norm, steps, accuracy)


def _rms_norm(dtype: str, steps: _Steps, accuracy: Accuracy) -> Kernel:
    summary = "z = x / sqrt(mean of x² + epsilon) · gain, row by row"
    return _rowwise("rms_norm", dtype, summary, "norms.S", ("gain",), rms_norm, steps, accuracy)


ROWWISE = (
    _layer_norm("f2", _Steps(66, 16), Accuracy(8 * _HALF, 3.02 * _HALF)),
    _rms_norm("f2", _Steps(45, 11), Accuracy(2.0**-24, 3.02 * _HALF)),
    _layer_norm("f4", _Steps(53, 8), Accuracy(40 * _SINGLE, 40 * _SINGLE)),
    _rms_norm("f4", _Steps(36, 5), Accuracy(0, 40 * _SINGLE)),
)


_WHOLE_ROW = 4096
"""Elements of the whole rows that `row_apply_f16` is tried with."""


def _pairs(sizes: Sizes) -> int:
    return 2 * sizes["rows"]


def _atoms_of_halves(sizes: Sizes) -> int:
    return -(-sizes["n"] // per_atom("f2"))


def _padded_rows(sizes: Sizes) -> int:
    return sizes["rows"] * _atoms_of_halves(sizes) * per_atom("f2")


def _statistics(sizes: Sizes, inputs: Arrays) -> Arrays:
    x = _rows_of(sizes, inputs)
    return {"sums": np.stack([x.sum(axis=1), (x**2).sum(axis=1)], axis=1).reshape(-1)}


def _sums_of_rows(random: np.random.Generator, count: int) -> Rows:
    """Of whole rows with means around 0 and variances of 1 to 2."""
    means = random.normal(size=count // 2)
    squares = means**2 + random.uniform(1, 2, count // 2)
    sums: Rows = np.stack([means, squares], axis=1).reshape(-1) * _WHOLE_ROW
    return sums


def _constants(random: np.random.Generator, count: int) -> Rows:
    return np.array([1 / _WHOLE_ROW, float(EPSILON)])


def _apply(sizes: Sizes, inputs: Arrays) -> Arrays:
    x = _rows_of(sizes, inputs)
    sums = inputs["sums"].astype(np.float64).reshape(-1, 2) / _WHOLE_ROW
    mean, square = sums[:, :1], sums[:, 1:]
    scale = 1 / np.sqrt(square - mean**2 + float(EPSILON))
    rows = (x - mean) * scale * inputs["gain"] + inputs["bias"]
    padding = -sizes["n"] % per_atom("f2")
    return {"z": np.pad(rows, ((0, 0), (0, padding))).reshape(-1)}


def _split_cycles(stored: int, before: int, row: int, atom: int) -> Callable[[Sizes, Places], int]:
    """Of workers that take `before` steps once, `row` for a row of one atom, `atom` per further."""

    def cycles(sizes: Sizes, places: Places) -> int:
        each = row + atom * (_atoms_of_halves(sizes) - 1)
        return call_cycles(stored, [before + each * share for share in shares(sizes["rows"])])

    return cycles


_PART = (
    Array("x", "f2", Role.INPUT, _padded_rows),
    Scalar("rows", lambda sizes: sizes["rows"]),
    Scalar("n", lambda sizes: sizes["n"]),
)

SPLIT = (
    Kernel(
        name="row_statistics_f16",
        summary="sums of x and of x², row by row",
        source=source("norms_split.S"),
        operands=(Array("sums", "f4", Role.RESULT, _pairs), *_PART),
        sizes=(_ROWS, _N),
        reference=_statistics,
        cycles=_split_cycles(4, 29, 23, 5),
        elements=lambda sizes: sizes["rows"] * sizes["n"],
        accuracy=Accuracy(2.0**-12, 100 * _SINGLE),
    ),
    Kernel(
        name="row_apply_f16",
        summary="z = (x - mean) / sqrt(variance + epsilon) · gain + bias, from sums of whole rows",
        source=source("norms_split.S"),
        operands=(
            Array("z", "f2", Role.RESULT, _padded_rows),
            *_PART,
            Array("gain", "f2", Role.INPUT, lambda sizes: sizes["n"]),
            Array("bias", "f2", Role.INPUT, lambda sizes: sizes["n"]),
            Array("sums", "f4", Role.INPUT, _pairs, sample=_sums_of_rows),
            Array("constants", "f4", Role.INPUT, lambda sizes: 2, sample=_constants),
        ),
        sizes=(_ROWS, _N),
        reference=_apply,
        cycles=_split_cycles(8, 29, 35, 10),
        elements=lambda sizes: sizes["rows"] * sizes["n"],
        accuracy=Accuracy(8 * _HALF, 3.02 * _HALF),
        in_place=(("z", "x"),),
    ),
)
