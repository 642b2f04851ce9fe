"""Dot products of accumulators: collected during an instruction, computed for all units at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from tilewright.emulator.llvm import weighted
from tilewright.emulator.llvm.lanes import Emitted, gather
from tilewright.emulator.llvm.library import Body, Library, unlikely
from tilewright.emulator.llvm.rounded import flushed, no_flags
from tilewright.emulator.llvm.sums import (
    UNITS,
    all_trusted,
    plain_single_products,
    plain_sums,
    single_products,
)
from tilewright.emulator.llvm.units import (
    as_double,
    half_columns,
    half_sums,
    sums_result,
    sums_type,
)
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
    runs = _runs(dots)
    accumulators = [machine.gathered([dot.accumulator for dot in run]) for run in runs]
    if runs and isinstance(runs[0][0].y, WeightEntry):
        first, units = runs[0][0], len(runs[0])
        assert all(len(run) == units and run[0].x is first.x for run in runs), "sets are alike"
        indices = [run[0].y.index for run in runs]
        return weighted.sums(machine, first.kind, indices, first.x, units, accumulators)
    return [_compute_run(machine, *each) for each in zip(runs, accumulators, strict=True)]


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
    builder = machine.builder
    xs, ys = (gather(builder, [getattr(dot, side) for dot in run]) for side in ("x", "y"))
    make = _single_body if first.kind == "f32" else _half_body
    name = f"{first.kind}.dot.{len(run)}.{first.x.type.width}"
    operands = [accumulators, xs, ys]
    body = make(machine.library)
    return machine.call_rounding(name, body, sums_type(len(run)), operands)


def _single_body(library: Library) -> Body:
    def complete(builder: ir.IRBuilder, accumulators: Emitted, xs: Emitted, ys: Emitted) -> Emitted:
        operands = [flushed(builder, each) for each in (accumulators, xs, ys)]
        return sums_result(builder, *single_products(builder, *operands))

    def body(builder: ir.IRBuilder, *operands: Emitted) -> Emitted:
        quick = plain_single_products(builder, *operands)
        return _or_complete(builder, library, "f32", quick, complete, operands)

    return body


def _half_body(library: Library) -> Body:
    def complete(builder: ir.IRBuilder, accumulators: Emitted, xs: Emitted, ys: Emitted) -> Emitted:
        x_lanes, y_lanes = half_columns(builder, xs), half_columns(builder, ys)
        return sums_result(builder, *half_sums(builder, accumulators, x_lanes, y_lanes))

    def body(builder: ir.IRBuilder, *operands: Emitted) -> Emitted:
        accumulators, xs, ys = operands
        products = [
            builder.fmul(as_double(builder, x), as_double(builder, y))
            for x, y in zip(half_columns(builder, xs), half_columns(builder, ys), strict=True)
        ]
        quick = plain_sums(builder, accumulators, products)
        return _or_complete(builder, library, "f16", quick, complete, operands)

    return body


def _or_complete(
    builder: ir.IRBuilder,
    library: Library,
    kind: str,
    quick: tuple[Emitted, Emitted],
    complete: Body,
    operands: tuple[Emitted, ...],
) -> Emitted:
    """Patterns, if all units can be trusted, else what `complete` makes of the operands."""
    patterns, trusted = quick
    units, width = patterns.type.count, operands[1].type.element.width
    name, result = f"{kind}.dot.complete.{units}.{width}", sums_type(units)

    def call() -> Emitted:
        return library.call(builder, name, complete, result, operands, ("noinline",))

    is_unsure = builder.not_(all_trusted(builder, trusted, units))
    return unlikely(builder, is_unsure, (patterns, no_flags()), call)
