"""One exchange between tiles: from the rows that they ran to the words in their memories."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.compiled import compiled
from tilewright.emulator.events import exchange_csr
from tilewright.emulator.fabric.arrivals import arrivals, first_ending_after
from tilewright.emulator.fabric.delivery import deliver
from tilewright.emulator.fabric.elements import check_elements
from tilewright.emulator.fabric.findings import (
    UNKNOWN,
    Finding,
    Findings,
    as_faults,
    no_findings,
    note,
)
from tilewright.emulator.fabric.inputs import ClashRule, Executed
from tilewright.emulator.fabric.listening import listening
from tilewright.emulator.fabric.movement import move
from tilewright.emulator.fabric.rows import NO_ROW, PAIR_SIZE, Array, Bounds, Rows, read_rows
from tilewright.emulator.faults import ExchangeFault
from tilewright.emulator.memory import TileMemory
from tilewright.target.row_events import FIRST_EVENT, SENDER_LEAST_EVENTS
from tilewright.target.topology import NEUTRAL_MUX, PARTNER_BIT

_MUX, _FORMAT = exchange_csr("INCOMING_MUX"), exchange_csr("INCOMING_FORMAT")


@dataclass(frozen=True, slots=True)
class AfterPhase:
    """What a phase leaves in the registers of tiles; `words` is how many words have arrived."""

    pointers: NDArray[np.int64]
    cursors: NDArray[np.int64]
    words: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """What became of a phase; `after` is None if no tile did more than pass time.

    With faults, memory holds what the chip would have written.
    """

    after: AfterPhase | None
    faults: tuple[ExchangeFault, ...]


def run_phase(
    executed: Executed, memory: TileMemory, rule: ClashRule = ClashRule.CYCLE
) -> PhaseResult:
    """Move the words of a phase in which all tiles of a chip take part.

    Faults are in order of their causes: what is wrong in one row precedes what follows from it.
    """
    rows, found = read_rows(executed, no_findings())
    if not rows.rows["is_active"].any():
        return PhaseResult(None, as_faults(found))
    return _moved(rows, executed.registers, memory, rule, found)


def compile_ahead(executed: Executed, memory: TileMemory) -> None:
    """Compile what `run_phase` needs, if it has not been; tiles have `executed` nothing yet."""
    rows, found = read_rows(executed, no_findings())
    _moved(rows, executed.registers, memory, ClashRule.CYCLE, found)


def _moved(
    rows: Rows, registers: Array, memory: TileMemory, rule: ClashRule, found: Findings
) -> PhaseResult:
    """What becomes of a phase in which tiles are active."""
    found = _check_start(registers, found)
    found = _check_origins(rows.rows, rows.sends, found)
    found = _check_senders(rows.rows, rows.sends, rows.send_bounds, found)
    intervals, found = listening(rows, found)
    arrived, arrival_bounds, found = arrivals(rows, intervals, found)
    delivered, found = deliver(rows, arrived, arrival_bounds, found)
    deliveries, bounds = delivered.deliveries, delivered.bounds
    found = check_elements(rows, deliveries, bounds, rule, found)
    found = move(memory, rows.sends, rows.send_bounds, deliveries, bounds, found)
    after = AfterPhase(delivered.pointers, rows.rows["cursor"], delivered.words)
    return PhaseResult(after, as_faults(found))


@compiled
def _check_start(registers: Array, found: Findings) -> Findings:
    """Every tile must be connected to nothing, and take 32-bit items, when a phase starts."""
    for tile in range(len(registers)):
        mux, chosen = np.int64(registers[tile, _MUX]), np.int64(registers[tile, _FORMAT])
        if mux != NEUTRAL_MUX:
            found = note(found, Finding.MUX_AT_START, tile, UNKNOWN, UNKNOWN, mux)
        if chosen:
            found = note(found, Finding.FORMAT_AT_START, tile, UNKNOWN, UNKNOWN, chosen)
    return found


@compiled
def _check_origins(rows: Array, sends: Array, found: Findings) -> Findings:
    """All rows must start at one distance from the barrier, or their events do not fit together."""
    lends = np.zeros(len(rows), np.bool_)
    for number in range(len(sends)):
        if sends[number].size == PAIR_SIZE:
            lends[sends[number].tile ^ PARTNER_BIT] = True
    first = -1
    for tile in range(len(rows)):
        row = rows[tile]
        if row.distance == NO_ROW or not (row.is_active or lends[tile]):
            continue
        if first < 0:
            first = tile
        expected = rows[first].distance
        if row.distance != expected:
            found = note(
                found,
                Finding.ROW_ORIGIN,
                tile,
                FIRST_EVENT,
                UNKNOWN,
                row.distance,
                first,
                expected,
            )
    return found


@compiled
def _check_senders(rows: Array, sends: Array, send_bounds: Bounds, found: Findings) -> Findings:
    """Rows last as long as their sends ask for, and partners lend their lanes to 64-bit items."""
    for number in range(len(sends)):
        send = sends[number]
        tile = send.tile
        length = rows[tile].length
        end = send.event + send.items
        needed = max(end - 1, SENDER_LEAST_EVENTS)
        if length < needed:
            found = note(found, Finding.SHORT_SENDER, tile, length, send.pc, length, needed)
        if send.size != PAIR_SIZE:
            continue
        partner = tile ^ PARTNER_BIT
        lasts = rows[partner].length
        if lasts < needed:
            found = note(found, Finding.SHORT_LENDER, partner, lasts, UNKNOWN, tile, lasts, needed)
        place, stop = send_bounds[partner], send_bounds[partner + 1]
        place = first_ending_after(sends, place, stop, send.event)
        while place < stop and sends[place].event < end:
            other = sends[place]
            found = note(found, Finding.SENDING_LENDER, partner, other.event, other.pc, tile)
            place += 1
    return found
