"""Comparisons, the larger and the smaller, on patterns of any binary format.

They need no rounding, and give back an operand as it is. Infinities are larger than all numbers.
"""

import operator
from collections.abc import Callable

from tilewright.target.formats.binary import BinaryFormat
from tilewright.target.formats.status import Flags, Result

Relation = Callable[[int, int], bool]
"""One of `operator`'s eq, ne, gt, ge, lt, le."""


def compare(relation: Relation, format: BinaryFormat, a: int, b: int) -> Result:
    """All ones if the relation holds, else 0. Zeros are equal.

    ASSUMED: with a NaN, quiet or not, every relation is false but `ne`, and INV is raised, also by
    eq and ne (docs/fidelity.md, `cmp-nan`).
    """
    if format.is_nan(a) or format.is_nan(b):
        return Result(format.ones if relation is operator.ne else 0, Flags.INV)
    holds = relation(_signed(format, a), _signed(format, b))
    return Result(format.ones if holds else 0, Flags.NONE)


def maximum(format: BinaryFormat, a: int, b: int) -> Result:
    """The larger operand.

    ASSUMED: −0 is less than +0; beside a number a NaN is passed over; of two NaNs, the quiet NaN
    results. A signalling NaN raises INV (docs/fidelity.md, `minmax`).
    """
    return _pick(max, format, a, b)


def minimum(format: BinaryFormat, a: int, b: int) -> Result:
    """The smaller operand, ASSUMED as for `maximum` (docs/fidelity.md, `minmax`)."""
    return _pick(min, format, a, b)


def clamp(format: BinaryFormat, a: int, low: int, high: int) -> Result:
    """min(max(a, low), high), so that a NaN becomes `low` (docs/fidelity.md, `minmax`)."""
    raised = maximum(format, a, low)
    lowered = minimum(format, raised.bits, high)
    return Result(lowered.bits, raised.flags | lowered.flags)


def _pick(choose: Callable[..., int], format: BinaryFormat, a: int, b: int) -> Result:
    signalling = format.is_signalling(a) or format.is_signalling(b)
    flags = Flags.INV if signalling else Flags.NONE
    numbers = [bits for bits in (a, b) if not format.is_nan(bits)]
    if not numbers:
        return Result(format.quiet_nan, flags)
    return Result(choose(numbers, key=lambda bits: _rank(format, bits)), flags)


def _signed(format: BinaryFormat, bits: int) -> int:
    """An integer ordered as the numbers are."""
    magnitude = format.magnitude(bits)
    return -magnitude if bits & format.sign_bit else magnitude


def _rank(format: BinaryFormat, bits: int) -> int:
    """An integer ordered as the numbers are, with −0 beneath +0."""
    return 2 * _signed(format, bits) - (bits == format.sign_bit)
