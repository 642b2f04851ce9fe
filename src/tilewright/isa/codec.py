"""Between instruction words and (form, operand values): encode, decode, decode arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from tilewright.isa.forms import COISSUE, EncodingError, Form
from tilewright.isa.table import FORMS

UNKNOWN = -1
"""The form index of a word that is no instruction."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """A form with its operand values (see `Operand`); `coissue` marks half of a bundle."""

    form: Form
    values: tuple[int, ...]
    coissue: bool = False


def encode(form: Form, values: Sequence[int], coissue: bool = False) -> int:
    """The instruction word. Raises `EncodingError` naming the operand that does not fit."""
    if len(values) != len(form.operands):
        raise EncodingError(
            f"'{form.mnemonic}' takes {len(form.operands)} operands, got {len(values)}"
        )
    if coissue and form.is_solo:
        raise EncodingError(f"'{form.mnemonic}' cannot be part of a bundle")
    word = form.base
    for position, (operand, value) in enumerate(zip(form.operands, values, strict=True), start=1):
        try:
            word |= operand.encode(value)
        except EncodingError as error:
            raise EncodingError(f"operand {position} of '{form.mnemonic}': {error}") from None
    return word | COISSUE if coissue else word


def encode_words(form: Form, *values: npt.ArrayLike) -> NDArray[np.uint32]:
    """The words of a form for arrays of operand values, which broadcast against each other.

    No word is half of a bundle. Raises `EncodingError` for the first value that does not fit.
    """
    if len(values) != len(form.operands):
        raise EncodingError(
            f"'{form.mnemonic}' takes {len(form.operands)} operands, got {len(values)}"
        )
    arrays = np.broadcast_arrays(*values) if values else [np.zeros((), np.int64)]
    words = np.full(arrays[0].shape, form.base, dtype=np.int64)
    for position, (operand, array) in enumerate(zip(form.operands, arrays, strict=False), start=1):
        numbers = np.asarray(array, dtype=np.int64)
        wrong = (
            (numbers < operand.minimum)
            | (numbers > operand.maximum)
            | (numbers % operand.step != 0)
        )
        if wrong.any():
            first = operand.show(int(numbers[wrong].flat[0]))
            expected = operand.describe()
            raise EncodingError(
                f"operand {position} of '{form.mnemonic}': {expected} cannot be {first}"
            )
        stored = numbers >> operand.stored_shift & (1 << operand.field.width) - 1
        words |= operand.field.insert(stored)
    return words.astype(np.uint32)


def decode(word: int) -> Instruction | None:
    """The instruction that a 32-bit word holds, or None if no form has it."""
    form = _form_of(word)
    if form is None:
        return None
    values = tuple(operand.decode(word) for operand in form.operands)
    return Instruction(form, values, coissue=bool(word & COISSUE) and not form.is_solo)


def decode_words(words: NDArray[np.uint32]) -> NDArray[np.int16]:
    """The form index of each word of an array, `UNKNOWN` where there is none.

    Operand values follow from `FORMS[index].operands[i].field.extract(words)`.
    """
    flat = np.ascontiguousarray(words, dtype=np.uint32).reshape(-1)
    found = np.full(flat.shape, UNKNOWN, dtype=np.int16)
    keys = (flat >> _OPCODE_SHIFT & _OPCODE_MASK).astype(np.uint8)
    order = np.argsort(keys, kind="stable")
    bounds = np.searchsorted(keys[order], np.arange(len(_GROUPS) + 1))
    for key, groups in enumerate(_GROUPS):
        places = order[bounds[key] : bounds[key + 1]]
        if not groups or not places.size:
            continue
        candidates = flat[places]
        for group in groups:
            matched = group.match(candidates)
            hits = matched != UNKNOWN
            found[places[hits]] = matched[hits]
    return found.reshape(np.shape(words))


_OPCODE_SHIFT, _OPCODE_MASK = 24, 0x7F
"""Bits 30:24: fixed in most forms, and varying only in their lowest bits in the others."""
_OPCODE_BITS = _OPCODE_MASK << _OPCODE_SHIFT


class _MaskGroup:
    """The forms of one opcode that share their mask: a look-up of masked words."""

    def __init__(self, mask: int, forms: Sequence[Form]) -> None:
        self.mask = mask
        self.forms = {form.base: form for form in forms}
        ordered = sorted(forms, key=lambda form: form.base)
        self._bases = np.array([form.base for form in ordered], dtype=np.uint32)
        self._indices = np.array([form.index for form in ordered], dtype=np.int16)
        self._checked = [
            (form.index, operand)
            for form in ordered
            for operand in form.operands
            if operand.has_unused_numbers
        ]

    def match(self, words: NDArray[np.uint32]) -> NDArray[np.int16]:
        """The form index of each word, `UNKNOWN` where none of this group fits."""
        masked = words & np.uint32(self.mask)
        places = np.minimum(np.searchsorted(self._bases, masked), len(self._bases) - 1)
        matched = np.where(self._bases[places] == masked, self._indices[places], UNKNOWN)
        for index, operand in self._checked:
            unused = operand.field.extract(words) > operand.maximum
            matched[(matched == index) & unused] = UNKNOWN
        return matched.astype(np.int16)


def _group_by_opcode() -> list[list[_MaskGroup]]:
    """For each value of bits 30:24, its mask groups; opcode bits that vary are spread out."""
    table: list[dict[int, list[Form]]] = [{} for _ in range(_OPCODE_MASK + 1)]
    for form in FORMS:
        for key in range(_OPCODE_MASK + 1):
            if (key << _OPCODE_SHIFT ^ form.base) & form.mask & _OPCODE_BITS == 0:
                table[key].setdefault(form.mask, []).append(form)
    return [[_MaskGroup(mask, forms) for mask, forms in groups.items()] for groups in table]


_GROUPS = _group_by_opcode()


def _form_of(word: int) -> Form | None:
    for group in _GROUPS[word >> _OPCODE_SHIFT & _OPCODE_MASK]:
        form = group.forms.get(word & group.mask)
        if form is not None:
            return form if _registers_exist(form, word) else None
    return None


def _registers_exist(form: Form, word: int) -> bool:
    return all(
        operand.decode(word) <= operand.maximum
        for operand in form.operands
        if operand.has_unused_numbers
    )
