"""Checks of memory accesses as LLVM IR, the same as those of the reference engine."""

from llvmlite import ir

from tilewright.emulator.llvm.lanes import WORD, Emitted, same_type_intrinsic
from tilewright.target.geometry import ELEMENT_SIZE, MEMORY_BASE, MEMORY_END, REGION1_BASE

_WORD_MASK = 0xFFFF_FFFF
_REGION0_ELEMENT = _WORD_MASK & -ELEMENT_SIZE
_REGION1_ELEMENT = _WORD_MASK & -(2 * ELEMENT_SIZE) | 8

assert REGION1_BASE & (REGION1_BASE - 1) == 0


def offset_in_memory(builder: ir.IRBuilder, address: Emitted) -> Emitted:
    return builder.sub(address, WORD(MEMORY_BASE))


def is_accessible(builder: ir.IRBuilder, address: Emitted, size: int) -> Emitted:
    """Whether `size` bytes can be accessed there at once.

    Rotated right, the bits that must be 0 come to the top, so that one comparison sees to alignment
    and range.
    """
    first = REGION1_BASE if size == 16 else MEMORY_BASE
    offset = builder.sub(address, WORD(first))
    places = size.bit_length() - 1
    if places:
        offset = same_type_intrinsic(builder, "fshr", offset, offset, WORD(places))
    return builder.icmp_unsigned("<", offset, WORD((MEMORY_END - first) >> places))


def are_apart(builder: ir.IRBuilder, one: Emitted, other: Emitted) -> Emitted:
    """Whether two addresses lie in different memory elements.

    Addresses in different regions differ in a bit of either mask.
    """
    in_region0 = builder.icmp_unsigned("<", one, WORD(REGION1_BASE))
    mask = builder.select(in_region0, WORD(_REGION0_ELEMENT), WORD(_REGION1_ELEMENT))
    differing = builder.and_(builder.xor(one, other), mask)
    return builder.icmp_unsigned("!=", differing, WORD(0))
