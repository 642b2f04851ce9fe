"""An array and a row that all its rows share: `rows.S`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.saturation import saturated
from tilewright.device.kernels.spec import Array, Arrays, Kernel, Places, Role, Scalar, Size, Sizes
from tilewright.device.kernels.vector import call_cycles, per_atom, source
from tilewright.target.geometry import WORKERS

_ROWS = Size("rows", maximum=1 << 14, usual=32)
_PANELS = Size("panels", maximum=1 << 12, usual=4)
_STORED = 6
_IDLE, _SETUP, _COLUMN, _ROW, _NEXT_PANEL = 12, 22, 9, 2, 6
"""Steps of a worker: with nothing to do; once; for a column of atoms; for each of its rows; for
each panel that it goes on by."""
_OPERATIONS = {"add": ("+", np.add), "sub": ("-", np.subtract), "mul": ("·", np.multiply)}


def _worker_steps(worker: int, sizes: Sizes, width: int) -> int:
    columns = width * sizes["panels"]
    if worker >= columns:
        return _IDLE
    steps, column = _SETUP, worker
    for _ in range(worker, columns, WORKERS):
        panels, column = divmod(column, width)
        steps += _NEXT_PANEL * panels + _COLUMN + _ROW * sizes["rows"]
        column += WORKERS
    return steps


def _with_row(name: str, type_name: str, dtype: str) -> Kernel:
    sign, operation = _OPERATIONS[name]
    grain = per_atom(dtype)

    def row_length(sizes: Sizes) -> int:
        return sizes["width"] * sizes["panels"]

    def count(sizes: Sizes) -> int:
        return sizes["rows"] * row_length(sizes)

    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        rows, width, panels = sizes["rows"], sizes["width"], sizes["panels"]
        x: NDArray[Any] = inputs["x"].astype(np.float64).reshape(panels, rows, width)
        v = inputs["v"].astype(np.float64).reshape(panels, 1, width)
        return {"z": saturated(operation(x, v).reshape(-1), dtype)}

    def cycles(sizes: Sizes, places: Places) -> int:
        width = sizes["width"] // grain
        return call_cycles(_STORED, [_worker_steps(each, sizes, width) for each in range(WORKERS)])

    return Kernel(
        name=f"{name}_row_{type_name}",
        summary=f"z = x {sign} v, a row for all rows of a panel",
        source=source("rows.S"),
        operands=(
            Array("z", dtype, Role.RESULT, count),
            Array("x", dtype, Role.INPUT, count),
            Array("v", dtype, Role.INPUT, row_length),
            Scalar("rows", lambda sizes: sizes["rows"]),
            Scalar("width", lambda sizes: sizes["width"] // grain),
            Scalar("panels", lambda sizes: sizes["panels"]),
        ),
        sizes=(
            _ROWS,
            Size("width", minimum=grain, maximum=1 << 14, multiple=grain, usual=16),
            _PANELS,
        ),
        reference=reference,
        cycles=cycles,
        elements=count,
        in_place=(("z", "x"),),
    )


WITH_ROW = tuple(
    _with_row(name, type_name, dtype)
    for type_name, dtype in (("f16", "f2"), ("f32", "f4"))
    for name in _OPERATIONS
)
