"""Who listens to whom: the source that each receiver has selected, slot by slot."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tilewright.emulator.fabric.rows import Control, Row
from tilewright.emulator.faults import (
    ConnectedAtEndFault,
    ConnectedAtStartFault,
    ExchangeFault,
    ExternalMuxFault,
    MuxRangeFault,
    PairedMuxClashFault,
)
from tilewright.target.geometry import TILES
from tilewright.target.row_events import FIRST_EVENT, LATE_MEMBER_DELAY
from tilewright.target.topology import EXTERNAL_MUXES, NEUTRAL_MUX, PARTNER_BIT


class Interval(NamedTuple):
    """Slots `start` to `end` (exclusive) in which `receiver` listens to the bus of tile `bus`.

    `is_paired`: both members of the pair were set together. `pc` is the instruction that did it.
    """

    receiver: int
    start: int
    end: int
    bus: int
    is_paired: bool
    pc: int


def listening(rows: Mapping[int, Row], faults: list[ExchangeFault]) -> list[Interval]:
    """The intervals of all receivers, each receiver's in order of slots.

    `rows` holds one for the partner of every tile that sets sources in pairs. Every tile is neutral
    before its first control. Adds selections that the chip refuses, and tiles that still listen
    when their row ends, to `faults`.
    """
    settings = {tile: _accepted(row, faults) for tile, row in rows.items()}
    paired = {
        tile: [control for control in controls if control.is_paired]
        for tile, controls in settings.items()
    }
    intervals: list[Interval] = []
    for tile, own in settings.items():
        partners = paired.get(tile ^ PARTNER_BIT, [])
        _check_clash(tile, own, partners, faults)
        merged = sorted([*own, *map(_for_partner, partners)], key=lambda control: control.event)
        intervals += _intervals(rows[tile], merged, faults)
    return intervals


def _accepted(row: Row, faults: list[ExchangeFault]) -> list[Control]:
    """The selections of a tile's own row, without those that the chip refuses."""
    accepted = []
    for control in row.sources:
        refused = _refusal(control)
        if refused is None:
            accepted.append(control)
        else:
            kind, cause = refused
            faults.append(kind(cause, tile=row.tile, event=control.event, pc=control.pc))
    return accepted


def _refusal(control: Control) -> tuple[type[ExchangeFault], str] | None:
    if control.value == NEUTRAL_MUX:
        return None
    if control.value in EXTERNAL_MUXES:
        return ExternalMuxFault, f"selects {control.value:#x}, the host, in a phase between tiles"
    if control.value >= TILES:
        return MuxRangeFault, f"selects {control.value:#x}, which is no source"
    if control.event < FIRST_EVENT:
        return ConnectedAtStartFault, "selects a source before the first event (`first-event`)"
    return None


def _for_partner(control: Control) -> Control:
    """What the partner of the writer of a pair gets."""
    value = control.value if control.value == NEUTRAL_MUX else control.value ^ PARTNER_BIT
    return Control(control.event + LATE_MEMBER_DELAY, value, control.pc, is_paired=True)


def _check_clash(
    tile: int, own: Iterable[Control], partners: Iterable[Control], faults: list[ExchangeFault]
) -> None:
    """A write of one's own must not meet a paired write of the partner's (`pair-clash`)."""
    taken = {control.event for control in partners}
    taken |= {event + LATE_MEMBER_DELAY for event in taken}
    for control in own:
        if control.event in taken:
            cause = f"sets its source while its partner, tile {tile ^ PARTNER_BIT}, sets both"
            faults.append(PairedMuxClashFault(cause, tile=tile, event=control.event, pc=control.pc))


def _intervals(
    row: Row, settings: list[Control], faults: list[ExchangeFault]
) -> Iterable[Interval]:
    for number, control in enumerate(settings):
        if control.value == NEUTRAL_MUX:
            continue
        if number + 1 < len(settings):
            end = settings[number + 1].event
        else:
            end = max(row.length, control.event) + 1
            cause = f"still listens to tile {control.value} when its row ends; set neutral before"
            faults.append(
                ConnectedAtEndFault(cause, tile=row.tile, event=row.length, pc=control.pc)
            )
        if end > control.event:
            yield Interval(
                row.tile, control.event, end, control.value, control.is_paired, control.pc
            )
