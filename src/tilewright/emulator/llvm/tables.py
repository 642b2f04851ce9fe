"""Functions of halves and quarters by table: one word per argument, a pattern and its flags.

The tables live outside translated code (`support`), which is handed their addresses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from tilewright.emulator.llvm.lanes import WORD, Emitted
from tilewright.target.formats import Flags

if TYPE_CHECKING:
    from tilewright.emulator.llvm.machine import LlvmMachine

FLAGS_SHIFT = 16
"""A table's word: the pattern, and above it the flags."""


def looked_up(
    machine: LlvmMachine,
    table: str,
    a: Emitted,
    width: int,
    result_width: int,
    overflowed: int | None,
) -> Emitted:
    """The lanes of `a`, each `width` bits, looked up in `table`.

    Tables hold what overflow gives without NANOO; with it, the pattern `overflowed` results.
    """
    builder = machine.builder
    base = machine.support(table)
    lanes = []
    for lane in machine.split(a, width):
        place = builder.gep(base, [builder.zext(lane, WORD)], source_etype=WORD)
        entry = builder.load(place, typ=WORD)
        flags = builder.lshr(entry, WORD(FLAGS_SHIFT))
        pattern = builder.trunc(entry, ir.IntType(result_width))
        if overflowed is not None:
            overflow = builder.and_(flags, WORD(int(Flags.OFLO)))
            fits = builder.icmp_unsigned("==", overflow, WORD(0))
            pattern = builder.select(fits, pattern, ir.Constant(pattern.type, overflowed))
        machine.raise_flags(flags)
        lanes.append(pattern)
    return machine.join(lanes)
