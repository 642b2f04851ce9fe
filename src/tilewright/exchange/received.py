"""Items on their way through the receivers of a phase, for `check`."""

from typing import NamedTuple

import numpy as np

from tilewright.compiled import compiled, compiled_part
from tilewright.exchange.phase import WORD_SIZE, Ints
from tilewright.target.topology import PARTNER_BIT

SILENT, BAD_DIRECTION, BAD_WIDTH, TWO_AT_ONCE, NO_ADDRESS = range(5)
"""Faults, as the first column of arrays; tile and event follow."""


class Intervals(NamedTuple):
    """Slots `start` to `end` in which `tile` listens to `bus`; `is_paired` if its pair does too."""

    tile: Ints
    start: Ints
    end: Ints
    bus: Ints
    is_paired: Ints


class Lanes(NamedTuple):
    """What is on each bus: that of tile t are entries `start[t]` to `start[t + 1]`, in order."""

    start: Ints
    send: Ints
    sender: Ints
    event: Ints
    end: Ints
    size: Ints
    directions: Ints


class Pieces(NamedTuple):
    """Items `first` on of a send, in slots from `slot` on; `point` is the event of an address."""

    tile: Ints
    slot: Ints
    items: Ints
    send: Ints
    first: Ints
    point: Ints
    address: Ints


@compiled
def take_items(
    lanes: Lanes, intervals: Intervals, route_time: Ints, route_direction: Ints
) -> tuple[Pieces, Ints]:
    """What is on the bus while it is listened to; points and addresses are not known yet."""
    found = np.zeros((len(intervals.tile) + 1, 5), np.int64)
    faults = np.zeros((8, 3), np.int64)
    pieces, wrong = 0, 0
    for each in range(len(intervals.tile)):
        tile, bus, time = intervals.tile[each], intervals.bus[each], route_time[each]
        at, end = intervals.start[each], intervals.end[each]
        entry, stop = lanes.start[bus], lanes.start[bus + 1]
        low, high = entry, stop
        while low < high:
            middle = (low + high) // 2
            if lanes.end[middle] + time > at:
                high = middle
            else:
                low = middle + 1
        entry = low
        while entry < stop and lanes.event[entry] + time < end:
            first = max(at, lanes.event[entry] + time)
            last = min(end, lanes.end[entry] + time)
            if first > at:
                faults[wrong] = (SILENT, tile, at)
                wrong += 1
            if not lanes.directions[entry] & route_direction[each]:
                faults[wrong] = (BAD_DIRECTION, tile, first)
                wrong += 1
            elif _has_wrong_width(lanes, entry, tile, bus, intervals.is_paired[each]):
                faults[wrong] = (BAD_WIDTH, tile, first)
                wrong += 1
            else:
                item = first - time - lanes.event[entry]
                if pieces == len(found):
                    found = np.concatenate((found, np.zeros_like(found)))
                found[pieces] = (tile, first, last - first, lanes.send[entry], item)
                pieces += 1
            if wrong + 2 >= len(faults):
                faults = np.concatenate((faults, np.zeros_like(faults)))
            at = last
            entry += 1
        if at < end:
            faults[wrong] = (SILENT, tile, at)
            wrong += 1
        if wrong + 2 >= len(faults):
            faults = np.concatenate((faults, np.zeros_like(faults)))
    columns = found[:pieces].T
    nothing = np.zeros(pieces, np.int64)
    taken = Pieces(
        columns[0].copy(),
        columns[1].copy(),
        columns[2].copy(),
        columns[3].copy(),
        columns[4].copy(),
        nothing,
        nothing.copy(),
    )
    return taken, faults[:wrong]


@compiled_part
def _has_wrong_width(lanes: Lanes, entry: int, tile: int, bus: int, is_paired: bool) -> bool:
    """Pairs take 64-bit items: their first member on the sender's bus, the second on the lent."""
    if lanes.size[entry] == WORD_SIZE:
        return is_paired
    return not is_paired or lanes.sender[entry] != bus ^ (tile & PARTNER_BIT)


@compiled
def address_items(
    pieces: Pieces, sizes: Ints, pointer_tile: Ints, pointer_event: Ints, pointer: Ints
) -> tuple[Pieces, Ints]:
    """Pieces, sorted by tile and point, split where pointers are set; pointers sorted alike."""
    count = len(pieces.tile)
    most = count + len(pointer)
    place = np.zeros(most, np.int64)
    offset = np.zeros(most, np.int64)
    items = np.zeros(most, np.int64)
    address = np.zeros(most, np.int64)
    faults = np.zeros((2 * most, 3), np.int64)
    used, wrong, written = 0, 0, 0
    tile, free, cursor, is_known = -1, 0, 0, False
    for each in range(count):
        if pieces.tile[each] != tile:
            tile, free, cursor, is_known = pieces.tile[each], 0, 0, False
            while used < len(pointer) and pointer_tile[used] < tile:
                used += 1
        at, end = pieces.point[each], pieces.point[each] + pieces.items[each]
        if at < free:
            faults[wrong] = (TWO_AT_ONCE, tile, pieces.slot[each])
            wrong += 1
        free = end
        while at < end:
            while used < len(pointer) and pointer_tile[used] == tile and pointer_event[used] <= at:
                cursor, is_known = pointer[used], True
                used += 1
            stop = end
            if used < len(pointer) and pointer_tile[used] == tile:
                stop = min(end, pointer_event[used])
            if not is_known:
                faults[wrong] = (NO_ADDRESS, tile, pieces.slot[each])
                wrong += 1
            place[written] = each
            offset[written] = at - pieces.point[each]
            items[written] = stop - at
            address[written] = cursor
            written += 1
            cursor += (stop - at) * sizes[each]
            at = stop
    place, offset = place[:written], offset[:written]
    found = Pieces(
        pieces.tile[place],
        pieces.slot[place] + offset,
        items[:written],
        pieces.send[place],
        pieces.first[place] + offset,
        pieces.point[place] + offset,
        address[:written],
    )
    return found, faults[:wrong]
