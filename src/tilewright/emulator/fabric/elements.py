"""Memory elements in a phase: sends, receives and the fetch of the row must keep apart."""

from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from tilewright.emulator.fabric.delays import TO_CLASH, TO_ROW_END
from tilewright.emulator.fabric.delivery import Delivery
from tilewright.emulator.fabric.rows import Row, Send
from tilewright.emulator.faults import (
    ExchangeFault,
    ReceiveClashFault,
    ReceiveFetchClashFault,
    SendConflictFault,
)
from tilewright.target.geometry import ELEMENT_SIZE, REGION1_BASE, SUPERVISOR_FETCH_AHEAD

_PAIR_OF_ELEMENTS = 2 * ELEMENT_SIZE


class ClashRule(Enum):
    """When a send and a receive of one tile clash in an element (`clash-rule`)."""

    CYCLE = auto()
    """When they use it in one cycle: what the chip reports."""
    WINDOW = auto()
    """When their windows overlap: the rule for encoders, which keeps an event's distance."""


class _Use(NamedTuple):
    """Of `element`, in events `start` to `end` (exclusive)."""

    element: int
    start: int
    end: int
    pc: int


def check_elements(
    row: Row, deliveries: list[Delivery], rule: ClashRule, faults: list[ExchangeFault]
) -> None:
    """Add clashes of a tile's memory elements in a phase to `faults`."""
    sends = [use for send in row.sends for use in _send_uses(send, rule)]
    receives = [use for each in deliveries for use in _receive_uses(each, rule)]
    _check_code(row, sends, receives, faults)
    shared = {use.element for use in sends} & {use.element for use in receives}
    receives.sort(key=lambda use: use.start)
    for send in sends:
        if send.element not in shared:
            continue
        for receive in receives:
            if receive.start >= send.end:
                break
            if receive.element == send.element and receive.end > send.start:
                cause = (
                    f"a word arrives in the memory element at {send.element:#x} while a send "
                    f"at pc {send.pc:#x} reads it"
                )
                event = max(send.start, receive.start)
                faults.append(ReceiveClashFault(cause, tile=row.tile, event=event, pc=receive.pc))
                break


def _check_code(
    row: Row, sends: list[_Use], receives: list[_Use], faults: list[ExchangeFault]
) -> None:
    """The row's own elements, with what is fetched ahead, must not be used in the phase at all."""
    code = {_element(address) for pc in row.code for address in (pc, pc + SUPERVISOR_FETCH_AHEAD)}
    for uses, kind, verb in (
        (sends, SendConflictFault, "reads"),
        (receives, ReceiveFetchClashFault, "writes"),
    ):
        for use in uses:
            if use.element in code:
                cause = f"{verb} the memory element at {use.element:#x}, which holds the row"
                faults.append(kind(cause, tile=row.tile, event=use.start, pc=use.pc))
                break


def _send_uses(send: Send, rule: ClashRule) -> Iterator[_Use]:
    early = 1 if rule is ClashRule.WINDOW else 0
    for element, first, end in _by_element(send.address, send.items, send.size):
        yield _Use(element, send.event + first - early, send.event + end, send.pc)


def _receive_uses(delivery: Delivery, rule: ClashRule) -> Iterator[_Use]:
    if rule is ClashRule.WINDOW:
        # From the pointer to the end of the row that the words need, exclusive.
        start, after = 0, TO_ROW_END - 1
    else:
        start, after = TO_CLASH, TO_CLASH
    for element, first, end in _by_element(delivery.address, delivery.items, delivery.size):
        point = delivery.point
        yield _Use(element, point + first + start, point + end + after, delivery.pc)


def _by_element(address: int, items: int, size: int) -> Iterator[tuple[int, int, int]]:
    """The element of each stretch of items, and the stretch: first item, end."""
    first = 0
    while first < items:
        element = _element(address + first * size)
        width = ELEMENT_SIZE if element < REGION1_BASE else _PAIR_OF_ELEMENTS
        end = min(items, -(-(element + width - address) // size))
        yield element, first, end
        first = end


def _element(address: int) -> int:
    """The first address of the element; in region 1 the exchange sees pairs as one."""
    width = ELEMENT_SIZE if address < REGION1_BASE else _PAIR_OF_ELEMENTS
    return address // width * width
