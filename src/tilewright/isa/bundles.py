"""Which two instructions make a bundle.

A bundle is worker code: a main-lane and an aux-lane instruction that write different registers.
Both read before either writes. Evidence: public assembler tests; docs/assembly.md.
"""

from collections.abc import Iterator

from tilewright.isa.codec import Instruction
from tilewright.isa.forms import Lane

LANES = (Lane.MAIN, Lane.AUX)
"""The lanes of a bundle's instructions, in order."""


def written_registers(instruction: Instruction) -> frozenset[tuple[str, int]]:
    """(file, number) of each register that the instruction defines, groups counted whole.

    Addresses that it only modifies do not count; registers that discard what is written do.
    """
    return frozenset(
        (operand.file, number)
        for operand, first in zip(instruction.form.operands, instruction.values, strict=True)
        if operand.writes and not operand.reads
        for number in range(first, first + operand.count)
    )


def bundle_faults(
    members: tuple[Instruction, Instruction], names: tuple[str, str]
) -> Iterator[tuple[int, str]]:
    """What forbids the bundle: which member is at fault, and the message, which uses `names`."""
    lanes = tuple(member.form.lane for member in members)
    if lanes == (Lane.AUX, Lane.MAIN):
        yield (
            0,
            f"'{names[0]}' is an aux instruction and '{names[1]}' a main one: "
            "the main instruction comes first (.allow_optimizations swaps them)",
        )
        return
    for place, member in enumerate(members):
        if member.form.is_solo:
            yield place, f"'{names[place]}' cannot be part of a bundle"
        elif member.form.lane is not LANES[place]:
            kind = "first instruction of a bundle must be a main one"
            if place == 1:
                kind = "second instruction of a bundle must be an aux one"
            yield place, f"'{names[place]}' is invalid here: the {kind}"
    clash = written_registers(members[0]) & written_registers(members[1])
    if lanes == LANES and clash:
        file, number = min(clash)
        yield 1, f"both instructions of the bundle write the same destination ${file}{number}"
