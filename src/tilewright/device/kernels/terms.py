"""What follows a product whose terms lie on several tiles: `terms.S`."""

from collections.abc import Callable

import numpy as np

from tilewright.device.kernels.gemm import BLOCK
from tilewright.device.kernels.saturation import saturated, to_single
from tilewright.device.kernels.spec import (
    Array,
    Arrays,
    Kernel,
    Memory,
    Places,
    Role,
    Scalar,
    Size,
    Sizes,
)
from tilewright.device.kernels.vector import call_cycles, source
from tilewright.target.geometry import WORKERS

_ROWS = Size("rows", maximum=1 << 12, usual=4)
_PANELS = Size("panels", maximum=1 << 8, usual=2)
_BLOCKS = Size("blocks", maximum=1 << 10, usual=8)
_MORE = Size("more", minimum=0, maximum=1 << 12, usual=3)
"""Rows of a panel of `own` beyond those of z."""
_BLOCKS_BITS = 12
_ALIGNMENT = 16
_STORED = 8
_IDLE, _SETUP, _ROW, _ARRAY = 12, 33, 3, 1
"""Steps of a worker: with nothing to do; once; with a row, with an array."""
_EACH, _EACH_ARRAY, _PANEL, _PANEL_ROW = 16, 2, 8, 4
"""For each half row, beside its blocks, and with an array; for each further panel, with a row."""


def _all_rows(sizes: Sizes) -> int:
    return sizes["rows"] * sizes["panels"]


def _count(sizes: Sizes) -> int:
    return _all_rows(sizes) * BLOCK


def _own_count(sizes: Sizes) -> int:
    """To the last row that is read."""
    return _count(sizes) + (sizes["panels"] - 1) * sizes["more"] * BLOCK


def more_and_blocks(more: int, blocks: int) -> int:
    """The last operand of a call."""
    return more << _BLOCKS_BITS | (blocks - 1)


def _reference(sizes: Sizes, inputs: Arrays) -> Arrays:
    rows, count, more = sizes["rows"], sizes["panels"], sizes["more"]
    own = np.append(inputs["own"], np.zeros(more * BLOCK)).reshape(count, rows + more, BLOCK)
    addends = [own[:, :rows].reshape(-1), *np.split(inputs["x"], sizes["blocks"])]
    total = np.zeros(_count(sizes), np.float32)
    if "row" in inputs:
        start = inputs["row"].astype(np.float32).reshape(count, 1, BLOCK)
        total = np.broadcast_to(start, (count, rows, BLOCK)).reshape(-1)
    if "y" in inputs:
        addends.insert(1, inputs["y"])
    for each in addends:
        total = to_single(total.astype(np.float64) + each)
    return {"z": saturated(total.astype(np.float64), "f2")}


def _steps(worker: int, sizes: Sizes, row: bool, array: bool) -> int:
    third, stride = worker // 2, WORKERS // 2
    units = len(range(third, _all_rows(sizes), stride))
    if not units:
        return _IDLE
    panels = (third + (units - 1) * stride) // sizes["rows"]
    once = _SETUP + _ROW * row + _ARRAY * array
    each = _EACH + sizes["blocks"] + _EACH_ARRAY * array
    return once + panels * (_PANEL + _PANEL_ROW * row) + units * each


def _quads(name: str, count: Callable[[Sizes], int], role: Role = Role.INPUT) -> Array:
    return Array(name, "f2", role, count, _ALIGNMENT, Memory.INTERLEAVED)


def _none(name: str) -> Scalar:
    return Scalar(name, lambda sizes: 0)


def _form(name: str, summary: str, row: bool, array: bool) -> Kernel:
    def cycles(sizes: Sizes, places: Places) -> int:
        return call_cycles(_STORED, [_steps(each, sizes, row, array) for each in range(WORKERS)])

    def row_count(sizes: Sizes) -> int:
        return sizes["panels"] * BLOCK

    return Kernel(
        name=f"add_terms_f16.{name}",
        summary=f"z = own + x[0] + x[1] + …{summary}, panels of halves",
        source=source("terms.S"),
        operands=(
            _quads("z", _count, Role.RESULT),
            _quads("x", lambda sizes: sizes["blocks"] * _count(sizes)),
            _quads("own", _own_count),
            Array("row", "f2", Role.INPUT, row_count) if row else _none("row"),
            _quads("y", _count) if array else _none("y"),
            Scalar("rows", lambda sizes: sizes["rows"]),
            Scalar("all rows", _all_rows),
            Scalar("more, blocks", lambda sizes: more_and_blocks(sizes["more"], sizes["blocks"])),
        ),
        sizes=(_ROWS, _PANELS, _BLOCKS, _MORE),
        reference=_reference,
        cycles=cycles,
        elements=lambda sizes: _count(sizes) * (sizes["blocks"] + 1),
        in_place=(("z", "y"),) if array else (),
    )


FORMS = {
    (False, False): "plain",
    (True, False): "row",
    (False, True): "array",
    (True, True): "row_array",
}
"""By whether a row, and whether an array is added."""
_ADDED = {"row": " + a row for all rows", "array": " + y"}

TERMS = tuple(
    _form(name, "".join(text for each, text in _ADDED.items() if each in name), row, array)
    for (row, array), name in FORMS.items()
)
