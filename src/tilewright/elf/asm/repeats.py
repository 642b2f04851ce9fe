"""The rules of `rpt` bodies, checked when a section is complete.

The hardware repeats a body of whole bundles that starts at a multiple of 8 bytes, and raises an
exception on anything else inside it (docs/assembly.md).
"""

from tilewright.elf.asm.diagnostics import Diagnostics, Fault
from tilewright.elf.asm.sections import Placed, Repeat, SectionBuilder
from tilewright.elf.asm.symbols import Poisoned, SymbolTable

BODY_ALIGNMENT = 8
BUNDLE_SIZE = 8


def check_repeats(section: SectionBuilder, symbols: SymbolTable, diagnostics: Diagnostics) -> None:
    """Report every repeat of the section whose body breaks a rule.

    A repeat that ends its section has no body here to check.
    """
    if not section.repeats:
        return
    by_offset = {placed.offset: placed for placed in section.instructions}
    for repeat in section.repeats:
        if repeat.body == section.size:
            continue
        try:
            value = symbols.resolve(repeat.size)
        except (Fault, Poisoned):
            continue  # reported where the operand is encoded
        if not value.is_number:
            continue
        message = _fault(repeat, value.offset + 1, by_offset)
        if message is not None:
            diagnostics.error(message, repeat.place)


def _fault(repeat: Repeat, bundles: int, by_offset: dict[int, Placed]) -> str | None:
    """The first rule that the body breaks; None if there is none, or if it has a faulty line."""
    words = [by_offset.get(offset) for offset in _body(repeat, bundles)]
    if any(placed is not None and placed.form is None for placed in words):
        return None
    if repeat.body % BODY_ALIGNMENT:
        advice = (
            "put a 'nop' before the bundle of the rpt"
            if repeat.is_bundled
            else "bundle the rpt with 'fnop'"
        )
        return f"the repeat body does not start at a multiple of {BODY_ALIGNMENT} bytes; {advice}"
    for placed in words:
        message = _word_fault(placed, bundles)
        if message is not None:
            return message
    return None


def _body(repeat: Repeat, bundles: int) -> range:
    return range(repeat.body, repeat.body + BUNDLE_SIZE * bundles, 4)


def _word_fault(placed: Placed | None, bundles: int) -> str | None:
    if placed is None or placed.form is None:
        return f"the repeat body is no {bundles} bundles: it holds data, or the section ends in it"
    line = placed.line
    where = f"{line.file}:{line.number}: {' '.join(line.text.split())}"
    if placed.form.is_control:
        return f"the repeat body holds a control instruction, {where}"
    if placed.form.is_system:
        return f"the repeat body holds a system instruction, {where}"
    if not placed.coissue:
        return f"the repeat body holds an instruction outside a bundle, {where}"
    return None
