"""Memory elements in a phase: sends, receives and the fetch of the row must keep apart."""

import numpy as np

from tilewright.compiled import compiled, compiled_part
from tilewright.emulator.fabric.compiled_arrays import first_beyond, with_room
from tilewright.emulator.fabric.delays import TO_CLASH, TO_ROW_END
from tilewright.emulator.fabric.findings import Finding, Findings, note
from tilewright.emulator.fabric.inputs import ClashRule
from tilewright.emulator.fabric.layout import element_at, element_bit, element_end
from tilewright.emulator.fabric.rows import Array, Bounds, Rows

_USE = np.dtype([(name, np.int64) for name in ("address", "bit", "start", "end", "pc")])
"""Of the element at `address` in events `start` to `end` (exclusive)."""

_SEND_MARGIN = {ClashRule.CYCLE: 0, ClashRule.WINDOW: 1}
"""Events before a send in which its elements are taken, too."""
_RECEIVE_MARGINS = {
    ClashRule.CYCLE: (TO_CLASH, TO_CLASH),
    # From the pointer to the end of the row that the words need, exclusive.
    ClashRule.WINDOW: (0, TO_ROW_END - 1),
}
"""From the events of a delivery's first and last item to those in which its elements are taken."""


def check_elements(
    rows: Rows, deliveries: Array, bounds: Bounds, rule: ClashRule, found: Findings
) -> Findings:
    """Add clashes of tiles' memory elements in a phase to the findings."""
    return _check_all(
        rows.rows,
        rows.sends,
        rows.send_bounds,
        deliveries,
        bounds,
        _SEND_MARGIN[rule],
        *_RECEIVE_MARGINS[rule],
        found,
    )


@compiled
def _check_all(
    rows: Array,
    sends: Array,
    send_bounds: Bounds,
    deliveries: Array,
    bounds: Bounds,
    early: int,
    after_first: int,
    after_last: int,
    found: Findings,
) -> Findings:
    reads, writes = np.empty(0, _USE), np.empty(0, _USE)
    for tile in range(len(rows)):
        read = 0
        for place in range(send_bounds[tile], send_bounds[tile + 1]):
            send = sends[place]
            start, end = send.event - early, send.event
            reads, read = _add_uses(
                reads, read, send.address, send.items, send.size, start, end, send.pc
            )
        written = 0
        for place in range(bounds[tile], bounds[tile + 1]):
            each = deliveries[place]
            start, end = each.point + after_first, each.point + after_last
            writes, written = _add_uses(
                writes, written, each.address, each.items, each.size, start, end, each.pc
            )
        code = rows[tile].code
        found = _check_code(tile, code, reads[:read], Finding.SEND_FROM_CODE, found)
        found = _check_code(tile, code, writes[:written], Finding.WORDS_FOR_CODE, found)
        writes = with_room(writes, written)
        found = _check_clashes(tile, reads[:read], _sort_by_start(writes, written), found)
    return found


@compiled_part
def _add_uses(
    uses: Array, count: int, address: int, items: int, size: int, start: int, end: int, pc: int
) -> tuple[Array, int]:
    """Add a use for each stretch of items that lies in one element.

    The first item uses it from event `start` on, and until before one after event `end`.
    """
    first = 0
    while first < items:
        place = address + first * size
        last = min(items, -(-(element_end(place) - address) // size))
        uses = with_room(uses, count)
        use = uses[count]
        use.address, use.bit, use.pc = element_at(place), element_bit(place), pc
        use.start, use.end = start + first, end + last
        count += 1
        first = last
    return uses, count


@compiled_part
def _check_code(tile: int, code: int, uses: Array, finding: int, found: Findings) -> Findings:
    """The row's own elements, with what is fetched ahead, must not be used in the phase at all."""
    for place in range(len(uses)):
        use = uses[place]
        if use.bit & code:
            return note(found, finding, tile, use.start, use.pc, use.address)
    return found


@compiled_part
def _check_clashes(tile: int, reads: Array, writes: Array, found: Findings) -> Findings:
    """Of each read, the first write to its element in one of its events; writes are in order."""
    shared = _bits(reads) & _bits(writes)
    if not shared:
        return found
    # The last end of a write up to each.
    ends = np.empty(len(writes), np.int64)
    last = writes[0].end
    for place in range(len(writes)):
        last = max(last, writes[place].end)
        ends[place] = last
    for number in range(len(reads)):
        read = reads[number]
        if not read.bit & shared:
            continue
        place = first_beyond(ends, read.start)
        while place < len(writes) and writes[place].start < read.end:
            write = writes[place]
            place += 1
            if write.bit == read.bit and write.end > read.start:
                event = max(read.start, write.start)
                found = note(
                    found, Finding.ELEMENT_CLASH, tile, event, write.pc, read.address, read.pc
                )
                break
    return found


@compiled_part
def _bits(uses: Array) -> int:
    bits = 0
    for place in range(len(uses)):
        bits |= uses[place].bit
    return bits


@compiled_part
def _sort_by_start(uses: Array, count: int) -> Array:
    """In order of their starts, which most are in: only items that overlap are not.

    There is room for one more, in which one is kept while others move.
    """
    for place in range(1, count):
        if uses[place].start >= uses[place - 1].start:
            continue
        uses[count] = uses[place]
        moved = place
        while moved > 0 and uses[moved - 1].start > uses[count].start:
            uses[moved] = uses[moved - 1]
            moved -= 1
        uses[moved] = uses[count]
    return uses[:count]
