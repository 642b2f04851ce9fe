"""Laws of placements, on random requests."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.codegen.place.brute import assert_valid
from tests.codegen.place.strategies import requests
from tests.examples import examples
from tilewright.codegen.place import MemoryPolicy, PlacementError, Requests, place
from tilewright.codegen.place.requests import Ints


@examples(150)
@given(requests())
def test_what_is_placed_is_valid(asked: Requests) -> None:
    try:
        placement = place(asked)
    except PlacementError:
        return
    assert_valid(asked, placement)


@examples(60)
@given(requests(most=2000, most_rows=10))
def test_little_always_fits(asked: Requests) -> None:
    assert_valid(asked, place(asked))


@examples(40)
@given(requests(most=200_000), st.permutations(["ordinary-low", "interleaved", "ordinary-high"]))
def test_orders_of_arenas_are_a_preference_only(asked: Requests, order: list[str]) -> None:
    policy = MemoryPolicy.ipu21(resident=order, transient=order[::-1], cut=0x90000)
    try:
        placement = place(asked, policy)
    except PlacementError:
        return
    assert_valid(asked, placement)


@examples(40)
@given(requests(most=100_000))
def test_peaks_are_not_below_bounds(asked: Requests) -> None:
    try:
        placement = place(asked)
    except PlacementError:
        return
    assert np.all(placement.peak >= placement.bound)


@examples(40)
@given(requests())
def test_tiles_do_not_influence_each_other(asked: Requests) -> None:
    try:
        address = place(asked).address
    except PlacementError:
        return
    for tile in np.unique(asked.tile).tolist():
        rows = np.flatnonzero(asked.tile == tile)
        assert np.array_equal(place(_only(asked, rows)).address, address[rows])


@examples(25)
@given(requests(most=300_000))
def test_remedies_help(asked: Requests) -> None:
    try:
        place(asked)
    except PlacementError as error:
        failure = error.failure
        rows = np.flatnonzero(asked.tile == failure.tile)
        for remedy in failure.remedies:
            if remedy.kind == "merged":
                place(_only(asked, rows), MemoryPolicy.ipu21(cut=0xE8000))
                continue
            # Values are rows; those joined with them go as well.
            owner = next(block for block in failure.live if remedy.value in block.values)
            assert remedy.owner == owner.owner
            if remedy.kind == "without":
                place(_only(asked, np.setdiff1d(rows, owner.values)))


def _only(asked: Requests, rows: Ints) -> Requests:
    """These requests alone."""
    kept = np.isin(asked.separations, rows).all(axis=1)
    return Requests.of(
        **{
            name: getattr(asked, name)[rows]
            for name in Requests.__dataclass_fields__
            if name != "separations"
        },
        separations=np.searchsorted(rows, asked.separations[kept]),
    )
