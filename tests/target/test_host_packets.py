"""Owners and requests, against published examples and each other."""

import numpy as np
import pytest

from tilewright.target.geometry import TILES
from tilewright.target.host_packets import REQUEST_BITS, owners, requested_tiles


@pytest.mark.parametrize(
    ("tile", "owner", "words"),
    [
        (0, 0, (1, 0)),
        (31, 29, (2, 0)),
        (81, 17, (4, 0)),
        (260, 4, (0x100, 0)),
        (768, 0, (0, 1)),
        (1471, 61, (0, 1 << 21)),
    ],
)
def test_published_requests(tile: int, owner: int, words: tuple[int, int]) -> None:
    assert owners(tile) == owner
    assert requested_tiles(owner, *words).tolist() == [tile]


def test_owners_are_32_tiles_of_row_0() -> None:
    found = np.unique(owners(np.arange(TILES)))
    assert found.tolist() == [tile for tile in range(64) if not tile & 2]


def test_every_tile_is_named_by_its_owner_alone() -> None:
    """All bits of all owners name all tiles, each once."""
    named = []
    everything = [(1 << bits) - 1 for bits in REQUEST_BITS]
    for owner in np.unique(owners(np.arange(TILES))).tolist():
        tiles = requested_tiles(owner, *everything)
        assert set(owners(tiles).tolist()) == {owner}
        assert tiles.tolist() == sorted(tiles.tolist())
        named += tiles.tolist()
    assert sorted(named) == list(range(TILES))
