"""Patterns of transfers that benchmarks and tests use, in logical tiles.

Sources read from low memory and destinations lie in region 1, so that they share no element.
"""

from collections.abc import Callable, Iterable, Sequence

from tilewright.exchange.phase import WORD_SIZE, ExchangePhase, Transfer
from tilewright.target.geometry import REGION1_BASE, TILES
from tilewright.target.topology import physical_tile

SOURCE = 0x5C000
"""Where sources start to read, and below which rows find room."""
DESTINATION = REGION1_BASE

Pattern = Callable[[int], ExchangePhase]


def permutation(words: int) -> ExchangePhase:
    """Each tile l to tile 5 l + 17."""
    return _one_to_one(((5 * tile + 17) % TILES for tile in range(TILES)), words)


def shift(distance: int) -> Pattern:
    """Each tile to the one that follows by `distance`."""
    return lambda words: _one_to_one(((tile + distance) % TILES for tile in range(TILES)), words)


def reversal(words: int) -> ExchangePhase:
    """Each tile to the one as far from the other end."""
    return _one_to_one(range(TILES - 1, -1, -1), words)


def broadcast(words: int) -> ExchangePhase:
    """Tile 0 to all others at once."""
    return ExchangePhase.of(
        [_transfer(0, SOURCE, words, [(n, DESTINATION) for n in range(1, TILES)])]
    )


def gather(words: int) -> ExchangePhase:
    """Tiles 1 to 64 to tile 0."""
    return ExchangePhase.of(
        _transfer(tile, SOURCE, words, [(0, DESTINATION + WORD_SIZE * words * (tile - 1))])
        for tile in range(1, 65)
    )


def scatter(words: int) -> ExchangePhase:
    """Tile 0 to tiles 1 to 64, different words to each."""
    return ExchangePhase.of(
        _transfer(0, SOURCE + WORD_SIZE * words * (tile - 1), words, [(tile, DESTINATION)])
        for tile in range(1, 65)
    )


def all_gather(size: int) -> Pattern:
    """In groups of `size` tiles, each to all others at once."""

    def make(words: int) -> ExchangePhase:
        return ExchangePhase.of(
            _transfer(
                tile,
                SOURCE,
                words,
                [(other, _slice(tile, size, words)) for other in _others(tile, size)],
            )
            for tile in range(TILES)
        )

    return make


def all_to_all(size: int) -> Pattern:
    """In groups of `size` tiles, each to every other, different words to each."""

    def make(words: int) -> ExchangePhase:
        return ExchangePhase.of(
            _transfer(
                tile,
                SOURCE + WORD_SIZE * words * (other % size),
                words,
                [(other, _slice(tile, size, words))],
            )
            for tile in range(TILES)
            for other in _others(tile, size)
        )

    return make


def pair_broadcast(words: int) -> ExchangePhase:
    """Tile 0 to all pairs but its own."""
    return ExchangePhase.of(
        [_transfer(0, SOURCE, words, [(n, DESTINATION) for n in range(2, TILES)])]
    )


def reduction_stages() -> list[list[tuple[int, int]]]:
    """Of a tree over all tiles: who sends to whom in each stage. The left of a pair survives."""
    stages = []
    survivors = list(range(TILES))
    while len(survivors) > 1:
        pairs = list(zip(survivors[1::2], survivors[::2], strict=False))
        stages.append(pairs)
        survivors = survivors[::2]
    return stages


def reduction_stage(stage: int) -> Pattern:
    """One stage of the reduction."""
    return lambda words: ExchangePhase.of(
        _transfer(source, SOURCE, words, [(receiver, DESTINATION)])
        for source, receiver in reduction_stages()[stage]
    )


PATTERNS: dict[str, tuple[Pattern, Sequence[int]]] = {
    "permutation": (permutation, (1, 64, 1024)),
    "shift_1": (shift(1), (1, 64, 1024)),
    "shift_736": (shift(736), (1, 64, 1024)),
    "reversal": (reversal, (1, 64, 1024)),
    **{f"reduction_{n}": (reduction_stage(n), (1,)) for n in range(11)},
    "broadcast": (broadcast, (1, 64, 1024, 4148)),
    "gather": (gather, (1, 8, 52, 64)),
    "scatter": (scatter, (1, 8, 52, 64)),
    "all_gather_8": (all_gather(8), (8, 64)),
    "all_gather_32": (all_gather(32), (8,)),
    "all_to_all_8": (all_to_all(8), (8, 64)),
    "pair_broadcast": (pair_broadcast, (128, 2048)),
}
"""By name: the pattern, and the lengths in words for which it is measured."""


def _transfer(
    source: int, address: int, words: int, receivers: Iterable[tuple[int, int]]
) -> Transfer:
    """A transfer between logical tiles."""
    listed = [(physical_tile(tile), place) for tile, place in receivers]
    return Transfer(physical_tile(source), address, words, listed)


def _one_to_one(receivers: Iterable[int], words: int) -> ExchangePhase:
    return ExchangePhase.of(
        _transfer(source, SOURCE, words, [(receiver, DESTINATION)])
        for source, receiver in enumerate(receivers)
        if source != receiver
    )


def _others(tile: int, size: int) -> list[int]:
    group = tile - tile % size
    return [other for other in range(group, group + size) if other != tile]


def _slice(tile: int, size: int, words: int) -> int:
    return DESTINATION + WORD_SIZE * words * (tile % size)
