"""Floating point of the reference engine: `tilewright.target.formats`, lane by lane.

The context's control registers decide on overflow, stochastic rounding, formats and scale; flags
that come up are collected in the instruction's effects.
"""

from collections.abc import Callable

from tilewright.emulator.faults import OperandFault
from tilewright.emulator.reference.bits import Bits, IntegerOperations
from tilewright.emulator.reference.effects import Effects
from tilewright.emulator.reference.registers import ContextRegisters
from tilewright.target import formats
from tilewright.target.csr import FIELDS
from tilewright.target.formats import (
    F32,
    QUARTER_FORMATS,
    Flags,
    QuarterFormat,
    Result,
    Rounding,
    classify_quarter,
    f16,
    f32,
)

_SHIFT = {field.name: field.shift for field in FIELDS if field.register == "FP_CTL"}
_RANDOM_LANE = 16
_UNIFORMS = 12
"""Uniform numbers that add up to an approximately normal one (assumed, `grand`)."""

_INTEGERS = IntegerOperations()


class _Lanes:
    """Applies functions on patterns to the lanes of vectors, and collects flags."""

    width: int

    def __init__(self, registers: ContextRegisters, effects: Effects) -> None:
        self._registers = registers
        self._effects = effects

    def _map(self, function: Callable[..., Result], *vectors: Bits) -> Bits:
        lanes = [_INTEGERS.split(vector, self.width) for vector in vectors]
        return _INTEGERS.join(
            [
                self._lane(function(*(lane.number for lane in each)), self.width)
                for each in zip(*lanes, strict=True)
            ]
        )

    def _lane(self, result: Result, width: int) -> Bits:
        self._effects.float_flags |= result.flags
        return Bits(result.bits, width)

    def _pairs(self, x: Bits, y: Bits, width: int) -> list[tuple[int, int]]:
        return [
            (one.number, other.number)
            for one, other in zip(_INTEGERS.split(x, width), _INTEGERS.split(y, width), strict=True)
        ]

    def _control(self, field: str) -> int:
        return int(self._registers.state["float_control"]) >> _SHIFT[field]

    @property
    def _nanoo(self) -> bool:
        return bool(self._control("NANOO") & 1)

    @property
    def _scale(self) -> int:
        """The power of two of the context's scale, 6 bits in two's complement."""
        raw = int(self._registers.state["number_scale"]) & 0x3F
        return raw - ((raw & 0x20) << 1)

    def _quarter_format(self, bit: int) -> QuarterFormat:
        """Bit 0: that of the weights; bit 1: that of registers."""
        return QUARTER_FORMATS[int(self._registers.state["number_format"]) >> bit & 1]

    def _gaussian(self) -> tuple[int, int]:
        """Two sums of uniform 16-bit numbers less their mean, in units of 2**-16."""
        draws = [self._registers.draw(self._effects) for _ in range(_UNIFORMS // 2)]
        uniforms = [
            draw >> place & 0xFFFF for draw in draws for place in range(0, 64, _RANDOM_LANE)
        ]
        mean = _UNIFORMS << (_RANDOM_LANE - 1)
        return sum(uniforms[:_UNIFORMS]) - mean, sum(uniforms[_UNIFORMS:]) - mean


class Singles(_Lanes):
    """`tilewright.isa.meaning.machine.Singles`."""

    width = 32

    def add(self, a: Bits, b: Bits) -> Bits:
        return self._map(f32.add, a, b)

    def sub(self, a: Bits, b: Bits) -> Bits:
        return self._map(f32.sub, a, b)

    def mul(self, a: Bits, b: Bits) -> Bits:
        return self._map(f32.mul, a, b)

    def absadd(self, a: Bits, b: Bits) -> Bits:
        return self._map(f32.absadd, a, b)

    def max(self, a: Bits, b: Bits) -> Bits:
        return self._map(f32.maximum, a, b)

    def min(self, a: Bits, b: Bits) -> Bits:
        return self._map(f32.minimum, a, b)

    def absmax(self, a: Bits, b: Bits) -> Bits:
        return self._map(f32.absmax, a, b)

    def clamp(self, a: Bits, low: Bits, high: Bits) -> Bits:
        return self._map(f32.clamp, a, low, high)

    def compare(self, relation: str, a: Bits, b: Bits) -> Bits:
        return self._map(getattr(f32, relation), a, b)

    def classify(self, a: Bits) -> Bits:
        return self._map(f32.class_code, a)

    def unary(self, function: str, a: Bits) -> Bits:
        return self._map(getattr(f32, function), a)

    def uniform(self, a: Bits) -> Bits:
        return self._map(f32.sufromui, a)

    def div(self, a: Bits, b: Bits) -> Bits:
        self._effects.divides_special = any(map(_is_special, (a.number, b.number)))
        return self._map(f32.div, a, b)

    def round(self, a: Bits, mode: int) -> Bits:
        direction = _direction(mode)
        return self._map(lambda pattern: f32.to_integral(pattern, direction), a)

    def from_int(self, a: Bits, is_signed: bool) -> Bits:
        return self._map(f32.from_i32 if is_signed else f32.from_u32, a)

    def to_int(self, a: Bits, is_signed: bool) -> Bits:
        direction = _direction(self._control("RND") & 7)
        convert = f32.to_i32 if is_signed else f32.to_u32
        return self._map(lambda pattern: convert(pattern, direction), a)

    def to_half(self, a: Bits) -> Bits:
        random = self._registers.draw(self._effects) if self._control("ESR") & 1 else None
        halves = []
        for place, lane in enumerate(_INTEGERS.split(a, 32)):
            slice_ = None if random is None else random >> _RANDOM_LANE * place & 0xFFFF
            result = formats.f32_to_f16(lane.number, nanoo=self._nanoo, random=slice_)
            halves.append(self._lane(result, 16))
        return _INTEGERS.join(halves)

    def dot(self, accumulator: Bits, x: Bits, y: Bits) -> Bits:
        return self._lane(formats.dot_f32(accumulator.number, self._pairs(x, y, 32)), 32)

    def gaussian_pair(self) -> Bits:
        return _INTEGERS.join(
            [self._lane(f32.rounded(_sixteenths(number)), 32) for number in self._gaussian()]
        )


class Halves(_Lanes):
    """`tilewright.isa.meaning.machine.Halves`."""

    width = 16

    def add(self, a: Bits, b: Bits) -> Bits:
        return self._rounded(f16.add, a, b)

    def sub(self, a: Bits, b: Bits) -> Bits:
        return self._rounded(f16.sub, a, b)

    def mul(self, a: Bits, b: Bits) -> Bits:
        return self._rounded(f16.mul, a, b)

    def absadd(self, a: Bits, b: Bits) -> Bits:
        return self._rounded(f16.absadd, a, b)

    def max(self, a: Bits, b: Bits) -> Bits:
        return self._map(f16.maximum, a, b)

    def min(self, a: Bits, b: Bits) -> Bits:
        return self._map(f16.minimum, a, b)

    def absmax(self, a: Bits, b: Bits) -> Bits:
        return self._map(f16.absmax, a, b)

    def clamp(self, a: Bits, low: Bits, high: Bits) -> Bits:
        return self._map(f16.clamp, a, low, high)

    def compare(self, relation: str, a: Bits, b: Bits) -> Bits:
        return self._map(getattr(f16, relation), a, b)

    def classify(self, a: Bits) -> Bits:
        return self._map(f16.class_code, a)

    def unary(self, function: str, a: Bits) -> Bits:
        return self._rounded(getattr(f16, function), a)

    def uniform(self, a: Bits) -> Bits:
        return self._map(f16.sufromui, a)

    def to_single(self, a: Bits) -> Bits:
        lanes = _INTEGERS.split(a, 16)
        return _INTEGERS.join([self._lane(formats.f16_to_f32(lane.number), 32) for lane in lanes])

    def sum_pairs(self, a: Bits) -> Bits:
        lanes = [lane.number for lane in _INTEGERS.split(a, 16)]
        pairs = zip(lanes[::2], lanes[1::2], strict=True)
        return _INTEGERS.join([self._lane(formats.sum_f16(pair), 32) for pair in pairs])

    def dot(self, accumulator: Bits, x: Bits, y: Bits) -> Bits:
        return self._lane(formats.dot_f16(accumulator.number, self._pairs(x, y, 16)), 32)

    def to_quarter(self, a: Bits) -> Bits:
        format = self._quarter_format(1)
        quarters = [
            formats.f16_to_f8(lane.number, format, self._scale, nanoo=self._nanoo)
            for lane in _INTEGERS.split(a, 16)
        ]
        return _INTEGERS.join([self._lane(quarter, 8) for quarter in quarters])

    def gaussian_pair(self) -> Bits:
        return _INTEGERS.join(
            [
                self._lane(f16.rounded(_sixteenths(number), nanoo=self._nanoo), 16)
                for number in self._gaussian()
            ]
        )

    def _rounded(self, function: Callable[..., Result], *vectors: Bits) -> Bits:
        nanoo = self._nanoo
        return self._map(lambda *patterns: function(*patterns, nanoo=nanoo), *vectors)


class Quarters(_Lanes):
    """`tilewright.isa.meaning.machine.Quarters`."""

    width = 8

    def to_half(self, a: Bits) -> Bits:
        format = self._quarter_format(1)
        halves = [
            formats.f8_to_f16(lane.number, format, self._scale, nanoo=self._nanoo)
            for lane in _INTEGERS.split(a, 8)
        ]
        return _INTEGERS.join([self._lane(half, 16) for half in halves])

    def classify(self, a: Bits) -> Bits:
        format = self._quarter_format(1)
        return self._map(lambda code: Result(classify_quarter(format, code), Flags.NONE), a)

    def dot(self, accumulator: Bits, x: Bits, weights: Bits) -> Bits:
        both = (self._quarter_format(1), self._quarter_format(0))
        pairs = self._pairs(x, weights, 8)
        return self._lane(formats.dot_f8(accumulator.number, pairs, both, self._scale), 32)


def _direction(mode: int) -> Rounding:
    try:
        return Rounding(mode)
    except ValueError:
        raise OperandFault(f"there is no rounding direction {mode}") from None


def _is_special(pattern: int) -> bool:
    """Zero, infinite or NaN; a subnormal counts as zero."""
    magnitude = F32.magnitude(F32.flushed(pattern))
    return magnitude == 0 or magnitude >= F32.infinity


def _sixteenths(number: int) -> formats.exact.Value:
    return formats.exact.scaled(formats.exact.whole(number), -_RANDOM_LANE)
