"""A row of exchange code as executed: sends and controls of one tile, by event.

Event 1 is the first cycle of the tile's first exchange instruction after the barrier.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tilewright.emulator.faults import (
    ExchangeFault,
    FormatValueFault,
    NoStreamFault,
    SharedControlFault,
)
from tilewright.emulator.reference.tile import TimedEvent
from tilewright.target.csr import CSRS
from tilewright.target.row_events import FIRST_EVENT

FIRST_CSR = CSRS["INCOMING_MUX"].index
LAST_CSR = CSRS["EXCHANGE_ADJ"].index
"""The control registers of the exchange lie between these."""

WORD_SIZE, PAIR_SIZE = 4, 8
"""Sizes of items, in bytes."""
BOTH_DIRECTIONS = 0b11
_WIDE = 0b100
"""Bits of a send's control: which directions to drive, and whether items are of 64 bits."""
_LAST_FORMAT = 2


def exchange_csr(name: str) -> int:
    """The place of a register among those of the exchange."""
    return CSRS[name].index - FIRST_CSR


@dataclass(frozen=True, slots=True)
class Record:
    """What a tile did in a phase.

    `released` is the cycle in which the barrier let it go, `events` what it executed since then,
    and `registers` the control registers of the exchange as they were at that moment.
    """

    tile: int
    released: int
    events: Sequence[TimedEvent]
    registers: NDArray[np.uint32]


@dataclass(slots=True, eq=False)
class Send:
    """Consecutive items: the first, at `address` in bytes, leaves in `event`.

    Identity is equality: deliveries refer to the send that they came from.
    """

    tile: int
    event: int
    items: int
    address: int
    size: int
    directions: int
    pc: int

    @property
    def end(self) -> int:
        """The event after the last item's."""
        return self.event + self.items


@dataclass(frozen=True, slots=True)
class Control:
    """A control of the receiver set in an event: a mux number, an address in bytes, a format."""

    event: int
    value: int
    pc: int
    is_paired: bool = False


@dataclass(slots=True)
class Row:
    """What a tile does in a phase.

    `length` is the last event of its exchange instructions, `distance` the cycles from the barrier
    to event 1 (None if the tile has no row); `code` are addresses of exchange instructions.
    `pointer` is where items go before the first pointer is set, `cursor` where the next item that
    is sent would come from.
    """

    tile: int
    distance: int | None = None
    length: int = 0
    sends: list[Send] = field(default_factory=list)
    sources: list[Control] = field(default_factory=list)
    pointers: list[Control] = field(default_factory=list)
    formats: list[Control] = field(default_factory=list)
    code: list[int] = field(default_factory=list)
    pointer: int = 0
    cursor: int = 0

    @property
    def is_active(self) -> bool:
        """Whether the tile does more than pass time."""
        return bool(self.sends or self.sources or self.pointers or self.formats)


def read_row(record: Record, faults: list[ExchangeFault]) -> Row:
    """The row that a tile has run. Adds what is wrong in the row itself to `faults`."""
    reader = _Reader(record, faults)
    for event in record.events:
        reader.read(event)
    return reader.row


class _Reader:
    """Follows the events of a row, and the registers that they depend on."""

    def __init__(self, record: Record, faults: list[ExchangeFault]) -> None:
        self._faults = faults
        self._pending: list[TimedEvent] = []
        self._incoming_base = int(record.registers[exchange_csr("INCOMING_BASE")])
        self._outgoing_base = int(record.registers[exchange_csr("OUTGOING_BASE")])
        self._control: int | None = None
        starts = [each.cycle for each in record.events if each.name in ("delay", "send")]
        self._before = (starts[0] if starts else record.released) - FIRST_EVENT
        self.row = Row(
            record.tile,
            distance=starts[0] - record.released if starts else None,
            pointer=int(record.registers[exchange_csr("INCOMING_DELTA")]),
            cursor=int(record.registers[exchange_csr("OUTGOING_DELTA")]),
        )

    def read(self, event: TimedEvent) -> None:
        match event.name:
            case "pointer" | "source":
                self._pending.append(event)
            case "delay":
                self._pass(event, event.arguments[0])
            case "send":
                self._send(event)
                self._pass(event, event.arguments[0])
            case "put":
                self._put(event)

    def _pass(self, event: TimedEvent, events: int) -> None:
        """Place the controls of an instruction that lasts for `events` events."""
        first = event.cycle - self._before
        last = first + events - 1
        self._check_shared(first, event.pc)
        for control in self._pending:
            selector, value, at_last = control.arguments
            at = last if at_last else first
            if control.name == "source":
                self.row.sources.append(Control(at, value, event.pc, is_paired=selector == 1))
            elif selector == 1:
                self._set_format(at, value, event.pc)
            else:
                # The base counts when a pointer is set, not when words arrive (`base-sampled`).
                address = self._incoming_base + WORD_SIZE * value
                self.row.pointers.append(Control(at, address, event.pc))
        self._pending.clear()
        self.row.length = max(self.row.length, last)
        self.row.code.append(event.pc)

    def _check_shared(self, event: int, pc: int) -> None:
        if len(self._pending) > 1 and any(control.arguments[0] for control in self._pending):
            self._faults.append(
                SharedControlFault(
                    "a paired source or a format shares its event with another control; "
                    "give each an event of its own",
                    tile=self.row.tile,
                    event=event,
                    pc=pc,
                )
            )

    def _set_format(self, event: int, value: int, pc: int) -> None:
        if value > _LAST_FORMAT:
            cause = f"incoming format {value}; there are 0, 1 and 2"
            self._faults.append(FormatValueFault(cause, tile=self.row.tile, event=event, pc=pc))
        self.row.formats.append(Control(event, value, pc))

    def _send(self, event: TimedEvent) -> None:
        items, address, control, advance = event.arguments
        first = event.cycle - self._before
        if control is not None:
            self._control = control
        if self._control is None:
            cause = "goes on with a stream that no send has started"
            self._faults.append(NoStreamFault(cause, tile=self.row.tile, event=first, pc=event.pc))
            return
        size = PAIR_SIZE if self._control & _WIDE else WORD_SIZE
        if address is None:
            start = self.row.cursor + size * advance
        else:
            start = self._outgoing_base + size * address
        self.row.cursor = start + size * items
        directions = self._control & BOTH_DIRECTIONS
        if not directions:
            return
        send = Send(self.row.tile, first, items, start, size, directions, event.pc)
        if self.row.sends and _continues(self.row.sends[-1], send):
            self.row.sends[-1].items += items
        else:
            self.row.sends.append(send)

    def _put(self, event: TimedEvent) -> None:
        index, word = event.arguments
        at = event.cycle - self._before
        name = _CSR_NAMES.get(index)
        match name:
            case "INCOMING_BASE":
                self._incoming_base = word
            case "OUTGOING_BASE":
                self._outgoing_base = word
            case "INCOMING_DELTA":
                self.row.pointers.append(Control(at, word, event.pc))
            case "OUTGOING_DELTA":
                self.row.cursor = word
            case "INCOMING_FORMAT":
                self._set_format(at, word, event.pc)
            case "INCOMING_MUX" | "INCOMING_MUXPAIR":
                is_paired = name == "INCOMING_MUXPAIR"
                self.row.sources.append(Control(at, word, event.pc, is_paired))


_CSR_NAMES = {csr.index: csr.name for csr in CSRS.values() if FIRST_CSR <= csr.index <= LAST_CSR}


def _continues(last: Send, following: Send) -> bool:
    """Whether a send goes on where the last one ended, in time and in memory."""
    return (
        following.event == last.end
        and following.address == last.address + last.items * last.size
        and (following.size, following.directions) == (last.size, last.directions)
    )
