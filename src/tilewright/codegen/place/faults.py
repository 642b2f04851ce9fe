"""Errors of placement that concern its input; what does not fit is in `failure`."""

from collections.abc import Callable, Sequence

from tilewright.errors import TilewrightError

MOST_NAMED = 8
"""Faults of one kind that a message lists; it counts the others."""

Names = Callable[[int], str]
"""The name of the owner of a request, given its `value`."""


class PolicyError(TilewrightError):
    """Arenas or reservations that do not suit the memory of a tile."""


class RequestError(TilewrightError):
    """Requests that contradict each other or the chip; the message names them."""


class PlacementCheckError(TilewrightError):
    """A placement that breaks what its requests or its policy ask for."""


def listing(reason: str, lines: Sequence[str], total: int | None = None) -> str:
    """The reason, and a line for each of the first faults; `total` says how many there are."""
    more = (len(lines) if total is None else total) - MOST_NAMED
    rest = [f"and {more:,} more"] if more > 0 else []
    return "\n  ".join([f"{reason}:", *lines[:MOST_NAMED], *rest])
