"""Inside a receiver: from the slot of a word to its address, to memory, and to the end of the row.

Delays are in events (cycles) after a slot (see `routes`), and grow with the tile's row. So if a
message of n words has its first slot at M, its pointer must be written at event
M + pointer_delays(tile), and the row of exchange code must last for M + n + row_end_delays(tile)
events. Tiles are given by physical ids, as arrays of any shape or one id.

For 64-bit items the same delays count from the slot of the pair's *late* member, which is
`LATE_MEMBER_DELAY` after that of the early one, for both members of the pair.

Evidence: rows of the vendor's compiler, and rows of a third party that ran on C600 cards. Only sums
of delays are supported; the first generation's constants for their parts do not carry over.
"""

import numpy.typing as npt

from tilewright.target.topology import IntArray, places

FIRST_EVENT = 1
"""No send starts, and no mux setting is needed, before this event. ASSUMED ([8.4] of the exchange
notes, docs/fidelity.md, `first-event`)."""

SENDER_LEAST_EVENTS = 6
"""Rows of senders are no shorter than this (a rule of the third party's)."""

LATE_MEMBER_DELAY = 1
"""From the early member's slot to the late member's: the times of a pair differ by this. That the
mux which the early member sets for its partner takes effect by as much later is ASSUMED ([8.10],
`partner-mux`)."""

FORMAT_BEFORE_POINTER = 2
"""A format for 64-bit items is written this many events before the pointer."""

WIDE_ITEMS = range(64, 4149)
"""How many 64-bit items a message may have: a third party's encoder refuses others. Nothing is
known against more, or fewer, on the chip ([8.18], `wide-items`)."""

FORMAT_EVENTS_AFTER = 1
"""After a format is set back, the first slot of 32-bit items is at least this much later: no item
is under way when a format changes (`format-drain`)."""

_PER_ROW = 2
_POINTER, _CLASH, _VISIBLE, _ROW_END = 52, 58, 59, 57


def pointer_delays(tiles: npt.ArrayLike) -> IntArray:
    """From the slot of a word to the event whose address cursor it uses.

    A pointer written at that very event counts.
    """
    return _POINTER + _PER_ROW * places(tiles).row


def clash_delays(tiles: npt.ArrayLike) -> IntArray:
    """From the slot of a word to the cycle in which its write occupies a memory element.

    ASSUMED ([8.2], `receive-write`).
    """
    return _CLASH + _PER_ROW * places(tiles).row


def visible_delays(tiles: npt.ArrayLike) -> IntArray:
    """From the slot of a word to the first event in which it can be read from memory.

    ASSUMED ([8.2], `receive-write`), on the safe side.
    """
    return _VISIBLE + _PER_ROW * places(tiles).row


def row_end_delays(tiles: npt.ArrayLike) -> IntArray:
    """From the slot after a message's last word to the last event of the receiver's row.

    Until then the destination is out of bounds for workers and loads ([8.20], `compute-after-row`).
    """
    return _ROW_END + _PER_ROW * places(tiles).row


def sender_row_end(first: int, items: int) -> int:
    """The last event of a row whose last send has its first of `items` items at event `first`."""
    return max(first - 1 + items, SENDER_LEAST_EVENTS)
