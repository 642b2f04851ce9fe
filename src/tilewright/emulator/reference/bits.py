"""Bit vectors as plain numbers, and the machine's integer operations on them."""

from collections.abc import Sequence
from typing import NamedTuple


class Bits(NamedTuple):
    """An unsigned `number` of `width` bits."""

    number: int
    width: int


def bits(number: int, width: int) -> Bits:
    """A number, reduced to `width` bits."""
    return Bits(number & ((1 << width) - 1), width)


def signed(value: Bits) -> int:
    """The number in two's complement."""
    return value.number - ((value.number >> (value.width - 1)) << value.width)


class IntegerOperations:
    """The integer part of `tilewright.isa.meaning.machine.Machine`."""

    def const(self, number: int, width: int = 32) -> Bits:
        return bits(number, width)

    def add(self, a: Bits, b: Bits) -> Bits:
        return bits(a.number + b.number, a.width)

    def sub(self, a: Bits, b: Bits) -> Bits:
        return bits(a.number - b.number, a.width)

    def mul(self, a: Bits, b: Bits) -> Bits:
        return bits(a.number * b.number, a.width)

    def and_(self, a: Bits, b: Bits) -> Bits:
        return Bits(a.number & b.number, a.width)

    def or_(self, a: Bits, b: Bits) -> Bits:
        return Bits(a.number | b.number, a.width)

    def xor(self, a: Bits, b: Bits) -> Bits:
        return Bits(a.number ^ b.number, a.width)

    def not_(self, a: Bits) -> Bits:
        return bits(~a.number, a.width)

    def shl(self, a: Bits, b: Bits) -> Bits:
        return bits(a.number << min(b.number, a.width), a.width)

    def shr(self, a: Bits, b: Bits) -> Bits:
        return Bits(a.number >> min(b.number, a.width), a.width)

    def sar(self, a: Bits, b: Bits) -> Bits:
        return bits(signed(a) >> min(b.number, a.width), a.width)

    def eq(self, a: Bits, b: Bits) -> Bits:
        return Bits(int(a.number == b.number), 1)

    def ult(self, a: Bits, b: Bits) -> Bits:
        return Bits(int(a.number < b.number), 1)

    def slt(self, a: Bits, b: Bits) -> Bits:
        return Bits(int(signed(a) < signed(b)), 1)

    def select(self, condition: Bits, a: Bits, b: Bits) -> Bits:
        return a if condition.number else b

    def leading_zeros(self, a: Bits) -> Bits:
        return Bits(a.width - a.number.bit_length(), a.width)

    def population(self, a: Bits) -> Bits:
        return Bits(a.number.bit_count(), a.width)

    def reverse_bits(self, a: Bits) -> Bits:
        return Bits(int(f"{a.number:0{a.width}b}"[::-1], 2), a.width)

    def zero_extend(self, a: Bits, width: int) -> Bits:
        return Bits(a.number, width)

    def sign_extend(self, a: Bits, width: int) -> Bits:
        return bits(signed(a), width)

    def split(self, a: Bits, width: int) -> list[Bits]:
        return [bits(a.number >> place, width) for place in range(0, a.width, width)]

    def join(self, lanes: Sequence[Bits]) -> Bits:
        number, place = 0, 0
        for lane in lanes:
            number |= lane.number << place
            place += lane.width
        return Bits(number, place)
