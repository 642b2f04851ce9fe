"""Which function states the meaning of which instruction."""

from collections.abc import Callable
from typing import Any

Meaning = Callable[..., None]
"""Takes a machine and the operands in text order."""

MEANINGS: dict[str, Meaning] = {}
"""Mnemonic → meaning: the forms of a mnemonic differ in how they give the operands only."""


def meaning(*mnemonics: str) -> Callable[[Meaning], Meaning]:
    """Register a function as the meaning of instructions."""

    def register(function: Meaning) -> Meaning:
        for mnemonic in mnemonics:
            assert mnemonic not in MEANINGS, f"two meanings of {mnemonic}"
            MEANINGS[mnemonic] = function
        return function

    return register


def register_family(mnemonics: dict[str, tuple[Any, ...]], make: Callable[..., Meaning]) -> None:
    """Register `make(*arguments)` for each mnemonic of a regular family."""
    for mnemonic, arguments in mnemonics.items():
        meaning(mnemonic)(make(*arguments))
