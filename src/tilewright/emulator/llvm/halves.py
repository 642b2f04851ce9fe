"""f16 in LLVM IR: computed in singles and rounded once more.

That second rounding is innocuous. A product of two halves is exact as a single (22 bits of
significand, no exponent out of range). A sum need not be, but a format of at least 2 p + 2 bits of
significand (24 for p = 11) rounds a sum to p bits as if at once; and sums that end as subnormal
halves are exact, because they are multiples of the least half.
"""

from llvmlite import ir

from tilewright.emulator.llvm.floats import UNIFORM_BITS, Arithmetic, LaneUnit, scaled_integers
from tilewright.emulator.llvm.lanes import (
    HALF,
    HALF_WORD,
    SINGLE,
    WORD,
    Emitted,
    any_lane,
    gather,
    like,
    packed,
    pick,
    unpacked,
    vector,
)
from tilewright.emulator.llvm.library import unlikely
from tilewright.emulator.llvm.ordered import classified
from tilewright.emulator.llvm.rounded import (
    any_of,
    as_single,
    flags_where,
    half_lanes,
    half_result,
    is_finite,
    is_infinite,
    is_nan,
    is_signalling,
    no_flags,
    result,
    result_type,
    single_result,
)
from tilewright.emulator.llvm.tables import looked_up
from tilewright.target.formats import F16, F32, Flags
from tilewright.target.formats.quarter import QUARTER_NAN


class Halves(LaneUnit):
    """`tilewright.isa.meaning.machine.Halves`."""

    name = "f16"

    def lanes(self, builder: ir.IRBuilder, value: Emitted) -> Emitted:
        return half_lanes(builder, value)

    def finish(self, builder: ir.IRBuilder, rounded: Emitted, operands: list[Emitted]) -> Emitted:
        return half_result(builder, rounded, operands, self._control.nanoo)

    def quick(
        self, builder: ir.IRBuilder, operation: Arithmetic, a: Emitted, b: Emitted
    ) -> tuple[Emitted, Emitted]:
        """Invalid operands and overflow show as a result that is not finite."""
        one, other = (as_single(builder, half_lanes(builder, each)) for each in (a, b))
        pattern = half_patterns(builder, operation(builder, one, other))
        return pattern, is_finite(builder, pattern)

    def classify(self, a: Emitted) -> Emitted:
        def body(builder: ir.IRBuilder, a: Emitted) -> Emitted:
            return classified(builder, half_lanes(builder, a))

        return self.call("class", body, a.type.width, a)

    def unary(self, function: str, a: Emitted) -> Emitted:
        """By a table of all halves."""
        return looked_up(
            self._machine, f"f16.{function}", a, 16, 16, F16.quiet_nan if self._nanoo else None
        )

    def uniform(self, a: Emitted) -> Emitted:
        builder = self._machine.builder
        lanes = unpacked(builder, a, 16)
        wide = builder.zext(lanes, vector(WORD, lanes.type.count))
        doubled = builder.shl(wide, like(wide, 1))
        odd = builder.sub(doubled, like(wide, (1 << 16) - 1))
        exact = scaled_integers(builder, odd, SINGLE, -17)
        return packed(builder, half_patterns(builder, exact))

    def to_single(self, a: Emitted) -> Emitted:
        library = self._machine.library

        def complete(builder: ir.IRBuilder, a: Emitted) -> Emitted:
            lanes = half_lanes(builder, a)
            return single_result(builder, as_single(builder, lanes), [lanes])

        def body(builder: ir.IRBuilder, a: Emitted) -> Emitted:
            """Only NaNs need more care."""
            lanes = half_lanes(builder, a)
            singles = as_single(builder, lanes)
            patterns = builder.bitcast(singles, vector(WORD, lanes.type.count))
            quick, kind = packed(builder, patterns), result_type(2 * a.type.width)
            name = f"f16.single.complete.{a.type.width}"
            return unlikely(
                builder,
                any_lane(builder, is_nan(builder, lanes)),
                (quick, no_flags()),
                lambda: library.call(builder, name, complete, kind, [a]),
            )

        return self.call("single", body, 2 * a.type.width, a)

    def sum_pairs(self, a: Emitted) -> Emitted:
        return self.call("sum", _pair_sums, a.type.width, a)

    def dot(self, accumulator: Emitted, x: Emitted, y: Emitted) -> Emitted:
        return self._machine.pending_dot("f16", accumulator, x, y)

    def to_quarter(self, a: Emitted) -> Emitted:
        control = self._control
        name = f"f8.from_f16.{control.register_format}.{control.scale}"
        return looked_up(self._machine, name, a, 16, 8, QUARTER_NAN if self._nanoo else None)

    def normal_pair(self) -> Emitted:
        builder = self._machine.builder
        samples = gather(builder, self._normal_samples())
        exact = scaled_integers(builder, samples, SINGLE, -UNIFORM_BITS)
        return packed(builder, half_patterns(builder, exact))

    @property
    def _nanoo(self) -> bool:
        return self._control.nanoo


def half_patterns(builder: ir.IRBuilder, singles: Emitted) -> Emitted:
    """Singles rounded to halves, where overflow is infinite."""
    lanes = singles.type.count
    return builder.bitcast(builder.fptrunc(singles, vector(HALF, lanes)), vector(HALF_WORD, lanes))


def _pair_sums(builder: ir.IRBuilder, a: Emitted) -> Emitted:
    """Sums of neighbours as singles. An infinite half is invalid."""
    lanes = half_lanes(builder, a)
    count = lanes.type.count
    pairs = [pick(builder, lanes, list(range(first, count, 2))) for first in (0, 1)]
    total = builder.fadd(*(as_single(builder, each) for each in pairs))
    pattern = builder.bitcast(total, vector(WORD, count // 2))
    infinite = any_of(builder, [is_infinite(builder, each) for each in pairs])
    signalling = any_of(builder, [is_signalling(builder, each) for each in pairs])
    nan = builder.or_(infinite, is_nan(builder, pattern))
    clean = builder.select(nan, like(pattern, F32.quiet_nan), pattern)
    flags = flags_where(builder, [(Flags.INV, builder.or_(infinite, signalling))])
    return result(builder, packed(builder, clean), flags)
