"""The words of a phase: read as they leave, written where they go, relays included.

A tile may send on what it receives in the same phase. A read sees a word from the event in which
the word is certain to be in memory; until the event in which the word takes its address, it sees
what was there before; in between it is a fault (`receive-write`).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.emulator.fabric.delays import TO_VISIBLE
from tilewright.emulator.fabric.delivery import Delivery
from tilewright.emulator.fabric.rows import WORD_SIZE, Send
from tilewright.emulator.faults import ExchangeFault, SendAddressFault, UnsettledReadFault
from tilewright.emulator.memory import TileMemory
from tilewright.target.geometry import MEMORY_BASE, MEMORY_END

_Words: TypeAlias = NDArray[np.uint32]
_Indices: TypeAlias = NDArray[np.int64]


class _Relay(NamedTuple):
    """Words of a delivery that a send of the receiver reads: places in the one and in the other."""

    delivery: Delivery
    delivered: _Indices
    sent: _Indices


def move(
    memory: TileMemory,
    sends: Sequence[Send],
    deliveries: Mapping[int, list[Delivery]],
    faults: list[ExchangeFault],
) -> None:
    """Write to memory what was delivered to each tile, in order of time.

    Adds sends from wrong addresses, and reads of words on their way to memory, to `faults`.
    """
    before = {send: _read(memory, send, faults) for send in sends}
    relays = _relays(sends, deliveries, faults)
    contents = _settle(before, relays)
    for tile, of_tile in deliveries.items():
        for each in of_tile:
            start = each.address - MEMORY_BASE
            words = _delivered(each, contents)
            memory.bytes[tile, start : start + words.nbytes] = words.view(np.uint8)


def _read(memory: TileMemory, send: Send, faults: list[ExchangeFault]) -> _Words:
    """The words that a send reads before anything arrives; zeros if its address is wrong."""
    size = send.items * send.size
    if send.address % send.size:
        cause = f"sends from {send.address:#x}, which is not aligned to {send.size} bytes"
    elif not MEMORY_BASE <= send.address <= MEMORY_END - size:
        cause = f"sends {send.items} items from {send.address:#x}, not all in tile memory"
    else:
        start = send.address - MEMORY_BASE
        return memory.bytes[send.tile, start : start + size].view(np.uint32).copy()
    faults.append(SendAddressFault(cause, tile=send.tile, event=send.event, pc=send.pc))
    return np.zeros(size // WORD_SIZE, dtype=np.uint32)


def _delivered(delivery: Delivery, contents: Mapping[Send, _Words]) -> _Words:
    words = delivery.size // WORD_SIZE
    if delivery.send is None:
        return np.zeros(delivery.items * words, dtype=np.uint32)
    start = delivery.first * words
    return contents[delivery.send][start : start + delivery.items * words]


def _relays(
    sends: Sequence[Send],
    deliveries: Mapping[int, list[Delivery]],
    faults: list[ExchangeFault],
) -> dict[Send, list[_Relay]]:
    """For each send that reads what the same phase brings: of which deliveries, oldest first."""
    found: dict[Send, list[_Relay]] = defaultdict(list)
    written = {
        tile: np.array([(each.address, each.end) for each in of_tile]).T
        for tile, of_tile in deliveries.items()
        if of_tile
    }
    bounds = {tile: (int(low.min()), int(high.max())) for tile, (low, high) in written.items()}
    for send in sends:
        start, end = send.address, send.address + send.items * send.size
        low, high = bounds.get(send.tile, (0, 0))
        if start >= high or end <= low:
            continue
        starts, ends = written[send.tile]
        for place in np.flatnonzero((starts < end) & (ends > start)).tolist():
            relay = _relay(send, deliveries[send.tile][place], faults)
            if relay.sent.size:
                found[send].append(relay)
    return found


def _relay(send: Send, delivery: Delivery, faults: list[ExchangeFault]) -> _Relay:
    low = max(send.address, delivery.address)
    high = min(send.address + send.items * send.size, delivery.end)
    addresses = np.arange(low, high, WORD_SIZE)
    sent, delivered = addresses - send.address, addresses - delivery.address
    read = send.event + sent // send.size
    point = delivery.point + delivered // delivery.size
    is_new = read >= point + TO_VISIBLE
    unsettled = np.flatnonzero((read >= point) & ~is_new)
    if unsettled.size:
        first = int(unsettled[0])
        cause = (
            f"sends the word at {addresses[first]:#x} while it arrives; it can be read from "
            f"event {point[first] + TO_VISIBLE} on"
        )
        faults.append(UnsettledReadFault(cause, tile=send.tile, event=int(read[first]), pc=send.pc))
    return _Relay(delivery, delivered[is_new] // WORD_SIZE, sent[is_new] // WORD_SIZE)


def _settle(before: dict[Send, _Words], relays: Mapping[Send, list[_Relay]]) -> dict[Send, _Words]:
    """What each send reads, what arrived in time included.

    Every round carries words one relay further. A word takes longer than any difference of clocks,
    so it never meets itself, and there is a last round.
    """
    contents = dict(before)
    changed = True
    while changed:
        changed = False
        for send, of_send in relays.items():
            words = before[send].copy()
            for relay in of_send:
                words[relay.sent] = _delivered(relay.delivery, contents)[relay.delivered]
            if not np.array_equal(words, contents[send]):
                contents[send] = words
                changed = True
    return contents
