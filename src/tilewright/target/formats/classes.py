"""What kind of number a pattern holds, as `f32class` and its like tell."""

from enum import IntEnum

from tilewright.target.formats.binary import BinaryFormat
from tilewright.target.formats.quarter import QUARTER_NAN, QUARTER_SIGN, QuarterFormat


class NumberClass(IntEnum):
    """Result codes. Those of NaNs and −0 are known from kernels that test for them, and so is that
    infinities are 3 and 4.

    ASSUMED: the order of 3 and 4, and 6 to 10 (docs/fidelity.md, `class`).
    """

    SIGNALLING_NAN = 1
    QUIET_NAN = 2
    NEGATIVE_INFINITY = 3
    POSITIVE_INFINITY = 4
    NEGATIVE_ZERO = 5
    POSITIVE_ZERO = 6
    NEGATIVE_SUBNORMAL = 7
    POSITIVE_SUBNORMAL = 8
    NEGATIVE_NORMAL = 9
    POSITIVE_NORMAL = 10


def classify(format: BinaryFormat, bits: int) -> NumberClass:
    """The class of the pattern as it is: nothing is flushed, and nothing is raised."""
    magnitude = format.magnitude(bits)
    positive = bits == magnitude
    if format.is_nan(bits):
        signalling = format.is_signalling(bits)
        return NumberClass.SIGNALLING_NAN if signalling else NumberClass.QUIET_NAN
    if magnitude == format.infinity:
        return NumberClass.POSITIVE_INFINITY if positive else NumberClass.NEGATIVE_INFINITY
    if magnitude == 0:
        return NumberClass.POSITIVE_ZERO if positive else NumberClass.NEGATIVE_ZERO
    if magnitude < format.smallest_normal:
        return NumberClass.POSITIVE_SUBNORMAL if positive else NumberClass.NEGATIVE_SUBNORMAL
    return NumberClass.POSITIVE_NORMAL if positive else NumberClass.NEGATIVE_NORMAL


def classify_quarter(format: QuarterFormat, code: int) -> NumberClass:
    """The class of a code of a quarter format, which has a single zero and a single NaN."""
    if code == QUARTER_NAN:
        return NumberClass.QUIET_NAN
    if code == 0:
        return NumberClass.POSITIVE_ZERO
    is_positive = not code & QUARTER_SIGN
    if (code & ~QUARTER_SIGN) >> format.fraction_bits:
        return NumberClass.POSITIVE_NORMAL if is_positive else NumberClass.NEGATIVE_NORMAL
    return NumberClass.POSITIVE_SUBNORMAL if is_positive else NumberClass.NEGATIVE_SUBNORMAL
