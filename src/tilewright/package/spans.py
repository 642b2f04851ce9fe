"""Spans of tile memory, or of streams, as arrays: sorting, overlaps, coverage and look-up.

A span has an owner (a tile, a tensor, …), a start and an end. Numbers of 32 bits become keys of 64
that order spans by owner, then start, so that one sorted array serves all owners.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

I64: TypeAlias = npt.NDArray[np.int64]
Ints: TypeAlias = npt.NDArray[Any]

_NONE: I64 = np.empty(0, np.int64)

_OWNER_SHIFT = 33
"""An end can be 2**32, so a start or an end takes 33 bits; owners have up to 30."""


def keys(owner: Ints, place: Ints | int) -> I64:
    """Numbers that order places by owner first."""
    found = owner.astype(np.int64)
    found <<= _OWNER_SHIFT  # in place, as tables can be long
    found += place
    return found


def ends_past(
    start: Ints, size: Ints, limit: Ints | np.unsignedinteger[Any]
) -> npt.NDArray[np.bool_]:
    """Whether spans of numbers of 32 bits end behind `limit`, without a sum that could wrap."""
    return (start > limit) | (size > limit - np.minimum(start, limit))


def overlapping(owner: Ints, start: Ints, size: Ints) -> I64:
    """Rows that begin before an earlier one, by start, of their owner ends; in rising order."""
    first = keys(owner, start)
    order = _order(first)
    first = first[order]
    end = first + size[order]
    np.maximum.accumulate(end, out=end)
    wrong = first[1:] < end[:-1]
    del first, end
    found: I64 = np.sort(np.arange(len(wrong) + 1)[order][1:][wrong]) if wrong.any() else _NONE
    return found


def covered(owner: Ints, start: Ints, size: Ints, owners: int) -> I64:
    """For each owner, up to where its spans cover the range from 0 on without a gap."""
    first = keys(owner, start)
    order = _order(first)
    first = first[order]
    end = first + size[order]
    np.maximum.accumulate(end, out=end)
    base = keys(np.arange(owners + 1), 0)
    bounds = np.searchsorted(first, base)
    low, high, base = bounds[:-1], bounds[1:], base[:-1]
    # A gap lies before a span that starts past all earlier ends, or, the first, past 0.
    is_gap = np.ones(len(first), bool)
    is_gap[1:] = first[1:] > end[:-1]
    filled = low[low < high]
    is_gap[filled] = first[filled] > base[low < high]
    gaps = np.append(np.flatnonzero(is_gap), len(first))
    stop = np.minimum(gaps[np.searchsorted(gaps, low)], high)
    return np.where(stop > low, np.append(0, end)[stop] - base, 0)


def containing(starts: I64, key: I64) -> I64:
    """The last of sorted `starts` that is at or before each key; -1 for none."""
    found: I64 = np.searchsorted(starts, key, side="right")
    found -= 1
    return found


def _order(first: I64) -> I64 | slice:
    """What sorts keys; they often are sorted already."""
    if np.all(first[1:] >= first[:-1]):
        return slice(None)
    return np.argsort(first, kind="stable")
