"""The quarter-precision formats: eight bits, one NaN, neither infinities nor −0."""

from dataclasses import dataclass

from tilewright.target.formats.exact import NotANumber, Number
from tilewright.target.formats.status import Flags

QUARTER_NAN = 0x80
"""The only NaN, in both formats."""
QUARTER_SIGN = 0x80


@dataclass(frozen=True, slots=True)
class QuarterFormat:
    """Sign, `exponent_bits`, `fraction_bits`, with subnormals as in the IEEE formats.

    All exponents hold numbers, and the bias is one more than IEEE's.
    """

    name: str
    exponent_bits: int
    fraction_bits: int

    @property
    def bias(self) -> int:
        return 1 << (self.exponent_bits - 1)

    @property
    def largest(self) -> int:
        """The code of the largest number."""
        return QUARTER_SIGN - 1

    def read(self, code: int) -> Number | NotANumber:
        """What the code stands for. Its NaN is quiet."""
        if code == QUARTER_NAN:
            return NotANumber(Flags.NONE)
        negative = code & QUARTER_SIGN != 0
        hidden = 1 << self.fraction_bits
        fraction = code & (hidden - 1)
        field = (code & ~QUARTER_SIGN) >> self.fraction_bits
        significand = fraction if field == 0 else hidden | fraction
        return Number(negative, significand, max(field, 1) - self.bias - self.fraction_bits)


F143 = QuarterFormat("F143", exponent_bits=4, fraction_bits=3)
F152 = QuarterFormat("F152", exponent_bits=5, fraction_bits=2)

QUARTER_FORMATS = (F152, F143)
"""By format bit, in `$FP_NFMT` and in a tensor's metadata."""
