"""The layout of a tile's state, which both engines share."""

import numpy as np
import pytest

from tilewright.emulator.state import SUPERVISOR, TILE, WORKER, new_tile


def test_a_new_tile_is_all_zeros() -> None:
    tile = new_tile()
    assert tile.dtype == TILE
    assert not np.frombuffer(tile.tobytes(), np.uint8).any()


def test_tiles_are_apart() -> None:
    one, other = new_tile(), new_tile()
    one["workers"][2]["m"][3] = 5
    assert not other["workers"]["m"].any()


@pytest.mark.parametrize(
    ("layout", "field", "count", "size"),
    [
        (WORKER, "m", 12, 4),
        (WORKER, "a", 8, 4),
        (WORKER, "accumulators", 32, 4),
        (WORKER, "random", 2, 8),
        (SUPERVISOR, "m", 12, 4),
        (SUPERVISOR, "csr", 256, 4),
        (TILE, "weights", 64, 8),
    ],
)
def test_how_many_registers_there_are(
    layout: np.dtype[np.void], field: str, count: int, size: int
) -> None:
    kind = layout[field]
    assert (kind.shape, kind.base.itemsize) == ((count,), size)


def test_records_are_views() -> None:
    """What is written through a context's record is the tile's."""
    tile = new_tile()
    worker = tile["workers"][4]
    worker["pc"] = 0x4C000
    worker["random"] = (1, 2)
    assert tile["workers"]["pc"].tolist() == [0, 0, 0, 0, 0x4C000, 0]
    assert tile["workers"][4]["random"].tolist() == [1, 2]
    assert len(tile["workers"]) == 6


def test_fields_are_aligned() -> None:
    for layout in (WORKER, SUPERVISOR, TILE):
        assert layout.fields is not None
        for kind, offset, *_ in layout.fields.values():
            assert offset % kind.alignment == 0
