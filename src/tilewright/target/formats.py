"""Binary floating-point formats and exact rounding of numbers into them.

Half literals in assembly and stored constants are rounded here once, from the exact decimal value,
to nearest, ties to even, subnormals included.
"""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class BinaryFormat:
    """An IEEE binary interchange format: sign, `exponent_bits`, `fraction_bits`."""

    name: str
    exponent_bits: int
    fraction_bits: int

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def sign_bit(self) -> int:
        return 1 << (self.exponent_bits + self.fraction_bits)

    @property
    def infinity(self) -> int:
        """The bit pattern of positive infinity."""
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits

    def encode(self, value: Fraction) -> int:
        """The bit pattern nearest to `value`, ties to even; past the largest, infinity."""
        magnitude = abs(value)
        sign = self.sign_bit if value < 0 else 0
        if magnitude == 0:
            return sign
        exponent = max(_floor_log2(magnitude), 1 - self.bias)
        significand = round(magnitude / Fraction(2) ** (exponent - self.fraction_bits))
        # A significand that carries into the next binade, or a subnormal that becomes normal,
        # carries into the exponent field by itself.
        hidden = 1 << self.fraction_bits
        pattern = ((exponent + self.bias) << self.fraction_bits) + significand - hidden
        return sign | min(pattern, self.infinity)


def _floor_log2(value: Fraction) -> int:
    estimate = value.numerator.bit_length() - value.denominator.bit_length()
    return estimate if Fraction(2) ** estimate <= value else estimate - 1


F16 = BinaryFormat("f16", exponent_bits=5, fraction_bits=10)
F32 = BinaryFormat("f32", exponent_bits=8, fraction_bits=23)
