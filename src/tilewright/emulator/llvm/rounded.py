"""Results of floating-point operations: canonical NaNs, flushing, overflow, and flags.

The bodies of support functions end here: they hand over what the host's arithmetic gave, rounded
once and without any trap, and get the chip's pattern and flags as a structure.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any

from llvmlite import ir

from tilewright.emulator.llvm.lanes import (
    HALF,
    HALF_WORD,
    SINGLE,
    WORD,
    Emitted,
    any_lane,
    like,
    packed,
    unpacked,
    vector,
)
from tilewright.target.formats import F16, F32, BinaryFormat, Flags


def result_type(width: int) -> Any:
    """A pattern of `width` bits and flags."""
    return ir.LiteralStructType([ir.IntType(width), WORD])


def result(builder: ir.IRBuilder, pattern: Emitted, flags: Emitted) -> Emitted:
    """The structure of `result_type`."""
    empty = ir.Constant(ir.LiteralStructType([pattern.type, WORD]), ir.Undefined)
    return builder.insert_value(builder.insert_value(empty, pattern, 0), flags, 1)


def no_flags() -> Emitted:
    return WORD(0)


def flags_where(builder: ir.IRBuilder, raised: Sequence[tuple[Flags, Emitted]]) -> Emitted:
    """The flags of which a lane's condition holds."""
    flags = no_flags()
    for flag, conditions in raised:
        number = builder.select(any_lane(builder, conditions), WORD(int(flag)), WORD(0))
        flags = builder.or_(flags, number)
    return flags


# -- patterns ---------------------------------------------------------------------------------


def format_of(pattern: Emitted) -> BinaryFormat:
    """The format of integer lanes."""
    return F32 if pattern.type.element.width == 32 else F16


def magnitude(builder: ir.IRBuilder, pattern: Emitted) -> Emitted:
    format = format_of(pattern)
    return builder.and_(pattern, like(pattern, format.sign_bit - 1))


def is_nan(builder: ir.IRBuilder, pattern: Emitted) -> Emitted:
    infinity = like(pattern, format_of(pattern).infinity)
    return builder.icmp_unsigned(">", magnitude(builder, pattern), infinity)


def is_infinite(builder: ir.IRBuilder, pattern: Emitted) -> Emitted:
    infinity = like(pattern, format_of(pattern).infinity)
    return builder.icmp_unsigned("==", magnitude(builder, pattern), infinity)


def is_finite(builder: ir.IRBuilder, pattern: Emitted) -> Emitted:
    infinity = like(pattern, format_of(pattern).infinity)
    return builder.icmp_unsigned("<", magnitude(builder, pattern), infinity)


def is_zero(builder: ir.IRBuilder, pattern: Emitted) -> Emitted:
    return builder.icmp_unsigned("==", magnitude(builder, pattern), like(pattern, 0))


def is_signalling(builder: ir.IRBuilder, pattern: Emitted) -> Emitted:
    quiet = builder.and_(pattern, like(pattern, format_of(pattern).quiet_bit))
    is_quiet = builder.icmp_unsigned("!=", quiet, like(pattern, 0))
    return builder.and_(is_nan(builder, pattern), builder.not_(is_quiet))


def sign_of(builder: ir.IRBuilder, pattern: Emitted) -> Emitted:
    """The sign bit alone."""
    return builder.and_(pattern, like(pattern, format_of(pattern).sign_bit))


def flushed(builder: ir.IRBuilder, pattern: Emitted) -> Emitted:
    """Subnormal singles as zeros of their sign."""
    exponent = builder.and_(pattern, like(pattern, F32.infinity))
    is_normal = builder.icmp_unsigned("!=", exponent, like(pattern, 0))
    return builder.select(is_normal, pattern, sign_of(builder, pattern))


def is_ordinary(builder: ir.IRBuilder, pattern: Emitted) -> Emitted:
    """Of singles: normal numbers and zeros."""
    size = builder.and_(pattern, like(pattern, F32.sign_bit - 1))
    below = builder.sub(size, like(pattern, 1))
    not_subnormal = builder.icmp_unsigned(">=", below, like(pattern, F32.smallest_normal - 1))
    return builder.and_(not_subnormal, is_finite(builder, pattern))


def any_of(builder: ir.IRBuilder, conditions: Sequence[Emitted]) -> Emitted:
    return reduce(builder.or_, conditions)


def all_of(builder: ir.IRBuilder, conditions: Sequence[Emitted]) -> Emitted:
    return reduce(builder.and_, conditions)


# -- conversions without an error -------------------------------------------------------------


def single_lanes(builder: ir.IRBuilder, value: Emitted) -> Emitted:
    """The lanes of a value as flushed patterns of singles."""
    return flushed(builder, unpacked(builder, value, 32))


def half_lanes(builder: ir.IRBuilder, value: Emitted) -> Emitted:
    """The lanes of a value as patterns of halves."""
    return unpacked(builder, value, 16)


def as_single(builder: ir.IRBuilder, pattern: Emitted) -> Emitted:
    """Patterns of singles or halves as the host's singles."""
    lanes = pattern.type.count
    if pattern.type.element.width == 32:
        return builder.bitcast(pattern, vector(SINGLE, lanes))
    return builder.fpext(builder.bitcast(pattern, vector(HALF, lanes)), vector(SINGLE, lanes))


# -- results ----------------------------------------------------------------------------------


def invalid_lanes(builder: ir.IRBuilder, nan: Emitted, operands: Sequence[Emitted]) -> Emitted:
    """Where INV is raised: a signalling operand, or a NaN (`nan`) that no operand explains."""
    passed_on = any_of(builder, [is_nan(builder, operand) for operand in operands])
    signalling = any_of(builder, [is_signalling(builder, operand) for operand in operands])
    return builder.or_(signalling, builder.and_(nan, builder.not_(passed_on)))


def single_result(
    builder: ir.IRBuilder,
    rounded: Emitted,
    operands: Sequence[Emitted],
    zero_divisor: Emitted | None = None,
) -> Emitted:
    """From the host's singles. `operands` are the patterns they were computed from.

    `zero_divisor` holds in lanes in which an infinity is due to a division by zero.
    """
    pattern = builder.bitcast(rounded, vector(WORD, rounded.type.count))
    nan = is_nan(builder, pattern)
    finite = all_of(builder, [is_finite(builder, operand) for operand in operands])
    overflow = builder.and_(is_infinite(builder, pattern), finite)
    raised = [(Flags.INV, invalid_lanes(builder, nan, operands))]
    if zero_divisor is not None:
        raised.append((Flags.DIV0, builder.and_(overflow, zero_divisor)))
        overflow = builder.and_(overflow, builder.not_(zero_divisor))
    raised.append((Flags.OFLO, overflow))
    # What the host leaves subnormal has been rounded as IEEE 754 says; then it is flushed.
    clean = builder.select(nan, like(pattern, F32.quiet_nan), flushed(builder, pattern))
    return result(builder, packed(builder, clean), flags_where(builder, raised))


def half_result(
    builder: ir.IRBuilder, singles: Emitted, operands: Sequence[Emitted], nanoo: bool
) -> Emitted:
    """From singles that round to half as the exact results do."""
    half = builder.fptrunc(singles, vector(HALF, singles.type.count))
    pattern = builder.bitcast(half, vector(HALF_WORD, singles.type.count))
    nan = is_nan(builder, pattern)
    invalid = invalid_lanes(builder, nan, operands)
    return half_pattern_result(builder, pattern, nan, invalid, nanoo)


def half_pattern_result(
    builder: ir.IRBuilder, pattern: Emitted, nan: Emitted, invalid: Emitted, nanoo: bool
) -> Emitted:
    """From patterns in which whatever is at or above infinity, and no NaN, is an overflow."""
    beyond = builder.icmp_unsigned(">=", magnitude(builder, pattern), like(pattern, F16.infinity))
    overflow = builder.and_(beyond, builder.not_(nan))
    replaced = overflow_pattern(builder, pattern, nanoo)
    clean = builder.select(overflow, replaced, pattern)
    clean = builder.select(nan, like(pattern, F16.quiet_nan), clean)
    flags = flags_where(builder, [(Flags.INV, invalid), (Flags.OFLO, overflow)])
    return result(builder, packed(builder, clean), flags)


def overflow_pattern(builder: ir.IRBuilder, pattern: Emitted, nanoo: bool) -> Emitted:
    """What a half that is too large becomes."""
    if nanoo:
        return like(pattern, F16.quiet_nan)
    return builder.or_(sign_of(builder, pattern), like(pattern, F16.largest))
