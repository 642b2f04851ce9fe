"""Vectors of units: operands taken apart lane by lane, and the sums of halves for all units."""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from tilewright.emulator.llvm.lanes import (
    DOUBLE,
    WORD,
    Emitted,
    packed,
    pick,
    unpacked,
    vector,
)
from tilewright.emulator.llvm.rounded import (
    any_of,
    as_single,
    flushed,
    is_finite,
    is_infinite,
    is_signalling,
)
from tilewright.emulator.llvm.sums import exact_sums


def sums_type(units: int, sets: int = 1) -> Any:
    """Patterns of singles by unit, for each set, and flags."""
    return ir.LiteralStructType([*[vector(WORD, units)] * sets, WORD])


def sums_result(builder: ir.IRBuilder, *parts: Emitted) -> Emitted:
    """The structure of `sums_type`."""
    whole = ir.Constant(ir.LiteralStructType([part.type for part in parts]), ir.Undefined)
    for place, part in enumerate(parts):
        whole = builder.insert_value(whole, part, place)
    return whole


def half_columns(builder: ir.IRBuilder, units: Emitted) -> list[Emitted]:
    """From a vector of units, one vector of halves for each lane."""
    lanes = units.type.element.width // 16
    flat = unpacked(builder, packed(builder, units), 16)
    count = flat.type.count
    return [pick(builder, flat, list(range(lane, count, lanes))) for lane in range(lanes)]


def half_sums(
    builder: ir.IRBuilder,
    accumulators: Emitted,
    xs: Sequence[Emitted],
    ys: Sequence[Emitted],
) -> tuple[Emitted, Emitted]:
    """`xs` and `ys` hold vectors of units, one for each lane. Infinite halves are invalid."""
    patterns = [*xs, *ys]
    bad = any_of(builder, [builder.not_(is_finite(builder, each)) for each in patterns])
    infinite = any_of(builder, [is_infinite(builder, each) for each in patterns])
    signalling = any_of(builder, [is_signalling(builder, each) for each in patterns])
    invalid = builder.or_(infinite, signalling)
    products = [
        builder.fmul(as_double(builder, x), as_double(builder, y))
        for x, y in zip(xs, ys, strict=True)
    ]
    return exact_sums(builder, flushed(builder, accumulators), products, bad, invalid)


def as_double(builder: ir.IRBuilder, halves: Emitted) -> Emitted:
    """Patterns of halves as the host's doubles."""
    return builder.fpext(as_single(builder, halves), vector(DOUBLE, halves.type.count))
