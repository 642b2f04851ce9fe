"""Softmax of rows that are split over tiles: `softmax_split.S`."""

from collections.abc import Iterator

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
_PARTS = Size("parts", maximum=1 << 11, usual=3)
_FIGURES = 2
_ONCE, _APPLY_ONCE, _PART = 29, 31, 9
"""Steps of a worker once, and for each part's figures."""

Rows = NDArray[np.float64]


def _rows_of(sizes: Sizes, inputs: Arrays) -> Rows:
    """x without its padding."""
    rows = inputs["x"].astype(np.float64).reshape(sizes["rows"], -1)
    unpadded: Rows = rows[:, : sizes["n"]]
    return unpadded


def _statistics(sizes: Sizes, inputs: Arrays) -> Arrays:
    x = _rows_of(sizes, inputs)
    largest = x.max(axis=1)
    sums = np.exp(x - largest[:, None]).sum(axis=1)
    return {"figures": np.stack([largest, sums], axis=1).reshape(-1)}


def _apply(sizes: Sizes, inputs: Arrays) -> Arrays:
    x = _rows_of(sizes, inputs)
    figures = inputs["figures"].astype(np.float64).reshape(len(x), -1, _FIGURES)
    largest = figures[:, :, 0].max(axis=1, keepdims=True)
    sums = (figures[:, :, 1] * np.exp(figures[:, :, 0] - largest)).sum(axis=1, keepdims=True)
    padded = np.zeros(inputs["x"].shape).reshape(len(x), -1)
    padded[:, : sizes["n"]] = np.exp(x - largest) / sums
    return {"z": padded.reshape(-1)}


def _sample(random: np.random.Generator, count: int) -> Rows:
    """Largest values beyond those of `normal`, and sums."""
    pairs = np.stack([random.uniform(4, 8, count // 2), random.uniform(1, 99, count // 2)], axis=1)
    figures: Rows = pairs.reshape(-1)
    return figures


def _split(
    dtype: str, statistics: tuple[int, int], apply: tuple[int, int], accuracy: Accuracy
) -> Iterator[Kernel]:
    """Kernels for elements of a type; steps for a row of one atom, and for each atom more."""
    grain = per_atom(dtype)
    suffix = f"f{8 * np.dtype(dtype).itemsize}"

    def count(sizes: Sizes) -> int:
        return sizes["rows"] * -(-sizes["n"] // grain) * grain

    def row_steps(row: int, atom: int, sizes: Sizes) -> int:
        return row + atom * (-(-sizes["n"] // grain) - 1) + _PART * sizes.get("parts", 0)

    def statistics_cycles(sizes: Sizes, places: Places) -> int:
        each = row_steps(*statistics, sizes)
        return call_cycles(4, [_ONCE + each * share for share in shares(sizes["rows"])])

    def apply_cycles(sizes: Sizes, places: Places) -> int:
        each = row_steps(*apply, sizes)
        return call_cycles(6, [_APPLY_ONCE + each * share for share in shares(sizes["rows"])])

    def figures(sizes: Sizes) -> int:
        return _FIGURES * sizes["rows"] * sizes.get("parts", 1)

    part = (
        Array("x", dtype, Role.INPUT, count),
        Scalar("rows", lambda sizes: sizes["rows"]),
        Scalar("n", lambda sizes: sizes["n"]),
    )
    yield Kernel(
        name=f"softmax_statistics_{suffix}",
        summary="the largest x, and the sum of exp(x - the largest), row by row",
        source=source("softmax_split.S"),
        operands=(Array("figures", "f4", Role.RESULT, figures), *part),
        sizes=(_ROWS, _N),
        reference=_statistics,
        cycles=statistics_cycles,
        elements=lambda sizes: sizes["rows"] * sizes["n"],
        accuracy=Accuracy(0, 100 * _SINGLE),
    )
    yield Kernel(
        name=f"softmax_apply_{suffix}",
        summary="z = softmax of rows, from the figures of rows' parts",
        source=source("softmax_split.S"),
        operands=(
            Array("z", dtype, Role.RESULT, count),
            *part,
            Array("figures", "f4", Role.INPUT, figures, sample=_sample),
            Scalar("parts", lambda sizes: sizes["parts"]),
        ),
        sizes=(_ROWS, _N, _PARTS),
        reference=_apply,
        cycles=apply_cycles,
        elements=lambda sizes: sizes["rows"] * sizes["n"],
        accuracy=accuracy,
        in_place=(("z", "x"),),
    )


SPLIT_SOFTMAX = (
    *_split("f2", (46, 18), (38, 20), Accuracy(2.0**-25, 1.02 * _HALF)),
    *_split("f4", (35, 9), (27, 9), Accuracy(0, 100 * _SINGLE)),
)
