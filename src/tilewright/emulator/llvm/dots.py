"""Dot products of accumulators: collected during an instruction, computed for all units at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from tilewright.emulator.llvm import weighted
from tilewright.emulator.llvm.lanes import Emitted, gather
from tilewright.emulator.llvm.rounded import flushed
from tilewright.emulator.llvm.sums import UNITS, single_products
from tilewright.emulator.llvm.units import half_columns, half_sums, sums_result, sums_type
from tilewright.emulator.llvm.weights import COLUMNS

if TYPE_CHECKING:
    from tilewright.emulator.llvm.machine import LlvmMachine


@dataclass(frozen=True, slots=True)
class WeightEntry:
    """An entry of the weight store that has not been read yet."""

    index: int


@dataclass(frozen=True, slots=True, eq=False)
class PendingDot:
    """accumulator + Σ x · y, still to be computed; `y` may be a `WeightEntry`."""

    kind: str
    accumulator: Emitted
    x: Emitted
    y: Any


def compute(machine: LlvmMachine, dots: Sequence[PendingDot]) -> list[Emitted]:
    """The vectors of results, in order of `dots`: each covers the units of one run of them."""
    results = []
    for run in _runs(dots):
        accumulators = machine.gathered([dot.accumulator for dot in run])
        results.append(_compute_run(machine, run, accumulators))
    return results


def _runs(dots: Sequence[PendingDot]) -> list[list[PendingDot]]:
    """Runs of dots that can be computed together: up to the units of a set."""
    runs: list[list[PendingDot]] = []
    for dot in dots:
        if runs and len(runs[-1]) < UNITS and _follows(runs[-1], dot):
            runs[-1].append(dot)
        else:
            runs.append([dot])
    return runs


def _follows(run: Sequence[PendingDot], dot: PendingDot) -> bool:
    first = run[0]
    if isinstance(dot.y, WeightEntry) != isinstance(first.y, WeightEntry):
        return False
    if isinstance(dot.y, WeightEntry):
        return bool(dot.x is first.x and dot.y.index == first.y.index + COLUMNS * len(run))
    return bool(dot.kind == first.kind and dot.x.type == first.x.type)


def _compute_run(machine: LlvmMachine, run: Sequence[PendingDot], accumulators: Emitted) -> Emitted:
    first = run[0]
    if isinstance(first.y, WeightEntry):
        return weighted.sums(machine, first.kind, first.y.index, first.x, len(run), accumulators)
    builder = machine.builder
    xs, ys = (gather(builder, [getattr(dot, side) for dot in run]) for side in ("x", "y"))
    body = _single_body if first.kind == "f32" else _half_body
    name = f"{first.kind}.dot.{len(run)}.{first.x.type.width}"
    operands = [accumulators, xs, ys]
    return machine.call_rounding(name, body, sums_type(len(run)), operands)


def _single_body(builder: ir.IRBuilder, accumulators: Emitted, xs: Emitted, ys: Emitted) -> Emitted:
    operands = [flushed(builder, each) for each in (accumulators, xs, ys)]
    return sums_result(builder, *single_products(builder, *operands))


def _half_body(builder: ir.IRBuilder, accumulators: Emitted, xs: Emitted, ys: Emitted) -> Emitted:
    x_lanes, y_lanes = half_columns(builder, xs), half_columns(builder, ys)
    return sums_result(builder, *half_sums(builder, accumulators, x_lanes, y_lanes))
