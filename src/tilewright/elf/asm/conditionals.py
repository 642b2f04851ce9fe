"""Conditional assembly: which lines between `.if` and `.endif` count."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tilewright.elf.asm.diagnostics import Fault, Place

COMPARISONS: Mapping[str, Callable[[int], bool]] = {
    ".if": lambda value: value != 0,
    ".ifne": lambda value: value != 0,
    ".ifeq": lambda value: value == 0,
    ".ifgt": lambda value: value > 0,
    ".ifge": lambda value: value >= 0,
    ".iflt": lambda value: value < 0,
    ".ifle": lambda value: value <= 0,
}
"""The directives that test a number, and their tests."""

OPENING = frozenset({*COMPARISONS, ".ifdef", ".ifndef", ".ifc", ".ifnc", ".ifb", ".ifnb"})
"""Directives that open a block."""
DIRECTIVES = OPENING | {".elseif", ".else", ".endif"}


_FIRST_COMMA = re.compile(r'((?:"(?:\\.|[^"\\])*"|[^,])*?),')
"""Commas in quotes do not count."""


def texts_equal(directive: str, text: str) -> bool:
    """Whether the two texts after `.ifc` or `.ifnc` are alike. Raises `Fault`."""
    match = _FIRST_COMMA.match(text)
    if match is None:
        raise Fault(f"{directive} needs two texts and a comma between them", len(text))
    left, right = match[1].strip(), text[match.end() :].strip()
    if left.startswith('"') != right.startswith('"'):
        raise Fault(f"{directive}: both texts must be quoted, or neither", 0)
    return left == right


@dataclass(slots=True)
class _Block:
    """`is_active`: its lines count now; `is_settled`: no later branch can count."""

    place: Place
    is_active: bool
    is_settled: bool
    has_else: bool = False


@dataclass(slots=True)
class Conditionals:
    """The blocks that are open, from the outside in."""

    _blocks: list[_Block] = field(default_factory=list)

    @property
    def is_active(self) -> bool:
        """Whether lines count here."""
        return not self._blocks or self._blocks[-1].is_active

    @property
    def depth(self) -> int:
        """How many blocks are open."""
        return len(self._blocks)

    @property
    def wants_condition(self) -> bool:
        """Whether an `.elseif` here must evaluate its condition."""
        return bool(self._blocks) and not self._blocks[-1].is_settled

    def open(self, condition: bool | None, place: Place) -> None:
        """`.if` with its condition; None for a block of which no branch counts."""
        self._blocks.append(_Block(place, bool(condition), condition is not False))

    def otherwise(self, condition: bool | None) -> None:
        """`.elseif` with its condition, `.else` with None. Raises `Fault`."""
        name = ".else" if condition is None else ".elseif"
        if not self._blocks:
            raise Fault(f"{name} without .if")
        block = self._blocks[-1]
        if block.has_else:
            raise Fault(f"{name} after .else")
        block.has_else = condition is None
        block.is_active = not block.is_settled and condition is not False
        block.is_settled = block.is_settled or block.is_active

    def close(self) -> None:
        """`.endif`. Raises `Fault`."""
        if not self._blocks:
            raise Fault(".endif without .if")
        self._blocks.pop()

    def unclosed(self, depth: int) -> list[Place]:
        """Forget the blocks opened since `depth`, and tell where they were opened."""
        places = [block.place for block in self._blocks[depth:]]
        del self._blocks[depth:]
        return places
