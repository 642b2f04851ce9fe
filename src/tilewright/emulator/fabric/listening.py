"""Who listens to whom: the source that each receiver has selected, slot by slot."""

import numpy as np

from tilewright.compiled import compiled, compiled_part
from tilewright.emulator.fabric.findings import OF_PARTNER, Finding, Findings, note
from tilewright.emulator.fabric.rows import CONTROL, Array, Bounds, Rows
from tilewright.target.geometry import TILES
from tilewright.target.row_events import FIRST_EVENT, LATE_MEMBER_DELAY
from tilewright.target.topology import EXTERNAL_MUXES, NEUTRAL_MUX, PARTNER_BIT

_FIRST_EXTERNAL, _EXTERNAL_END = EXTERNAL_MUXES.start, EXTERNAL_MUXES.stop

INTERVAL = np.dtype(
    [(name, np.int64) for name in ("receiver", "start", "end", "bus", "is_paired", "pc")]
)
"""Slots `start` to `end` (exclusive) in which `receiver` listens to the bus of tile `bus`.

`is_paired`: both members of the pair were set together. `pc` is the instruction that did it.
"""


def listening(rows: Rows, found: Findings) -> tuple[Array, Findings]:
    """The intervals of all receivers, each receiver's in order of slots.

    Every tile is neutral before its first control. Selections that the chip refuses, and tiles that
    still listen when their row ends, are added to the findings.
    """
    accepted = np.empty_like(rows.sources)
    bounds = np.zeros_like(rows.source_bounds)
    found = _accept(rows.sources, rows.source_bounds, accepted, bounds, found)
    intervals = np.empty(2 * int(bounds[-1]), INTERVAL)
    count, found = _listen(rows.rows, accepted, bounds, intervals, found)
    return intervals[:count], found


@compiled
def _accept(
    sources: Array, source_bounds: Bounds, accepted: Array, bounds: Bounds, found: Findings
) -> Findings:
    """The selections of tiles' own rows, without those that the chip refuses."""
    count = 0
    for tile in range(len(source_bounds) - 1):
        for place in range(source_bounds[tile], source_bounds[tile + 1]):
            control = sources[place]
            value = control.value
            if value == NEUTRAL_MUX:
                refused = -1
            elif _FIRST_EXTERNAL <= value < _EXTERNAL_END:
                refused = Finding.EXTERNAL_SOURCE.value
            elif value >= TILES:
                refused = Finding.NO_SOURCE.value
            elif control.event < FIRST_EVENT:
                refused = Finding.EARLY_SOURCE.value
            else:
                refused = -1
            if refused < 0:
                accepted[count] = control
                count += 1
            else:
                found = note(found, refused, tile, control.event, control.pc, value)
        bounds[tile + 1] = count
    return found


@compiled
def _listen(
    rows: Array, accepted: Array, bounds: Bounds, intervals: Array, found: Findings
) -> tuple[int, Findings]:
    count = 0
    merged = np.empty(2 * len(accepted), CONTROL)
    for tile in range(len(rows)):
        partner = tile ^ PARTNER_BIT
        own = accepted[bounds[tile] : bounds[tile + 1]]
        others = accepted[bounds[partner] : bounds[partner + 1]]
        found = _check_clash(tile, own, others, found)
        settings = _merge(own, others, merged)
        for place in range(settings):
            control = merged[place]
            if control.value == NEUTRAL_MUX:
                continue
            if place + 1 < settings:
                end = merged[place + 1].event
            else:
                length = rows[tile].length
                end = max(length, control.event) + 1
                found = note(
                    found, Finding.STILL_LISTENING, tile, length, control.pc, control.value
                )
            if end > control.event:
                interval = intervals[count]
                interval.receiver, interval.start, interval.end = tile, control.event, end
                interval.bus, interval.is_paired = control.value, control.is_paired
                interval.pc = control.pc
                count += 1
    return count, found


@compiled_part
def _check_clash(tile: int, own: Array, others: Array, found: Findings) -> Findings:
    """A write of one's own must not meet a paired write of the partner's (`pair-clash`)."""
    other = 0
    for place in range(len(own)):
        event = own[place].event
        while other < len(others) and (
            not others[other].is_paired or others[other].event + LATE_MEMBER_DELAY < event
        ):
            other += 1
        if other < len(others) and others[other].event <= event:
            partner = tile ^ PARTNER_BIT
            found = note(found, Finding.PAIRED_CLASH, tile, event, own[place].pc, partner)
    return found


@compiled_part
def _merge(own: Array, others: Array, merged: Array) -> int:
    """A tile's own selections, and what the partner gets of paired ones; returns how many."""
    count = other = 0
    for place in range(len(own) + 1):
        while other < len(others):
            paired = others[other]
            late = paired.event + LATE_MEMBER_DELAY
            if paired.is_paired:
                if place < len(own) and late >= own[place].event:
                    break
                value = paired.value
                both = merged[count]
                both.event, both.pc, both.is_paired = late, paired.pc + OF_PARTNER, 1
                both.value = value if value == NEUTRAL_MUX else value ^ PARTNER_BIT
                count += 1
            other += 1
        if place < len(own):
            merged[count] = own[place]
            count += 1
    return count
