"""The instructions of rows: their limits, and arrays of them as words."""

import numpy as np
import numpy.typing as npt

from tilewright.exchange.phase import Ints
from tilewright.isa import (
    CONTROL_IS_PAIRED,
    CONTROL_POINTER,
    CONTROL_SOURCE,
    FORMS,
    Form,
    encode_words,
)

Words = npt.NDArray[np.uint32]

DELAY, DELAY_POINTER, DELAY_MUX, SEND, SEND_ON, SEND_CONTROL, SEND_BOTH = range(7)
"""Operations of rows, in the order of `_MNEMONICS`."""
_MNEMONICS = ("delay", "delaypic", "delayxpic", "send", "sendoff", "sendpic", "sendpicp")


def _form(mnemonic: str) -> Form:
    """The only form of a mnemonic."""
    (form,) = (form for form in FORMS if form.mnemonic == mnemonic)
    return form


_FORMS = tuple(_form(mnemonic) for mnemonic in _MNEMONICS)

MOST_EVENTS = np.array([form.operands[0].maximum + 1 for form in _FORMS], dtype=np.int64)
"""Per operation: the events of the longest instruction."""

LAST_SEND_PLACE = _FORMS[SEND].operands[1].maximum
LAST_POINTER = _FORMS[DELAY_POINTER].operands[2].maximum
"""The last source address in items, and destination in words, that an instruction holds."""


def instruction_words(
    operation: Ints,
    events: Ints,
    place: Ints,
    control: Ints,
    pointer_kind: Ints,
    pointer: Ints,
    source_kind: Ints,
    source: Ints,
) -> tuple[Words, Ints]:
    """The words of instructions, and the place of each instruction's first word.

    `place` and `control` are the operands of sends; a `pointer` is an incoming pointer or format as
    `pointer_kind` selects, a `source` a mux number for the tile or its pair as `source_kind` does.
    """
    sizes = np.where(operation == SEND_BOTH, 2, 1)
    first = np.cumsum(sizes) - sizes
    words = np.zeros(int(sizes.sum()), dtype=np.uint32)
    counts = events - 1
    sets_source = source_kind >= 0
    # `sendpic` selects among all four controls: sources before pointers.
    chosen = np.where(sets_source, source_kind, 2 + pointer_kind)
    value = np.where(sets_source, source, pointer)
    operands: tuple[tuple[Ints, ...], ...] = (
        (counts,),
        (counts, pointer_kind, pointer),
        (counts, source_kind, source),
        (counts, place, control),
        (counts, np.zeros_like(counts), control),
        (counts, chosen, value),
        (counts, place, control, pointer_kind),
    )
    for code, (form, values) in enumerate(zip(_FORMS, operands, strict=True)):
        of_code = operation == code
        if of_code.any():
            words[first[of_code]] = encode_words(form, *(each[of_code] for each in values))
    both = operation == SEND_BOTH
    words[first[both] + 1] = (
        CONTROL_IS_PAIRED.insert(source_kind[both])
        | CONTROL_SOURCE.insert(source[both])
        | CONTROL_POINTER.insert(pointer[both])
    )
    return words, first
