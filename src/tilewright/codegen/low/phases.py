"""Moves of several tensors as one phase of the exchange."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.codegen.low.moves import Moves
from tilewright.codegen.mid.orders import Indices
from tilewright.codegen.mid.storage import WORD
from tilewright.exchange import ExchangePhase
from tilewright.target.topology import physical_tiles


@dataclass(frozen=True, eq=False)
class Placed:
    """Moves, and the addresses at which source and target shards start: on all tiles, or on each.

    In bytes, by the number of the tile within the group. `first_tile` is the logical tile that the
    group starts with.
    """

    moves: Moves
    source_address: npt.ArrayLike
    target_address: npt.ArrayLike
    first_tile: int = 0


def exchange_phase(placed: Sequence[Placed]) -> ExchangePhase:
    """One phase that carries out moves; what tiles copy themselves is not part of it.

    Raises `PhaseError` for addresses at which that cannot be done.
    """
    starts = np.cumsum([0, *(len(each.moves.receiver_tile) for each in placed)])
    return ExchangePhase(
        source_tile=_joined([_physical(each, each.moves.source_tile) for each in placed]),
        source_address=_joined(
            [
                _at(each.source_address, each.moves.source_tile) + WORD * each.moves.source
                for each in placed
            ]
        ),
        words=_joined([each.moves.words for each in placed]),
        receiver_start=np.append(
            _joined(
                [
                    each.moves.receiver_start[:-1] + start
                    for each, start in zip(placed, starts[:-1], strict=True)
                ]
            ),
            starts[-1],
        ),
        receiver_tile=_joined([_physical(each, each.moves.receiver_tile) for each in placed]),
        receiver_address=_joined(
            [
                _at(each.target_address, each.moves.receiver_tile) + WORD * each.moves.receiver
                for each in placed
            ]
        ),
    )


def _physical(placed: Placed, tiles: Indices) -> Indices:
    return physical_tiles(tiles + placed.first_tile).astype(np.int64)


def _at(address: npt.ArrayLike, tiles: Indices) -> Indices:
    addresses = np.asarray(address, dtype=np.int64)
    return addresses[tiles] if addresses.ndim else np.full(len(tiles), addresses)


def _joined(parts: list[Indices]) -> Indices:
    return np.concatenate([np.zeros(0, np.int64), *parts])
