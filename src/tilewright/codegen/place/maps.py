"""What lies where in the memory of a tile, as text."""

from itertools import pairwise

import numpy as np

from tilewright.codegen.place.faults import Names
from tilewright.codegen.place.placement import Placement
from tilewright.codegen.place.policy import MemoryPolicy
from tilewright.codegen.place.requests import Ints, Requests, life_text
from tilewright.target.geometry import MEMORY_BASE, MEMORY_END


def memory_map(
    requests: Requests,
    placement: Placement,
    tile: int,
    *,
    step: int | None = None,
    names: Names | None = None,
) -> str:
    """The memory of one tile in one step, or in all steps: a line per request and per hole.

    In the map of all steps a hole is what nothing ever uses.
    """
    rows = np.flatnonzero(requests.tile == tile)
    return map_text(requests, placement.policy, rows, placement.address[rows], step, names)


def map_text(
    requests: Requests,
    policy: MemoryPolicy,
    rows: Ints,
    address: Ints,
    step: int | None,
    names: Names | None,
) -> str:
    """The map of these rows, which are of one tile, at these addresses."""
    first, last = requests.life
    if step is not None:
        live = (first[rows] <= step) & (last[rows] >= step)
        rows, address = rows[live], address[live]
    entries = [(r.start, r.end, f"reserved: {r.name}") for r in policy.reserved]
    entries += [
        (int(at), int(at + requests.size[row]), _owner(requests, int(row), names))
        for row, at in zip(rows.tolist(), address.tolist(), strict=True)
    ]
    entries.sort(key=lambda entry: entry[:2])
    edges = sorted(
        {MEMORY_BASE, *(a.start for a in policy.arenas), *(a.end for a in policy.arenas)}
    )
    lines = []
    done = MEMORY_BASE
    for low, high, text in [*entries, (MEMORY_END, MEMORY_END, "")]:
        lines += _holes(done, min(low, MEMORY_END), edges, policy)
        if text and low < MEMORY_END:
            lines.append(_line(low, high, text))
        done = max(done, high)
    return "\n".join(lines)


def owner_name(requests: Requests, row: int, names: Names | None) -> str:
    """Who a request belongs to."""
    value = int(requests.value[row])
    return f"value {value}" if names is None else names(value)


def _owner(requests: Requests, row: int, names: Names | None) -> str:
    first, last = int(requests.first[row]), int(requests.last[row])
    life = life_text(first, last, bool(requests.resident[row]))
    return f"{owner_name(requests, row, names)} ({life})"


def _holes(low: int, high: int, edges: list[int], policy: MemoryPolicy) -> list[str]:
    """What is free, cut at the edges of arenas."""
    cuts = [low, *(edge for edge in edges if low < edge < high), high]
    return [
        _line(start, end, f"free in {_arena(start, policy)}")
        for start, end in pairwise(cuts)
        if start < end
    ]


def _arena(address: int, policy: MemoryPolicy) -> str:
    for arena in policy.arenas:
        if arena.start <= address < arena.end:
            return arena.name
    return "no arena"


def _line(low: int, high: int, text: str) -> str:
    return f"  {low:#7x} to {high:#7x}  {high - low:>9,}  {text}"
