"""From encoded instructions to bytes in a section: single words, bundles, repeats, alignment."""

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.elf.asm.diagnostics import Fault, Place
from tilewright.elf.asm.expressions import Node, Number
from tilewright.elf.asm.instructions import Encoded, Switches
from tilewright.elf.asm.sections import OperandFixup, Placed, Repeat, SectionBuilder
from tilewright.elf.asm.source import Line
from tilewright.isa import COISSUE, FORM_BY_NAME, Lane

_FNOP = (FORM_BY_NAME["setzi a,x20"], (13, 0))
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


def emit(section: SectionBuilder, written: Written, switches: Switches) -> None:
    """Append one instruction. Raises `Fault` if the section cannot hold code."""
    if written.encoded.form.mnemonic == "rpt":
        _note_repeat(section, written, body=section.size + _WORD, is_bundled=False)
    _append(section, written, switches, coissue=False)


def emit_bundle(section: SectionBuilder, members: Sequence[Written], switches: Switches) -> None:
    """Append the two instructions of a bundle, which has been checked. Raises `Fault`."""
    main, aux = members
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


def bundle_faults(members: Sequence[Written]) -> list[tuple[Written, str]]:
    """What is wrong with two instructions as a bundle, and with which of them."""
    main, aux = members
    if main.encoded.form.lane is Lane.AUX and aux.encoded.form.lane is Lane.MAIN:
        message = (
            f"'{main.mnemonic}' is an aux instruction and '{aux.mnemonic}' a main one: "
            "the main instruction comes first (.allow_optimizations swaps them)"
        )
        return [(main, message)]
    faults = []
    for member, lane in ((main, Lane.MAIN), (aux, Lane.AUX)):
        form = member.encoded.form
        if form.is_solo:
            faults.append((member, f"'{member.mnemonic}' cannot be part of a bundle"))
        elif form.lane is not lane:
            place = "first" if lane is Lane.MAIN else "second"
            message = (
                f"'{member.mnemonic}' is invalid here: the {place} instruction of a bundle "
                f"must be {_article(lane)} {lane.value} one"
            )
            faults.append((member, message))
    if not faults:
        clash = main.encoded.written_registers() & aux.encoded.written_registers()
        if clash:
            file, number = min(clash)
            message = f"both instructions of the bundle write the same destination ${file}{number}"
            faults.append((aux, message))
    return faults


def in_bundle_order(members: Sequence[Written], switches: Switches) -> Sequence[Written]:
    """The members, swapped where `.allow_optimizations` permits and puts them right."""
    first, second = members
    lanes = (first.encoded.form.lane, second.encoded.form.lane)
    if switches.allow_optimizations and lanes == (Lane.AUX, Lane.MAIN):
        return second, first
    return members


def _article(lane: Lane) -> str:
    return "an" if lane is Lane.AUX else "a"


def _is_fnop(written: Written) -> bool:
    form, values = _FNOP
    encoded = written.encoded
    return (
        encoded.form is form
        and encoded.pending is None
        and all(
            operand.decode(encoded.word) == value
            for operand, value in zip(form.operands, values, strict=True)
        )
    )


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
            )
        )
    section.instructions.append(Placed(section.size, encoded.form, coissue, written.line))
    section.data += (encoded.word | (COISSUE if coissue else 0)).to_bytes(_WORD, "little")
