"""Comparison, the larger and the smaller, and classes: operations on patterns of any format."""

from collections.abc import Callable

from llvmlite import ir

from tilewright.emulator.llvm.lanes import Emitted, like, packed
from tilewright.emulator.llvm.rounded import (
    any_of,
    as_single,
    flags_where,
    format_of,
    is_infinite,
    is_nan,
    is_signalling,
    is_zero,
    magnitude,
    no_flags,
    result,
    sign_of,
)
from tilewright.target.formats import Flags, NumberClass

Lanes = Callable[[ir.IRBuilder, Emitted], Emitted]
"""Takes a value apart into patterns, flushed where the format flushes."""

_RELATIONS = {"eq": "==", "ne": "!=", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}


def compared(builder: ir.IRBuilder, relation: str, a: Emitted, b: Emitted) -> Emitted:
    """All ones where the relation holds. With a NaN only `ne` does, and INV is raised."""
    one, other = as_single(builder, a), as_single(builder, b)
    compare = builder.fcmp_unordered if relation == "ne" else builder.fcmp_ordered
    holds = compare(_RELATIONS[relation], one, other)
    invalid = builder.fcmp_unordered("uno", one, other)
    return result(
        builder,
        packed(builder, builder.sext(holds, a.type)),
        flags_where(builder, [(Flags.INV, invalid)]),
    )


def extreme(
    builder: ir.IRBuilder, relation: str, a: Emitted, b: Emitted
) -> tuple[Emitted, Emitted]:
    """Of each lane the operand that is `relation` (">" or "<") the other, and where INV is raised.

    Beside a number a NaN is passed over; of two NaNs, the quiet one results.
    """
    prefers_a = builder.icmp_signed(relation, _rank(builder, a), _rank(builder, b))
    a_is_nan, b_is_nan = is_nan(builder, a), is_nan(builder, b)
    chosen = builder.select(prefers_a, a, b)
    chosen = builder.select(a_is_nan, b, builder.select(b_is_nan, a, chosen))
    neither = builder.and_(a_is_nan, b_is_nan)
    chosen = builder.select(neither, like(a, format_of(a).quiet_nan), chosen)
    invalid = any_of(builder, [is_signalling(builder, a), is_signalling(builder, b)])
    return chosen, invalid


def extreme_result(builder: ir.IRBuilder, relation: str, a: Emitted, b: Emitted) -> Emitted:
    chosen, invalid = extreme(builder, relation, a, b)
    return result(builder, packed(builder, chosen), flags_where(builder, [(Flags.INV, invalid)]))


def clamped(builder: ir.IRBuilder, a: Emitted, low: Emitted, high: Emitted) -> Emitted:
    raised, first = extreme(builder, ">", a, low)
    lowered, second = extreme(builder, "<", raised, high)
    flags = flags_where(builder, [(Flags.INV, builder.or_(first, second))])
    return result(builder, packed(builder, lowered), flags)


def classified(builder: ir.IRBuilder, a: Emitted) -> Emitted:
    """The class code of each lane."""
    format = format_of(a)
    smallest = like(a, format.smallest_normal)
    is_normal = builder.icmp_unsigned(">=", magnitude(builder, a), smallest)
    code = like(a, NumberClass.NEGATIVE_SUBNORMAL)
    code = builder.select(is_normal, like(a, NumberClass.NEGATIVE_NORMAL), code)
    code = builder.select(is_zero(builder, a), like(a, NumberClass.NEGATIVE_ZERO), code)
    code = builder.select(is_infinite(builder, a), like(a, NumberClass.NEGATIVE_INFINITY), code)
    # Each positive class follows the negative one.
    is_positive = builder.icmp_unsigned("==", sign_of(builder, a), like(a, 0))
    code = builder.add(code, builder.zext(is_positive, a.type))
    code = builder.select(is_nan(builder, a), like(a, NumberClass.QUIET_NAN), code)
    code = builder.select(is_signalling(builder, a), like(a, NumberClass.SIGNALLING_NAN), code)
    return result(builder, packed(builder, code), no_flags())


def _rank(builder: ir.IRBuilder, pattern: Emitted) -> Emitted:
    """Signed integers ordered as the numbers are, with −0 beneath +0."""
    width = pattern.type.element.width
    sign = builder.ashr(pattern, like(pattern, width - 1))
    return builder.xor(pattern, builder.lshr(sign, like(pattern, 1)))
