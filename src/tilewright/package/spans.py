"""Spans of tile memory, or of streams, as arrays: sorting, overlaps, coverage and look-up.

A span has an owner (a tile, a tensor, …), a start and an end. Numbers of 32 bits become keys of 64
that order spans by owner, then start, so that one sorted array serves all owners.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

I64: TypeAlias = npt.NDArray[np.int64]
Ints: TypeAlias = npt.NDArray[Any]

_OWNER_SHIFT = 33
"""An end can be 2**32, so a start or an end takes 33 bits; owners have up to 30."""


def keys(owner: Ints, place: Ints | int) -> I64:
    """Numbers that order places by owner first."""
    return (owner.astype(np.int64) << _OWNER_SHIFT) + place


def overlapping(owner: Ints, start: Ints, size: Ints) -> I64:
    """Rows that begin before an earlier one, by start, of their owner ends; in rising order."""
    first = keys(owner, start)
    order = np.argsort(first, kind="stable")
    first = first[order]
    end = np.maximum.accumulate(first + size[order].astype(np.int64))
    found: I64 = np.sort(order[1:][first[1:] < end[:-1]])
    return found


def covered(owner: Ints, start: Ints, size: Ints, owners: int) -> I64:
    """For each owner, up to where its spans cover the range from 0 on without a gap."""
    first = keys(owner, start)
    order = np.argsort(first, kind="stable")
    first = first[order]
    end = np.maximum.accumulate(first + size[order].astype(np.int64))
    base = keys(np.arange(owners), 0)
    # Within its owner, a span that starts past all earlier ends leaves a gap before it.
    reached = np.maximum(np.concatenate([[-1], end[:-1]]), keys(owner[order], 0))
    begins_gap = first > reached
    low = np.searchsorted(first, base)
    high = np.searchsorted(first, keys(np.arange(owners) + 1, 0))
    gaps = np.flatnonzero(begins_gap)
    after = np.searchsorted(gaps, low)
    padded = np.concatenate([gaps, [len(first)]])
    stop = np.minimum(padded[after], high)
    last = np.concatenate([[0], end])[stop]
    return np.where(stop > low, last - base, 0)


def containing(starts: I64, key: I64) -> I64:
    """The last of sorted `starts` that is at or before each key; -1 for none."""
    return np.searchsorted(starts, key, side="right").astype(np.int64) - 1
