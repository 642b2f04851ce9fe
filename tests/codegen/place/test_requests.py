"""What requests are refused: the message gives the reason and names them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.codegen.place import MemoryNeed, RequestError, Requests, joined_aliases, place
from tilewright.codegen.place.faults import MOST_NAMED
from tilewright.codegen.place.requests import MOST_PER_TILE

ORDINARY, INTERLEAVED = MemoryNeed.ORDINARY, MemoryNeed.INTERLEAVED


@pytest.mark.parametrize(
    ("columns", "reason", "named"),
    [
        ({"size": [8, 0]}, "no bytes asked for", [1]),
        ({"size": [8, -8]}, "no bytes asked for", [1]),
        ({"size": [8, 1 << 40]}, "more than the 638,976 bytes", [1]),
        ({"tail": [0, -1]}, "tail of less than no bytes", [1]),
        ({"alignment": [8, 24]}, "no power of two", [1]),
        ({"alignment": [8, 0]}, "no power of two", [1]),
        ({"alignment": [8, -8]}, "no power of two", [1]),
        ({"alignment": [8, 1 << 30]}, "alignment of more than", [1]),
        ({"tile": [0, 1472]}, "tile that does not exist", [1]),
        ({"tile": [-1, 0]}, "tile that does not exist", [0]),
        ({"first": [0, 5], "last": [4, 4]}, "last step is before the first", [1]),
        ({"first": [-1, 0]}, "steps outside", [0]),
        ({"last": [2**31, 0]}, "steps outside", [0]),
        ({"alias": [-1, -2]}, "an alias or a sequence below -1", [1]),
        ({"sequence": [-2, -1]}, "an alias or a sequence below -1", [0]),
        ({"need": [0, 4]}, "no such kind of memory", [1]),
        ({"initialised": [True, False]}, "initialised, but not resident", [0]),
        ({"fixed": [-1, 0xE8000]}, "outside memory", [1]),
        ({"fixed": [-1, -2]}, "outside memory", [1]),
        ({"separations": [(0, 0)]}, "separated from itself", [0]),
        ({"tile": [0, 1], "separations": [(0, 1)]}, "of another tile", [0, 1]),
        # Found when requests are joined and compared with the policy:
        ({"alias": 1, "need": [ORDINARY, INTERLEAVED]}, "some need ordinary and some", [0, 1]),
        ({"alias": 1, "fixed": [0x60000, 0x60008]}, "different fixed addresses", [0]),
        ({"alias": 1, "sequence": 1}, "both members of sequences", [0, 1]),
        ({"alias": 1, "separations": [(0, 1)]}, "parts of one allocation", [0, 1]),
        ({"sequence": 1, "separations": [(0, 1)]}, "parts of one allocation", [0, 1]),
        ({"sequence": 1, "size": [8, 16]}, "differ in size", [0, 1]),
        ({"sequence": 1, "tail": [0, 16]}, "differ in tail", [0, 1]),
        ({"sequence": 1, "alignment": [8, 16]}, "differ in alignment", [0, 1]),
        ({"sequence": 1, "need": [0, 1]}, "differ in need", [0, 1]),
        ({"sequence": 1, "fixed": [0x60000, 0x60040]}, "not at its stride", [0]),
        ({"fixed": [0x60004, -1]}, "not aligned", [0]),
        ({"fixed": [0x60000, -1], "need": INTERLEAVED}, "fixed outside the memory", [0]),
        ({"fixed": [0x80000, -1], "need": ORDINARY}, "fixed outside the memory", [0]),
        ({"fixed": [0xE7FF0, -1], "tail": 16}, "fixed outside the memory", [0]),
        ({"fixed": [0x4C000, -1]}, "reserved: loader and entry", [0]),
        ({"fixed": [0x58000, -1]}, "reserved: runtime state", [0]),
        ({"fixed": [0x7FFF8, -1]}, "across the boundary of arena ordinary-low", [0]),
        (
            {"fixed": [0xE7BA8, -1], "resident": True, "initialised": True},
            "where the loader cannot write",
            [0],
        ),
        ({"fixed": [0x60000, 0x60008]}, "overlap while both are live", [0, 1]),
        (
            {"fixed": [0x60000, 0x60010], "separations": [(1, 0)]},
            "fixed in one memory element",
            [0, 1],
        ),
    ],
)
def test_refused(columns: dict[str, Any], reason: str, named: list[int]) -> None:
    with pytest.raises(RequestError, match=reason) as raised:
        place(Requests.of(**{"tile": 0, "size": [16, 16], **columns}))
    shown = [row for row in range(2) if f"request {row} " in str(raised.value)]
    assert shown == named


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"size": [8.0, 8.5]}, "size holds float64; it needs whole numbers"),
        ({"size": [[8], [8]]}, "size has 2 dimensions"),
        ({"size": ["8", "9"]}, "size holds <U1"),
        ({"size": np.array([2**63, 8], dtype=np.uint64)}, "too large"),
        ({"alignment": [8, 8, 8]}, "columns differ in length: size 2, alignment 3"),
        ({"value": [1, 2, 3]}, "column value has 3 entries, the others 2"),
        ({"separations": [(0, 2)]}, "separations name request 2; there are 2"),
        ({"separations": [(0, -1)]}, "separations name request -1"),
        ({"separations": [0, 1]}, r"shape \(pairs, 2\)"),
        ({"separations": [(0, 1.5)]}, r"shape \(pairs, 2\)"),
    ],
)
def test_columns_of_the_wrong_kind(columns: dict[str, Any], reason: str) -> None:
    with pytest.raises(RequestError, match=reason):
        Requests.of(**{"tile": 0, "size": [8, 8], **columns})


def test_many_faults_are_counted() -> None:
    with pytest.raises(RequestError, match=f"and {100 - MOST_NAMED} more"):
        Requests.of(tile=0, size=[0] * 100)


def test_a_tile_with_too_many() -> None:
    with pytest.raises(RequestError, match="tile 3 has more than"):
        Requests.of(tile=3, size=np.ones(MOST_PER_TILE + 1, np.int64))


def test_labels_may_be_any_numbers() -> None:
    most = 2**63 - 1
    found = place(Requests.of(tile=0, size=8, alias=[most, -1, most, 0])).address.tolist()
    assert found[0] == found[2]
    assert len(set(found)) == 3


def test_columns_cannot_be_changed() -> None:
    size = np.array([8, 8])
    asked = Requests.of(tile=0, size=size)
    size[0] = 16
    assert asked.size.tolist() == [8, 8]
    with pytest.raises(ValueError, match="read-only"):
        asked.size[0] = 16


@given(st.integers(1, 12).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))),
    )
))  # fmt: skip
def test_joined_aliases_are_the_connected_components(
    drawn: tuple[int, list[tuple[int, int]]],
) -> None:
    count, pairs = drawn
    groups = [{row} for row in range(count)]
    for one, other in pairs:
        joined = groups[one] | groups[other]
        for row in joined:
            groups[row] = joined
    named = {row for pair in pairs for row in pair}
    expected = [min(groups[row]) if row in named else -1 for row in range(count)]
    assert joined_aliases(count, pairs).tolist() == expected


def test_aliases_of_rows_that_do_not_exist() -> None:
    with pytest.raises(RequestError, match="outside 0 to 2"):
        joined_aliases(3, [(0, 3)])
