"""The words of a phase: read as they leave, written where they go, relays included.

A tile may send on what it receives in the same phase. A read sees a word from the event in which
the word is certain to be in memory; until the event in which the word takes its address, it sees
what was there before; in between it is a fault (`receive-write`).

Most sends read memory that nothing of the phase is written to; their words are copied from where
they lie to where they go. The others are read aside first.
"""

import numpy as np
from numpy.typing import NDArray

from tilewright.compiled import compiled
from tilewright.emulator.fabric.arrivals import SILENCE
from tilewright.emulator.fabric.delays import TO_VISIBLE
from tilewright.emulator.fabric.findings import Finding, Findings, note
from tilewright.emulator.fabric.growing import with_room
from tilewright.emulator.fabric.rows import WORD_SIZE, Array, Bounds, Entry
from tilewright.emulator.memory import TileMemory
from tilewright.target.geometry import MEMORY_BASE, MEMORY_END

_IN_MEMORY, _NOWHERE = -1, -2
"""Where the words of a send are, if they are not aside: in its tile's memory; nowhere, which gives
zeros."""

_RELAY = np.dtype([("send", np.int64), ("delivery", np.int64)])
"""A delivery that writes where a send of its receiver reads."""


def move(
    memory: TileMemory,
    sends: Array,
    send_bounds: Bounds,
    deliveries: Array,
    bounds: Bounds,
    found: Findings,
) -> Findings:
    """Write to memory what was delivered to each tile, in order of time.

    Sends from wrong addresses, and reads of words on their way to memory, are added to the
    findings.
    """
    words = memory.bytes.view(np.uint32)
    places = np.full(len(sends), _IN_MEMORY, np.int64)
    found = _check_addresses(sends, places, found)
    relays, room = _relays(sends, send_bounds, deliveries, bounds, places)
    found = _check_settled(sends, deliveries, relays, found)
    aside = np.zeros(room, np.uint32)
    if room:
        _settle(words, sends, deliveries, relays, places, aside)
    _write(words, sends, deliveries, places, aside)
    return found


@compiled
def _check_addresses(sends: Array, places: NDArray[np.int64], found: Findings) -> Findings:
    """Sends from wrong addresses are of zeros."""
    for number in range(len(sends)):
        send = sends[number]
        if _is_inside(send):
            continue
        places[number] = _NOWHERE
        if send.address % send.size:
            found = note(
                found,
                Finding.MISALIGNED_SEND,
                send.tile,
                send.event,
                send.pc,
                send.address,
                send.size,
            )
        else:
            found = note(
                found,
                Finding.SEND_OUTSIDE,
                send.tile,
                send.event,
                send.pc,
                send.items,
                send.address,
            )
    return found


@compiled
def _is_inside(send: Entry) -> bool:
    """Whether all of a send can be read."""
    end = send.address + send.items * send.size
    return bool(send.address % send.size == 0 and send.address >= MEMORY_BASE and end <= MEMORY_END)


@compiled
def _relays(
    sends: Array,
    send_bounds: Bounds,
    deliveries: Array,
    bounds: Bounds,
    places: NDArray[np.int64],
) -> tuple[Array, int]:
    """What sends read of what the same phase brings: of each send, oldest deliveries first.

    Gives these sends places aside; returns the relays, and how many words there are aside.
    """
    relays = np.empty(0, _RELAY)
    count = room = 0
    for tile in range(len(bounds) - 1):
        first, end = bounds[tile], bounds[tile + 1]
        if first == end:
            continue
        of_tile = deliveries[first:end]
        low, high = of_tile[0].address, of_tile[0].address
        for place in range(len(of_tile)):
            low = min(low, of_tile[place].address)
            high = max(high, _delivery_end(of_tile[place]))
        ordered = np.empty(0, np.int64)
        ends = np.empty(0, np.int64)
        for number in range(send_bounds[tile], send_bounds[tile + 1]):
            send = sends[number]
            start, stop = send.address, send.address + send.items * send.size
            if start >= high or stop <= low:
                continue
            if not len(ordered):
                ordered, ends = _by_address(of_tile)
            before = count
            # Deliveries before this one in order of addresses end before the send's words.
            place = np.searchsorted(ends, start, side="right")
            while place < len(ordered) and of_tile[ordered[place]].address < stop:
                index = ordered[place]
                if _delivery_end(of_tile[index]) > start:
                    relays = with_room(relays, count)
                    relay = relays[count]
                    relay.send, relay.delivery = number, first + index
                    count += 1
                place += 1
            if count > before:
                _sort(relays, before, count)
                places[number] = room
                room += send.items * send.size // WORD_SIZE
    return relays[:count], room


@compiled
def _delivery_end(delivery: Entry) -> int:
    return int(delivery.address + delivery.items * delivery.size)


@compiled
def _by_address(deliveries: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The order of deliveries by address, and the last end of one up to each."""
    addresses = np.empty(len(deliveries), np.int64)
    for place in range(len(deliveries)):
        addresses[place] = deliveries[place].address
    ordered = np.argsort(addresses, kind="mergesort")
    ends = np.empty(len(deliveries), np.int64)
    last = 0
    for place in range(len(ordered)):
        last = max(last, _delivery_end(deliveries[ordered[place]]))
        ends[place] = last
    return ordered, ends


@compiled
def _sort(relays: Array, first: int, end: int) -> None:
    """Bring the relays of one send into the order of their deliveries."""
    numbers = np.empty(end - first, np.int64)
    for place in range(first, end):
        numbers[place - first] = relays[place].delivery
    numbers.sort()
    for place in range(first, end):
        relay = relays[place]
        relay.delivery = numbers[place - first]


@compiled
def _overlap(send: Entry, delivery: Entry) -> tuple[int, int]:
    """The addresses that both concern, `end` exclusive."""
    low = max(send.address, delivery.address)
    high = min(send.address + send.items * send.size, _delivery_end(delivery))
    return low, high


@compiled
def _age(send: Entry, delivery: Entry, address: int) -> tuple[int, int]:
    """The event in which a word is read, and that in which it takes its address."""
    read = send.event + (address - send.address) // send.size
    point = delivery.point + (address - delivery.address) // delivery.size
    return read, point


@compiled
def _check_settled(sends: Array, deliveries: Array, relays: Array, found: Findings) -> Findings:
    for number in range(len(relays)):
        send, delivery = sends[relays[number].send], deliveries[relays[number].delivery]
        low, high = _overlap(send, delivery)
        for address in range(low, high, WORD_SIZE):
            read, point = _age(send, delivery, address)
            if point <= read < point + TO_VISIBLE:
                found = note(
                    found,
                    Finding.UNSETTLED,
                    send.tile,
                    read,
                    send.pc,
                    address,
                    point + TO_VISIBLE,
                )
                break
    return found


@compiled
def _settle(
    memory: NDArray[np.uint32],
    sends: Array,
    deliveries: Array,
    relays: Array,
    places: NDArray[np.int64],
    aside: NDArray[np.uint32],
) -> None:
    """Read aside what sends read, what arrived in time included.

    Every round carries words one relay further. A word takes longer than any difference of clocks,
    so it never meets itself, and there is a last round.
    """
    before = np.zeros_like(aside)
    for number in range(len(sends)):
        send, place = sends[number], places[number]
        if place >= 0 and _is_inside(send):
            start = (send.address - MEMORY_BASE) // WORD_SIZE
            for word in range(send.items * send.size // WORD_SIZE):
                before[place + word] = memory[send.tile, start + word]
    aside[:] = before
    changed = True
    while changed:
        changed = False
        first = 0
        while first < len(relays):
            number = relays[first].send
            end = first
            while end < len(relays) and relays[end].send == number:
                end += 1
            if _relay(memory, sends, deliveries, relays[first:end], places, before, aside):
                changed = True
            first = end


@compiled
def _relay(
    memory: NDArray[np.uint32],
    sends: Array,
    deliveries: Array,
    relays: Array,
    places: NDArray[np.int64],
    before: NDArray[np.uint32],
    aside: NDArray[np.uint32],
) -> bool:
    """Read once more what a send reads of what has arrived; whether that changes anything."""
    number = relays[0].send
    send, place = sends[number], places[number]
    count = send.items * send.size // WORD_SIZE
    words = before[place : place + count].copy()
    for each in range(len(relays)):
        delivery = deliveries[relays[each].delivery]
        low, high = _overlap(send, delivery)
        for address in range(low, high, WORD_SIZE):
            read, point = _age(send, delivery, address)
            if read >= point + TO_VISIBLE:
                index = (address - delivery.address) // WORD_SIZE
                words[(address - send.address) // WORD_SIZE] = _word(
                    memory, sends, delivery, index, places, aside
                )
    changed = False
    for word in range(count):
        if aside[place + word] != words[word]:
            aside[place + word] = words[word]
            changed = True
    return changed


@compiled
def _word(
    memory: NDArray[np.uint32],
    sends: Array,
    delivery: Entry,
    index: int,
    places: NDArray[np.int64],
    aside: NDArray[np.uint32],
) -> Entry:
    """One word of a delivery, before anything of the phase is written."""
    if delivery.send == SILENCE:
        return np.uint32(0)
    place = places[delivery.send]
    word = delivery.first * delivery.size // WORD_SIZE + index
    if place >= 0:
        return aside[place + word]
    if place == _NOWHERE:
        return np.uint32(0)
    send = sends[delivery.send]
    return memory[send.tile, (send.address - MEMORY_BASE) // WORD_SIZE + word]


@compiled
def _write(
    memory: NDArray[np.uint32],
    sends: Array,
    deliveries: Array,
    places: NDArray[np.int64],
    aside: NDArray[np.uint32],
) -> None:
    for number in range(len(deliveries)):
        delivery = deliveries[number]
        count = delivery.items * delivery.size // WORD_SIZE
        start = (delivery.address - MEMORY_BASE) // WORD_SIZE
        target = memory[delivery.receiver, start : start + count]
        place = _NOWHERE if delivery.send == SILENCE else places[delivery.send]
        if place == _NOWHERE:
            target[:] = 0
            continue
        first = delivery.first * delivery.size // WORD_SIZE
        if place >= 0:
            target[:] = aside[place + first : place + first + count]
            continue
        send = sends[delivery.send]
        first += (send.address - MEMORY_BASE) // WORD_SIZE
        target[:] = memory[send.tile, first : first + count]
