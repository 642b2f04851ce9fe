"""Conversions between single, half and quarter."""

from tilewright.target.formats import f16, f32
from tilewright.target.formats.binary import F16
from tilewright.target.formats.exact import Infinity, NotANumber, scaled
from tilewright.target.formats.quarter import QUARTER_NAN, QUARTER_SIGN, QuarterFormat
from tilewright.target.formats.rounding import nearest
from tilewright.target.formats.status import Flags, Result


def f16_to_f32(bits: int) -> Result:
    """Exact; infinities stay, and a subnormal half is a normal single."""
    return f32.rounded(F16.read(bits))


def f32_to_f16(bits: int, *, nanoo: bool, random: int | None = None) -> Result:
    """To the nearest half, ties to even; or, given 16 bits `random`, stochastically.

    Overflow is judged after rounding and goes as in `f16.rounded`. ASSUMED: an infinite single
    overflows too (docs/fidelity.md, `f16-inf`); how random bits are used is `sr-bits`, which
    instructions use them `sr-scope`.
    """
    return f16.rounded(f32.read(bits), nanoo=nanoo, random=random)


def f8_to_f16(code: int, format: QuarterFormat, scale: int, *, nanoo: bool) -> Result:
    """The code's value times 2**`scale`, to the nearest half."""
    return f16.rounded(scaled(format.read(code), scale), nanoo=nanoo)


def f16_to_f8(bits: int, format: QuarterFormat, scale: int, *, nanoo: bool) -> Result:
    """The half times 2**`scale`, to the nearest code, ties to even; never stochastic.

    What rounds to zero from below becomes 0x00. What rounds beyond the largest number raises OFLO
    and becomes the NaN if `nanoo`, else the largest number of its sign.

    ASSUMED: so does an infinite half (docs/fidelity.md, `f16-inf`); what becomes of the bytes that
    the codes leave over, `tof8-hi`, is the instruction's matter.
    """
    value = scaled(F16.read(bits), scale)
    if isinstance(value, NotANumber):
        return Result(QUARTER_NAN, value.flags)
    sign = QUARTER_SIGN if value.negative else 0
    if isinstance(value, Infinity) or (code := nearest(value, format)) > format.largest:
        return Result(QUARTER_NAN if nanoo else sign | format.largest, Flags.OFLO)
    return Result(sign | code if code else 0, Flags.NONE)
