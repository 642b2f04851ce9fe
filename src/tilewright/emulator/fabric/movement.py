"""The words of a phase: read as they leave, written where they go, relays included.

A tile may send on what it receives in the same phase. A read sees a word from the event in which
the word is certain to be in memory; until the event in which the word takes its address, it sees
what was there before; in between it is a fault (`receive-write`).

Most sends read memory that nothing of the phase is written to; their words are copied from where
they lie to where they go. The others are read aside first.
"""

import numpy as np
from numpy.typing import NDArray

from tilewright.compiled import compiled, compiled_part
from tilewright.emulator.fabric.arrivals import SILENCE
from tilewright.emulator.fabric.delays import TO_VISIBLE
from tilewright.emulator.fabric.findings import Finding, Findings, note
from tilewright.emulator.fabric.relays import delivery_end, relays
from tilewright.emulator.fabric.rows import WORD_SIZE, Array, Bounds, Entry
from tilewright.emulator.memory import TileMemory
from tilewright.target.geometry import MEMORY_BASE, MEMORY_END

_IN_MEMORY, _NOWHERE = -1, -2
"""Where the words of a send are, if they are not aside: in its tile's memory; nowhere, which gives
zeros."""


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
    relayed = relays(sends, send_bounds, deliveries, bounds)
    aside = np.zeros(0, np.uint32)
    if len(relayed):
        found = _check_settled(sends, deliveries, relayed, found)
        aside = np.zeros(_place_aside(sends, relayed, places), np.uint32)
        _settle(words, sends, deliveries, relayed, places, aside)
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


@compiled_part
def _is_inside(send: Entry) -> bool:
    """Whether all of a send can be read."""
    end = send.address + send.items * send.size
    return bool(send.address % send.size == 0 and send.address >= MEMORY_BASE and end <= MEMORY_END)


@compiled
def _place_aside(sends: Array, relayed: Array, places: NDArray[np.int64]) -> int:
    """Give the sends that read what is written places aside; returns how many words there are."""
    room = 0
    for number in range(len(relayed)):
        if number and relayed[number].send == relayed[number - 1].send:
            continue
        send = sends[relayed[number].send]
        places[relayed[number].send] = room
        room += send.items * send.size // WORD_SIZE
    return room


@compiled_part
def _overlap(send: Entry, delivery: Entry) -> tuple[int, int]:
    """The addresses that both concern, `end` exclusive."""
    low = max(send.address, delivery.address)
    high = min(send.address + send.items * send.size, delivery_end(delivery))
    return low, high


@compiled_part
def _age(send: Entry, delivery: Entry, address: int) -> tuple[int, int]:
    """The event in which a word is read, and that in which it takes its address."""
    read = send.event + (address - send.address) // send.size
    point = delivery.point + (address - delivery.address) // delivery.size
    return read, point


@compiled
def _check_settled(sends: Array, deliveries: Array, relayed: Array, found: Findings) -> Findings:
    for number in range(len(relayed)):
        send, delivery = sends[relayed[number].send], deliveries[relayed[number].delivery]
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
    relayed: Array,
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
        while first < len(relayed):
            number = relayed[first].send
            end = first
            while end < len(relayed) and relayed[end].send == number:
                end += 1
            if _relay(memory, sends, deliveries, relayed[first:end], places, before, aside):
                changed = True
            first = end


@compiled_part
def _relay(
    memory: NDArray[np.uint32],
    sends: Array,
    deliveries: Array,
    relayed: Array,
    places: NDArray[np.int64],
    before: NDArray[np.uint32],
    aside: NDArray[np.uint32],
) -> bool:
    """Read once more what a send reads of what has arrived; whether that changes anything."""
    number = relayed[0].send
    send, place = sends[number], places[number]
    count = send.items * send.size // WORD_SIZE
    words = before[place : place + count].copy()
    for each in range(len(relayed)):
        delivery = deliveries[relayed[each].delivery]
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


@compiled_part
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
        first = delivery.first * delivery.size // WORD_SIZE
        if place == _NOWHERE:
            for word in range(count):
                target[word] = 0
        elif place >= 0:
            _copy(target, aside[place + first :], count)
        else:
            send = sends[delivery.send]
            first += (send.address - MEMORY_BASE) // WORD_SIZE
            _copy(target, memory[send.tile, first:], count)


@compiled_part
def _copy(target: NDArray[np.uint32], source: NDArray[np.uint32], count: int) -> None:
    """The slices do not overlap; assigning them would take its time to compile."""
    for word in range(count):
        target[word] = source[word]
