"""Sums of terms from several tiles, with what can be added to them in the same call."""

from dataclasses import dataclass

from tilewright.codegen.emit.addresses import Value
from tilewright.codegen.emit.operands import Call, Matrix, Operands, kernel_call
from tilewright.codegen.low import KernelStep
from tilewright.codegen.mid import MemoryClass, Precision
from tilewright.codegen.mid.orders import OUTPUT_GROUP
from tilewright.device.kernels import KERNELS
from tilewright.device.kernels.terms import FORMS


@dataclass(frozen=True, slots=True)
class Reduction:
    """A call, and what it leaves to do: fused operators, and the operands that they take."""

    call: Call
    fused: tuple[str, ...]
    operands: list[int]


def reduction(
    operands: Operands,
    step: KernelStep,
    tile: int,
    sums: int,
    arriving: list[int],
    others: list[int],
) -> Reduction | None:
    """Adds a tile's own part of `sums` to the terms that are `arriving`.

    Of the fused operators it does the first two as far as they add: one row, one array. None for
    what no one call can do: other numbers than halves, several matrices, parts of panels.
    """
    halves = (operands.precision(each) is Precision.F16 for each in (sums, step.result))
    outer = (operands.extents(each, tile)[:-2] for each in (sums, step.result))
    if (
        not arriving
        or not all(halves)
        or any(extent != 1 for extents in outer for extent in extents)
    ):
        return None
    (terms,) = arriving
    own, result = operands.matrix(sums, tile), operands.matrix(step.result, tile)
    if own.columns != result.columns:
        return None
    added: dict[str, Value] = {}
    fused, rest = step.fused, others
    while fused[:1] == ("add",) and rest:
        role = _role(operands, step, tile, rest[0], result)
        if role is None or role in added:
            break
        added[role] = operands.at(rest[0])
        fused, rest = fused[1:], rest[1:]
    skipped = (result.first_row - own.first_row) * OUTPUT_GROUP * Precision.F16.bytes
    call = kernel_call(
        KERNELS[f"add_terms_f16.{FORMS['row' in added, 'y' in added]}"],
        {
            "rows": result.rows,
            "panels": result.columns // OUTPUT_GROUP,
            "blocks": operands.extents(terms, tile)[0],
            "more": own.rows - result.rows,
        },
        {
            "z": operands.at(step.result),
            "x": operands.at(terms),
            "own": operands.at(sums) + skipped,
            **added,
        },
    )
    return Reduction(call, fused, rest)


def _role(
    operands: Operands, step: KernelStep, tile: int, other: int, result: Matrix
) -> str | None:
    """What an array that is added is to the kernel; None if it does not take it."""
    format = operands.layout(other).format
    elements = operands.elements(other, tile)
    if format.precision is not Precision.F16:
        return None
    if format.memory is MemoryClass.INTERLEAVED and elements == result.elements:
        return "y"
    if operands.layout(step.result).format.order.is_transposed or elements != result.columns:
        return None
    return "row"
