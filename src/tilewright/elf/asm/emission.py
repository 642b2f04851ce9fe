"""From encoded instructions to bytes in a section: single words, bundles, repeats, alignment."""

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.elf.asm.diagnostics import Fault, Place
from tilewright.elf.asm.expressions import Node, Number
from tilewright.elf.asm.instructions import Encoded, Switches
from tilewright.elf.asm.sections import OperandFixup, Placed, Repeat, SectionBuilder
from tilewright.elf.asm.source import Line
from tilewright.isa import COISSUE, FORM_BY_NAME, Instruction, Lane

_FNOP = Instruction(FORM_BY_NAME["setzi a,x20"], (13, 0))
_REPEAT_ALIGNMENT = 8
_WORD = 4


@dataclass(frozen=True, slots=True)
class Written:
    """An encoded instruction and where it was written; `origin` is the column of its operands."""

    encoded: Encoded
    mnemonic: str
    place: Place
    origin: int

    @property
    def line(self) -> Line:
        return self.place.line

    @property
    def instruction(self) -> Instruction:
        """The instruction, with 0 for operands that wait."""
        form, word = self.encoded.form, self.encoded.word
        return Instruction(form, tuple(operand.decode(word) for operand in form.operands))


def emit(section: SectionBuilder, written: Written, switches: Switches) -> None:
    """Append one instruction. Raises `Fault` if the section cannot hold code."""
    if written.encoded.form.mnemonic == "rpt":
        _note_repeat(section, written, body=section.size + _WORD, is_bundled=False)
    _append(section, written, switches, coissue=False)


def emit_bundle(section: SectionBuilder, main: Written, aux: Written, switches: Switches) -> None:
    """Append the two instructions of a bundle, which has been checked. Raises `Fault`."""
    if main.encoded.form.mnemonic == "rpt":
        body = section.size + 2 * _WORD
        if switches.allow_optimizations and body % _REPEAT_ALIGNMENT and _is_fnop(aux):
            # A bare rpt is one word shorter, which puts the body where it must be.
            emit(section, main, switches)
            return
        _note_repeat(section, main, body, is_bundled=True)
    _append(section, main, switches, coissue=True)
    _append(section, aux, switches, coissue=True)


def emit_placeholder(section: SectionBuilder, line: Line, words: int) -> None:
    """Keep the places of what follows when an instruction is faulty."""
    if section.holds_no_bytes:
        return
    for _ in range(words):
        section.instructions.append(Placed(section.size, None, False, line))
        section.append(bytes(_WORD))


def in_bundle_order(members: Sequence[Written], switches: Switches) -> tuple[Written, Written]:
    """The members, swapped where `.allow_optimizations` permits and puts them right."""
    first, second = members
    lanes = (first.encoded.form.lane, second.encoded.form.lane)
    if switches.allow_optimizations and lanes == (Lane.AUX, Lane.MAIN):
        return second, first
    return first, second


def _is_fnop(written: Written) -> bool:
    return written.encoded.pending is None and written.instruction == _FNOP


def _note_repeat(section: SectionBuilder, written: Written, body: int, is_bundled: bool) -> None:
    pending = written.encoded.pending
    size: Node
    if pending is None:
        size = Number(written.encoded.form.operands[1].decode(written.encoded.word))
    else:
        value = pending.values[1]
        size = Number(value) if isinstance(value, int) else value
    section.require_alignment(_REPEAT_ALIGNMENT)
    section.repeats.append(Repeat(body, size, is_bundled, written.place))


def _append(section: SectionBuilder, written: Written, switches: Switches, coissue: bool) -> None:
    encoded = written.encoded
    if not section.is_code:
        name = section.section.name
        raise Fault(f'instructions need an executable section; {name} is not (flag "x")')
    if len(section.data) % _WORD:
        raise Fault(f"instructions are aligned to {_WORD} bytes; add '.align {_WORD}' before this")
    if encoded.pending is not None:
        pending = encoded.pending
        places = tuple(
            Place(written.line, written.origin + start, written.origin + end)
            for start, end in pending.spans
        )
        section.fixups.append(
            OperandFixup(
                section.size,
                pending.spellings,
                pending.values,
                places,
                coissue,
                switches.allow_invalid_operands,
                pending.subtracts,
            )
        )
    section.instructions.append(Placed(section.size, encoded.form, coissue, written.line))
    section.data += (encoded.word | (COISSUE if coissue else 0)).to_bytes(_WORD, "little")
