"""Normalised rows that are split over tiles: `norms_split.S`."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.norms import EPSILON
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
    Sizes,
)
from tilewright.device.kernels.vector import HALF, SINGLE, source

_WHOLE_ROW = 4096
"""Elements of the whole rows that parts are tried with."""


def _statistics(sizes: Sizes, inputs: Arrays) -> Arrays:
    x = rows_of(sizes, inputs)
    return {"sums": np.stack([x.sum(axis=1), (x**2).sum(axis=1)], axis=1).reshape(-1)}


def _sums_of_parts(random: np.random.Generator, count: int) -> Rows:
    """Each as of whole rows with means around 0 and variances of 1 to 2."""
    means = random.normal(size=count // 2)
    squares = means**2 + random.uniform(1, 2, count // 2)
    sums: Rows = np.stack([means, squares], axis=1).reshape(-1) * _WHOLE_ROW
    return sums


def _apply(sizes: Sizes, inputs: Arrays) -> Arrays:
    x = rows_of(sizes, inputs)
    sums = inputs["sums"].astype(np.float64).reshape(len(x), -1, 2).sum(axis=1)
    of_mean, of_square, epsilon = inputs["constants"].view("<f4")[:3].astype(np.float64)
    mean, square = sums[:, :1] * of_mean, sums[:, 1:] * of_square
    scale = 1 / np.sqrt(square - mean**2 + epsilon)
    return {"z": padded((x - mean) * scale * inputs["gain"] + inputs["bias"], inputs["x"])}


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


def _split(
    dtype: str, statistics: tuple[int, int], apply: tuple[int, int], accuracy: Accuracy
) -> Iterator[Kernel]:
    """Kernels for elements of a type; steps for a row of one atom, and for each atom more."""
    suffix = f"f{8 * np.dtype(dtype).itemsize}"
    part = rows_operands(dtype)
    yield Kernel(
        name=f"row_statistics_{suffix}",
        summary="sums of x and of x², row by row",
        source=source("norms_split.S"),
        operands=(Array("sums", "f4", Role.RESULT, lambda sizes: 2 * sizes["rows"]), *part),
        sizes=(ROWS, N),
        reference=_statistics,
        cycles=split_cycles(dtype, 4, 29, *statistics),
        elements=elements,
        accuracy=Accuracy(2.0**-12, 100 * SINGLE),
    )
    yield Kernel(
        name=f"row_apply_{suffix}",
        summary="z = (x - mean) / sqrt(variance + epsilon) · gain + bias, from sums of rows' parts",
        source=source("norms_split.S"),
        operands=(
            Array("z", dtype, Role.RESULT, padded_elements(dtype)),
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
        sizes=(ROWS, N, PARTS),
        reference=_apply,
        cycles=split_cycles(dtype, 8, 32, *apply, part=1),
        elements=elements,
        accuracy=accuracy,
        in_place=(("z", "x"),),
    )


SPLIT_NORMS = (
    *_split("f2", (23, 5), (34, 10), Accuracy(8 * HALF, 3.02 * HALF)),
    *_split("f4", (20, 2), (29, 5), Accuracy(100 * SINGLE, 100 * SINGLE)),
)
