"""Every way to write an instruction: plain mnemonics, aliases, forced and shortened forms.

A spelling stands for one instruction word. Pseudo-instructions that make two words or change a
value (`ldconst`, `sub` with a subtracted immediate) belong to the assembler. Evidence: public
assembler tests and help texts; the names ending in `zi` and `iz`, which force one of two logical
immediates, are ours, so that every word has a text that assembles back to it.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.isa.codec import Instruction
from tilewright.isa.forms import Form, Kind, Operand
from tilewright.isa.registers import AZERO, AZEROS, MZERO
from tilewright.isa.table import FORM_BY_NAME, FORMS

Signature = tuple[str, ...]
"""The operands as they look in text; see `Operand.signature`."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """An operand value that the spelling supplies."""

    value: int


@dataclass(frozen=True, slots=True)
class Spelling:
    """`mnemonic` with operands 0, 1, … stands for `form` with `operands`.

    Each entry of `operands` is the position of an operand in the text, or a `Fixed` value.
    `signature` is that of the text. `is_preferred`: printed instead of the plain mnemonic.
    `places`: for each operand of the text, the form's operand that it fills (the first of them);
    `text_operands` are those operands.
    """

    mnemonic: str
    signature: Signature
    form: Form
    operands: tuple[int | Fixed, ...]
    is_preferred: bool = False
    places: tuple[int, ...] = dataclasses.field(init=False)
    text_operands: tuple[Operand, ...] = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        places = tuple(self.operands.index(position) for position in range(len(self.signature)))
        object.__setattr__(self, "places", places)
        object.__setattr__(
            self, "text_operands", tuple(self.form.operands[place] for place in places)
        )

    def expand(self, values: Sequence[int]) -> tuple[int, ...]:
        """The form's operand values for those of the text."""
        return tuple(
            entry.value if isinstance(entry, Fixed) else values[entry] for entry in self.operands
        )

    def can_print(self, instruction: Instruction) -> bool:
        """Whether this spelling, read back, gives `instruction`."""
        if instruction.form is not self.form:
            return False
        values = [instruction.values[place] for place in self.places]
        return self.expand(values) == instruction.values


def _plain(form: Form) -> Spelling:
    return _renamed(form.mnemonic, form)


def _renamed(mnemonic: str, form: Form, is_preferred: bool = False) -> Spelling:
    positions = tuple(range(len(form.operands)))
    return Spelling(mnemonic, form.signature, form, positions, is_preferred)


def _alias(mnemonic: str, form_name: str, *operands: int | Fixed) -> Spelling:
    form = FORM_BY_NAME[form_name]
    arity = 1 + max((entry for entry in operands if isinstance(entry, int)), default=-1)
    signature = tuple(
        form.operands[operands.index(position)].signature for position in range(arity)
    )
    return Spelling(mnemonic, signature, form, operands, is_preferred=True)


# The first preferred spelling that fits is the one printed, so `zero` stands before `mov`.
_PREFERRED: tuple[Spelling, ...] = (
    _alias("nop", "setzi m,x20", Fixed(14), Fixed(0)),
    _alias("fnop", "setzi a,x20", Fixed(13), Fixed(0)),
    _alias("zero", "or m,m,m", 0, Fixed(MZERO), Fixed(MZERO)),
    _alias("zero", "or a,a,a", 0, Fixed(AZERO), Fixed(AZERO)),
    _alias("zero", "or64 aa,aa,aa", 0, Fixed(AZEROS), Fixed(AZEROS)),
    _alias("mov", "or m,m,u12", 0, 1, Fixed(0)),
    _alias("mov", "or a,a,u12", 0, 1, Fixed(0)),
    _alias("mov", "or64 aa,aa,aa", 0, 1, Fixed(AZEROS)),
    _alias("mov", "atom m,a", 0, 1),
    _alias("swap16", "roll16 m,m,m", 0, 1, 1),
    _alias("swap16", "roll16 a,a,a", 0, 1, 1),
    _alias("strap", "put c8,m", Fixed(255), Fixed(MZERO)),
    _renamed("movnz", FORM_BY_NAME["movz m,m,m"], is_preferred=True),
    _renamed("get", FORM_BY_NAME["uget a,c8"], is_preferred=True),
    _renamed("put", FORM_BY_NAME["uput c8,a"], is_preferred=True),
)

_OTHER_NAMES: tuple[Spelling, ...] = (
    _renamed("f16v4sisov2amp", FORM_BY_NAME["f16v4sisoamp aa,aa,aa,f6"]),
    _renamed("f16v4sisov2slic", FORM_BY_NAME["f16v4sisoslic aa,aa,aa,f6"]),
    # Help texts write the incremented base of stm32step with `+=`, assembler tests without.
    Spelling("stm32step", ("m", "m+=", "m"), FORM_BY_NAME["stm32step m,m,m"], (0, 1, 2)),
)


def _short_memory_spellings() -> Iterator[Spelling]:
    """`ld32 $m1, $m2, 5` for `ld32 $m1, $m2, $m15, 5`: loads and stores without a delta."""
    for form in FORMS:
        if not form.mnemonic.startswith(("ld", "st")) or len(form.operands) != 4:
            continue
        if all(operand.signature == "m" for operand in form.operands[1:3]):
            data, base, _, offset = form.signature
            yield Spelling(form.mnemonic, (data, base, offset), form, (0, 1, Fixed(MZERO), 2))


_FORCING_SUFFIX = {
    (Kind.SIGNED, 0): "s",
    (Kind.UNSIGNED, 0): "z",
    (Kind.UNSIGNED, 20): "iz",
}


def _forced_spellings() -> Iterator[Spelling]:
    """Mnemonics that choose between forms whose text is alike: `adds`, `addz`, `orzi`, `oriz`."""
    alike: dict[tuple[str, Signature], list[Form]] = {}
    for form in FORMS:
        alike.setdefault((form.mnemonic, form.signature), []).append(form)
    for forms in alike.values():
        if len(forms) == 1:
            continue
        for form in forms:
            immediate = next(operand for operand in form.operands if not operand.is_register)
            suffix = _FORCING_SUFFIX[immediate.kind, immediate.shift]
            if any(operand.shift for other in forms for operand in other.operands):
                suffix = suffix.replace("z", "zi") if suffix == "z" else suffix
            yield _renamed(form.mnemonic + suffix, form)


_FORCED = {spelling.form: spelling for spelling in _forced_spellings()}

SPELLINGS: dict[str, dict[Signature, tuple[Spelling, ...]]] = {}
"""Mnemonic → signature of the text → spellings; the first whose operands hold the values counts."""

for _spelling in (
    *map(_plain, FORMS),
    *_PREFERRED,
    *_OTHER_NAMES,
    *_short_memory_spellings(),
    *_FORCED.values(),
):
    _by_signature = SPELLINGS.setdefault(_spelling.mnemonic, {})
    _earlier = _by_signature.get(_spelling.signature, ())
    _by_signature[_spelling.signature] = (*_earlier, _spelling)

_PREFERRED_BY_FORM: dict[Form, list[Spelling]] = {}
for _spelling in _PREFERRED:
    _PREFERRED_BY_FORM.setdefault(_spelling.form, []).append(_spelling)


def spelling_of(instruction: Instruction) -> Spelling:
    """The spelling to print: it assembles back to the same word."""
    form = instruction.form
    for spelling in _PREFERRED_BY_FORM.get(form, ()):
        if spelling.can_print(instruction):
            return spelling
    for spelling in SPELLINGS[form.mnemonic][form.signature]:
        if spelling.form is form:
            return spelling
        if _accepts(spelling.form, instruction.values):
            return _FORCED[form]
    raise AssertionError(f"{form} has no spelling")


def _accepts(form: Form, values: Sequence[int]) -> bool:
    return all(operand.accepts(value) for operand, value in zip(form.operands, values, strict=True))


def instruction_text(instruction: Instruction) -> str:
    """The instruction as assembly text, without braces: `ld32 $m1, $m2, $m15, 5`.

    Targets are hexadecimal byte addresses; other immediates decimal; CSRs plain numbers.
    """
    spelling = spelling_of(instruction)
    operands = (
        instruction.form.operands[place].text(instruction.values[place])
        for place in spelling.places
    )
    return f"{spelling.mnemonic} {', '.join(operands)}".rstrip()
