"""The machine's integer operations as LLVM IR."""

from collections.abc import Sequence

from llvmlite import ir

from tilewright.emulator.llvm.lanes import BIT, WORD, Emitted, gather, packed, unpacked

_VECTOR_WIDTH = 64
"""From this width on, lanes are taken from vectors and put into them."""


class IntegerOperations:
    """The integer part of `tilewright.isa.meaning.machine.Machine`; values are `ir.Value`s."""

    builder: ir.IRBuilder

    def const(self, number: int, width: int = 32) -> Emitted:
        return ir.Constant(ir.IntType(width), number & ((1 << width) - 1))

    def add(self, a: Emitted, b: Emitted) -> Emitted:
        return self.builder.add(a, b)

    def sub(self, a: Emitted, b: Emitted) -> Emitted:
        return self.builder.sub(a, b)

    def mul(self, a: Emitted, b: Emitted) -> Emitted:
        return self.builder.mul(a, b)

    def and_(self, a: Emitted, b: Emitted) -> Emitted:
        return self.builder.and_(a, b)

    def or_(self, a: Emitted, b: Emitted) -> Emitted:
        return self.builder.or_(a, b)

    def xor(self, a: Emitted, b: Emitted) -> Emitted:
        return self.builder.xor(a, b)

    def not_(self, a: Emitted) -> Emitted:
        return self.builder.not_(a)

    def shl(self, a: Emitted, b: Emitted) -> Emitted:
        return self._shifted(self.builder.shl, a, b)

    def shr(self, a: Emitted, b: Emitted) -> Emitted:
        return self._shifted(self.builder.lshr, a, b)

    def sar(self, a: Emitted, b: Emitted) -> Emitted:
        last = ir.Constant(b.type, b.type.width - 1)
        too_far = self.builder.icmp_unsigned(">", b, last)
        return self.builder.ashr(a, self.builder.select(too_far, last, b))

    def _shifted(self, shift: object, a: Emitted, b: Emitted) -> Emitted:
        """A shift that gives 0 where LLVM's is undefined."""
        assert callable(shift)
        is_defined = self.builder.icmp_unsigned("<", b, ir.Constant(b.type, a.type.width))
        amount = self.builder.select(is_defined, b, ir.Constant(b.type, 0))
        return self.builder.select(is_defined, shift(a, amount), ir.Constant(a.type, 0))

    def eq(self, a: Emitted, b: Emitted) -> Emitted:
        return self.builder.icmp_unsigned("==", a, b)

    def ult(self, a: Emitted, b: Emitted) -> Emitted:
        return self.builder.icmp_unsigned("<", a, b)

    def slt(self, a: Emitted, b: Emitted) -> Emitted:
        return self.builder.icmp_signed("<", a, b)

    def select(self, condition: Emitted, a: Emitted, b: Emitted) -> Emitted:
        return self.builder.select(condition, a, b)

    def leading_zeros(self, a: Emitted) -> Emitted:
        return self.builder.ctlz(a, BIT(0))

    def population(self, a: Emitted) -> Emitted:
        return self.builder.ctpop(a)

    def reverse_bits(self, a: Emitted) -> Emitted:
        return self.builder.bitreverse(a)

    def zero_extend(self, a: Emitted, width: int) -> Emitted:
        return a if a.type.width == width else self.builder.zext(a, ir.IntType(width))

    def sign_extend(self, a: Emitted, width: int) -> Emitted:
        return a if a.type.width == width else self.builder.sext(a, ir.IntType(width))

    def split(self, a: Emitted, width: int) -> list[Emitted]:
        if a.type.width == width:
            return [a]
        if a.type.width >= _VECTOR_WIDTH:
            lanes = unpacked(self.builder, a, width)
            places = range(lanes.type.count)
            return [self.builder.extract_element(lanes, WORD(place)) for place in places]
        kind = ir.IntType(width)
        return [
            self.builder.trunc(self._moved(a, place), kind)
            for place in range(0, a.type.width, width)
        ]

    def join(self, lanes: Sequence[Emitted]) -> Emitted:
        if len(lanes) == 1:
            return lanes[0]
        kind = ir.IntType(sum(lane.type.width for lane in lanes))
        if kind.width >= _VECTOR_WIDTH:
            return packed(self.builder, gather(self.builder, lanes))
        result, place = None, 0
        for lane in lanes:
            wide = self.builder.zext(lane, kind)
            if place:
                wide = self.builder.shl(wide, ir.Constant(kind, place))
            result = wide if result is None else self.builder.or_(result, wide)
            place += lane.type.width
        return result

    def _moved(self, a: Emitted, places: int) -> Emitted:
        return self.builder.lshr(a, ir.Constant(a.type, places)) if places else a
