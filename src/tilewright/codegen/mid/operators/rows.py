"""Candidates of operators along the last axis: softmax, normalisations.

Where each row is whole on one tile they run there. Where a row spans tiles, each tile sums up its
part, the tiles of a row exchange these figures (8 bytes per row and tile), and each finishes its
part. Or rows are brought together first.
"""

from dataclasses import dataclass
from math import prod

from tilewright.codegen.mid.candidates import (
    Operand,
    OperandSpec,
    OperatorCandidate,
    Recipe,
)
from tilewright.codegen.mid.config import PipelineConfig
from tilewright.codegen.mid.cost import OperatorBytes, OperatorCost
from tilewright.codegen.mid.dispatch import Gather, KernelCall, OperatorDispatch, Slot
from tilewright.codegen.mid.distributions import (
    ATOM,
    COLUMN_BLOCK,
    rows_format,
    spread_format,
)
from tilewright.codegen.mid.formats import AxisTiling, Digit, TensorFormat
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.operators.pointwise import LocalRecipe, beside, stored_as
from tilewright.codegen.mid.orders import ElementOrder, Precision
from tilewright.codegen.mid.prices import row_cycles
from tilewright.codegen.mid.storage import Storage
from tilewright.graph.operators import LayerNorm, Reshape, RmsNorm, Softmax

FIGURES = 2
"""Of each part of a row: sum and sum of squares, or greatest value and sum of exponentials, f32."""

CENTRED = "centred"
"""Of a norm of parts of rows: by their mean too, not only by the root of their mean square."""

_MODES = {
    ElementOrder.ROW_MAJOR: "row",
    ElementOrder.OUTPUT: "output",
    ElementOrder.OUTPUT_TRANSPOSED: "outputᵀ",
}


@dataclass(frozen=True, slots=True)
class SplitRowRecipe(Recipe):
    """Figures of each part of a row, exchanged, then applied."""

    statistics: str
    apply: str
    mode: str
    base: Shape
    grid: TensorFormat
    numbers: tuple[float, ...]
    centred: bool

    def dispatch(self, operands: tuple[Storage, ...], result: Storage) -> OperatorDispatch:
        names = tuple(f"operand {index}" for index in range(len(operands)))
        slots = [Slot(name, storage) for name, storage in zip(names, operands, strict=True)]
        parts = self.grid.partitions(len(self.base) - 1)
        shape = (*self.base[:-1], parts, FIGURES)
        slots += [
            Slot("result", result),
            Slot("figures", Storage(_figures(self.grid, gathered=False), shape)),
            Slot("row figures", Storage(_figures(self.grid, gathered=True), shape)),
        ]
        return OperatorDispatch(
            tuple(slots),
            (
                KernelCall(self.statistics, (self.mode,), names[:1], "figures"),
                Gather((("figures", "row figures"),)),
                KernelCall(
                    self.apply,
                    (self.mode,),
                    (*names, "row figures"),
                    "result",
                    (CENTRED,) if self.centred else (),
                    self.numbers,
                ),
            ),
        )


def _figures(of: TensorFormat, gathered: bool) -> TensorFormat:
    """Rows as in `of`, then the part of the row, then the figures."""
    last = len(of.axes) - 1
    grid = tuple(
        Digit(None, digit.size) if gathered and digit.axis == last else digit for digit in of.grid
    )
    axes = (*of.axes[:-1], AxisTiling(), AxisTiling())
    return TensorFormat(Precision.F32, ElementOrder.ROW_MAJOR, axes, grid)


def row_candidates(
    operator: Softmax | LayerNorm | RmsNorm,
    operands: tuple[Operand, ...],
    shape: Shape,
    precision: Precision,
    config: PipelineConfig,
) -> list[OperatorCandidate]:
    """For softmax and normalisations: where x is, on whole rows, or spread."""
    x = operands[0]
    choices: dict[Storage, None] = {}
    if x.storage is not None:
        format = x.storage.format.with_precision(precision)
        there = Storage(format, x.storage.base, x.storage.view)
        if _is_rows(there):
            choices[there] = None
    for spread in (rows_format, spread_format):
        choices[Storage(spread(shape, precision, config.tiles, ATOM), shape)] = None
    found = [_candidate(operator, operands, storage, precision, config) for storage in choices]
    return [each for each in found if each is not None]


def _is_rows(storage: Storage) -> bool:
    """Whether rows of the value are rows of the base, which kernels find one after the other."""
    if not are_contiguous(storage):
        return False
    return storage.view is None or (
        storage.base[-1:] == storage.shape[-1:]
        and all(isinstance(operator, Reshape) for operator in storage.view.operators)
    )


def are_contiguous(storage: Storage) -> bool:
    """Whether tiles have rows, or parts of rows, as atoms one after the other.

    Panel after panel, that is so of a single panel, and of single rows.
    """
    *rows, columns = (1, *storage.layout.largest_shard)
    if columns * storage.format.precision.bytes % ATOM:
        return False
    parts = storage.format.partitions(len(storage.base) - 1)
    if parts > 1 and storage.base[-1] < parts * columns:  # others have fewer blocks, or none
        block = storage.format.axes[-1].block
        if block * storage.format.precision.bytes % ATOM:
            return False
    if storage.format.order is ElementOrder.ROW_MAJOR:
        return True
    is_panel = columns == COLUMN_BLOCK and storage.base[-1] % COLUMN_BLOCK == 0
    return storage.format.order is ElementOrder.OUTPUT and (is_panel or prod(rows) == 1)


def _candidate(
    operator: Softmax | LayerNorm | RmsNorm,
    operands: tuple[Operand, ...],
    storage: Storage,
    precision: Precision,
    config: PipelineConfig,
) -> OperatorCandidate | None:
    specs = [OperandSpec(precision, storage, stored_as(storage, operands[0]))]
    resident = 0
    for operand in operands[1:]:
        there = beside(storage, operand.shape, precision, 0)
        if there is None:
            return None
        home = stored_as(there, operand)
        specs.append(OperandSpec(precision, there, home))
        resident += home.layout.shard_bytes if operand.storage is None else 0
    layout = storage.layout
    parts = storage.format.partitions(len(storage.base) - 1)
    mode = _MODES[storage.format.order]
    whole = parts == 1
    kernels = _kernels(operator.mnemonic, precision, whole)
    cost, transient = _cost(kernels, storage, parts, config)
    numbers = () if isinstance(operator, Softmax) else (operator.epsilon,)
    recipe: Recipe = (
        LocalRecipe(kernels[0], mode, numbers)
        if whole
        else SplitRowRecipe(
            kernels[0],
            kernels[1],
            mode,
            storage.base,
            storage.format,
            numbers,
            centred=isinstance(operator, LayerNorm),
        )
    )
    return OperatorCandidate(
        f"{'whole rows' if whole else f'rows in {parts}'} on {storage.format.tiles} tiles",
        tuple(specs),
        storage,
        Precision.F32,
        cost,
        OperatorBytes(resident, transient, layout.shard_bytes),
        recipe,
        kernels,
        aliases=(0,) if operands[0].precision is precision else (),
    )


def _kernels(mnemonic: str, precision: Precision, whole: bool) -> tuple[str, ...]:
    if whole:
        return (f"{mnemonic}_{precision.value}",)
    first = "softmax" if mnemonic == "softmax" else "row"
    return (f"{first}_statistics_{precision.value}", f"{first}_apply_{precision.value}")


def _cost(
    kernels: tuple[str, ...], storage: Storage, parts: int, config: PipelineConfig
) -> tuple[OperatorCost, int]:
    layout = storage.layout
    columns = layout.largest_shard[-1]
    rows = layout.shard_elements // columns
    compute = sum(row_cycles(name, rows, columns, parts) for name in kernels)
    if parts == 1:
        return OperatorCost(compute=compute), 0
    figures = rows * parts * FIGURES * Precision.F32.bytes
    exchange = config.model.receive_cycles(figures, messages=rows * parts)
    cost = OperatorCost(compute=compute, exchange=exchange, sync=config.model.phase)
    return cost, figures + rows * FIGURES * Precision.F32.bytes
