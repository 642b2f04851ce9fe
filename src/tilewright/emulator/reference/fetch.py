"""Fetch and decode: the instruction or bundle at an address, or the fault that it raises."""

from dataclasses import dataclass
from functools import lru_cache

from tilewright.emulator.faults import InstructionFault, OperandFault, ProgramCounterFault
from tilewright.emulator.memory import UNWRITTEN_WORD
from tilewright.isa import Form, Instruction, Lane, Mode, bundle_faults, decode
from tilewright.isa.meaning import Bound
from tilewright.target.geometry import EXECUTABLE_END, MEMORY_BASE

WORD = 4
BUNDLE = 8


@dataclass(frozen=True, slots=True)
class Decoded:
    """An instruction with bound operands."""

    form: Form
    operands: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Fetched:
    """What one issue slot executes: one instruction, or the two of a bundle; `size` in bytes."""

    members: tuple[Decoded, ...]
    size: int

    @property
    def is_bundle(self) -> bool:
        return len(self.members) == 2


def check_code_address(address: int) -> None:
    """Raises `ProgramCounterFault` unless an instruction can be fetched there."""
    if address % WORD:
        raise ProgramCounterFault(f"{address:#x} is not aligned to {WORD} bytes")
    if not MEMORY_BASE <= address < EXECUTABLE_END:
        raise ProgramCounterFault(
            f"{address:#x} is outside {MEMORY_BASE:#x} to {EXECUTABLE_END:#x}, "
            "from where instructions can be fetched"
        )


@lru_cache(maxsize=1 << 16)
def fetch(first: int, second: int, mode: Mode) -> Fetched:
    """The instruction or bundle that starts with word `first`; `second` is the word after it.

    Raises `InstructionFault` and `OperandFault`.
    """
    main = _instruction(first, mode)
    if not main.coissue:
        return Fetched((_bound(main),), WORD * main.form.words)
    if main.form.lane is not Lane.MAIN:
        raise InstructionFault(f"{first:#010x} is the second half of a bundle")
    aux = _instruction(second, mode)
    if not aux.coissue:
        raise InstructionFault(
            f"{first:#010x} starts a bundle, but {second:#010x} is no half of one"
        )
    for _, message in bundle_faults((main, aux), (main.form.mnemonic, aux.form.mnemonic)):
        raise OperandFault(message)
    return Fetched((_bound(main), _bound(aux)), BUNDLE)


def check_repeat_member(fetched: Fetched, address: int) -> None:
    """Raises `InstructionFault` for what cannot be in a repeat body."""
    if address % BUNDLE:
        raise InstructionFault(f"the repeat body is not aligned to {BUNDLE} bytes at {address:#x}")
    if not fetched.is_bundle:
        raise InstructionFault("a repeat body holds bundles only")
    for member in fetched.members:
        if member.form.is_control or member.form.is_system:
            raise InstructionFault(f"'{member.form.mnemonic}' is not allowed in a repeat body")


def _instruction(word: int, mode: Mode) -> Instruction:
    if word == UNWRITTEN_WORD:  # it would be a send that sends nothing
        raise InstructionFault("there is no instruction: nobody has written this memory")
    instruction = decode(word)
    if instruction is None:
        raise InstructionFault(f"{word:#010x} is no instruction")
    if not instruction.form.mode.allows(mode):
        kind = instruction.form.mode.value
        raise InstructionFault(
            f"'{instruction.form.mnemonic}' is a {kind} instruction, met by a {mode.value}"
        )
    return instruction


def _bound(instruction: Instruction) -> Decoded:
    form = instruction.form
    widest = max((each.count for each in form.operands if each.file == "a"), default=1)
    operands = tuple(
        Bound(operand, value, 32 * widest)
        for operand, value in zip(form.operands, instruction.values, strict=True)
    )
    return Decoded(form, operands)
