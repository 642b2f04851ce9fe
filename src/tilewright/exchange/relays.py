"""Relays: transfers that send on what others bring to their source in the same phase."""

import numpy as np
import numpy.typing as npt

from tilewright.compiled import compiled
from tilewright.exchange.phase import WORD_SIZE, ExchangePhase, Ints

_TILE_SHIFT = 32
"""Tile and address in one number, so that one search finds places in all tiles."""


def waits(
    source_tile: Ints,
    source_address: Ints,
    source_end: Ints,
    receiver_tile: Ints,
    receiver_address: Ints,
    receiver_end: Ints,
) -> tuple[Ints, Ints]:
    """Which sources read words that which receivers get: pairs of indices, in order of sources.

    Addresses and ends are in bytes. Receivers must not overlap.
    """
    order = np.lexsort((receiver_address, receiver_tile))
    starts = _place(receiver_tile, receiver_address)[order]
    ends = _place(receiver_tile, receiver_end)[order]
    first = np.searchsorted(ends, _place(source_tile, source_address), side="right")
    stop = np.searchsorted(starts, _place(source_tile, source_end), side="left")
    counts = np.maximum(stop - first, 0)
    readers = np.repeat(np.arange(len(source_tile)), counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return readers, order[np.repeat(first, counts) + within]


def _place(tile: Ints, address: Ints) -> Ints:
    return tile << _TILE_SHIFT | address


def relays(phase: ExchangePhase) -> tuple[Ints, Ints]:
    """Pairs of transfers: the first waits for the second. Raises `PhaseError` for a cycle."""
    readers, receivers = waits(
        phase.source_tile,
        phase.source_address,
        phase.source_address + WORD_SIZE * phase.words,
        phase.receiver_tile,
        phase.receiver_address,
        phase.receiver_address + WORD_SIZE * phase.receiver_words,
    )
    writers = phase.receiver_transfer[receivers]
    phase.refuse(
        "transfers that wait for each other in a cycle", _cycle(readers, writers, phase.transfers)
    )
    return readers, writers


def _cycle(readers: Ints, writers: Ints, transfers: int) -> Ints:
    """Transfers of a cycle; none if there is no cycle."""
    stuck = _stuck(readers, writers, transfers)
    inside = stuck[readers] & stuck[writers]
    return _walk(dict(zip(readers[inside].tolist(), writers[inside].tolist(), strict=True)))


@compiled
def _stuck(readers: Ints, writers: Ints, transfers: int) -> npt.NDArray[np.bool_]:
    """Which transfers are left when all those that wait for nobody left have gone."""
    waiting = np.zeros(transfers, np.int64)
    start = np.zeros(transfers + 1, np.int64)
    for place in range(len(readers)):
        waiting[readers[place]] += 1
        start[writers[place] + 1] += 1
    start = np.cumsum(start)
    filled = start[:-1].copy()
    waits = np.empty(len(readers), np.int64)
    for place in range(len(readers)):
        waits[filled[writers[place]]] = readers[place]
        filled[writers[place]] += 1
    gone = np.empty(transfers, np.int64)
    count = 0
    for transfer in range(transfers):
        if waiting[transfer] == 0:
            gone[count] = transfer
            count += 1
    done = 0
    while done < count:
        transfer = gone[done]
        done += 1
        for place in range(start[transfer], start[transfer + 1]):
            waiting[waits[place]] -= 1
            if waiting[waits[place]] == 0:
                gone[count] = waits[place]
                count += 1
    return waiting > 0


def _walk(waits_for: dict[int, int]) -> Ints:
    """The transfers met again and again when everyone's waiting is followed."""
    if not waits_for:
        return np.zeros(0, dtype=np.int64)
    at = min(waits_for)
    for _ in waits_for:
        at = waits_for[at]
    found = [at]
    while (following := waits_for[found[-1]]) != at:
        found.append(following)
    return np.array(found)
