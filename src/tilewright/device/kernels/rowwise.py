"""Normalised rows: `norms.S`; split over tiles: `norms_split.S`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.spec import (
    MOST_ATOMS,
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
_ROWS = Size("rows", maximum=MOST_ATOMS, usual=18)
_N = Size("n", maximum=MOST_ATOMS * 4, usual=512)
_SUMMED = Size("n", maximum=1 << 14, usual=512)
"""Of parts whose sums are as close as the specification says."""
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
        return {"z": _padded(rows, inputs["x"])}

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


_PARTS = Size("parts", maximum=1 << 11, usual=3)
_WHOLE_ROW = 4096
"""Elements of the whole rows that parts are tried with."""


def _statistics(sizes: Sizes, inputs: Arrays) -> Arrays:
    x = _rows_of(sizes, inputs)
    return {"sums": np.stack([x.sum(axis=1), (x**2).sum(axis=1)], axis=1).reshape(-1)}


def _sums_of_parts(random: np.random.Generator, count: int) -> Rows:
    """Each as of whole rows with means around 0 and variances of 1 to 2."""
    means = random.normal(size=count // 2)
    squares = means**2 + random.uniform(1, 2, count // 2)
    sums: Rows = np.stack([means, squares], axis=1).reshape(-1) * _WHOLE_ROW
    return sums


def _apply(sizes: Sizes, inputs: Arrays) -> Arrays:
    x = _rows_of(sizes, inputs)
    sums = inputs["sums"].astype(np.float64).reshape(len(x), -1, 2).sum(axis=1)
    of_mean, of_square, epsilon = inputs["constants"].view("<f4")[:3].astype(np.float64)
    mean, square = sums[:, :1] * of_mean, sums[:, 1:] * of_square
    scale = 1 / np.sqrt(square - mean**2 + epsilon)
    return {"z": _padded((x - mean) * scale * inputs["gain"] + inputs["bias"], inputs["x"])}


def apply_constants(
    elements: int, epsilon: float, parts: int, *, centred: bool = True
) -> NDArray[np.uint32]:
    """What `row_apply` kernels are told of whole rows of so many elements, in so many parts.

    Without `centred` it is a norm by the root of the mean square.
    """
    singles = np.array([centred / elements, 1 / elements, epsilon], "<f4").view("<u4")
    return np.append(singles, np.uint32(parts))


def _constants(sizes: Sizes) -> NDArray[np.uint32]:
    return apply_constants(_WHOLE_ROW * sizes["parts"], float(EPSILON), sizes["parts"])


def _padded(rows: Rows, like: NDArray[Any]) -> Rows:
    """Rows with zeros behind them, as many as another array has elements."""
    pitch = like.size // len(rows)
    padded: Rows = np.pad(rows, ((0, 0), (0, pitch - rows.shape[1]))).reshape(-1)
    return padded


def _split_cycles(
    grain: int, stored: int, before: int, row: int, atom: int, part: int = 0
) -> Callable[[Sizes, Places], int]:
    """Of workers that take `before` steps once, `row` for a row of one atom, `atom` for each more,
    and `part` for each part's sums."""

    def cycles(sizes: Sizes, places: Places) -> int:
        each = row + atom * (-(-sizes["n"] // grain) - 1) + part * sizes.get("parts", 0)
        return call_cycles(stored, [before + each * share for share in shares(sizes["rows"])])

    return cycles


def _split(dtype: str, statistics: _Steps, apply: _Steps, accuracy: Accuracy) -> Iterator[Kernel]:
    """Kernels of rows that are split, for elements of a type."""
    grain = per_atom(dtype)
    suffix = f"f{8 * np.dtype(dtype).itemsize}"

    def count(sizes: Sizes) -> int:
        return sizes["rows"] * -(-sizes["n"] // grain) * grain

    part = (
        Array("x", dtype, Role.INPUT, count),
        Scalar("rows", lambda sizes: sizes["rows"]),
        Scalar("n", lambda sizes: sizes["n"]),
    )
    yield Kernel(
        name=f"row_statistics_{suffix}",
        summary="sums of x and of x², row by row",
        source=source("norms_split.S"),
        operands=(Array("sums", "f4", Role.RESULT, lambda sizes: 2 * sizes["rows"]), *part),
        sizes=(_ROWS, _SUMMED),
        reference=_statistics,
        cycles=_split_cycles(grain, 4, 29, statistics.row, statistics.atom),
        elements=lambda sizes: sizes["rows"] * sizes["n"],
        accuracy=Accuracy(2.0**-12, 100 * _SINGLE),
    )

    yield Kernel(
        name=f"row_apply_{suffix}",
        summary="z = (x - mean) / sqrt(variance + epsilon) · gain + bias, from sums of rows' parts",
        source=source("norms_split.S"),
        operands=(
            Array("z", dtype, Role.RESULT, count),
            *part,
            Array("gain", dtype, Role.INPUT, lambda sizes: sizes["n"]),
            Array("bias", dtype, Role.INPUT, lambda sizes: sizes["n"]),
            Array(
                "sums",
                "f4",
                Role.INPUT,
                lambda sizes: 2 * sizes["rows"] * sizes["parts"],
                sample=_sums_of_parts,
            ),
            Array("constants", "u4", Role.INPUT, lambda sizes: 4, content=_constants),
        ),
        sizes=(_ROWS, _N, _PARTS),
        reference=_apply,
        cycles=_split_cycles(grain, 8, 32, apply.row, apply.atom, 1),
        elements=lambda sizes: sizes["rows"] * sizes["n"],
        accuracy=accuracy,
        in_place=(("z", "x"),),
    )


SPLIT = (
    *_split("f2", _Steps(23, 5), _Steps(34, 10), Accuracy(8 * _HALF, 3.02 * _HALF)),
    *_split("f4", _Steps(20, 2), _Steps(29, 5), Accuracy(100 * _SINGLE, 100 * _SINGLE)),
)
