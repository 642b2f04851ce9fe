"""Which instruction a mnemonic and its operands denote, and what to say when none does."""

import difflib
from collections.abc import Sequence

from tilewright.elf.asm.operands import RegisterOperand, TextOperand
from tilewright.isa import SPELLINGS, Operand, Spelling


def find_spellings(mnemonic: str, operands: Sequence[TextOperand]) -> tuple[Spelling, ...]:
    """The spellings with these kinds of operands. Raises `OperandMismatch` if there are none."""
    signatures = SPELLINGS[mnemonic]
    found = signatures.get(tuple([operand.signature for operand in operands]))
    if found is None:
        raise _mismatch(mnemonic, operands)
    return found


class OperandMismatch(Exception):
    """No form takes these operands; `position` is the one at fault, None for their number."""

    def __init__(self, message: str, position: int | None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


_LIKENESS = 0.7
"""How much alike two words must be for a hint."""


def unknown_mnemonic(mnemonic: str) -> str:
    """The message for a word that is neither an instruction nor a macro."""
    close = difflib.get_close_matches(mnemonic.lower(), [*SPELLINGS, "ldconst"], 1, _LIKENESS)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return f"unknown instruction '{mnemonic}'{hint}"


def _mismatch(mnemonic: str, operands: Sequence[TextOperand]) -> OperandMismatch:
    signatures = SPELLINGS[mnemonic]
    counts = sorted({len(signature) for signature in signatures})
    takes = " or ".join(map(str, counts))
    if len(operands) < counts[0]:
        message = f"too few operands: '{mnemonic}' takes {takes}, got {len(operands)}"
        return OperandMismatch(message, None)
    if len(operands) > counts[-1]:
        message = f"too many operands: '{mnemonic}' takes {takes}, got {len(operands)}"
        return OperandMismatch(message, counts[-1])
    candidates = [each for spellings in signatures.values() for each in spellings]
    fitting = [each for each in candidates if len(each.signature) == len(operands)] or candidates
    position = max(_agreement(each, operands) for each in fitting)
    expected = [
        each.text_operands[position]
        for each in fitting
        if _agreement(each, operands) == position and position < len(each.signature)
    ]
    if position >= len(operands) or not expected:
        message = f"'{mnemonic}' does not take {len(operands)} operands of these kinds"
        return OperandMismatch(message, None)
    return OperandMismatch(_explain(operands[position], expected), position)


def _agreement(spelling: Spelling, operands: Sequence[TextOperand]) -> int:
    """How many leading operands fit."""
    count = 0
    for signature, operand in zip(spelling.signature, operands, strict=False):
        if signature != operand.signature:
            break
        count += 1
    return count


def _explain(found: TextOperand, expected: Sequence[Operand]) -> str:
    wanted = " or ".join(dict.fromkeys(operand.describe() for operand in expected))
    if isinstance(found, RegisterOperand):
        alike = [each for each in expected if (each.file, each.count) == (found.file, found.count)]
        if alike and found.suffix not in {each.suffix for each in alike}:
            return _explain_suffix(found.suffix, alike)
        return f"expected {wanted}"
    if all(operand.is_register for operand in expected):
        return f"expected {wanted}; registers are written with '$'"
    return f"expected {wanted}"


def _explain_suffix(found: str, expected: Sequence[Operand]) -> str:
    wanted = " or ".join(dict.fromkeys(f"'{each.suffix}'" for each in expected if each.suffix))
    if not wanted:
        return f"invalid suffix '{found}': this operand takes none"
    if not found:
        return f"missing suffix {wanted}: the instruction changes this register"
    return f"invalid suffix '{found}': expected {wanted}"


_MOST_SUBTRACTED = (1 << 15) - 1


def subtrahend_fault(value: int) -> str | None:
    """What is wrong with a number that `sub` subtracts, None if nothing is."""
    if abs(value) <= _MOST_SUBTRACTED:
        return None
    limits = f"{-_MOST_SUBTRACTED} to {_MOST_SUBTRACTED}"
    return f"operand out of range: expected a number from {limits}, got {value}"


def out_of_range(spellings: Sequence[Spelling], position: int, value: int) -> str:
    """The message for a number that no spelling can hold as its operand `position`."""
    ranges = dict.fromkeys(each.text_operands[position].describe() for each in spellings)
    operand = spellings[0].text_operands[position]
    shown = f"{value:#x}" if operand.shift and value >= 0 else str(value)
    what = "offset" if operand.unit else "operand"
    return f"{what} out of range: expected {' or '.join(ranges)}, got {shown}"
