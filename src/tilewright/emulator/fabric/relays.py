"""Sends that read where the same phase writes: which of them meets which deliveries."""

import numpy as np
from numpy.typing import NDArray

from tilewright.compiled import compiled, compiled_part
from tilewright.emulator.fabric.compiled_arrays import first_beyond, with_room
from tilewright.emulator.fabric.rows import Array, Bounds, Entry

RELAY = np.dtype([("send", np.int64), ("delivery", np.int64)])
"""A send, and a delivery to its tile that writes some of what it reads, sooner or later."""


def relays(sends: Array, send_bounds: Bounds, deliveries: Array, bounds: Bounds) -> Array:
    """All of them in order of sends, those of each send in order of deliveries: oldest first."""
    if not _may_meet(sends, send_bounds, deliveries, bounds):
        return np.empty(0, RELAY)
    by_address = np.lexsort((deliveries["address"], deliveries["receiver"]))
    found = _meetings(sends, send_bounds, deliveries, bounds, by_address)
    return found[np.lexsort((found["delivery"], found["send"]))]


@compiled_part
def delivery_end(delivery: Entry) -> int:
    """The address after the last byte."""
    return int(delivery.address + delivery.items * delivery.size)


@compiled
def _may_meet(sends: Array, send_bounds: Bounds, deliveries: Array, bounds: Bounds) -> bool:
    """Whether a tile sends from between the first and the last address that is written in it."""
    for tile in range(len(bounds) - 1):
        first, end = bounds[tile], bounds[tile + 1]
        if first == end:
            continue
        low, high = deliveries[first].address, delivery_end(deliveries[first])
        for place in range(first + 1, end):
            low = min(low, deliveries[place].address)
            high = max(high, delivery_end(deliveries[place]))
        for number in range(send_bounds[tile], send_bounds[tile + 1]):
            send = sends[number]
            if send.address < high and send.address + send.items * send.size > low:
                return True
    return False


@compiled
def _meetings(
    sends: Array,
    send_bounds: Bounds,
    deliveries: Array,
    bounds: Bounds,
    by_address: NDArray[np.int64],
) -> Array:
    found = np.empty(0, RELAY)
    count = 0
    # Of each tile's deliveries in order of addresses, the last end up to each.
    ends = np.empty(len(deliveries), np.int64)
    for tile in range(len(bounds) - 1):
        first, end = bounds[tile], bounds[tile + 1]
        last = 0
        for place in range(first, end):
            last = max(last, delivery_end(deliveries[by_address[place]]))
            ends[place] = last
        for number in range(send_bounds[tile], send_bounds[tile + 1]):
            send = sends[number]
            stop = send.address + send.items * send.size
            # Those before this one end before the send's words.
            place = first + first_beyond(ends[first:end], send.address)
            while place < end and deliveries[by_address[place]].address < stop:
                delivery = by_address[place]
                if delivery_end(deliveries[delivery]) > send.address:
                    found = with_room(found, count)
                    meeting = found[count]
                    meeting.send, meeting.delivery = number, delivery
                    count += 1
                place += 1
    return found[:count]
