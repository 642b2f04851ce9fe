"""Panels and a row or a column that each of them meets: `rows.S`."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.saturation import saturated
from tilewright.device.kernels.spec import (
    MOST_ATOMS,
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
from tilewright.target.geometry import WORKERS

_ROWS = Size("rows", maximum=MOST_ATOMS, usual=32)
_PANELS = Size("panels", maximum=1 << 12, usual=4)
_STORED = 6
_IDLE, _SETUP, _COLUMN, _ROW, _NEXT_PANEL = 12, 22, 9, 2, 6
"""Steps of a worker with a row: with nothing to do; once; for a column of atoms; for each of its
rows; for each panel that it goes on by."""
_ONCE, _EACH_PANEL, _BACK, _EACH_ROW, _EACH_ATOM = 21, 4, 1, 4, 2
"""Steps of a worker with a column: once; for each panel; for one with rows of its own; for each of
those; for each atom of one."""
_OPERATIONS = {"add": ("+", np.add), "sub": ("-", np.subtract), "mul": ("·", np.multiply)}


def _steps_with_row(sizes: Sizes, width: int) -> list[int]:
    return [_worker_steps_with_row(worker, sizes, width) for worker in range(WORKERS)]


def _worker_steps_with_row(worker: int, sizes: Sizes, width: int) -> int:
    columns = width * sizes["panels"]
    if worker >= columns:
        return _IDLE
    steps, column = _SETUP, worker
    for _ in range(worker, columns, WORKERS):
        panels, column = divmod(column, width)
        steps += _NEXT_PANEL * panels + _COLUMN + _ROW * sizes["rows"]
        column += WORKERS
    return steps


def _steps_with_column(sizes: Sizes, width: int) -> list[int]:
    panels = sizes["panels"]
    once, row = _ONCE + _EACH_PANEL * panels, _EACH_ROW + _EACH_ATOM * width
    # Of six rows or more, each worker has some in every panel; of fewer, at most one in a panel.
    return [
        once + row * share + _BACK * min(share, panels) for share in shares(sizes["rows"] * panels)
    ]


@dataclass(frozen=True, slots=True)
class _Operand:
    """What v is: its shape, to be broadcast to [panels, rows, width], and the steps of the workers
    for rows of so many atoms."""

    name: str
    summary: str
    shape: Callable[[Sizes], tuple[int, int, int]]
    steps: Callable[[Sizes, int], list[int]]


_A_ROW = _Operand(
    "row",
    "a row for all rows of a panel",
    lambda sizes: (sizes["panels"], 1, sizes["width"]),
    _steps_with_row,
)
_A_COLUMN = _Operand(
    "column",
    "a column for all columns of all panels",
    lambda sizes: (1, sizes["rows"], 1),
    _steps_with_column,
)


def _kernel(name: str, operand: _Operand, type_name: str, dtype: str) -> Kernel:
    sign, operation = _OPERATIONS[name]
    grain = per_atom(dtype)

    def count(sizes: Sizes) -> int:
        return sizes["rows"] * sizes["width"] * sizes["panels"]

    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        rows, width, panels = sizes["rows"], sizes["width"], sizes["panels"]
        x: NDArray[Any] = inputs["x"].astype(np.float64).reshape(panels, rows, width)
        v = inputs["v"].astype(np.float64).reshape(operand.shape(sizes))
        return {"z": saturated(operation(x, v).reshape(-1), dtype)}

    def cycles(sizes: Sizes, places: Places) -> int:
        return call_cycles(_STORED, operand.steps(sizes, sizes["width"] // grain))

    return Kernel(
        name=f"{name}_{operand.name}_{type_name}",
        summary=f"z = x {sign} v, {operand.summary}",
        source=source("rows.S"),
        operands=(
            Array("z", dtype, Role.RESULT, count),
            Array("x", dtype, Role.INPUT, count),
            Array("v", dtype, Role.INPUT, lambda sizes: math.prod(operand.shape(sizes))),
            Scalar("rows", lambda sizes: sizes["rows"]),
            Scalar("width", lambda sizes: sizes["width"] // grain),
            Scalar("panels", lambda sizes: sizes["panels"]),
        ),
        sizes=(
            _ROWS,
            Size("width", minimum=grain, maximum=MOST_ATOMS * grain, multiple=grain, usual=16),
            _PANELS,
        ),
        reference=reference,
        cycles=cycles,
        elements=count,
        in_place=(("z", "x"),),
    )


WITH_ROW, WITH_COLUMN = (
    tuple(
        _kernel(name, operand, type_name, dtype)
        for type_name, dtype in (("f16", "f2"), ("f32", "f4"))
        for name in _OPERATIONS
    )
    for operand in (_A_ROW, _A_COLUMN)
)
