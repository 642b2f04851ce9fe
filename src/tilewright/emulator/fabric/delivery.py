"""Where items go in their receivers: the pointers and formats that they meet on their way."""

from bisect import bisect_left, bisect_right
from typing import NamedTuple

from tilewright.emulator.fabric.arrivals import Arrival
from tilewright.emulator.fabric.delays import TO_ROW_END
from tilewright.emulator.fabric.rows import PAIR_SIZE, WORD_SIZE, Control, Row, Send
from tilewright.emulator.faults import (
    ConnectedAtEndFault,
    ExchangeFault,
    ReceiveAddressFault,
    ReceiveConfigurationFault,
    ReceiveModeFault,
    ReceiveOverlapFault,
    ShortRowFault,
)
from tilewright.target.geometry import MEMORY_BASE, MEMORY_END
from tilewright.target.row_events import FORMAT_BEFORE_POINTER


class Delivery(NamedTuple):
    """Items to consecutive addresses of a tile, from `address` on; `point` as in `Arrival`."""

    receiver: int
    address: int
    point: int
    items: int
    size: int
    send: Send | None
    first: int
    pc: int

    @property
    def end(self) -> int:
        """The address after the last byte."""
        return self.address + self.items * self.size


class Delivered(NamedTuple):
    """What a tile gets in a phase, in order of time, and its cursor and format after it."""

    deliveries: list[Delivery]
    pointer: int
    format: int


def deliver(row: Row, arrived: list[Arrival], faults: list[ExchangeFault]) -> Delivered:
    """Give the items that reach a tile their addresses. Only those in memory are delivered.

    Adds wrong formats, overlaps, wrong addresses and rows that end too early to `faults`.
    """
    _check_end(row, arrived, faults)
    deliveries = []
    cursor = row.pointer
    pointers = sorted(row.pointers, key=lambda control: control.event)
    used, free = 0, 0
    for arrival in arrived:
        size = _item_size(row, arrival)
        _check_format(row, arrival, faults)
        if arrival.point < free:
            cause = "two items would be written in one event"
            faults.append(_fault(ReceiveOverlapFault, cause, arrival, arrival.slot))
        free = arrival.point + arrival.items
        at = arrival.point
        while at < free:
            while used < len(pointers) and pointers[used].event <= at:
                cursor = pointers[used].value
                used += 1
            end = min(free, pointers[used].event) if used < len(pointers) else free
            first = arrival.first + at - arrival.point
            deliveries.append(
                Delivery(row.tile, cursor, at, end - at, size, arrival.send, first, arrival.pc)
            )
            cursor += (end - at) * size
            at = end
    if used < len(pointers):
        cursor = pointers[-1].value
    inside = [each for each in deliveries if _is_inside(each, faults)]
    return Delivered(inside, cursor, row.formats[-1].value if row.formats else 0)


def _item_size(row: Row, arrival: Arrival) -> int:
    """In bytes; on a silent bus the format decides."""
    if arrival.send is not None:
        return arrival.send.size
    return PAIR_SIZE if _format(row, arrival.point - FORMAT_BEFORE_POINTER) else WORD_SIZE


def _format(row: Row, event: int) -> int:
    """The format in force in an event; one that is set in it counts."""
    known = bisect_right(row.formats, event, key=lambda control: control.event)
    return row.formats[known - 1].value if known else 0


def _check_format(row: Row, arrival: Arrival, faults: list[ExchangeFault]) -> None:
    """64-bit items need the format of their direction two events before their address is taken.

    32-bit items need format 0 from then until their address is taken (`format-window`).
    """
    if arrival.send is None:
        return
    is_wide = arrival.send.size == PAIR_SIZE
    needed = arrival.direction if is_wide else 0
    start = arrival.point - FORMAT_BEFORE_POINTER
    # The last event in which a format decides, for the last item.
    last = (start if is_wide else arrival.point) + arrival.items - 1
    first = _format(row, start)
    low = bisect_right(row.formats, start, key=lambda control: control.event)
    high = bisect_right(row.formats, last, key=lambda control: control.event)
    settings = [(start, first), *((each.event, each.value) for each in row.formats[low:high])]
    wrong = next(((event, value) for event, value in settings if value != needed), None)
    if wrong is None:
        return
    event, value = wrong
    size = "64" if is_wide else "32"
    cause = f"items of {size} bits meet the incoming format {value} instead of {needed}"
    changed = _changes_between(row.formats, arrival.slot, last)
    kind = ReceiveModeFault if changed else ReceiveConfigurationFault
    faults.append(_fault(kind, cause, arrival, event))


def _changes_between(formats: list[Control], after: int, last: int) -> bool:
    """Whether a format was set while items were under way."""
    low = bisect_right(formats, after, key=lambda control: control.event)
    return low < bisect_left(formats, last + 1, key=lambda control: control.event)


def _check_end(row: Row, arrived: list[Arrival], faults: list[ExchangeFault]) -> None:
    """A row must last until its last item is in memory, and leave a 32-bit format."""
    if row.formats and row.formats[-1].value:
        last = row.formats[-1]
        cause = f"the row ends with the incoming format {last.value}; set 0 before"
        faults.append(ConnectedAtEndFault(cause, tile=row.tile, event=row.length, pc=last.pc))
    points = [each.point + each.items - 1 for each in arrived if each.send is not None]
    if not points:
        return
    needed = max(points) + TO_ROW_END
    if row.length < needed:
        cause = (
            f"the row ends after {row.length} events, but its last word is in memory only "
            f"after {needed}; lengthen its last delay"
        )
        faults.append(ShortRowFault(cause, tile=row.tile, event=row.length))


def _is_inside(delivery: Delivery, faults: list[ExchangeFault]) -> bool:
    if delivery.address % delivery.size:
        cause = f"{delivery.address:#x} is not aligned to {delivery.size} bytes"
    elif not MEMORY_BASE <= delivery.address <= delivery.end <= MEMORY_END:
        cause = f"{delivery.items} items for {delivery.address:#x} do not lie in tile memory"
    else:
        return True
    faults.append(
        ReceiveAddressFault(cause, tile=delivery.receiver, event=delivery.point, pc=delivery.pc)
    )
    return False


def _fault(kind: type[ExchangeFault], cause: str, arrival: Arrival, event: int) -> ExchangeFault:
    return kind(cause, tile=arrival.receiver, event=event, pc=arrival.pc)
