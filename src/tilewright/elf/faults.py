"""The error of linking: all faults of one kind, told together."""

from collections.abc import Sequence

from tilewright.errors import TilewrightError


class LinkError(TilewrightError):
    """Objects that cannot be linked; the message lists every fault of the step that failed."""


def link_error(heading: str, faults: Sequence[str], most_shown: int | None = None) -> LinkError:
    """An error with one line per fault under `heading`; past `most_shown`, their number only."""
    shown = faults if most_shown is None else faults[:most_shown]
    lines = [f"{heading}:", *(f"  {fault}" for fault in shown)]
    if len(shown) < len(faults):
        lines.append(f"  and {len(faults) - len(shown)} more")
    return LinkError("\n".join(lines))
