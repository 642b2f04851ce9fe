"""Softmax of rows that are split over tiles: `softmax_split.S`."""

from collections.abc import Iterator

import numpy as np

from tilewright.device.kernels.rowwise import (
    PARTS,
    ROWS,
    N,
    Rows,
    elements,
    padded,
    padded_elements,
    rows_of,
    rows_operands,
    split_cycles,
)
from tilewright.device.kernels.spec import (
    Accuracy,
    Array,
    Arrays,
    Kernel,
    Role,
    Scalar,
    Sizes,
)
from tilewright.device.kernels.vector import HALF, SINGLE, source

_FIGURES = 2
_ONCE, _APPLY_ONCE, _PART = 29, 31, 9
"""Steps of a worker once, and for each part's figures."""


def _statistics(sizes: Sizes, inputs: Arrays) -> Arrays:
    x = rows_of(sizes, inputs)
    largest = x.max(axis=1)
    sums = np.exp(x - largest[:, None]).sum(axis=1)
    return {"figures": np.stack([largest, sums], axis=1).reshape(-1)}


def _apply(sizes: Sizes, inputs: Arrays) -> Arrays:
    x = rows_of(sizes, inputs)
    figures = inputs["figures"].astype(np.float64).reshape(len(x), -1, _FIGURES)
    largest = figures[:, :, 0].max(axis=1, keepdims=True)
    sums = (figures[:, :, 1] * np.exp(figures[:, :, 0] - largest)).sum(axis=1, keepdims=True)
    return {"z": padded(np.exp(x - largest) / sums, inputs["x"])}


def _sample(random: np.random.Generator, count: int) -> Rows:
    """Largest values beyond those of `normal`, and sums."""
    pairs = np.stack([random.uniform(4, 8, count // 2), random.uniform(1, 99, count // 2)], axis=1)
    figures: Rows = pairs.reshape(-1)
    return figures


def _split(
    dtype: str, statistics: tuple[int, int], apply: tuple[int, int], accuracy: Accuracy
) -> Iterator[Kernel]:
    """Kernels for elements of a type; steps for a row of one atom, and for each atom more."""
    suffix = f"f{8 * np.dtype(dtype).itemsize}"

    def figures(sizes: Sizes) -> int:
        return _FIGURES * sizes["rows"] * sizes.get("parts", 1)

    part = rows_operands(dtype)
    yield Kernel(
        name=f"softmax_statistics_{suffix}",
        summary="the largest x, and the sum of exp(x - the largest), row by row",
        source=source("softmax_split.S"),
        operands=(Array("figures", "f4", Role.RESULT, figures), *part),
        sizes=(ROWS, N),
        reference=_statistics,
        cycles=split_cycles(dtype, 4, _ONCE, *statistics),
        elements=elements,
        accuracy=Accuracy(0, 100 * SINGLE),
    )
    yield Kernel(
        name=f"softmax_apply_{suffix}",
        summary="z = softmax of rows, from the figures of rows' parts",
        source=source("softmax_split.S"),
        operands=(
            Array("z", dtype, Role.RESULT, padded_elements(dtype)),
            *part,
            Array("figures", "f4", Role.INPUT, figures, sample=_sample),
            Scalar("parts", lambda sizes: sizes["parts"]),
        ),
        sizes=(ROWS, N, PARTS),
        reference=_apply,
        cycles=split_cycles(dtype, 6, _APPLY_ONCE, *apply, part=_PART),
        elements=elements,
        accuracy=accuracy,
        in_place=(("z", "x"),),
    )


SPLIT_SOFTMAX = (
    *_split("f2", (46, 18), (38, 20), Accuracy(2.0**-25, 1.02 * HALF)),
    *_split("f4", (35, 9), (27, 9), Accuracy(0, 100 * SINGLE)),
)
