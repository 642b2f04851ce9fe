"""Random phases: any size, fan-out, alignment; pairs, relays, loopbacks; a seed decides on all."""

import numpy as np

from tilewright.exchange import ExchangePhase, PhaseError, Transfer, schedule
from tilewright.exchange.phase import Ints
from tilewright.target.geometry import MEMORY_END, REGION1_BASE, TILES

SIZES = (1, 2, 3, 15, 16, 17, 31, 32, 51, 52, 53, 54, 63, 64, 65, 127, 128, 130, 256, 512, 1024)
_LOW, _HIGH = 0x5C000, MEMORY_END - 0x4000
_PARTNER = 2


class _Memory:
    """Hands out addresses of tiles that nobody else writes."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._next: dict[int, int] = {}

    def take(self, tile: int, words: int, align: int) -> int:
        start = self._next.get(tile, REGION1_BASE - 0x8000 + 4 * int(self._rng.integers(64)))
        start = -(-start // align) * align
        self._next[tile] = start + 4 * words + 4 * int(self._rng.integers(0, 3))
        return start


def random_phase(seed: int, tiles: int, transfers: int) -> ExchangePhase:
    """Transfers between `tiles` tiles at random places of the chip."""
    rng = np.random.default_rng(seed)
    used = rng.choice(TILES // 4, -(-tiles // 4), replace=False)
    places = np.concatenate([4 * used, 4 * used + 1, 4 * used + 2, 4 * used + 3])[:tiles]
    memory = _Memory(rng)
    found: list[Transfer] = []
    while len(found) < transfers:
        each = _random_transfer(rng, places, memory, found)
        if _may_join(each):
            found.append(each)
    return ExchangePhase.of(found)


def _may_join(transfer: Transfer) -> bool:
    """Whether it can be sent at all: not out of memory, nor out of an element into itself."""
    try:
        schedule(ExchangePhase.of([transfer]))
    except PhaseError:
        return False
    return True


def _random_transfer(
    rng: np.random.Generator, places: Ints, memory: _Memory, before: list[Transfer]
) -> Transfer:
    words = int(rng.choice(SIZES))
    source = int(rng.choice(places))
    address = _LOW + 4 * int(rng.integers(0, 512))
    if before and rng.random() < 0.2:
        # Send on what another brings, or a part of it.
        other = before[int(rng.integers(len(before)))]
        source, address = other.receivers[int(rng.integers(len(other.receivers)))]
        words = int(rng.integers(1, other.words + 1))
    count = int(rng.choice([1, 1, 1, 2, 3, 6]))
    receivers = list(map(int, rng.choice(places, min(count, len(places)), replace=False)))
    align = 4
    if rng.random() < 0.3:
        # Complete pairs, as 64-bit items want them.
        receivers = sorted({tile & ~_PARTNER for tile in receivers})
        receivers += [tile | _PARTNER for tile in receivers]
        words, address, align = max(2, words // 2 * 2), address & ~7, 8
    if all(tile == source for tile in receivers):
        receivers.append(source ^ _PARTNER)
    return Transfer(
        source, address, words, [(tile, memory.take(tile, words, align)) for tile in receivers]
    )
