"""f32 in LLVM IR: the host's arithmetic, subnormals flushed before and after.

The host must round to nearest and keep subnormals, as it does by default: a result is flushed only
if IEEE rounding leaves it subnormal, which a host that flushes judges differently.
"""

from llvmlite import ir

from tilewright.emulator.llvm.floats import UNIFORM_BITS, Arithmetic, LaneUnit, scaled_integers
from tilewright.emulator.llvm.functions import unary_result
from tilewright.emulator.llvm.halves import half_patterns
from tilewright.emulator.llvm.lanes import (
    DOUBLE,
    LONG,
    SINGLE,
    WORD,
    Emitted,
    any_lane,
    gather,
    like,
    packed,
    same_type_intrinsic,
    splat,
    unpacked,
    vector,
)
from tilewright.emulator.llvm.library import unlikely
from tilewright.emulator.llvm.ordered import classified
from tilewright.emulator.llvm.rounded import (
    all_of,
    any_of,
    as_single,
    flags_where,
    half_pattern_result,
    half_result,
    is_finite,
    is_nan,
    is_ordinary,
    is_signalling,
    is_zero,
    magnitude,
    no_flags,
    result,
    result_type,
    sign_of,
    single_lanes,
    single_result,
)
from tilewright.target.formats import F16, F32, Flags, Rounding

_ROUNDINGS = {
    Rounding.NEAREST_EVEN: "roundeven",
    Rounding.UP: "ceil",
    Rounding.DOWN: "floor",
    Rounding.ZERO: "trunc",
    Rounding.NEAREST_AWAY: "round",
}


class Singles(LaneUnit):
    """`tilewright.isa.meaning.machine.Singles`."""

    name = "f32"

    def lanes(self, builder: ir.IRBuilder, value: Emitted) -> Emitted:
        return single_lanes(builder, value)

    def finish(self, builder: ir.IRBuilder, rounded: Emitted, operands: list[Emitted]) -> Emitted:
        return single_result(builder, rounded, operands)

    def quick(
        self, builder: ir.IRBuilder, operation: Arithmetic, a: Emitted, b: Emitted
    ) -> tuple[Emitted, Emitted]:
        """Of normal numbers and zeros. What is too small for a single is the zero of its sign."""
        one, other = (unpacked(builder, each, 32) for each in (a, b))
        rounded = operation(builder, as_single(builder, one), as_single(builder, other))
        pattern = builder.bitcast(rounded, one.type)
        return pattern, all_of(
            builder, [is_ordinary(builder, each) for each in (one, other, pattern)]
        )

    def classify(self, a: Emitted) -> Emitted:
        """Of the pattern as it is, not flushed."""

        def body(builder: ir.IRBuilder, a: Emitted) -> Emitted:
            return classified(builder, unpacked(builder, a, 32))

        return self.call("class", body, a.type.width, a)

    def unary(self, function: str, a: Emitted) -> Emitted:
        machine = self._machine
        result_ = unary_result(machine, function)
        return self.call(function, result_.body, a.type.width, a, *result_.support)

    def uniform(self, a: Emitted) -> Emitted:
        """A double holds the 33 bits of the number, so that only the last step rounds."""
        builder = self._machine.builder
        lanes = unpacked(builder, a, 32)
        wide = builder.zext(lanes, vector(LONG, lanes.type.count))
        doubled = builder.shl(wide, like(wide, 1))
        odd = builder.sub(doubled, like(wide, (1 << 32) - 1))
        exact = scaled_integers(builder, odd, DOUBLE, -33)
        return packed(builder, _single_patterns(builder, exact))

    def div(self, a: Emitted, b: Emitted) -> Emitted:
        self._machine.shorten_division(a, b)
        return self.call("div", _quotient, a.type.width, a, b)

    def round(self, a: Emitted, mode: int) -> Emitted:
        rounding = self._direction(mode)

        def body(builder: ir.IRBuilder, a: Emitted) -> Emitted:
            lanes = single_lanes(builder, a)
            whole = same_type_intrinsic(builder, rounding, as_single(builder, lanes))
            return single_result(builder, whole, [lanes])

        return self.call(rounding, body, a.type.width, a)

    def from_int(self, a: Emitted, is_signed: bool) -> Emitted:
        builder = self._machine.builder
        lanes = unpacked(builder, a, 32)
        convert = builder.sitofp if is_signed else builder.uitofp
        singles = convert(lanes, vector(SINGLE, lanes.type.count))
        return packed(builder, builder.bitcast(singles, lanes.type))

    def to_int(self, a: Emitted, is_signed: bool) -> Emitted:
        rounding = self._direction(self._control.rounding)
        low, high = (-(1 << 31), (1 << 31) - 1) if is_signed else (0, (1 << 32) - 1)

        def body(builder: ir.IRBuilder, a: Emitted) -> Emitted:
            return _integers(builder, a, rounding, low, high)

        return self.call("i32" if is_signed else "u32", body, a.type.width, a)

    def to_half(self, a: Emitted) -> Emitted:
        nanoo, library = self._control.nanoo, self._machine.library

        def complete(builder: ir.IRBuilder, a: Emitted) -> Emitted:
            lanes = single_lanes(builder, a)
            return half_result(builder, as_single(builder, lanes), [lanes], nanoo)

        def nearest(builder: ir.IRBuilder, a: Emitted) -> Emitted:
            """Finite halves need no more care; subnormal singles become zeros in any case."""
            halves = half_patterns(builder, as_single(builder, unpacked(builder, a, 32)))
            special = any_lane(builder, builder.not_(is_finite(builder, halves)))
            name, kind = f"f32.half.complete.{a.type.width}", result_type(a.type.width // 2)
            return unlikely(
                builder,
                special,
                (packed(builder, halves), no_flags()),
                lambda: library.call(builder, name, complete, kind, [a]),
            )

        def stochastic(builder: ir.IRBuilder, a: Emitted, random: Emitted) -> Emitted:
            return _stochastic_halves(builder, a, random, nanoo)

        width = a.type.width // 2
        if not self._control.stochastic:
            return self.call("half", nearest, width, a)
        machine = self._machine
        random = machine.join(machine.split(machine.random(), 16)[: width // 16])
        return self.call("half.stochastic", stochastic, width, a, random)

    def dot(self, accumulator: Emitted, x: Emitted, y: Emitted) -> Emitted:
        return self._machine.pending_dot("f32", accumulator, x, y)

    def normal_pair(self) -> Emitted:
        builder = self._machine.builder
        samples = gather(builder, self._normal_samples())
        exact = scaled_integers(builder, samples, SINGLE, -UNIFORM_BITS)
        return packed(builder, builder.bitcast(exact, samples.type))

    def _direction(self, mode: int) -> str:
        """The intrinsic that rounds in a direction."""
        if mode not in Rounding._value2member_map_:
            self._machine.invalid_operands(f"there is no rounding direction {mode}")
        return _ROUNDINGS[Rounding(mode)]


def _single_patterns(builder: ir.IRBuilder, doubles: Emitted) -> Emitted:
    """Doubles that end as normal singles or zeros, rounded."""
    lanes = doubles.type.count
    return builder.bitcast(builder.fptrunc(doubles, vector(SINGLE, lanes)), vector(WORD, lanes))


def _quotient(builder: ir.IRBuilder, a: Emitted, b: Emitted) -> Emitted:
    one, other = single_lanes(builder, a), single_lanes(builder, b)
    quotient = builder.fdiv(as_single(builder, one), as_single(builder, other))
    return single_result(builder, quotient, [one, other], zero_divisor=is_zero(builder, other))


def is_special_operand(builder: ir.IRBuilder, a: Emitted) -> Emitted:
    """Of one single: zero or subnormal, infinite or NaN. Such operands make a division short."""
    lanes = single_lanes(builder, a)
    ordinary = builder.and_(is_finite(builder, lanes), builder.not_(is_zero(builder, lanes)))
    return builder.not_(builder.extract_element(ordinary, WORD(0)))


def _integers(builder: ir.IRBuilder, a: Emitted, rounding: str, low: int, high: int) -> Emitted:
    """Doubles hold every single and both ends of the range."""
    lanes = single_lanes(builder, a)
    nan = is_nan(builder, lanes)
    wide = builder.fpext(as_single(builder, lanes), vector(DOUBLE, lanes.type.count))
    whole = same_type_intrinsic(builder, rounding, wide)
    least, greatest = (splat(DOUBLE, lanes.type.count, float(each)) for each in (low, high))
    below = builder.fcmp_ordered("<", whole, least)
    above = builder.fcmp_ordered(">", whole, greatest)
    inside = builder.select(below, least, builder.select(above, greatest, whole))
    inside = builder.select(nan, splat(DOUBLE, lanes.type.count, 0.0), inside)
    longs = builder.fptosi(inside, vector(LONG, lanes.type.count))
    flags = flags_where(builder, [(Flags.INV, any_of(builder, [below, above, nan]))])
    return result(builder, packed(builder, builder.trunc(longs, lanes.type)), flags)


_LEAST_BINADE = 1 - F16.bias
_CUT = F32.fraction_bits - F16.fraction_bits
_RANDOM_BITS = 16
_WIDEST = 40
"""From here on, what is cut off is less than 2**-16 steps: no random number lifts it to a step."""


def _stochastic_halves(builder: ir.IRBuilder, a: Emitted, random: Emitted, nanoo: bool) -> Emitted:
    """⌊|a| + random / 2**16⌋ in steps of the half at this place."""
    lanes = single_lanes(builder, a)
    count = lanes.type.count
    size = magnitude(builder, lanes)
    exponent = builder.sub(builder.lshr(size, like(size, F32.fraction_bits)), like(size, F32.bias))
    fraction = builder.and_(size, like(size, F32.smallest_normal - 1))
    significand = builder.or_(fraction, like(size, F32.smallest_normal))
    significand = builder.select(is_zero(builder, size), like(size, 0), significand)
    least = like(size, _LEAST_BINADE)
    is_small = builder.icmp_signed("<", exponent, least)
    binade = builder.select(is_small, least, exponent)
    cut = builder.add(builder.sub(binade, exponent), like(size, _CUT))
    too_wide = builder.icmp_signed(">", cut, like(size, _WIDEST))
    cut = builder.select(too_wide, like(size, _WIDEST), cut)
    longs = vector(LONG, count)
    wide_cut = builder.zext(cut, longs)
    draws = builder.zext(unpacked(builder, random, _RANDOM_BITS), longs)
    units = builder.shl(builder.zext(significand, longs), like(wide_cut, _RANDOM_BITS))
    lifted = builder.add(units, builder.shl(draws, wide_cut))
    steps = builder.lshr(lifted, builder.add(wide_cut, like(wide_cut, _RANDOM_BITS)))
    start = builder.add(binade, like(size, F16.bias - 1))
    start = builder.shl(start, like(size, F16.fraction_bits))
    pattern = builder.add(start, builder.trunc(steps, lanes.type))
    infinity = like(size, F16.infinity)
    pattern = builder.select(builder.icmp_unsigned(">", pattern, infinity), infinity, pattern)
    sign = builder.lshr(sign_of(builder, lanes), like(size, 16))
    halves = builder.trunc(builder.or_(pattern, sign), vector(ir.IntType(16), count))
    nan, invalid = is_nan(builder, lanes), is_signalling(builder, lanes)
    return half_pattern_result(builder, halves, nan, invalid, nanoo)
