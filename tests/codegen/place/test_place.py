"""Where single requests go, and what each column asks for."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tests.codegen.place.brute import element
from tilewright.codegen.place import (
    Arena,
    MemoryNeed,
    MemoryPolicy,
    PlacementError,
    Requests,
    Reservation,
    joined_aliases,
    place,
)
from tilewright.target.geometry import TILES

FIRST_FREE = 0x4C018
"""After loader frame and entry."""


def addresses(**columns: Any) -> list[int]:
    found: list[int] = place(Requests.of(**{"tile": 0, **columns})).address.tolist()
    return found


def test_nothing() -> None:
    placement = place(Requests.of(tile=[], size=[]))
    assert (len(placement.address), placement.classes, placement.peak.shape) == (0, 0, (0, 3))


def test_transients_start_low_and_residents_high() -> None:
    assert addresses(size=[100, 100], resident=[False, True]) == [FIRST_FREE, 0xB0000]


def test_lives_that_are_disjoint_share_memory_and_those_that_meet_do_not() -> None:
    one, two, three = addresses(size=[96] * 3, first=[0, 3, 5], last=[2, 5, 9])
    assert {two, three} == {FIRST_FREE, FIRST_FREE + 96}
    assert one == FIRST_FREE


def test_residents_are_apart_from_everything() -> None:
    low = MemoryPolicy.ipu21(resident=["ordinary-low"])
    asked = Requests.of(tile=0, size=[64, 64], first=[5, 0], last=[5, 0], resident=[True, False])
    assert place(asked, low).address.tolist() == [FIRST_FREE, FIRST_FREE + 64]


def test_what_has_no_room_in_one_arena_goes_to_the_next_as_a_whole() -> None:
    """After 0x5c000, 0x24000 bytes are free in ordinary-low; two of 0x14000 are more."""
    first, second, third = addresses(size=[0x14000, 0x14000, 0x10000])
    assert {first, second} == {0x5C000, 0x80000}
    assert third == 0x70000


def test_needs() -> None:
    order, tall = ["ordinary-high", "interleaved", "ordinary-low"], 0x18000
    policy = MemoryPolicy.ipu21(transient=order, resident=order)
    asked = Requests.of(tile=0, size=tall, need=[*MemoryNeed])
    with pytest.raises(PlacementError):
        place(asked, policy)
    asked = Requests.of(tile=0, size=tall // 2, need=[*MemoryNeed], alignment=0x4000)
    whatever, ordinary, executable, interleaved = place(asked, policy).address.tolist()
    assert {ordinary, executable} == {0x5C000, 0x68000}
    assert {whatever, interleaved} == {0xB0000, 0xBC000}


def test_code_keeps_what_is_fetched_past_its_end_in_executable_memory() -> None:
    """Free at the end: all but 64 bytes for the tail."""
    size = 0x80000 - 0x5C000
    for need in (MemoryNeed.ORDINARY, MemoryNeed.EXECUTABLE):
        (asked,) = addresses(size=[size - 64], tail=[64], need=[need])
        assert asked == 0x5C000
    assert addresses(size=[size], tail=[64], need=[MemoryNeed.ORDINARY]) == [0x5C000]
    with pytest.raises(PlacementError):
        addresses(size=[size], tail=[64], need=[MemoryNeed.EXECUTABLE])


def test_tails_must_exist_but_are_nobody_s() -> None:
    top = MemoryPolicy.ipu21(transient=["ordinary-high"], cut=0xE8000 - 64)
    asked = Requests.of(tile=0, size=[32, 16], tail=[16, 32], alignment=16)
    # Either tail reaches beyond its own request; together they leave 16 bytes to read only.
    assert sorted(place(asked, top).address.tolist()) == [0xE7FC0, 0xE7FD0]
    with pytest.raises(PlacementError):
        place(Requests.of(tile=0, size=[32, 32], tail=16, alignment=16), top)


def test_initialised_residents_end_where_the_loader_ends() -> None:
    top = MemoryPolicy.ipu21(resident=["ordinary-high"], cut=0xE7BA0)
    asked = Requests.of(tile=0, size=16, resident=True, initialised=[True, False])
    assert place(asked, top).address.tolist() == [0xE7BA0, 0xE7BB0]
    with pytest.raises(PlacementError):
        place(Requests.of(tile=0, size=17, resident=True, initialised=True), top)


def test_aliases_share_the_memory_of_the_largest_and_most_particular() -> None:
    first, second, other = addresses(
        size=[64, 256, 64],
        alignment=[8, 1024, 8],
        need=[MemoryNeed.ANY, MemoryNeed.INTERLEAVED, MemoryNeed.INTERLEAVED],
        first=[0, 2, 0],
        last=[2, 4, 1],
        alias=[5, 5, -1],
    )
    assert first == second == 0x80000
    assert other == 0x80000 + 256


def test_aliases_read_as_far_as_any_of_them_and_no_farther() -> None:
    """The shorter one has the tail, and both reach 64 bytes: just what is left of memory."""
    top = MemoryPolicy.ipu21(transient=["ordinary-high"], cut=0xE8000 - 64)
    asked = Requests.of(tile=0, size=[64, 32], tail=[0, 32], alias=0)
    assert place(asked, top).address.tolist() == [0xE7FC0] * 2
    with pytest.raises(PlacementError):
        place(Requests.of(tile=0, size=[64, 32], tail=[0, 40], alias=0), top)


@pytest.mark.parametrize("joined", ["alias", "sequence"])
def test_what_is_joined_with_a_resident_is_resident(joined: str) -> None:
    found = addresses(size=[64, 64], alignment=64, resident=[False, True], **{joined: 0})
    assert found == ([0xB0000, 0xB0000] if joined == "alias" else [0xB0000, 0xB0040])


def test_an_alias_of_one_tile_is_not_that_of_another() -> None:
    assert addresses(tile=[0, 0, 1], size=[8, 8, 8], alias=[3, -1, 3]) == [
        FIRST_FREE,
        FIRST_FREE + 8,
        FIRST_FREE,
    ]


def test_sequences_follow_each_other_at_a_stride_with_the_tail() -> None:
    found = addresses(
        size=[100, 8, 100, 100], alignment=32, tail=[16, 0, 16, 16], sequence=[2, -1, 2, 2]
    )
    start = found[0]
    assert start % 32 == 0
    assert [found[2] - start, found[3] - start] == [128, 256]
    assert not start <= found[1] < start + 3 * 128


def test_a_sequence_lives_as_a_whole() -> None:
    """Its members are used one after the other, but lie there from the first to the last."""
    found = addresses(
        size=[64, 64, 64], first=[0, 8, 4], last=[1, 9, 5], sequence=[0, 0, -1], alignment=64
    )
    assert found[2] not in found[:2]


def test_fixed_addresses_are_kept_and_avoided() -> None:
    found = addresses(size=[64, 0x4000 - 0x18 + 8], fixed=[FIRST_FREE + 64, -1])
    assert found[0] == FIRST_FREE + 64
    assert found[1] == 0x5C000


def test_the_exchange_window_is_for_fixed_requests_only() -> None:
    assert addresses(size=[0x8000, 0x8000], fixed=[0x50000, -1]) == [0x50000, 0x5C000]


def test_a_fixed_sequence_is_fixed_as_a_whole() -> None:
    assert addresses(size=[60] * 3, alignment=32, sequence=0, fixed=[-1, 0x90040, -1]) == [
        0x90000,
        0x90040,
        0x90080,
    ]


def test_reservations_are_left_free() -> None:
    code = Reservation("code", 0x5C000, 0x7FF00)
    policy = MemoryPolicy.ipu21(reserved=[code], transient=["ordinary-low", "interleaved"])
    asked = Requests.of(tile=0, size=[0x100, 0x3FE8, 0x100])
    assert sorted(place(asked, policy).address.tolist()) == [FIRST_FREE, 0x7FF00, 0x80000]


def test_separated_requests_share_no_element_and_others_may() -> None:
    left, output, other = addresses(
        size=[1000, 1000, 1000],
        need=[MemoryNeed.INTERLEAVED] * 3,
        separations=[(0, 1)],
    )
    assert element(left) != element(output)
    assert element(other) in (element(left), element(output))


@pytest.mark.parametrize(
    ("tail", "fixed", "expected"),
    [
        # A row that ends with its element is fetched ahead of in the next one.
        (0, [0x70000, -1], [0x70000, 0x74000]),
        (64, [0x70000, -1], [0x70000, 0x78000]),
        # The same the other way round: the row gives way.
        (0, [-1, 0x74000], [0x70000, 0x74000]),
        (64, [-1, 0x74000], [0x78000, 0x74000]),
    ],
)
def test_a_tail_counts_for_separations(tail: int, fixed: list[int], expected: list[int]) -> None:
    policy = MemoryPolicy(
        (Arena("last elements", 0x70000, 0x80000),), ("last elements",), ("last elements",)
    )
    asked = Requests.of(
        tile=0,
        size=[0x4000, 64],
        alignment=[0x4000, 64],
        tail=[tail, 0],
        fixed=fixed,
        separations=[(0, 1)],
    )
    assert place(asked, policy).address.tolist() == expected


def test_separations_do_not_bind_what_never_meets() -> None:
    assert addresses(
        size=[64, 64], first=[0, 4], last=[3, 5], separations=[(0, 1)]
    ) == [FIRST_FREE] * 2  # fmt: skip


def test_tiles_that_are_alike_are_placed_alike_and_once() -> None:
    random = np.random.default_rng(3)
    size = random.integers(1, 9000, 30)
    first = random.integers(0, 30, 30)
    asked = Requests.of(
        tile=np.repeat(np.arange(TILES), 30),
        size=np.tile(size, TILES),
        first=np.tile(first, TILES),
        last=np.tile(first + 4, TILES),
        value=np.arange(30 * TILES),
    )
    placement = place(asked)
    assert placement.classes == 1
    by_tile = placement.address.reshape(TILES, 30)
    assert np.all(by_tile == by_tile[0])


def test_tiles_that_differ_in_separations_are_not_alike() -> None:
    asked = Requests.of(
        tile=[0, 0, 1, 1, 2, 2], size=64, need=MemoryNeed.INTERLEAVED, separations=[(3, 2), (4, 5)]
    )
    placement = place(asked)
    assert placement.tile_class.tolist() == [0, 1, 1]
    elements = [element(address) for address in placement.address.tolist()]
    assert elements[0] == elements[1]
    assert elements[2] != elements[3]


def test_rows_of_tiles_may_be_mixed() -> None:
    random = np.random.default_rng(4)
    columns = {
        "tile": np.repeat([3, 8, 5], 20),
        "size": random.integers(1, 9000, 60),
        "first": np.zeros(60, np.int64),
        "last": random.integers(0, 9, 60),
    }
    sorted_address = place(Requests.of(**columns)).address
    # Rows of one tile keep their order.
    mixed = np.argsort(np.tile(np.arange(20), 3), kind="stable")
    address = place(
        Requests.of(**{name: column[mixed] for name, column in columns.items()})
    ).address
    assert np.array_equal(address, sorted_address[mixed])


def test_the_result_does_not_depend_on_the_hash_seed() -> None:
    code = (
        "from tilewright.cli.bench.place import simulated; "
        "from tilewright.codegen.place import place; "
        "print(place(simulated(3, 1, rounded=True)).address.tobytes().hex())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_joined_aliases_of_chains() -> None:
    assert joined_aliases(7, [(4, 2), (6, 4), (3, 1)]).tolist() == [-1, 1, 2, 1, 2, -1, 2]
    assert joined_aliases(2, []).tolist() == [-1, -1]
