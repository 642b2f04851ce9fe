"""The checker finds each kind of fault, and names the requests."""

from dataclasses import replace

import numpy as np
import pytest

from tilewright.codegen.place import (
    MemoryNeed,
    MemoryPolicy,
    Placement,
    PlacementCheckError,
    Requests,
    check_placement,
    place,
    placement_faults,
)

ROWS = Requests.of(
    tile=[0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    size=[64, 64, 128, 64, 64, 64, 64, 64, 64, 64],
    alignment=[32, 8, 64, 8, 8, 8, 8, 8, 8, 8],
    tail=[0, 0, 0, 16, 0, 0, 0, 0, 64, 0],
    first=[0, 2, 0, 0, 0, 0, 0, 0, 0, 0],
    last=[3, 6, 6, 6, 6, 6, 6, 6, 6, 6],
    resident=[False, False, False, False, False, True, False, False, False, False],
    initialised=[False, False, False, False, False, True, False, False, False, False],
    need=[0, 0, MemoryNeed.INTERLEAVED, 0, 0, 0, MemoryNeed.ORDINARY, 0, MemoryNeed.EXECUTABLE, 0],
    alias=[4, 4, -1, -1, -1, -1, -1, -1, -1, -1],
    sequence=[-1, -1, -1, 9, -1, -1, -1, -1, -1, 9],
    fixed=[-1, -1, -1, -1, 0x50000, -1, -1, -1, -1, -1],
    separations=[(2, 7)],
)
GOOD = place(ROWS)


def moved(changes: dict[int, int]) -> Placement:
    address = GOOD.address.copy()
    for row, place_of in changes.items():
        address[row] = place_of
    return replace(GOOD, address=address)


def test_what_place_gives_is_right() -> None:
    assert placement_faults(ROWS, GOOD) == []


@pytest.mark.parametrize(
    ("changes", "reason", "named"),
    [
        ({7: 0x4BFF8}, "outside memory", [7]),
        ({3: 0xE7FC0 - 8}, "outside memory", [3]),
        ({0: 0x60008, 1: 0x60008}, "not aligned", [0]),
        ({2: 0x60000}, "not in memory that is interleaved", [2]),
        ({6: 0x7FFC8}, "not in memory that is ordinary", [6]),
        ({8: 0x7FFC0 - 8}, "not in memory that is executable", [8]),
        ({5: 0xE7B78}, "initialised where the loader", [5]),
        ({4: 0x50008}, "not at its fixed address", [4]),
        ({1: 0x60000}, "aliases at different addresses", [1]),
        ({7: 0x58000}, "reserved: runtime state", [7]),
        ({7: 0x57FC0}, "reserved: exchange window", [7]),
        ({7: 0xAFFC8}, "across the boundary of arena interleaved", [7]),
        ({2: 0x60000, 7: 0x60020}, "live at once and overlapping", [2, 7]),
        ({2: 0x88000, 7: 0x8FFC0}, "in one memory element", [2, 7]),
    ],
)
def test_faults(changes: dict[int, int], reason: str, named: list[int]) -> None:
    (found,) = [fault for fault in placement_faults(ROWS, moved(changes)) if reason in fault]
    assert [f"request {row} " in found for row in named] == [True] * len(named)
    with pytest.raises(PlacementCheckError, match=reason):
        check_placement(ROWS, moved(changes))


def test_neighbours_in_different_elements_are_apart() -> None:
    assert placement_faults(ROWS, moved({2: 0x8FF80, 7: 0x90000})) == []


def test_tails_count_for_separations() -> None:
    asked = Requests.of(tile=0, size=64, tail=[64, 0], separations=[(0, 1)])
    for left, faults in ((0x8FFC0, 1), (0x8FF80, 0)):
        found = placement_faults(asked, replace(GOOD, address=np.array([left, 0x90100])))
        assert len(found) == faults


@pytest.mark.parametrize("address", [[0x60000, 0x60010], [0x60010, 0x60000]])
def test_lives_that_are_disjoint_may_overlap(address: list[int]) -> None:
    for second, faults in ((4, 0), (3, 1)):
        asked = Requests.of(tile=0, size=64, first=[0, second], last=[3, 6])
        found = placement_faults(asked, replace(GOOD, address=np.array(address)))
        assert len(found) == faults
        assert all("overlapping" in fault for fault in found)


def test_sequences() -> None:
    asked = Requests.of(tile=0, size=90, tail=16, alignment=32, sequence=[0, 0, 0])
    for third, faults in ((0x60100, 0), (0x60120, 1), (0x600E0, 1)):
        address = np.array([0x60000, 0x60080, third])
        assert len(placement_faults(asked, replace(GOOD, address=address))) == faults


def test_arenas_that_the_policy_does_not_name() -> None:
    policy = MemoryPolicy.ipu21(transient=["interleaved"], resident=["ordinary-high"])
    asked = Requests.of(tile=0, size=64, resident=[False, True])
    placement = place(asked, policy)
    assert placement_faults(asked, placement) == []
    for row, address in ((0, 0xC0000), (1, 0x90000)):
        changed = placement.address.copy()
        changed[row] = address
        (fault,) = placement_faults(asked, replace(placement, address=changed))
        assert "in no arena" in fault
        assert f"request {row} " in fault


def test_a_number_of_addresses_that_does_not_match() -> None:
    (fault,) = placement_faults(ROWS, replace(GOOD, address=GOOD.address[:-1]))
    assert fault == "9 addresses for 10 requests"
