"""Where items go in their receivers: the pointers and formats that they meet on their way."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.compiled import compiled, compiled_part
from tilewright.emulator.fabric.arrivals import SILENCE
from tilewright.emulator.fabric.delays import TO_ROW_END
from tilewright.emulator.fabric.findings import UNKNOWN, Finding, Findings, note
from tilewright.emulator.fabric.rows import PAIR_SIZE, WORD_SIZE, Array, Bounds, Entry, Rows
from tilewright.target.geometry import MEMORY_BASE, MEMORY_END
from tilewright.target.row_events import FORMAT_BEFORE_POINTER

DELIVERY = np.dtype(
    [(name, np.int64) for name in "receiver address point items size send first pc".split()]
)
"""Items to consecutive addresses of a tile, from `address` on; the rest as in `ARRIVAL`."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What tiles get in a phase, each in order of time; their cursors after it, and how many words.

    Those of tile t are `deliveries[bounds[t] : bounds[t + 1]]`.
    """

    deliveries: Array
    bounds: Bounds
    pointers: NDArray[np.int64]
    words: NDArray[np.int64]


def deliver(
    rows: Rows, arrived: Array, arrival_bounds: Bounds, found: Findings
) -> tuple[Delivered, Findings]:
    """Give the items that reach tiles their addresses. Only those in memory are delivered.

    Wrong formats, overlaps, wrong addresses and rows that end too early are added to the findings.
    """
    tiles = len(rows.rows)
    # Each arrival goes to one place, and each pointer may split one.
    deliveries = np.empty(len(arrived) + len(rows.pointers), DELIVERY)
    bounds = np.zeros(tiles + 1, np.int64)
    pointers, words = np.zeros(tiles, np.int64), np.zeros(tiles, np.int64)
    found = _deliver_all(
        rows.rows,
        rows.pointers,
        rows.pointer_bounds,
        rows.formats,
        rows.format_bounds,
        arrived,
        arrival_bounds,
        deliveries,
        bounds,
        pointers,
        words,
        found,
    )
    return Delivered(deliveries[: int(bounds[-1])], bounds, pointers, words), found


@compiled
def _deliver_all(
    rows: Array,
    pointers: Array,
    pointer_bounds: Bounds,
    formats: Array,
    format_bounds: Bounds,
    arrived: Array,
    arrival_bounds: Bounds,
    deliveries: Array,
    bounds: Bounds,
    last_pointers: Array,
    words: Array,
    found: Findings,
) -> Findings:
    for tile in range(len(rows)):
        row = rows[tile]
        own = formats[format_bounds[tile] : format_bounds[tile + 1]]
        arriving = arrived[arrival_bounds[tile] : arrival_bounds[tile + 1]]
        found = _check_end(tile, row.length, own, arriving, found)
        used, pointers_end = pointer_bounds[tile], pointer_bounds[tile + 1]
        cursor = row.pointer
        count = bounds[tile]
        free = 0
        for place in range(len(arriving)):
            arrival = arriving[place]
            size = _item_size(own, arrival.send, arrival.size, arrival.point)
            if arrival.send != SILENCE:
                found = _check_format(own, arrival, size == PAIR_SIZE, found)
            if arrival.point < free:
                found = note(found, Finding.OVERLAP, tile, arrival.slot, arrival.pc)
            free = arrival.point + arrival.items
            at = arrival.point
            while at < free:
                while used < pointers_end and pointers[used].event <= at:
                    cursor = pointers[used].value
                    used += 1
                end = min(free, pointers[used].event) if used < pointers_end else free
                each = deliveries[count]
                each.receiver, each.address, each.point, each.items = tile, cursor, at, end - at
                each.size, each.send, each.pc = size, arrival.send, arrival.pc
                each.first = arrival.first + at - arrival.point
                count += 1
                cursor += (end - at) * size
                at = end
        last_pointers[tile] = pointers[pointers_end - 1].value if used < pointers_end else cursor
        found = _keep_inside(tile, deliveries, count, bounds, words, found)
    return found


@compiled_part
def _keep_inside(
    tile: int, deliveries: Array, end: int, bounds: Bounds, words: Array, found: Findings
) -> Findings:
    """Keep those of a tile's deliveries, up to `end`, that lie in memory, and count their words."""
    kept = bounds[tile]
    for place in range(kept, end):
        each = deliveries[place]
        size = each.items * each.size
        if each.address % each.size:
            found = note(
                found,
                Finding.MISALIGNED_ITEMS,
                tile,
                each.point,
                each.pc,
                each.address,
                each.size,
            )
        elif each.address < MEMORY_BASE or each.address + size > MEMORY_END:
            found = note(
                found, Finding.ITEMS_OUTSIDE, tile, each.point, each.pc, each.items, each.address
            )
        else:
            words[tile] += size // WORD_SIZE
            deliveries[kept] = each
            kept += 1
    bounds[tile + 1] = kept
    return found


@compiled_part
def _check_end(
    tile: int, length: int, formats: Array, arriving: Array, found: Findings
) -> Findings:
    """A row must last until its last item is in memory, and leave a 32-bit format."""
    if len(formats) and formats[len(formats) - 1].value:
        last = formats[len(formats) - 1]
        found = note(found, Finding.FORMAT_AT_END, tile, length, last.pc, last.value)
    needed = 0
    for place in range(len(arriving)):
        arrival = arriving[place]
        if arrival.send != SILENCE:
            needed = max(needed, arrival.point + arrival.items - 1 + TO_ROW_END)
    if length < needed:
        found = note(found, Finding.SHORT_RECEIVER, tile, length, UNKNOWN, length, needed)
    return found


@compiled_part
def _item_size(formats: Array, send: int, size: int, point: int) -> int:
    """In bytes; on a silent bus the format decides."""
    if send != SILENCE:
        return size
    return PAIR_SIZE if _format(formats, point - FORMAT_BEFORE_POINTER) else WORD_SIZE


@compiled_part
def _known(formats: Array, event: int) -> int:
    """How many formats have been set up to an event; one that is set in it counts."""
    low, high = 0, len(formats)
    while low < high:
        middle = (low + high) // 2
        if formats[middle].event <= event:
            low = middle + 1
        else:
            high = middle
    return low


@compiled_part
def _format(formats: Array, event: int) -> int:
    """The format in force in an event."""
    known = _known(formats, event)
    return int(formats[known - 1].value) if known else 0


@compiled_part
def _check_format(formats: Array, arrival: Entry, is_wide: bool, found: Findings) -> Findings:
    """64-bit items need the format of their direction two events before their address is taken.

    32-bit items need format 0 from then until their address is taken (`format-window`).
    """
    needed = arrival.direction if is_wide else 0
    start = arrival.point - FORMAT_BEFORE_POINTER
    # The last event in which a format decides, for the last item.
    last = (start if is_wide else arrival.point) + arrival.items - 1
    event, value = start, _format(formats, start)
    place = _known(formats, start)
    while value == needed:
        if place == len(formats) or formats[place].event > last:
            return found
        event, value = formats[place].event, formats[place].value
        place += 1
    # Whether a format was set while items were under way.
    changed = _known(formats, arrival.slot) < _known(formats, last)
    finding = Finding.CHANGED_FORMAT.value if changed else Finding.WRONG_FORMAT.value
    bits = 64 if is_wide else 32
    return note(found, finding, arrival.receiver, event, arrival.pc, bits, value, needed)
