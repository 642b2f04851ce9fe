"""Sums of products with the weight store, for the units of one set: fast, safe, and exact.

- *fast*, inline: inputs are so small that doubles hold the sums of products exactly; then the
  accumulators are added between two roundings
- *enclosed*, for other inputs: all sums between two roundings
- *exact*, whenever two roundings do not tell: error-free transformations, special values, flags

Hosts without AVX-512 have no rounding within an instruction. There, *plain* takes the place of the
first two: sums are added with their errors, and there should be none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, NamedTuple

from llvmlite import ir

from tilewright.emulator.llvm.lanes import (
    BIT,
    DOUBLE,
    Emitted,
    any_lane,
    pick,
    same_type_intrinsic,
    spread,
    unpacked,
    vector,
)
from tilewright.emulator.llvm.library import unlikely
from tilewright.emulator.llvm.rounded import all_of, any_of, flushed, magnitude, no_flags
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
    machine: LlvmMachine,
    kind: str,
    indices: Sequence[int],
    x: Emitted,
    units: int,
    accumulators: Sequence[Emitted],
) -> list[Emitted]:
    """For one or two sets: accumulators of `units` units plus their products with `x`.

    `indices` are those of the first unit's entry of each set.
    """
    builder, sets = machine.builder, len(indices)
    emitter = _Emitter(machine, kind, units)
    padding = [min(unit, units - 1) for unit in range(UNITS)]
    operands = [
        x,
        *(pick(builder, each, padding) for each in accumulators),
        *(converted(machine, kind, index) for index in indices),
        *(machine.weights_at(index) for index in indices),
    ]
    if kind == "f8":
        operands.append(machine.support(f"f8.value.{machine.control.register_format}"))
    way, body = ("fast", emitter.fast) if machine.host.has_avx512 else ("plain", emitter.plain)
    is_inlined = way == "fast" and machine.library.inlines(machine.in_repeat)
    name = f"{kind}.amp.{way}.{sets}x{units}{'.inlined' if is_inlined else ''}"
    attributes = ("alwaysinline" if is_inlined else "noinline",)
    result = machine.library.call(
        builder, name, partial(body, sets=sets), sums_type(UNITS, sets), operands, attributes
    )
    machine.raise_flags(builder.extract_value(result, sets))
    patterns = [builder.extract_value(result, number) for number in range(sets)]
    return [pick(builder, each, range(units)) for each in patterns]


class _SetOperands(NamedTuple):
    """What a support function for one set takes.

    Inputs, accumulators, the table of weights as doubles, the address of the weights as they are
    and, for quarters, the table of their values.
    """

    x: Emitted
    accumulators: Emitted
    table: Emitted
    entries: Emitted
    values: Emitted = None


def _of_sets(operands: tuple[Emitted, ...], sets: int) -> list[_SetOperands]:
    """The operands of a function for several sets, by set."""
    x, *rest = operands
    values = rest[3 * sets :]
    return [_SetOperands(x, *rest[number : 3 * sets : sets], *values) for number in range(sets)]


class _Emitter:
    """The bodies of the support functions, for a kind of inputs and a number of units of a set."""

    def __init__(self, machine: LlvmMachine, kind: str, units: int) -> None:
        self._library = machine.library
        self._kind = kind
        self._units = units
        control = machine.control
        self._is_exact = kind == "f8" and control.register_format == control.weight_format == _F143

    # -- for one or two sets ------------------------------------------------------------------

    def fast(self, builder: ir.IRBuilder, *operands: Emitted, sets: int) -> Emitted:
        each_set = _of_sets(operands, sets)
        xs = self._inputs(builder, each_set[0])
        patterns, conditions = [], []
        for given in each_set:
            total = exact_products(builder, xs, self._weights(builder, given))
            pattern, trusted = added_between(builder, given.accumulators, total, total)
            patterns.append(pattern)
            conditions.append(trusted)
        holds = all_trusted(builder, all_of(builder, conditions), self._units)
        way = self.exact
        if not self._is_exact:
            way = self.enclosed
            holds = builder.and_(holds, self._fits(builder, each_set))
        return self._or_else(builder, patterns, holds, way, each_set)

    def plain(self, builder: ir.IRBuilder, *operands: Emitted, sets: int) -> Emitted:
        each_set = _of_sets(operands, sets)
        xs = self._inputs(builder, each_set[0])
        patterns, conditions = [], []
        for given in each_set:
            ys = self._weights(builder, given)
            products = [builder.fmul(x, y) for x, y in zip(xs, ys, strict=True)]
            pattern, trusted = plain_sums(builder, given.accumulators, products)
            patterns.append(pattern)
            conditions.append(trusted)
        holds = all_trusted(builder, all_of(builder, conditions), self._units)
        return self._or_else(builder, patterns, holds, self.exact, each_set)

    # -- for one set --------------------------------------------------------------------------

    def enclosed(self, builder: ir.IRBuilder, *operands: Emitted) -> Emitted:
        given = _SetOperands(*operands)
        xs, ys = self._inputs(builder, given), self._weights(builder, given)
        bounds = enclosed_products(builder, xs, ys)
        pattern, trusted = added_between(builder, given.accumulators, *bounds)
        holds = all_trusted(builder, trusted, self._units)
        return self._or_else(builder, [pattern], holds, self.exact, [given])

    def exact(self, builder: ir.IRBuilder, *operands: Emitted) -> Emitted:
        given = _SetOperands(*operands)
        if self._kind == "f16":
            lanes = unpacked(builder, given.x, 16)
            xs = [_spread_lane(builder, lanes, lane) for lane in range(LANES["f16"])]
            ys = half_columns(builder, self._only(builder, load_entries(builder, given.entries)))
            return sums_result(builder, *half_sums(builder, given.accumulators, xs, ys))
        xs = self._inputs(builder, given)
        ys = [self._only(builder, each) for each in self._weights(builder, given)]
        products = [builder.fmul(one, other) for one, other in zip(xs, ys, strict=True)]
        nans = any_of(builder, [builder.fcmp_unordered("uno", each, each) for each in products])
        none = ir.Constant(nans.type, [0] * UNITS)
        start = flushed(builder, given.accumulators)
        return sums_result(builder, *exact_sums(builder, start, products, nans, none))

    # -- inside -------------------------------------------------------------------------------

    def _or_else(
        self,
        builder: ir.IRBuilder,
        patterns: list[Emitted],
        holds: Emitted,
        way: Callable[..., Emitted],
        each_set: list[_SetOperands],
    ) -> Emitted:
        """`patterns` without flags if that holds, else what another way gives, set by set."""
        name, kind = f"{self._kind}.amp.{way.__name__}.{self._units}", sums_type(UNITS)

        def call() -> Emitted:
            slow, flags = [], no_flags()
            for given in each_set:
                operands = [each for each in given if each is not None]
                both = self._library.call(builder, name, way, kind, operands, ("noinline",))
                slow.append(builder.extract_value(both, 0))
                flags = builder.or_(flags, builder.extract_value(both, 1))
            return sums_result(builder, *slow, flags)

        return unlikely(builder, builder.not_(holds), (*patterns, no_flags()), call)

    def _fits(self, builder: ir.IRBuilder, each_set: list[_SetOperands]) -> Emitted:
        """Whether the sums of products are exact."""
        if self._kind != "f16":
            return BIT(0)
        limits = [input_limit(builder, given.table) for given in each_set]
        limit = reduce(lambda a, b: same_type_intrinsic(builder, "smin", a, b), limits)
        sizes = magnitude(builder, unpacked(builder, each_set[0].x, 16))
        limit = spread(builder, limit, sizes.type.count)
        return builder.not_(any_lane(builder, builder.icmp_signed(">", sizes, limit)))

    def _inputs(self, builder: ir.IRBuilder, given: _SetOperands) -> list[Emitted]:
        """The lanes of the inputs as doubles, each for all units."""
        if self._kind == "f16":
            wide = as_double(builder, unpacked(builder, given.x, 16))
            return [_spread_lane(builder, wide, lane) for lane in range(LANES["f16"])]
        places = range(LANES["f8"])
        lanes = [quarter_value(builder, given.values, given.x, lane) for lane in places]
        return [spread(builder, lane, UNITS) for lane in lanes]

    def _weights(self, builder: ir.IRBuilder, given: _SetOperands) -> list[Emitted]:
        return load_converted(builder, given.table, LANES[self._kind])

    def _only(self, builder: ir.IRBuilder, column: Emitted) -> Emitted:
        """A column, 0 beyond the units in use, where it must not raise flags."""
        kept = ir.Constant(vector(BIT, UNITS), [int(unit < self._units) for unit in range(UNITS)])
        zero = 0.0 if column.type.element == DOUBLE else 0
        return builder.select(kept, column, ir.Constant(column.type, [zero] * UNITS))


def _spread_lane(builder: ir.IRBuilder, lanes: Emitted, lane: int) -> Emitted:
    return pick(builder, lanes, [lane] * UNITS)
