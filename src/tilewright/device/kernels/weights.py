"""Matrices of halves as blocks of weights: `weights.S`."""

from typing import Any

from numpy.typing import NDArray

from tilewright.device.kernels.gemm import BLOCK, from_panels
from tilewright.device.kernels.spec import Array, Arrays, Kernel, Places, Role, Scalar, Size, Sizes
from tilewright.device.kernels.vector import call_cycles, shares, source

_INNER = Size("inner", maximum=1 << 10, usual=4)
_COLUMNS = Size("columns", maximum=1 << 10, usual=4)
_STORED = 6
_PAIRS = BLOCK // 2
_BEFORE, _PAIR, _BLOCK = 18, 18, 24
"""Steps of a worker: once, for each pair of columns, and for each block of inner elements of it."""
_PANEL_BYTES = 32
_PANEL_ROW_WORDS = 8


def _count(sizes: Sizes) -> int:
    return sizes["inner"] * sizes["columns"] * BLOCK * BLOCK


def _blocks(matrix: NDArray[Any], sizes: Sizes) -> NDArray[Any]:
    """[inner, columns] as [columns / 16][inner / 16][16 columns][16 inner elements], flat."""
    cut = matrix.reshape(sizes["inner"], BLOCK, sizes["columns"], BLOCK)
    return cut.transpose(2, 0, 3, 1).reshape(-1)


def _cycles(sizes: Sizes, places: Places) -> int:
    each = _PAIR + _BLOCK * sizes["inner"]
    return call_cycles(_STORED, [_BEFORE + each * n for n in shares(_PAIRS * sizes["columns"])])


def _to_weights(form: str, summary: str) -> Kernel:
    is_row_major = form == "rows"

    def row_pitch(sizes: Sizes) -> int:
        return _PAIRS * sizes["columns"] if is_row_major else _PANEL_ROW_WORDS

    def panel_pitch(sizes: Sizes) -> int:
        return _PANEL_BYTES * (1 if is_row_major else BLOCK * sizes["inner"])

    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        inner = sizes["inner"] * BLOCK
        x = inputs["x"]
        matrix = x.reshape(inner, -1) if is_row_major else from_panels(x, inner)
        return {"z": _blocks(matrix, sizes)}

    return Kernel(
        name=f"to_weights_f16.{form}",
        summary=summary,
        source=source("weights.S"),
        operands=(
            Array("z", "f2", Role.RESULT, _count),
            Array("x", "f2", Role.INPUT, _count),
            Scalar("row pitch", row_pitch),
            Scalar("panel pitch", panel_pitch),
            Scalar("inner", lambda sizes: sizes["inner"]),
            Scalar("columns", lambda sizes: sizes["columns"]),
        ),
        sizes=(_INNER, _COLUMNS),
        reference=reference,
        cycles=_cycles,
        elements=_count,
    )


WEIGHTS = (
    _to_weights("rows", "z = a row-major matrix as blocks of weights"),
    _to_weights("panels", "z = panels of 16 columns as blocks of weights"),
)
