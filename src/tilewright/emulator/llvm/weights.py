"""The weight store as doubles: converted when a run begins, column by column of a set.

Workers do not write weights, and the supervisor does not while workers run. A table holds a vector
of the eight units for each lane, and in one more the largest input (`input_limit`).
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from llvmlite import ir

from tilewright.emulator.llvm.lanes import (
    DOUBLE,
    HALF,
    HALF_WORD,
    LONG,
    SINGLE,
    WORD,
    Emitted,
    any_lane,
    gather,
    intrinsic,
    like,
    packed,
    same_type_intrinsic,
    splat,
    unpacked,
    vector,
)
from tilewright.emulator.llvm.rounded import any_of, is_finite, is_zero, magnitude
from tilewright.emulator.llvm.sums import UNITS
from tilewright.emulator.llvm.units import as_double, half_columns
from tilewright.emulator.state import WEIGHTS
from tilewright.target.formats import F16

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.emulator.llvm.machine import LlvmMachine

COLUMNS = 4
"""Entries of the weight store for each unit."""
ENTRY_SIZE = 8
LANES = {"f16": 4, "f8": 8}
"""Lanes of an entry, by kind."""
_VECTOR_SIZE = 8 * UNITS
_COLUMN = vector(DOUBLE, UNITS)
_DOUBLE_BIAS, _DOUBLE_FRACTION_BITS = 1023, 52
_NONE = HALF_WORD(0xFFFF)
"""A limit below every magnitude, as signed numbers go."""

assert WEIGHTS == 2 * UNITS * COLUMNS


def converted(machine: LlvmMachine, kind: str, index: int) -> Emitted:
    """The table of the column of which entry `index` is the first."""
    lanes = LANES[kind]

    def emit(builder: ir.IRBuilder, table: Emitted) -> None:
        arguments = [table, machine.weights_at(index, builder)]
        body: Callable[..., Emitted] = _convert_halves
        if kind == "f8":
            arguments.append(machine.support(f"f8.value.{machine.control.weight_format}"))
            body = _quarter_conversion(2.0**machine.control.scale)
        name = f"{kind}.convert"
        machine.library.call(builder, name, body, WORD, arguments, ("noinline",))

    name = f"weights.{kind}.{index}"
    return machine.frame.prepared(name, _COLUMN, lanes + 1, _VECTOR_SIZE, emit)


def load_entries(builder: ir.IRBuilder, entries: Emitted) -> Emitted:
    """The entries of a column of eight units, as they are, from the address of the first."""
    places = [
        builder.gep(entries, [WORD(COLUMNS * unit)], source_etype=LONG) for unit in range(UNITS)
    ]
    return gather(builder, [builder.load(place, typ=LONG, align=ENTRY_SIZE) for place in places])


def load_converted(builder: ir.IRBuilder, table: Emitted, lanes: int) -> list[Emitted]:
    """The lanes of a column as doubles."""
    places = [_place(builder, table, lane) for lane in range(lanes)]
    return [builder.load(place, typ=_COLUMN, align=_VECTOR_SIZE) for place in places]


def input_limit(builder: ir.IRBuilder, table: Emitted) -> Emitted:
    """The pattern up to which inputs make sums of products that doubles hold exactly.

    Of halves only. It is -1 if there are no such inputs.
    """
    return builder.load(_limit_place(builder, table), align=_VECTOR_SIZE)


def quarter_value(builder: ir.IRBuilder, values: Emitted, entry: Emitted, lane: int) -> Emitted:
    """Lane `lane` of an entry as a double, by the table of a format's values."""
    code = builder.trunc(builder.lshr(entry, like(entry, 8 * lane)), ir.IntType(8))
    place = builder.gep(values, [builder.zext(code, WORD)], source_etype=DOUBLE)
    return builder.load(place, typ=DOUBLE)


def _place(builder: ir.IRBuilder, table: Emitted, lane: int) -> Emitted:
    return builder.gep(table, [WORD(lane)], source_etype=_COLUMN)


def _limit_place(builder: ir.IRBuilder, table: Emitted) -> Emitted:
    return builder.bitcast(_place(builder, table, LANES["f16"]), HALF_WORD.as_pointer())


def _store(builder: ir.IRBuilder, table: Emitted, lane: int, column: Emitted) -> None:
    builder.store(column, _place(builder, table, lane), align=_VECTOR_SIZE)


def _convert_halves(builder: ir.IRBuilder, table: Emitted, entries: Emitted) -> Emitted:
    columns = half_columns(builder, load_entries(builder, entries))
    for lane, column in enumerate(columns):
        _store(builder, table, lane, as_double(builder, column))
    limit = _limit(builder, columns)
    builder.store(limit, _limit_place(builder, table), align=_VECTOR_SIZE)
    return WORD(0)


def _limit(builder: ir.IRBuilder, columns: list[Emitted]) -> Emitted:
    """See `input_limit`.

    With weights that are multiples of 2**e, products are multiples of 2**(e - 24). A double holds
    multiples of it below 2**(e - 24 + 53); no partial sum is more than the largest input times the
    largest sum of magnitudes of a unit's weights.
    """
    exponents = [_last_place(builder, column) for column in columns]
    last_place = reduce(lambda a, b: same_type_intrinsic(builder, "umin", a, b), exponents)
    reduced = f"llvm.vector.reduce.umin.v{UNITS}i16"
    least = builder.zext(intrinsic(builder, reduced, HALF_WORD, [last_place]), LONG)
    # The field counts from the least half, 2**-24, which has 1.
    exponent = builder.add(least, LONG(_DOUBLE_BIAS - 25 - 24 + 53))
    bound = builder.bitcast(builder.shl(exponent, LONG(_DOUBLE_FRACTION_BITS)), DOUBLE)
    sizes = [same_type_intrinsic(builder, "fabs", as_double(builder, each)) for each in columns]
    largest = intrinsic(
        builder, f"llvm.vector.reduce.fmax.v{UNITS}f64", DOUBLE, [reduce(builder.fadd, sizes)]
    )
    # Rounding may have brought the quotient one half too high.
    quotient = builder.fdiv(bound, largest)
    most = DOUBLE(float(2**15))
    quotient = builder.select(builder.fcmp_ordered("<", quotient, most), quotient, most)
    half = builder.fptrunc(builder.fptrunc(quotient, SINGLE), HALF)
    limit = builder.sub(builder.bitcast(half, HALF_WORD), HALF_WORD(2))
    strange = any_of(builder, [builder.not_(is_finite(builder, each)) for each in columns])
    return builder.select(any_lane(builder, strange), _NONE, limit)


def _last_place(builder: ir.IRBuilder, column: Emitted) -> Emitted:
    """The exponent field that tells a half's last place; of zeros, the largest."""
    size = magnitude(builder, column)
    field = builder.lshr(size, like(size, F16.fraction_bits))
    is_subnormal = builder.icmp_unsigned("==", field, like(size, 0))
    field = builder.select(is_subnormal, like(size, 1), field)
    return builder.select(is_zero(builder, column), like(size, 31), field)


def _quarter_conversion(
    scale: float,
) -> Callable[[ir.IRBuilder, Emitted, Emitted, Emitted], Emitted]:
    """With the scale of products in the weights."""

    def body(builder: ir.IRBuilder, table: Emitted, entries: Emitted, values: Emitted) -> Emitted:
        flat = unpacked(builder, packed(builder, load_entries(builder, entries)), 64)
        units = [builder.extract_element(flat, WORD(unit)) for unit in range(UNITS)]
        for lane in range(LANES["f8"]):
            column = gather(builder, [quarter_value(builder, values, unit, lane) for unit in units])
            _store(builder, table, lane, builder.fmul(column, splat(DOUBLE, UNITS, scale)))
        return WORD(0)

    return body
