"""Where the blocks of a tile go: the best of many orders, first fit or best fit, and of their kin.

Compiled. A packing takes blocks one by one and puts each to the lowest address, or into the
tightest gap, of the first window that has room, among the blocks placed before that live at the
same time. So a packing is known by the order and the kind of fit, and what is searched are orders:
a portfolio of sorted ones first, largest first foremost, and then the best of them with single
blocks moved. Blocks for which no window has room go to an imaginary last window past all memory.
The cost of a packing is how far that one is used, and then how far the arenas are.

The packer sees windows and numbers, not arenas and needs: `placing` makes the one from the other.
"""

from typing import NamedTuple

import numpy as np

from tilewright.codegen.place.requests import NONE, Ints
from tilewright.compiled import compiled, compiled_part
from tilewright.target.geometry import ELEMENT_SIZE, REGION1_BASE

OVERFLOW = 1 << 32
"""Where the imaginary window begins; blocks that found no room have addresses from here up."""

FIRST_FIT, BEST_FIT = 0, 1

_SHORT = 1 << 24
"""Cost of a byte past all memory, in bytes of arenas: more than a tile has."""
_ANY_COST = (1 << 63) - 1
_MOVES = 100
"""Changes of order that are tried on a tile of few blocks; with many they would take long."""
_WORK = 3_000_000
"""Pairs of blocks that all moves of a tile may look at, about."""
_MOVES_WHEN_SHORT, _WORK_WHEN_SHORT = 1000, 30_000_000
"""The same where the best packing so far does not fit, but there may be one that does."""
_SEED = 0x2545F4914F6CDD1D


class TileBlocks(NamedTuple):
    """Columns of the blocks of one tile, followed by rows for what is reserved.

    `blocks` says how many are blocks. A block's windows are entries `window_start[option]` up to
    `window_start[option + 1]` of `Windows`. `part_start` and the columns after it list separations
    as in `Blocks`, with blocks numbered within the tile.
    """

    blocks: int
    size: Ints
    alignment: Ints
    tail: Ints
    first: Ints
    last: Ints
    resident: Ints
    fixed: Ints
    option: Ints
    part_start: Ints
    part_low: Ints
    part_high: Ints
    other: Ints
    other_low: Ints
    other_high: Ints


class Windows(NamedTuple):
    """Places to try for each option, in order. Blocks end at most at `end`, tails at `reach`."""

    start: Ints
    low: Ints
    end: Ints
    reach: Ints
    arena: Ints


class Reserved(NamedTuple):
    """Reserved ranges, half open; the start of each arena, `OVERFLOW` last; bytes of all arenas."""

    low: Ints
    high: Ints
    arena_start: Ints
    capacity: int


class _Work(NamedTuple):
    """Scratch of a packing: addresses, what is placed sorted by address, forbidden starts."""

    address: Ints
    placed: Ints
    low: Ints
    high: Ints
    top: Ints


@compiled_part
def _new_work(tile: TileBlocks, arenas: int) -> _Work:
    rows = len(tile.size)
    room = rows + len(tile.other)
    return _Work(
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(arenas, np.int64),
    )


@compiled_part
def _rounded_up(value: int, alignment: int) -> int:
    return (value + alignment - 1) & -alignment


@compiled_part
def _element_low(address: int) -> int:
    unit = ELEMENT_SIZE if address < REGION1_BASE else 2 * ELEMENT_SIZE
    return address & -unit


@compiled_part
def _element_end(end: int) -> int:
    """The end of the element that holds the byte before `end`."""
    unit = ELEMENT_SIZE if end <= REGION1_BASE else 2 * ELEMENT_SIZE
    return _rounded_up(end, unit)


@compiled_part
def _note_placed(work: _Work, count: int, row: int) -> None:
    place = count
    while place > 0 and work.address[work.placed[place - 1]] > work.address[row]:
        work.placed[place] = work.placed[place - 1]
        place -= 1
    work.placed[place] = row


@compiled_part
def _forbid_overlaps(tile: TileBlocks, work: _Work, count: int, row: int) -> int:
    """List where `row` cannot start because of blocks that live at the same time, sorted."""
    size, first, last = tile.size[row], tile.first[row], tile.last[row]
    listed = 0
    for place in range(count):
        other = work.placed[place]
        if tile.first[other] <= last and first <= tile.last[other]:
            work.low[listed] = work.address[other] - size
            work.high[listed] = work.address[other] + tile.size[other]
            listed += 1
    return listed


@compiled_part
def _forbid_elements(tile: TileBlocks, work: _Work, listed: int, row: int) -> int:
    """Add where `row` cannot start because of separations from blocks that are placed."""
    for part in range(tile.part_start[row], tile.part_start[row + 1]):
        base = work.address[tile.other[part]]
        if base == NONE:
            continue
        low = _element_low(base + tile.other_low[part]) - tile.part_high[part]
        high = _element_end(base + tile.other_high[part]) - tile.part_low[part]
        place = listed
        while place > 0 and work.low[place - 1] > low:
            work.low[place] = work.low[place - 1]
            work.high[place] = work.high[place - 1]
            place -= 1
        work.low[place] = low
        work.high[place] = high
        listed += 1
    return listed


@compiled_part
def _fit(work: _Work, listed: int, low: int, most: int, alignment: int, fit: int) -> int:
    """The best start from `low` to `most`, both included, that is not forbidden, or `NONE`."""
    start = _rounded_up(low, alignment)
    best = NONE
    tightest = most - low + 1
    for place in range(listed):
        if work.high[place] <= start:
            continue
        last = min(work.low[place], most)
        if start <= last:
            if fit == FIRST_FIT:
                return start
            if last - start < tightest:
                best, tightest = start, last - start
        start = _rounded_up(work.high[place], alignment)
        if start > most:
            return best
    return start if best == NONE else best


@compiled_part
def _pack(
    tile: TileBlocks,
    windows: Windows,
    reserved: Reserved,
    work: _Work,
    order: Ints,
    fit: int,
    limit: int,
) -> int:
    """Place the blocks in this order; the cost, or `limit` as soon as it is reached.

    Addresses are left in `work.address`.
    """
    count = _place_what_is_fixed(tile, reserved, work)
    for arena in range(len(work.top)):
        work.top[arena] = reserved.arena_start[arena]
    cost = 0
    for row in order:
        listed = _forbid_overlaps(tile, work, count, row)
        listed = _forbid_elements(tile, work, listed, row)
        size, reach = tile.size[row], tile.size[row] + tile.tail[row]
        option = tile.option[row]
        for window in range(windows.start[option], windows.start[option + 1]):
            most = min(windows.end[window] - size, windows.reach[window] - reach)
            if most < windows.low[window]:
                continue
            start = _fit(work, listed, windows.low[window], most, tile.alignment[row], fit)
            if start != NONE and start <= most:
                break
        work.address[row] = start
        _note_placed(work, count, row)
        count += 1
        cost += _growth(work, reserved, windows.arena[window], start + size)
        if cost >= limit:
            return limit
    return cost


@compiled_part
def _place_what_is_fixed(tile: TileBlocks, reserved: Reserved, work: _Work) -> int:
    count = 0
    for row in range(len(tile.size)):
        work.address[row] = tile.fixed[row]
        if tile.fixed[row] != NONE:
            _note_placed(work, count, row)
            count += 1
    return count


@compiled_part
def _growth(work: _Work, reserved: Reserved, arena: int, end: int) -> int:
    """What it costs that a block of this arena ends there."""
    top = int(work.top[arena])
    if end <= top:
        return 0
    work.top[arena] = end
    grown = end - top
    if arena == len(work.top) - 1:
        return grown * _SHORT
    for place in range(len(reserved.low)):
        grown -= max(0, min(int(reserved.high[place]), end) - max(int(reserved.low[place]), top))
    return grown


@compiled_part
def _bound(tile: TileBlocks) -> int:
    """The most bytes of movable blocks that live at once: no packing costs less."""
    most = 0
    for row in range(tile.blocks):
        live = 0
        step = tile.first[row]
        for other in range(tile.blocks):
            if tile.fixed[other] == NONE and tile.first[other] <= step <= tile.last[other]:
                live += tile.size[other]
        most = max(most, live)
    return most


@compiled
def pack_in_order(
    tile: TileBlocks, windows: Windows, reserved: Reserved, order: Ints, fit: int
) -> Ints:
    """Addresses of the blocks of a tile that are placed in this order."""
    work = _new_work(tile, len(reserved.arena_start))
    _pack(tile, windows, reserved, work, order, fit, _ANY_COST)
    return work.address[: tile.blocks].copy()


@compiled
def pack(
    tile: TileBlocks, windows: Windows, reserved: Reserved, orders: Ints, fits: Ints, moves: int
) -> Ints:
    """Addresses of the blocks of a tile: the best packing of these orders and of moves.

    Row k of `orders` lists the blocks that are not fixed, for the fit `fits[k]`. `moves` limits the
    changes of order; `NONE` leaves their number to the packer.
    """
    work = _new_work(tile, len(reserved.arena_start))
    bound = _bound(tile)
    cost = _ANY_COST
    best = 0
    address = work.address[: tile.blocks].copy()
    for number in range(len(fits)):
        found = _pack(tile, windows, reserved, work, orders[number], fits[number], cost)
        if found < cost:
            cost, best = found, number
            _keep(work, address)
        if cost <= bound:
            return address
    if moves == NONE:
        worthwhile = cost >= _SHORT and bound <= reserved.capacity
        moves = _allowed_moves(len(orders[best]), worthwhile)
    return _improved(
        tile, windows, reserved, work, orders[best], fits[best], cost, bound, moves, address
    )


@compiled_part
def _improved(
    tile: TileBlocks,
    windows: Windows,
    reserved: Reserved,
    work: _Work,
    order: Ints,
    fit: int,
    cost: int,
    bound: int,
    moves: int,
    address: Ints,
) -> Ints:
    """Move single blocks forward in the order, and keep what is not worse."""
    state = np.uint64(_SEED)
    tries = 0
    while cost > bound and len(order) > 1 and tries < moves:
        tries += 1
        state = _next(state)
        source = 1 + int(state >> np.uint64(33)) % (len(order) - 1)
        state = _next(state)
        target = int(state >> np.uint64(33)) % source
        changed = _moved(order, source, target)
        found = _pack(tile, windows, reserved, work, changed, fit, cost + 1)
        if found > cost:
            continue
        cost, order = found, changed
        _keep(work, address)
    return address


@compiled_part
def _keep(work: _Work, address: Ints) -> None:
    for row in range(len(address)):
        address[row] = work.address[row]


@compiled_part
def _allowed_moves(blocks: int, worthwhile: bool) -> int:
    """How many moves may be tried, more if they may make fit what does not yet."""
    pairs = max(1, blocks * blocks)
    if worthwhile:
        return min(_MOVES_WHEN_SHORT, 1 + _WORK_WHEN_SHORT // pairs)
    return min(_MOVES, 1 + _WORK // pairs)


@compiled_part
def _next(state: np.uint64) -> np.uint64:
    """The next number of a xorshift generator."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@compiled_part
def _moved(order: Ints, source: int, target: int) -> Ints:
    """The order with the block at place `source` moved forward to place `target`."""
    changed = order.copy()
    for place in range(target, source):
        changed[place + 1] = order[place]
    changed[target] = order[source]
    return changed
