"""One exchange between tiles: from the rows that they ran to the words in their memories."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.emulator.fabric.arrivals import arrivals
from tilewright.emulator.fabric.delivery import Delivered, deliver
from tilewright.emulator.fabric.elements import ClashRule, check_elements
from tilewright.emulator.fabric.listening import listening
from tilewright.emulator.fabric.movement import move
from tilewright.emulator.fabric.rows import PAIR_SIZE, Record, Row, Send, exchange_csr, read_row
from tilewright.emulator.faults import (
    ConnectedAtStartFault,
    ExchangeFault,
    LentLaneFault,
    RowOriginFault,
    ShortRowFault,
)
from tilewright.emulator.memory import TileMemory
from tilewright.target.row_events import sender_row_end
from tilewright.target.topology import NEUTRAL_MUX, PARTNER_BIT


@dataclass(frozen=True, slots=True)
class AfterPhase:
    """What a phase leaves in a tile's registers; `words` is how many words have arrived."""

    tile: int
    pointer: int
    cursor: int
    words: int


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """What became of a phase. With faults, memory holds what the chip would have written."""

    tiles: tuple[AfterPhase, ...]
    faults: tuple[ExchangeFault, ...]


def run_phase(
    records: Sequence[Record], memory: TileMemory, rule: ClashRule = ClashRule.CYCLE
) -> PhaseResult:
    """Move the words of a phase. `records` holds one for each tile that took part in its barrier.

    Faults are in order of their causes: what is wrong in one row precedes what follows from it.
    """
    faults: list[ExchangeFault] = []
    rows = {record.tile: read_row(record, faults) for record in records}
    if not any(row.is_active for row in rows.values()):
        return PhaseResult((), tuple(faults))
    _check_start(records, faults)
    _add_partners(rows)
    _check_origins(rows, faults)
    _check_senders(rows, faults)
    arrived = arrivals(rows, listening(rows, faults), faults)
    delivered = {tile: deliver(row, arrived.get(tile, []), faults) for tile, row in rows.items()}
    deliveries = {tile: each.deliveries for tile, each in delivered.items()}
    for tile, row in rows.items():
        check_elements(row, deliveries[tile], rule, faults)
    move(memory, _sends(rows.values()), deliveries, faults)
    after = tuple(_after(row, delivered[tile]) for tile, row in rows.items())
    return PhaseResult(after, tuple(faults))


def _sends(rows: Iterable[Row]) -> list[Send]:
    return [send for row in rows for send in row.sends]


def _after(row: Row, delivered: Delivered) -> AfterPhase:
    words = sum(each.items * each.size // 4 for each in delivered.deliveries)
    return AfterPhase(row.tile, delivered.pointer, row.cursor, words)


def _check_start(records: Iterable[Record], faults: list[ExchangeFault]) -> None:
    """Every tile must be connected to nothing, and take 32-bit items, when a phase starts."""
    for record in records:
        mux = int(record.registers[exchange_csr("INCOMING_MUX")])
        chosen = int(record.registers[exchange_csr("INCOMING_FORMAT")])
        if mux != NEUTRAL_MUX:
            cause = f"INCOMING_MUX is {mux:#x} at the barrier; set it to {NEUTRAL_MUX:#x} before"
            faults.append(ConnectedAtStartFault(cause, tile=record.tile))
        if chosen:
            cause = f"INCOMING_FORMAT is {chosen} at the barrier; set it to 0 before"
            faults.append(ConnectedAtStartFault(cause, tile=record.tile))


def _add_partners(rows: dict[int, Row]) -> None:
    """An empty row for each tile whose partner sets the sources of both."""
    for tile, row in list(rows.items()):
        if any(control.is_paired for control in row.sources):
            rows.setdefault(tile ^ PARTNER_BIT, Row(tile ^ PARTNER_BIT))


def _check_origins(rows: Mapping[int, Row], faults: list[ExchangeFault]) -> None:
    """All rows must start at one distance from the barrier, or their events do not fit together."""
    started = [row for row in rows.values() if row.distance is not None]
    lenders = {
        send.tile ^ PARTNER_BIT for row in started for send in row.sends if send.size == PAIR_SIZE
    }
    timed = [row for row in started if row.is_active or row.tile in lenders]
    if not timed:
        return
    first = timed[0]
    for row in timed:
        if row.distance != first.distance:
            cause = (
                f"the row starts {row.distance} cycles after the barrier, that of tile "
                f"{first.tile} {first.distance}; call all rows, or none, in the same way"
            )
            faults.append(RowOriginFault(cause, tile=row.tile, event=1))


def _check_senders(rows: Mapping[int, Row], faults: list[ExchangeFault]) -> None:
    """Rows last as long as their sends ask for, and partners lend their lanes to 64-bit items."""
    for row in rows.values():
        for send in row.sends:
            needed = sender_row_end(send.event, send.items)
            if row.length < needed:
                cause = f"a row that sends lasts {row.length} events, but needs {needed}"
                faults.append(ShortRowFault(cause, tile=row.tile, event=row.length, pc=send.pc))
            if send.size == PAIR_SIZE:
                _check_lender(rows.get(row.tile ^ PARTNER_BIT), send, needed, faults)


def _check_lender(
    partner: Row | None, send: Send, needed: int, faults: list[ExchangeFault]
) -> None:
    length = partner.length if partner else 0
    if length < needed:
        cause = (
            f"lends its lane to tile {send.tile}, but its row lasts {length} events "
            f"instead of {needed}"
        )
        faults.append(LentLaneFault(cause, tile=send.tile ^ PARTNER_BIT, event=length))
    for other in partner.sends if partner else []:
        if other.event < send.end and other.end > send.event:
            cause = f"sends while it lends its lane to 64-bit items of tile {send.tile}"
            faults.append(LentLaneFault(cause, tile=other.tile, event=other.event, pc=other.pc))
