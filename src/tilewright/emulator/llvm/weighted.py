"""Sums of products with the weight store, for the units of one set: fast, safe, and exact.

- *fast*, inline: inputs are so small that doubles hold the sums of products exactly; then the
  accumulators are added between two roundings
- *enclosed*, for other inputs: all sums between two roundings
- *exact*, whenever two roundings do not tell: error-free transformations, special values, flags

Hosts without AVX-512 have no rounding within an instruction. There, *plain* takes the place of the
first two: sums are added with their errors, and there should be none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from llvmlite import ir

from tilewright.emulator.llvm.lanes import (
    BIT,
    DOUBLE,
    WORD,
    Emitted,
    any_lane,
    pick,
    spread,
    unpacked,
    vector,
)
from tilewright.emulator.llvm.library import unlikely
from tilewright.emulator.llvm.rounded import any_of, flushed, magnitude
from tilewright.emulator.llvm.sums import (
    UNITS,
    added_between,
    all_trusted,
    enclosed_products,
    exact_products,
    exact_sums,
    plain_sums,
)
from tilewright.emulator.llvm.units import (
    as_double,
    half_columns,
    half_sums,
    sums_result,
    sums_type,
)
from tilewright.emulator.llvm.weights import (
    LANES,
    converted,
    input_limit,
    load_converted,
    load_entries,
    quarter_value,
)

if TYPE_CHECKING:
    from tilewright.emulator.llvm.machine import LlvmMachine

_F143 = 1
"""The format bit whose products have so few bits that every sum is exact."""


def sums(
    machine: LlvmMachine, kind: str, index: int, x: Emitted, units: int, accumulators: Emitted
) -> Emitted:
    """Accumulators of `units` units plus their products of `x` with entry `index` and so on."""
    emitter = _Emitter(machine, kind, units)
    padded = pick(machine.builder, accumulators, [min(unit, units - 1) for unit in range(UNITS)])
    operands = [padded, x, converted(machine, kind, index), machine.weights_at(index)]
    if kind == "f8":
        operands.append(machine.support(f"f8.value.{machine.control.register_format}"))
    way, body = ("fast", emitter.fast) if machine.host.has_avx512 else ("plain", emitter.plain)
    is_inlined = way == "fast" and machine.library.inlines(machine.in_repeat)
    name = f"{kind}.amp.{way}.{units}{'.inlined' if is_inlined else ''}"
    attributes = ("alwaysinline" if is_inlined else "noinline",)
    result = machine.call_rounding(name, body, sums_type(UNITS), operands, attributes)
    return pick(machine.builder, result, range(units))


class _Emitter:
    """The bodies of the support functions. All take the same operands:

    accumulators, inputs, the table of weights as doubles, the address of the weights as they are
    and, for quarters, the table of their values.
    """

    def __init__(self, machine: LlvmMachine, kind: str, units: int) -> None:
        self._library = machine.library
        self._kind = kind
        self._units = units
        control = machine.control
        self._is_exact = kind == "f8" and control.register_format == control.weight_format == _F143

    # -- four ways ----------------------------------------------------------------------------

    def fast(self, builder: ir.IRBuilder, *operands: Emitted) -> Emitted:
        accumulators, x, table = operands[:3]
        xs, ys = self._inputs(builder, operands), self._weights(builder, table)
        total = exact_products(builder, xs, ys)
        patterns, trusted = added_between(builder, accumulators, total, total)
        holds = all_trusted(builder, trusted, self._units)
        otherwise = self.exact
        if not self._is_exact:
            sizes = magnitude(builder, unpacked(builder, x, 16)) if self._kind == "f16" else None
            holds = builder.and_(holds, self._fits(builder, sizes, table))
            otherwise = self.enclosed
        return self._or_else(builder, patterns, holds, otherwise, operands)

    def enclosed(self, builder: ir.IRBuilder, *operands: Emitted) -> Emitted:
        accumulators, _, table = operands[:3]
        xs, ys = self._inputs(builder, operands), self._weights(builder, table)
        bounds = enclosed_products(builder, xs, ys)
        patterns, trusted = added_between(builder, accumulators, *bounds)
        holds = all_trusted(builder, trusted, self._units)
        return self._or_else(builder, patterns, holds, self.exact, operands)

    def plain(self, builder: ir.IRBuilder, *operands: Emitted) -> Emitted:
        accumulators, _, table = operands[:3]
        xs, ys = self._inputs(builder, operands), self._weights(builder, table)
        products = [builder.fmul(x, y) for x, y in zip(xs, ys, strict=True)]
        patterns, trusted = plain_sums(builder, accumulators, products)
        holds = all_trusted(builder, trusted, self._units)
        return self._or_else(builder, patterns, holds, self.exact, operands)

    def exact(self, builder: ir.IRBuilder, *operands: Emitted) -> Emitted:
        accumulators, x, table, entries = operands[:4]
        if self._kind == "f16":
            lanes = unpacked(builder, x, 16)
            xs = [_spread_lane(builder, lanes, lane) for lane in range(LANES["f16"])]
            ys = half_columns(builder, self._only(builder, load_entries(builder, entries)))
            return sums_result(builder, *half_sums(builder, accumulators, xs, ys))
        xs = self._inputs(builder, operands)
        ys = [self._only(builder, each) for each in self._weights(builder, table)]
        products = [builder.fmul(one, other) for one, other in zip(xs, ys, strict=True)]
        nans = any_of(builder, [builder.fcmp_unordered("uno", each, each) for each in products])
        none = ir.Constant(nans.type, [0] * UNITS)
        start = flushed(builder, accumulators)
        return sums_result(builder, *exact_sums(builder, start, products, nans, none))

    # -- inside -------------------------------------------------------------------------------

    def _or_else(
        self,
        builder: ir.IRBuilder,
        patterns: Emitted,
        holds: Emitted,
        otherwise: Callable[..., Emitted],
        operands: tuple[Emitted, ...],
    ) -> Emitted:
        """`patterns` without flags if that holds, else what another way gives."""
        name = f"{self._kind}.amp.{otherwise.__name__}.{self._units}"
        kind = sums_type(UNITS)

        def call() -> Emitted:
            return self._library.call(builder, name, otherwise, kind, operands, ("noinline",))

        return unlikely(builder, builder.not_(holds), (patterns, WORD(0)), call)

    def _fits(self, builder: ir.IRBuilder, sizes: Emitted | None, table: Emitted) -> Emitted:
        """Whether the sums of products are exact."""
        if sizes is None:
            return BIT(0)
        limit = spread(builder, input_limit(builder, table), sizes.type.count)
        return builder.not_(any_lane(builder, builder.icmp_signed(">", sizes, limit)))

    def _inputs(self, builder: ir.IRBuilder, operands: tuple[Emitted, ...]) -> list[Emitted]:
        """The lanes of the inputs as doubles, each for all units."""
        x = operands[1]
        if self._kind == "f16":
            wide = as_double(builder, unpacked(builder, x, 16))
            return [_spread_lane(builder, wide, lane) for lane in range(LANES["f16"])]
        values = operands[4]
        lanes = [quarter_value(builder, values, x, lane) for lane in range(LANES["f8"])]
        return [spread(builder, lane, UNITS) for lane in lanes]

    def _weights(self, builder: ir.IRBuilder, table: Emitted) -> list[Emitted]:
        return load_converted(builder, table, LANES[self._kind])

    def _only(self, builder: ir.IRBuilder, column: Emitted) -> Emitted:
        """A column, 0 beyond the units in use, where it must not raise flags."""
        kept = ir.Constant(vector(BIT, UNITS), [int(unit < self._units) for unit in range(UNITS)])
        zero = 0.0 if column.type.element == DOUBLE else 0
        return builder.select(kept, column, ir.Constant(column.type, [zero] * UNITS))


def _spread_lane(builder: ir.IRBuilder, lanes: Emitted, lane: int) -> Emitted:
    return pick(builder, lanes, [lane] * UNITS)
