"""Whether a placement keeps to its requests and its policy, judged request by request.

It knows nothing of blocks and packing, and works on all tiles at once.
"""

from collections.abc import Iterator

import numpy as np

from tilewright.codegen.place.faults import MOST_NAMED, PlacementCheckError, listing
from tilewright.codegen.place.overlaps import overlapping
from tilewright.codegen.place.placement import Placement
from tilewright.codegen.place.policy import MemoryNeed, MemoryPolicy
from tilewright.codegen.place.requests import NONE, Bools, Ints, Requests
from tilewright.exchange.elements import elements
from tilewright.target.geometry import LOADABLE_END, MEMORY_BASE, MEMORY_END, TILES


def check_placement(requests: Requests, placement: Placement) -> None:
    """Raise `PlacementCheckError` with all kinds of faults, if there is one."""
    faults = placement_faults(requests, placement)
    if faults:
        raise PlacementCheckError("\n".join(faults))


def placement_faults(requests: Requests, placement: Placement) -> list[str]:
    """What is wrong with the addresses: a text per kind of fault, which names requests."""
    address = placement.address
    if address.shape != requests.size.shape:
        return [f"{len(address)} addresses for {len(requests)} requests"]
    outside = (address < MEMORY_BASE) | (address + requests.size + requests.tail > MEMORY_END)
    if outside.any():
        # Memory elements are numbered within memory, so what follows would make no sense.
        return [_told("outside memory, with the tail", requests, address, np.flatnonzero(outside))]
    kinds = [
        *_single(requests, address),
        *_arenas(requests, address, placement.policy),
        *_joined(requests, address),
        *_apart(requests, address),
    ]
    return [_told(reason, requests, address, rows) for reason, rows in kinds if len(rows)]


def _told(reason: str, requests: Requests, address: Ints, rows: Ints) -> str:
    lines = [f"{requests.describe(row)}, at {address[row]:#x}" for row in rows[:MOST_NAMED]]
    return listing(reason, lines, len(rows))


def _single(requests: Requests, address: Ints) -> Iterator[tuple[str, Ints]]:
    """What each request asks for itself."""
    end = address + requests.size
    fixed = (requests.fixed != NONE) & (address != requests.fixed)
    yield "not at its fixed address", np.flatnonzero(fixed)
    yield "not aligned", np.flatnonzero(address % requests.alignment != 0)
    for need in MemoryNeed:
        low, high = need.range
        wrong = (address < low) | (end > high) | (end + requests.tail > need.readable_end)
        kind = need.name.lower()
        yield f"not in memory that is {kind}", np.flatnonzero(wrong & (requests.need == need))
    unloadable = requests.initialised & (end > LOADABLE_END)
    yield "initialised where the loader cannot write", np.flatnonzero(unloadable)


def _arenas(requests: Requests, address: Ints, policy: MemoryPolicy) -> Iterator[tuple[str, Ints]]:
    """What the policy asks for: one arena of the order, nothing reserved. Fixed requests may be
    outside of arenas, and in what is reserved but open to them."""
    end = address + requests.size
    free = _without_fixed_alias(requests)
    for is_resident, names in ((True, policy.resident), (False, policy.transient)):
        allowed = np.zeros(len(requests), np.bool_)
        for arena in policy.arenas:
            if arena.name in names:
                allowed |= (address >= arena.start) & (end <= arena.end)
        # A transient that shares the memory of a resident goes where that one goes.
        bound = _resident_storage(requests) == is_resident
        kind = "resident" if is_resident else "transient"
        yield f"in no arena for {kind} requests", np.flatnonzero(free & bound & ~allowed)
    for arena in policy.arenas:
        touches = (address < arena.end) & (end > arena.start)
        crosses = touches & ((address < arena.start) | (end > arena.end))
        yield f"across the boundary of arena {arena.name}", np.flatnonzero(crosses)
    for each in policy.reserved:
        touches = (address < each.end) & (end > each.start)
        if each.open_to_fixed:
            touches &= free
        yield f"in what is reserved: {each.name}", np.flatnonzero(touches)


def _without_fixed_alias(requests: Requests) -> Bools:
    """Requests whose address nobody fixed, neither themselves nor through alias or sequence."""
    return ~_spread_over_joined(requests, requests.fixed != NONE)


def _resident_storage(requests: Requests) -> Bools:
    return _spread_over_joined(requests, requests.resident)


def _spread_over_joined(requests: Requests, chosen: Bools) -> Bools:
    """Chosen requests, and those joined with them by alias or sequence, directly or in turn."""
    groups = [_groups(requests, label) for label in (requests.alias, requests.sequence)]
    count = -1
    while count != int(chosen.sum()):
        count = int(chosen.sum())
        for group in groups:
            marked = np.zeros(group.max(initial=-1) + 1, np.bool_)
            marked[group[chosen]] = True
            chosen = marked[group]
    return chosen


def _groups(requests: Requests, label: Ints) -> Ints:
    """A number for the requests of each tile with each label; one of its own for those without."""
    _, compact = np.unique(label, return_inverse=True)
    count = len(label)
    compact = np.where(label == NONE, count + np.arange(count), compact)
    group: Ints = np.unique(compact * TILES + requests.tile, return_inverse=True)[1]
    return group


def _joined(requests: Requests, address: Ints) -> Iterator[tuple[str, Ints]]:
    """Aliases share an address; blocks of a sequence follow each other at its stride."""
    before, after = _neighbours(requests, requests.alias)
    differs = address[before] != address[after]
    yield "aliases at different addresses", after[differs]
    before, after = _neighbours(requests, requests.sequence)
    stride = _stride(requests)
    wrong = address[after] - address[before] != stride[before]
    yield "blocks of a sequence that do not follow each other at its stride", after[wrong]


def _neighbours(requests: Requests, label: Ints) -> tuple[Ints, Ints]:
    """Requests that follow each other among those of one tile with one label."""
    rows = np.flatnonzero(label != NONE)
    rows = rows[np.lexsort((rows, label[rows], requests.tile[rows]))]
    before, after = rows[:-1], rows[1:]
    same = (requests.tile[before] == requests.tile[after]) & (label[before] == label[after])
    return before[same], after[same]


def _stride(requests: Requests) -> Ints:
    """Of each request, the stride of its sequence: what it and its aliases need, aligned."""
    group = _groups(requests, requests.alias)
    needed = np.zeros(group.max(initial=-1) + 1, np.int64)
    alignment = needed.copy()
    np.maximum.at(needed, group, requests.size + requests.tail)
    np.maximum.at(alignment, group, requests.alignment)
    stride: Ints = (-(-needed // alignment) * alignment)[group]
    return stride


def _apart(requests: Requests, address: Ints) -> Iterator[tuple[str, Ints]]:
    """What is live at once overlaps only if it is an alias; what is separated shares no element."""
    one, other = overlapping(requests.tile, address, address + requests.size, *requests.life)
    wrong = (requests.alias[one] != requests.alias[other]) | (requests.alias[one] == NONE)
    yield "live at once and overlapping", np.unique(np.concatenate([one[wrong], other[wrong]]))
    one, other = requests.separations[:, 0], requests.separations[:, 1]
    together = requests.live_together(one, other)
    one, other = one[together], other[together]
    end = address + requests.size + requests.tail
    shared = elements(address[one], end[one]) & elements(address[other], end[other])
    wrong = shared != 0
    yield (
        "separated, but in one memory element",
        np.unique(np.concatenate([one[wrong], other[wrong]])),
    )
