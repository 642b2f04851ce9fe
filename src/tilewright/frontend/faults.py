"""The errors of frontends."""

from collections.abc import Sequence
from pathlib import Path

from tilewright.errors import TilewrightError

MOST_SHOWN = 40
"""Faults in one message; `faults` has all of them."""


class CheckpointError(TilewrightError):
    """A checkpoint that cannot be used; `faults` holds one line for each thing that is wrong."""

    def __init__(self, place: Path | str, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        shown = [f"  {fault}" for fault in faults[:MOST_SHOWN]]
        if len(faults) > MOST_SHOWN:
            shown.append(f"  … and {len(faults) - MOST_SHOWN} more")
        super().__init__("\n".join([f"the checkpoint {place} cannot be used:", *shown]))


class TextError(TilewrightError):
    """Texts, or sizes asked for, that a checkpoint's encoder does not take."""
