"""The IEEE binary interchange formats: half and single."""

from dataclasses import dataclass
from fractions import Fraction

from tilewright.target.formats.exact import Infinity, NotANumber, Number, Value, quotient, whole
from tilewright.target.formats.rounding import nearest
from tilewright.target.formats.status import Flags


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
    def ones(self) -> int:
        """The pattern with every bit set."""
        return 2 * self.sign_bit - 1

    @property
    def infinity(self) -> int:
        """The bit pattern of positive infinity."""
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits

    @property
    def largest(self) -> int:
        """The bit pattern of the largest finite number."""
        return self.infinity - 1

    @property
    def smallest_normal(self) -> int:
        """The bit pattern of the least positive number that is not subnormal."""
        return 1 << self.fraction_bits

    @property
    def quiet_bit(self) -> int:
        """The bit of a NaN that says that it is quiet."""
        return 1 << (self.fraction_bits - 1)

    @property
    def quiet_nan(self) -> int:
        """ASSUMED: every NaN that arithmetic gives (docs/fidelity.md, `nan-bits`)."""
        return self.infinity | self.quiet_bit

    def magnitude(self, bits: int) -> int:
        """`bits` without its sign."""
        return bits & (self.sign_bit - 1)

    def is_nan(self, bits: int) -> bool:
        return self.magnitude(bits) > self.infinity

    def is_signalling(self, bits: int) -> bool:
        return self.is_nan(bits) and not bits & self.quiet_bit

    def flushed(self, bits: int) -> int:
        """`bits`, or the zero of its sign in place of a subnormal."""
        return bits if bits & self.infinity else bits & self.sign_bit

    def read(self, bits: int) -> Value:
        """What the pattern stands for. A signalling NaN raises INV."""
        negative = bits & self.sign_bit != 0
        fraction = bits & (self.smallest_normal - 1)
        field = (bits & self.infinity) >> self.fraction_bits
        if field == 0:
            return Number(negative, fraction, 1 - self.bias - self.fraction_bits)
        if bits & self.infinity != self.infinity:
            significand = self.smallest_normal | fraction
            return Number(negative, significand, field - self.bias - self.fraction_bits)
        if fraction == 0:
            return Infinity(negative)
        return NotANumber(Flags.NONE if bits & self.quiet_bit else Flags.INV)

    def encode(self, value: Fraction) -> int:
        """The bit pattern nearest to `value`, ties to even; past the largest, infinity.

        For literals and stored constants: subnormals are kept, in single as in half.
        """
        number = quotient(whole(value.numerator), whole(value.denominator))
        sign = self.sign_bit if number.negative else 0
        return sign | min(nearest(number, self), self.infinity)


F16 = BinaryFormat("f16", exponent_bits=5, fraction_bits=10)
F32 = BinaryFormat("f32", exponent_bits=8, fraction_bits=23)
