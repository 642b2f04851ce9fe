"""Matrix products of halves: `gemm_f16.S`, its forms by what a product starts as.

Orders, with sizes `inner` and `columns` that count blocks of 16: A is panels of 16 inner elements,
[inner][rows][16]; B is blocks of 16 × 16, [columns][inner][16 columns][16 inner elements]; C is
panels of 16 columns, [columns][rows][16].
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.launches import launch_end
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
    is_interleaved,
)
from tilewright.device.kernels.vector import source
from tilewright.target.geometry import WORKERS

BLOCK = 16
"""Inner elements and columns of a block of weights."""
_LANES = 4
"""Products that the engine adds up before it rounds."""
_ALIGNMENT = 16
_ROWS = Size("rows", maximum=1 << 14, usual=64)
_INNER = Size("inner", maximum=1 << 10, usual=4)
_COLUMNS = Size("columns", maximum=1 << 10, usual=2)
_ROW_MAJOR_COLUMNS = Size("columns", maximum=21, usual=2)
"""The stride from row to row of a worker has ten bits of atoms."""


class Start(Enum):
    """What the sums start as."""

    ZERO = "zero"
    ACCUMULATE = "accumulate"
    """C."""
    BIAS = "bias"
    """One row for all rows of C."""


def products(
    a: NDArray[Any], b: NDArray[Any], start: NDArray[Any], lanes: int, between: str
) -> NDArray[np.float32]:
    """start[rows, columns] + a[rows, inner] · b[inner, columns], rounded as the engine does.

    Sums take in `lanes` products at a time, exactly, and are then rounded to singles; after each
    block of inner elements (4 · lanes of them, or 8 for one lane) they are rounded to `between`.
    """
    block = BLOCK if lanes == _LANES else BLOCK // 2
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    sums = start.astype(np.float32)
    for first in range(0, a.shape[1], lanes):
        step = slice(first, first + lanes)
        sums = to_single(sums.astype(np.float64) + wide_a[:, step] @ wide_b[step])
        if (first + lanes) % block == 0:
            sums = saturated(sums.astype(np.float64), between).astype(np.float32)
    return sums


def panels(matrix: NDArray[Any], width: int = BLOCK) -> NDArray[Any]:
    """A matrix as panels of `width` columns after another, flat."""
    rows = matrix.shape[0]
    return matrix.reshape(rows, -1, width).transpose(1, 0, 2).reshape(-1)


def from_panels(flat: NDArray[Any], rows: int, width: int = BLOCK) -> NDArray[Any]:
    """The matrix that lies in panels of `width` columns."""
    return flat.reshape(-1, rows, width).transpose(1, 0, 2).reshape(rows, -1)


def from_blocks(flat: NDArray[Any], inner: int, depth: int = BLOCK) -> NDArray[Any]:
    """The matrix [inner, columns] that lies in blocks of `depth` × 16, `inner` blocks deep."""
    blocks = flat.reshape(-1, inner, BLOCK, depth)
    return blocks.transpose(1, 3, 0, 2).reshape(inner * depth, -1)


@dataclass(frozen=True, slots=True)
class WorkerSteps:
    """Steps of a worker with no rows, one, two; and of one with more, beyond those of its rows."""

    none: int
    one: int
    two: int
    more: int
    row: int = 4

    def of(self, rows: int) -> int:
        few = (self.none, self.one, self.two)
        return few[rows] if rows < len(few) else self.more + self.row * rows


@dataclass(frozen=True, slots=True)
class Supervision:
    """Cycles of the supervisor around launches, with weights in interleaved memory.

    From the call to the first launch; from the end of a launch to that of the next block in the
    same columns, or in the next ones, or to the return. `narrow` is added per launch for other
    weights. `second` is the way to a block's second launch, if it has two; `last` that to the last
    of several blocks, if it is another.
    """

    first: int
    block: int
    column: int
    narrow: int
    end: int
    second: int | None = None
    last: int | None = None
    before_sync: tuple[int, ...] = (2,)

    def cycles(
        self, sizes: Sizes, narrow: bool, taking: int, launches: Sequence[WorkerSteps]
    ) -> int:
        """Of a call whose blocks of 16 columns take these launches.

        Workers take `taking` more steps in the first of all, which shares out the rows.
        """
        rows = [(sizes["rows"] + WORKERS - 1 - worker) // WORKERS for worker in range(WORKERS)]
        steps = {each: [each.of(count) for count in rows] for each in launches}
        extra = self.narrow if narrow else 0
        cycle, way, taken = 0, self.first, taking
        for _ in range(sizes["columns"]):
            for number, launch in enumerate(launches):
                if self.last is not None and 0 < number == len(launches) - 1:
                    way = self.last
                counts = [count + taken for count in steps[launch]]
                cycle = launch_end(cycle + way + extra, counts, self.before_sync[0])
                taken = 0
                if self.second is not None:
                    start = cycle + self.second + extra
                    cycle = launch_end(start, steps[launch], self.before_sync[1])
                way = self.block
            way = self.column
        return cycle + self.end


def row_operand(start: Start, dtype: str, columns: Callable[[Sizes], int]) -> Array | Scalar:
    """The operand that says what a product starts as."""
    if start is Start.BIAS:
        return Array("row", dtype, Role.INPUT, columns, alignment=_ALIGNMENT)
    value = int(start is Start.ACCUMULATE)
    return Scalar("start", lambda sizes: value)


def _panel_product(symbol: str, dtype: str, start: Start, summary: str) -> Kernel:
    result_role = Role.UPDATED if start is Start.ACCUMULATE else Role.RESULT
    supervision, taking = _SUPERVISION[symbol, start], _TAKING[dtype]

    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        rows = sizes["rows"]
        sums = _sums(sizes, inputs, dtype, start, lambda c: from_panels(c, rows))
        return {"c": panels(sums).astype(dtype)}

    def cycles(sizes: Sizes, places: Places) -> int:
        launches = [_STEPS[start]] + [_STEPS[Start.ACCUMULATE]] * (sizes["inner"] - 1)
        return supervision.cycles(sizes, not is_interleaved(places["b"]), taking, launches)

    return Kernel(
        name=f"{symbol}.{start.value}",
        summary=summary,
        source=source("gemm_f16.S"),
        operands=(
            Array("c", dtype, result_role, _c_count, _ALIGNMENT, Memory.INTERLEAVED),
            Array("a", "f2", Role.INPUT, _a_count, _ALIGNMENT),
            Array("b", "f2", Role.INPUT, _b_count, _ALIGNMENT),
            *_SHAPE,
            row_operand(start, dtype, _column_count),
        ),
        sizes=(_ROWS, _INNER, _COLUMNS),
        reference=reference,
        cycles=cycles,
        elements=multiply_adds,
        apart=(("a", "c"), *_apart_from_row(start)),
    )


def _row_major_product(start: Start) -> Kernel:
    supervision, taking = _SUPERVISION["gemm_f16_rows", start], _TAKING["f2"]

    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        sums = _sums(sizes, inputs, "f2", start, None)
        return {"z": sums.reshape(-1).astype("f2")}

    def cycles(sizes: Sizes, places: Places) -> int:
        launches = [_TO_ROWS_STEPS[start]]
        if sizes["inner"] > 1:
            on_the_way = [_STEPS[Start.ACCUMULATE]] * (sizes["inner"] - 2)
            launches = [_STEPS[start], *on_the_way, _TO_ROWS_STEPS[Start.ACCUMULATE]]
        return supervision.cycles(sizes, not is_interleaved(places["b"]), taking, launches)

    return Kernel(
        name=f"gemm_f16_rows.{start.value}",
        summary=f"Z = A · B{_PLUS[start]}, halves in row-major order",
        source=source("gemm_f16.S"),
        operands=(
            Array("z", "f2", Role.RESULT, _c_count, _ALIGNMENT, Memory.INTERLEAVED),
            Array("a", "f2", Role.INPUT, _a_count, _ALIGNMENT),
            Array("b", "f2", Role.INPUT, _b_count, _ALIGNMENT),
            *_SHAPE,
            row_operand(start, "f2", _column_count),
            Array("c", "f2", Role.WORKSPACE, _panel_count, _ALIGNMENT, Memory.INTERLEAVED),
        ),
        sizes=(_ROWS, _INNER, _ROW_MAJOR_COLUMNS),
        reference=reference,
        cycles=cycles,
        elements=multiply_adds,
        apart=(("a", "z"), ("a", "c"), *_apart_from_row(start)),
    )


def _sums(
    sizes: Sizes,
    inputs: Arrays,
    dtype: str,
    start: Start,
    unpacked: Callable[[NDArray[Any]], NDArray[Any]] | None,
) -> NDArray[np.float32]:
    rows, columns = sizes["rows"], _column_count(sizes)
    first = np.zeros((rows, columns), np.float32)
    if start is Start.BIAS:
        first = first + inputs["row"].astype(np.float32)
    elif unpacked is not None and start is Start.ACCUMULATE:
        first = unpacked(inputs["c"]).astype(np.float32)
    a, b = from_panels(inputs["a"], rows), from_blocks(inputs["b"], sizes["inner"])
    return products(a, b, first, _LANES, dtype)


def multiply_adds(sizes: Sizes) -> int:
    return sizes["rows"] * sizes["inner"] * sizes["columns"] * BLOCK * BLOCK


def _column_count(sizes: Sizes) -> int:
    return sizes["columns"] * BLOCK


def _a_count(sizes: Sizes) -> int:
    return sizes["rows"] * sizes["inner"] * BLOCK


def _b_count(sizes: Sizes) -> int:
    return sizes["inner"] * sizes["columns"] * BLOCK * BLOCK


def _c_count(sizes: Sizes) -> int:
    return sizes["rows"] * _column_count(sizes)


def _panel_count(sizes: Sizes) -> int:
    return sizes["rows"] * BLOCK


def _apart_from_row(start: Start) -> tuple[tuple[str, str], ...]:
    return (("a", "row"),) if start is Start.BIAS else ()


def _size(name: str) -> Scalar:
    return Scalar(name, lambda sizes: sizes[name])


_SHAPE = (_size("rows"), _size("inner"), _size("columns"))
_PLUS = {Start.ZERO: "", Start.ACCUMULATE: " + C", Start.BIAS: " + a row for all"}

_STEPS = {
    Start.ZERO: WorkerSteps(none=4, one=19, two=23, more=15),
    Start.ACCUMULATE: WorkerSteps(none=3, one=25, two=31, more=19),
    Start.BIAS: WorkerSteps(none=3, one=26, two=32, more=20),
}
_TO_ROWS_STEPS = {
    Start.ZERO: WorkerSteps(none=5, one=23, two=27, more=19),
    Start.ACCUMULATE: WorkerSteps(none=4, one=31, two=37, more=25),
    Start.BIAS: WorkerSteps(none=4, one=30, two=36, more=24),
}
"""Counted from the assembly."""
_TAKING = {"f2": 10, "f4": 11}
_PANELS = Supervision(first=65, block=45, column=70, narrow=33, end=13)
_SINGLES = Supervision(
    first=72, block=31, column=68, narrow=17, end=14, second=22, before_sync=(2, 3)
)
_TO_ROWS = Supervision(first=92, block=52, last=49, column=77, narrow=33, end=14)
_SUPERVISION = {
    ("gemm_f16", Start.ZERO): _PANELS,
    ("gemm_f16", Start.ACCUMULATE): replace(_PANELS, first=67),
    ("gemm_f16", Start.BIAS): replace(_PANELS, first=66),
    ("gemm_f16_f32", Start.ZERO): _SINGLES,
    ("gemm_f16_f32", Start.ACCUMULATE): replace(_SINGLES, first=74),
    ("gemm_f16_f32", Start.BIAS): replace(_SINGLES, first=73),
    ("gemm_f16_rows", Start.ZERO): _TO_ROWS,
    ("gemm_f16_rows", Start.BIAS): replace(_TO_ROWS, first=94),
}
"""As the emulated chip counts them."""

GEMM_F16 = (
    *(
        _panel_product(symbol, dtype, start, f"C = A · B{_PLUS[start]}{note}")
        for symbol, dtype, note in (
            ("gemm_f16", "f2", ""),
            ("gemm_f16_f32", "f4", ", sums and results singles"),
        )
        for start in Start
    ),
    *(_row_major_product(start) for start in (Start.ZERO, Start.BIAS)),
)
