"""Softmax of rows: `softmax.S`; of few: `softmax_few.S`."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.launches import launch_end
from tilewright.device.kernels.rowwise import ROWS, N, Rows, elements, padded_elements
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
from tilewright.device.kernels.vector import HALF, SINGLE, call_cycles, per_atom, source
from tilewright.target.geometry import WORKERS

SCALE = np.float32(0.3)
"""What the kernels are tried with."""
_SCALE_BITS = int(SCALE.view(np.uint32))
FEW_ROWS = Size("rows", maximum=WORKERS // 2, usual=2)
"""Rows that `softmax_few_f16` takes."""
_FIRST = Size("first", minimum=0, maximum=1 << 14, usual=1 << 12)
_STORED, _ONCE = 7, 28
"""Words of the state, and steps of a worker once."""


def seen(sizes: Sizes, count: int) -> NDArray[np.int64]:
    """How many elements each row sees."""
    rows = np.arange(sizes["rows"])
    return np.minimum(min(count, sizes["n"]), sizes["first"] + rows + 1)


def softmax(sizes: Sizes, inputs: Arrays) -> Rows:
    """Rows with their padding, which is 0."""
    rows = inputs["x"].astype(np.float64).reshape(sizes["rows"], -1)
    limits = seen(sizes, int(inputs["count"][0]))[:, None]
    x = np.where(np.arange(rows.shape[1]) < limits, rows, -np.inf)
    exponentials = np.exp(float(SCALE) * (x - x.max(axis=1, keepdims=True)))
    shares_of_one: Rows = exponentials / exponentials.sum(axis=1, keepdims=True)
    return shares_of_one


def _all(random: np.random.Generator, count: int) -> NDArray[np.int32]:
    """A count that all rows of a trial have in full."""
    return np.full(count, N.maximum, np.int32)


@dataclass(frozen=True, slots=True)
class _Steps:
    """Of a worker, for a row that sees one atom, for each more, and once if there are more."""

    row: int
    atom: int
    several: int


def _operands(dtype: str, rows: Scalar) -> tuple[Array | Scalar, ...]:
    return (
        Array("z", dtype, Role.RESULT, padded_elements(dtype)),
        Array("x", dtype, Role.INPUT, padded_elements(dtype)),
        rows,
        Scalar("n", lambda sizes: sizes["n"]),
        Scalar("scale", lambda sizes: _SCALE_BITS),
        Array("count", "i4", Role.INPUT, lambda sizes: 1, alignment=4, sample=_all),
        Scalar("first", lambda sizes: sizes["first"]),
    )


def _reference(sizes: Sizes, inputs: Arrays) -> Arrays:
    return {"z": softmax(sizes, inputs).reshape(-1)}


def _softmax(dtype: str, steps: _Steps, accuracy: Accuracy) -> Kernel:
    grain = per_atom(dtype)

    def cycles(sizes: Sizes, places: Places) -> int:
        further = (seen(sizes, N.maximum) - 1) // grain
        cleared = -(-sizes["n"] // grain) - 1 - further
        each = steps.row + (further > 0) * steps.several + steps.atom * further + cleared
        workers = [_ONCE + int(each[worker::WORKERS].sum()) for worker in range(WORKERS)]
        return call_cycles(_STORED, workers)

    return Kernel(
        name=f"softmax_f{8 * np.dtype(dtype).itemsize}",
        summary="z = softmax of the scaled first elements of each row",
        source=source("softmax.S"),
        operands=_operands(dtype, Scalar("rows", lambda sizes: sizes["rows"])),
        sizes=(ROWS, N, _FIRST),
        reference=_reference,
        cycles=cycles,
        elements=elements,
        accuracy=accuracy,
        in_place=(("z", "x"),),
    )


def _parts(sizes: Sizes) -> int:
    """How many workers share a row."""
    return WORKERS // sizes["rows"]


def _few_cycles(sizes: Sizes, places: Places) -> int:
    parts, atoms = _parts(sizes), -(-sizes["n"] // 4)
    further = (seen(sizes, N.maximum) - 1) // 4
    launches: list[list[int]] = [[], [], []]
    for worker in range(WORKERS):
        row, part = divmod(worker, parts)
        if row >= sizes["rows"]:
            continue
        own = -(-(int(further[row]) - part) // parts)
        last = part + own * parts == further[row]
        cleared = -(-(atoms - part) // parts) - own - last
        launches[0].append(53 + 6 * last + own)
        launches[1].append(
            22 + 2 * parts + (5 + 20 * own + 2 * (own > 1) if own else 0) + 28 * last
        )
        launches[2].append(16 + 2 * parts + 3 * (own + last) + cleared)
    cycle = 12 + 8
    for steps in launches:
        cycle = launch_end(cycle, steps, 1)
    return cycle + 6


SOFTMAX = (
    _softmax("f2", _Steps(61, 23, 2), Accuracy(2.0**-24, 3.02 * HALF)),
    _softmax("f4", _Steps(44, 12, 3), Accuracy(0, 40 * SINGLE)),
    Kernel(
        name="softmax_few_f16",
        summary="softmax_f16 of so few rows that several workers share each",
        source=source("softmax_few.S"),
        operands=(
            *_operands("f2", Scalar("parts", _parts)),
            Scalar("share", lambda sizes: -(-(1 << 18) // _parts(sizes))),
        ),
        sizes=(FEW_ROWS, N, _FIRST),
        reference=_reference,
        cycles=_few_cycles,
        elements=elements,
        accuracy=Accuracy(2.0**-24, 3.02 * HALF),
        in_place=(("z", "x"),),
    ),
)
