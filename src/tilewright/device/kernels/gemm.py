"""Matrix products: `gemm_f16.S` and `gemm_f32.S`, in forms by what a product starts as.

Orders, with sizes `inner` and `columns` that count blocks, and d inner elements to a block, 16 for
halves and 8 for singles: A is panels of d inner elements, [inner][rows][d]; B is blocks of d × 16,
[columns][inner][16 columns][d inner elements]; C is panels of 16 columns, [columns][rows][16].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.casts import from_quarters
from tilewright.device.kernels.gemm_costs import Supervision, WorkerSteps
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
    normal,
)
from tilewright.device.kernels.vector import source

BLOCK = 16
"""Columns of a block of weights, and inner elements of one of halves."""
_ALIGNMENT = 16
_ROWS = Size("rows", maximum=1 << 14, usual=64)
_INNER = Size("inner", maximum=1 << 10, usual=4)
_COLUMNS = Size("columns", maximum=1 << 10, usual=2)
_ROW_MAJOR_COLUMNS = Size("columns", maximum=21, usual=2)
"""The stride from row to row of a worker has ten bits of atoms."""


_FORMATS = Size("formats", minimum=0, maximum=3, usual=3)
"""Of B and A, a bit each: F143 or F152."""
_B_IS_F143, _A_IS_F143 = 1, 2
QUARTER_SCALE = -2
"""Exponent of the scale that products of quarters are tried with."""


def _quarter_format(sizes: Sizes, bit: int) -> int:
    return 0x80 if sizes["formats"] & bit else 0


def _formats(sizes: Sizes) -> int:
    return sizes["formats"] << 8 | QUARTER_SCALE & 0x3F


def moderate_quarters(random: np.random.Generator, count: int) -> NDArray[Any]:
    """Codes of either sign for values of 2**-8 to 4 in both formats."""
    codes: NDArray[Any] = random.integers(0x20, 0x48, count) | random.choice([0, 0x80], count)
    return codes


class Start(Enum):
    """What the sums start as."""

    ZERO = "zero"
    ACCUMULATE = "accumulate"
    """C."""
    BIAS = "bias"
    """One row for all rows of C."""


@dataclass(frozen=True, slots=True)
class Family:
    """What the forms of a product share.

    `operand` and `result` are the types of A and B, and of C; `depth` is the inner elements of a
    block, of which the engine adds up `lanes` products before it rounds. `steps` are those of
    workers by what they start from, `taking` those in which they share out the rows.
    """

    symbol: str
    source: str
    operand: str
    result: str
    depth: int
    lanes: int
    steps: Mapping[Start, WorkerSteps]
    taking: int
    supervision: Mapping[Start, Supervision]
    note: str = ""
    quarters: bool = False
    """Whether A and B are f8, in formats that a call's `formats` tells."""

    def columns(self, sizes: Sizes) -> int:
        return sizes["columns"] * BLOCK

    def a_count(self, sizes: Sizes) -> int:
        return sizes["rows"] * sizes["inner"] * self.depth

    def b_count(self, sizes: Sizes) -> int:
        return sizes["inner"] * sizes["columns"] * self.depth * BLOCK

    def c_count(self, sizes: Sizes) -> int:
        return sizes["rows"] * self.columns(sizes)

    def multiply_adds(self, sizes: Sizes) -> int:
        return self.a_count(sizes) * self.columns(sizes)

    def sums(self, sizes: Sizes, inputs: Arrays, start: Start) -> NDArray[np.float32]:
        """The product as a matrix [rows, columns]."""
        rows = sizes["rows"]
        sums = np.zeros((rows, self.columns(sizes)), np.float32)
        if start is Start.BIAS:
            sums = sums + inputs["row"].astype(np.float32)
        if start is Start.ACCUMULATE:
            sums = from_panels(inputs["c"], rows, BLOCK).astype(np.float32)
        a = from_panels(inputs["a"], rows, self.depth)
        b = from_blocks(inputs["b"], sizes["inner"], self.depth)
        if self.quarters:
            a = from_quarters(a, _quarter_format(sizes, _A_IS_F143)) * 2.0**QUARTER_SCALE
            b = from_quarters(b, _quarter_format(sizes, _B_IS_F143))
        return self._products(a, b, sums)

    def _products(
        self, a: NDArray[Any], b: NDArray[Any], sums: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Sums take in `lanes` products at a time, exactly, and are then rounded to singles; after
        each block they are rounded to the type of C."""
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        for first in range(0, a.shape[1], self.lanes):
            step = slice(first, first + self.lanes)
            sums = to_single(sums.astype(np.float64) + wide_a[:, step] @ wide_b[step])
            if (first + self.lanes) % self.depth == 0:
                sums = saturated(sums.astype(np.float64), self.result).astype(np.float32)
        return sums

    def inputs(self) -> tuple[Array, Array]:
        """A and B."""
        sample = moderate_quarters if self.quarters else normal
        return (
            Array("a", self.operand, Role.INPUT, self.a_count, _ALIGNMENT, sample=sample),
            Array("b", self.operand, Role.INPUT, self.b_count, _ALIGNMENT, sample=sample),
        )

    def formats(self) -> tuple[Scalar, ...]:
        return (Scalar("formats", _formats),) if self.quarters else ()

    def sizes(self) -> tuple[Size, ...]:
        shape = (_ROWS, _INNER, _COLUMNS)
        return (*shape, _FORMATS) if self.quarters else shape

    def start_operand(self, start: Start) -> Array | Scalar:
        """What says what the sums start as."""
        if start is Start.BIAS:
            return Array("row", self.result, Role.INPUT, self.columns, _ALIGNMENT)
        value = int(start is Start.ACCUMULATE)
        return Scalar("start", lambda sizes: value)

    def cycles(
        self, sizes: Sizes, places: Places, start: Start, launches: Sequence[WorkerSteps]
    ) -> int:
        narrow = not is_interleaved(places["b"])
        return self.supervision[start].cycles(sizes, narrow, self.taking, launches)


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


def _to_panels(family: Family, start: Start) -> Kernel:
    role = Role.UPDATED if start is Start.ACCUMULATE else Role.RESULT

    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        return {"c": panels(family.sums(sizes, inputs, start)).astype(family.result)}

    def cycles(sizes: Sizes, places: Places) -> int:
        further = [family.steps[Start.ACCUMULATE]] * (sizes["inner"] - 1)
        return family.cycles(sizes, places, start, [family.steps[start], *further])

    return Kernel(
        name=f"{family.symbol}.{start.value}",
        summary=f"C = A · B{_PLUS[start]}{family.note}",
        source=source(family.source),
        operands=(
            Array("c", family.result, role, family.c_count, _ALIGNMENT, Memory.INTERLEAVED),
            *family.inputs(),
            *_SHAPE,
            family.start_operand(start),
            *family.formats(),
        ),
        sizes=family.sizes(),
        reference=reference,
        cycles=cycles,
        elements=family.multiply_adds,
        apart=(("a", "c"), *_apart_from_row(start)),
    )


def _to_rows(family: Family, start: Start) -> Kernel:
    """The last of several blocks is worked by workers of its own."""

    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        return {"z": family.sums(sizes, inputs, start).reshape(-1).astype(family.result)}

    def cycles(sizes: Sizes, places: Places) -> int:
        launches = [_TO_ROWS_STEPS[start]]
        if sizes["inner"] > 1:
            on_the_way = [family.steps[Start.ACCUMULATE]] * (sizes["inner"] - 2)
            launches = [family.steps[start], *on_the_way, _TO_ROWS_STEPS[Start.ACCUMULATE]]
        return family.cycles(sizes, places, start, launches)

    return Kernel(
        name=f"{family.symbol}.{start.value}",
        summary=f"Z = A · B{_PLUS[start]}{family.note}",
        source=source(family.source),
        operands=(
            Array("z", "f2", Role.RESULT, family.c_count, _ALIGNMENT, Memory.INTERLEAVED),
            *family.inputs(),
            *_SHAPE,
            family.start_operand(start),
            Array("c", "f2", Role.WORKSPACE, _panel_count, _ALIGNMENT, Memory.INTERLEAVED),
        ),
        sizes=(_ROWS, _INNER, _ROW_MAJOR_COLUMNS),
        reference=reference,
        cycles=cycles,
        elements=family.multiply_adds,
        apart=(("a", "z"), ("a", "c"), *_apart_from_row(start)),
    )


def _panel_count(sizes: Sizes) -> int:
    return sizes["rows"] * BLOCK


def _apart_from_row(start: Start) -> tuple[tuple[str, str], ...]:
    return (("a", "row"),) if start is Start.BIAS else ()


def _size(name: str) -> Scalar:
    return Scalar(name, lambda sizes: sizes[name])


_SHAPE = (_size("rows"), _size("inner"), _size("columns"))
_PLUS = {Start.ZERO: "", Start.ACCUMULATE: " + C", Start.BIAS: " + a row for all"}

# Steps are counted from the assembly, cycles of supervisors as the emulated chip counts them.
_HALF_STEPS = {
    Start.ZERO: WorkerSteps(none=4, one=19, two=23, more=15),
    Start.ACCUMULATE: WorkerSteps(none=3, one=25, two=31, more=19),
    Start.BIAS: WorkerSteps(none=3, one=26, two=32, more=20),
}
_TO_ROWS_STEPS = {
    Start.ZERO: WorkerSteps(none=5, one=23, two=27, more=19),
    Start.ACCUMULATE: WorkerSteps(none=4, one=31, two=37, more=25),
    Start.BIAS: WorkerSteps(none=4, one=30, two=36, more=24),
}
_SINGLE_STEPS = {
    Start.ZERO: WorkerSteps(none=4, one=26, two=34, more=18, row=8),
    Start.ACCUMULATE: WorkerSteps(none=3, one=36, two=63, more=34, row=8),
    Start.BIAS: WorkerSteps(none=3, one=36, two=63, more=34, row=8),
}


def _supervision(usual: Supervision) -> dict[Start, Supervision]:
    """By what sums start as: other choices take some cycles more before the first launch."""
    return {
        Start.ZERO: usual,
        Start.ACCUMULATE: replace(usual, first=usual.first + 2),
        Start.BIAS: replace(usual, first=usual.first + 1),
    }


_F16 = Family(
    symbol="gemm_f16",
    source="gemm_f16.S",
    operand="f2",
    result="f2",
    depth=BLOCK,
    lanes=4,
    steps=_HALF_STEPS,
    taking=10,
    supervision=_supervision(Supervision(first=65, block=45, column=70, narrow=33, end=13)),
    note=", all of halves",
)
_F16_F32 = replace(
    _F16,
    symbol="gemm_f16_f32",
    result="f4",
    taking=11,
    supervision=_supervision(
        Supervision(first=72, block=31, column=68, narrow=17, end=14, second=22, before_sync=(2, 3))
    ),
    note=", halves to singles",
)
_F16_ROWS = replace(
    _F16,
    symbol="gemm_f16_rows",
    supervision=_supervision(
        Supervision(first=92, block=52, last=49, column=77, narrow=33, end=14)
    ),
    note=", halves, row-major",
)
_F32 = Family(
    symbol="gemm_f32",
    source="gemm_f32.S",
    operand="f4",
    result="f4",
    depth=BLOCK // 2,
    lanes=1,
    steps=_SINGLE_STEPS,
    taking=11,
    supervision=_supervision(Supervision(first=65, block=45, column=76, narrow=33, end=13)),
    note=", all of singles",
)

_F8 = replace(
    _F16,
    symbol="gemm_f8",
    source="gemm_f8.S",
    operand="u1",
    depth=2 * BLOCK,
    lanes=8,
    supervision=_supervision(Supervision(first=73, block=45, column=70, narrow=33, end=13)),
    note=", quarters to halves",
    quarters=True,
)

GEMM = (
    *(_to_panels(family, start) for family in (_F16, _F16_F32, _F32, _F8) for start in Start),
    *(_to_rows(_F16_ROWS, start) for start in (Start.ZERO, Start.BIAS)),
)
