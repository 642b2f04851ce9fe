"""Words of code as lines of assembly: bundles, single instructions, and words that are neither."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tilewright.isa import (
    COISSUE,
    FORMS,
    UNKNOWN,
    Form,
    Instruction,
    Lane,
    Mode,
    bundle_faults,
    decode,
    decode_words,
    instruction_text,
)

WORD_SIZE = 4
"""Bytes of an instruction word."""

Role = Literal["main", "aux"]
"""The half of a bundle that a line is."""


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A word and its text. `form` is None if the word prints as data (`.long`).

    The texts of a bundle carry its braces: `{ main`, `aux }`, one word each.
    """

    address: int
    word: int
    text: str
    role: Role | None
    form: Form | None


def disassemble_words(
    words: NDArray[np.uint32], base: int, data: Iterable[int] = ()
) -> list[CodeLine]:
    """One line for each word; the first is at `base`, in bytes, and starts a section.

    The texts, separated by newlines, assemble back to the words where the mode (worker or
    supervisor) suits them. `data` holds positions of words that are not read as instructions.
    A word prints as `.long` if it is no instruction, if it is one of two words that does not start
    at a multiple of 8 bytes, or its second word, or if it is marked as half of a bundle that the
    assembler would refuse.
    """
    forms = decode_words(words)
    forms[list(data)] = UNKNOWN
    _hide_second_words(forms)
    mains = _bundle_starts(words, forms)
    roles: dict[int, Role] = dict.fromkeys(mains, "main")
    roles |= dict.fromkeys((start + 1 for start in mains), "aux")
    shared = (words & COISSUE != 0) & ~_TRAITS.is_solo[forms]
    return [
        _line(base + WORD_SIZE * position, word, form, roles.get(position), needs_partner)
        for position, (word, form, needs_partner) in enumerate(
            zip(words.tolist(), forms.tolist(), shared.tolist(), strict=True)
        )
    ]


def may_share_bundle(main: Instruction, aux: Instruction) -> bool:
    """Whether the two make a legal bundle, in this order; bundles are worker code."""
    if any(each.form.mode is Mode.SUPERVISOR for each in (main, aux)):
        return False
    return not any(bundle_faults((main, aux), ("", "")))


def has_faulty_repeat(lines: Sequence[CodeLine], is_followed: bool) -> bool:
    """Whether the assembler would refuse a `rpt` among the lines of a section, its first at 0.

    The body must start at a multiple of 8 bytes and consist of whole bundles without control or
    system instructions. A `rpt` at the very end has nothing to check; `is_followed` tells that the
    section goes on after the lines, with bytes that are no word.
    """
    return any(
        _body_is_faulty(lines, position, line.form, is_followed)
        for position, line in enumerate(lines)
        if line.form is not None and line.form.mnemonic == "rpt"
    )


def _body_is_faulty(lines: Sequence[CodeLine], repeat: int, form: Form, is_followed: bool) -> bool:
    start = repeat + (2 if lines[repeat].role == "main" else 1)
    if start == len(lines) and not is_followed:
        return False
    words = 2 * (form.operands[-1].decode(lines[repeat].word) + 1)
    body = lines[start : start + words]
    return start % 2 != 0 or len(body) < words or any(map(_is_barred_from_repeats, body))


def _is_barred_from_repeats(line: CodeLine) -> bool:
    if line.role is None or line.form is None:
        return True
    return line.form.is_control or line.form.is_system


class _Traits:
    """Facts about forms as arrays, indexed by form; the last entry stands for `UNKNOWN`."""

    def __init__(self) -> None:
        self.is_main = np.array([*(form.lane is Lane.MAIN for form in FORMS), False])
        self.is_aux = np.array([*(form.lane is Lane.AUX for form in FORMS), False])
        self.is_solo = np.array([*(form.is_solo for form in FORMS), True])
        self.has_two_words = np.array([*(form.words == 2 for form in FORMS), False])


_TRAITS = _Traits()


def _hide_second_words(forms: NDArray[np.int16]) -> None:
    """Make the data of two-word instructions unknown, and those that are misaligned themselves."""
    for position in np.flatnonzero(_TRAITS.has_two_words[forms]).tolist():
        if forms[position] == UNKNOWN:
            continue  # the second word of one may look like the first word of another
        if position % 2:
            forms[position] = UNKNOWN
        else:
            forms[position + 1 : position + 2] = UNKNOWN


def _bundle_starts(words: NDArray[np.uint32], forms: NDArray[np.int16]) -> list[int]:
    """Where bundles start. They cannot overlap, since the lanes of their halves differ."""
    marked = words & COISSUE != 0
    firsts = marked[:-1] & _TRAITS.is_main[forms[:-1]]
    seconds = marked[1:] & _TRAITS.is_aux[forms[1:]]
    starts = np.flatnonzero(firsts & seconds)
    pairs = zip(words[starts].tolist(), words[starts + 1].tolist(), strict=True)
    return [start for start, pair in zip(starts.tolist(), pairs, strict=True) if _is_bundle(*pair)]


@lru_cache(maxsize=1 << 16)
def _is_bundle(first: int, second: int) -> bool:
    main, aux = decode(first), decode(second)
    return main is not None and aux is not None and may_share_bundle(main, aux)


def _line(address: int, word: int, form: int, role: Role | None, needs_partner: bool) -> CodeLine:
    if form == UNKNOWN or (needs_partner and role is None):
        return CodeLine(address, word, f".long {word:#010x}", None, None)
    return CodeLine(address, word, with_braces(_text(word), role), role, FORMS[form])


def with_braces(text: str, role: Role | None) -> str:
    """The text of an instruction as half of a bundle, or as it is if `role` is None."""
    return {None: text, "main": f"{{ {text}", "aux": f"{text} }}"}[role]


@lru_cache(maxsize=1 << 16)
def _text(word: int) -> str:
    instruction = decode(word)
    assert instruction is not None, "the word has a form"
    return instruction_text(instruction)
