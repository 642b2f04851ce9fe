"""Tile numbering, pairs and mux numbers."""

from typing import Any

import numpy as np
import pytest

from tilewright.target.geometry import TILES
from tilewright.target.topology import (
    EXTERNAL_MUXES,
    LOGICAL_PARTNER_BIT,
    NEUTRAL_MUX,
    external_muxes,
    logical_tile,
    logical_tiles,
    paired_muxes,
    partners,
    physical_tile,
    physical_tiles,
    places,
    tile_ids,
)

ALL = np.arange(TILES)

KNOWN_IDS = """
    0=0 1=2 2=64 3=66 22=704 23=706 24=768 45=1410 46=1409 47=1411 48=1345 91=3 92=4 93=6
    100=260 274=9 368=16 735=31 736=32 737=34 781=1442 827=35 900=613 1286=53 1379=59 1380=60
    1425=1470 1426=1469 1470=61 1471=63
"""
"""Logical=physical, as in the worked figures of the exchange notes."""


@pytest.mark.parametrize("ids", KNOWN_IDS.split())
def test_known_ids(ids: str) -> None:
    logical, physical = map(int, ids.split("="))
    assert physical_tile(logical) == physical
    assert logical_tile(physical) == logical


def test_logical_tiles_walk_up_one_side_of_a_column_and_down_the_other() -> None:
    walk = [
        64 * row + 4 * column + 2 * member + side
        for column in range(16)
        for side, rows in enumerate([range(23), reversed(range(23))])
        for row in rows
        for member in range(2)
    ]
    assert physical_tiles(ALL).tolist() == walk


def test_each_physical_id_has_one_logical_id() -> None:
    assert sorted(logical_tiles(ALL)) == ALL.tolist()
    assert (physical_tiles(logical_tiles(ALL)) == ALL).all()


def test_places_make_up_the_physical_id() -> None:
    place = places(ALL)
    assert (64 * place.row + 4 * place.column + 2 * place.member + place.side == ALL).all()
    assert [set(each) for each in (place.row, place.column, place.member, place.side)] == [
        set(range(23)),
        set(range(16)),
        {0, 1},
        {0, 1},
    ]


def test_columns_fold_onto_the_facing_half() -> None:
    place = places(4 * np.arange(16))
    assert place.half.tolist() == [0] * 8 + [1] * 8
    assert place.folded_column.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 7, 6, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize(("tile", "lane"), [(0, 0), (1, 1), (32, 1), (33, 0)])
def test_lanes_swap_sides_in_the_other_half(tile: int, lane: int) -> None:
    assert places(tile).lane == lane


def test_partners_share_row_column_and_side() -> None:
    ours, theirs = places(ALL), places(partners(ALL))
    assert (ours.member != theirs.member).all()
    for field in ("row", "column", "side"):
        assert (getattr(ours, field) == getattr(theirs, field)).all(), field


def test_partners_are_neighbours_in_logical_order() -> None:
    assert (physical_tiles(ALL ^ LOGICAL_PARTNER_BIT) == partners(physical_tiles(ALL))).all()
    assert (places(physical_tiles(ALL)).member == ALL % 2).all()


def test_external_muxes_of_known_tiles() -> None:
    assert external_muxes([116, 582, 1173]).tolist() == [0x634, 0x604, 0x615]


def test_one_external_mux_per_side_of_a_column() -> None:
    muxes = external_muxes(ALL)
    place = places(ALL)
    assert len(set(muxes)) == 32
    assert len({*zip(muxes, place.column, place.side, strict=True)}) == 32
    assert set(muxes) < set(EXTERNAL_MUXES)


def test_mux_numbers_of_no_tile_stand_for_rows_past_the_last() -> None:
    assert {mux >> 6 for mux in EXTERNAL_MUXES} == {places(ALL).row.max() + 2} == {24}
    assert NEUTRAL_MUX >> 6 == 25


def test_the_vendors_rows_end_with_the_neutral_mux() -> None:
    last_word_of_sendpicp = 0x19017000
    assert (last_word_of_sendpicp >> 18) & 0x1FFF == NEUTRAL_MUX


@pytest.mark.parametrize(
    ("source", "early_member", "mux"),
    [(0, 64, 0), (64, 0, 64), (0, 1411, 2)],
    ids=["first member, from 0", "first member, from 64", "second member"],
)
def test_muxes_of_rows_with_64_bit_items(source: int, early_member: int, mux: int) -> None:
    assert paired_muxes(source, early_member) == mux
    assert paired_muxes(mux, early_member) == source


@pytest.mark.parametrize("wrong", [-1, 1472, [3, 1472], [[0, -1]], 0x640], ids=str)
def test_ids_of_no_tile_are_refused(wrong: Any) -> None:
    bad = next(int(each) for each in np.ravel(wrong) if not 0 <= each < TILES)
    with pytest.raises(ValueError, match=f"no tile has the id {bad}: ids run from 0 to 1471"):
        tile_ids(wrong)


@pytest.mark.parametrize("wrong", [1.0, [True], ["7"]], ids=str)
def test_ids_that_are_no_integers_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="tile ids are integers"):
        tile_ids(wrong)


def test_no_tiles_at_all_are_allowed() -> None:
    assert physical_tiles([]).shape == (0,)
