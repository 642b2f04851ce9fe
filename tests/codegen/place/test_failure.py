"""What an error of placement tells: each figure against one worked out by hand."""

import pytest

from tilewright.codegen.place import (
    MemoryNeed,
    MemoryPolicy,
    PlacementError,
    PlacementFailure,
    Requests,
    Reservation,
    place,
)

SMALL = MemoryPolicy.ipu21(
    transient=["ordinary-low", "interleaved"],
    resident=["interleaved"],
    cut=0x90000,
    reserved=[Reservation("code", 0x60000, 0x80000)],
)
"""Free: 0x3fe8 and 0x4000 bytes in ordinary-low, 0x10000 in interleaved."""
LOW = 0x3FE8 + 0x4000


def failure(asked: Requests, policy: MemoryPolicy | None = None) -> PlacementFailure:
    with pytest.raises(PlacementError) as raised:
        place(asked, policy, lambda value: f"buffer {value}")
    assert str(raised.value.failure) in str(raised.value)
    return raised.value.failure


def test_too_much_at_once() -> None:
    asked = Requests.of(
        tile=4,
        size=[0x8000, 0xC000, 0x2000, 0x3000],
        first=[0, 3, 5, 9],
        last=[9, 9, 5, 9],
        need=[MemoryNeed.INTERLEAVED, MemoryNeed.INTERLEAVED, 0, 0],
        value=[10, 11, 12, 13],
        alignment=64,
    )
    found = failure(asked, SMALL)
    assert (found.tile, found.refused.values, found.refused.size) == (4, (10,), 0x8000)
    assert (found.need, found.arenas) == (MemoryNeed.INTERLEAVED, ("interleaved",))
    assert (found.capacity, found.largest_piece, found.bound) == (0x10000, 0x10000, 0x14000)
    assert (found.total_capacity, found.total_bound) == (0x10000 + LOW, 0x14000 + 0x3000)
    assert found.step == 3
    # The buffer of 0x3000 bytes is live from step 9 on only.
    # What found no place would have to lie behind all that there is.
    assert found.peak == 0x10000 + 0x8000
    assert (found.hole, found.hole_in_step) == (0x4000, 0x4000)
    assert [(block.values, block.address) for block in found.live] == [
        ((11,), 0x80000),
        ((10,), None),
    ]
    assert [str(remedy) for remedy in found.remedies] == [
        "buffer 10 of at most 16,384 bytes",
        "without buffer 11 (49,152 bytes)",
    ]
    assert "0x80000 to 0x8c000     49,152  buffer 11 (steps 3 to 9)" in found.memory_map
    assert "tile 4, step 3: no place for buffer 10 (32,768 bytes, steps 0 to 9)" in str(found)
    assert "81,920 bytes can lie nowhere else at once: 16,384 too many" in str(found)


def test_room_enough_but_not_in_one_piece() -> None:
    """Fixed in the middle; either side holds less than what is asked for."""
    asked = Requests.of(
        tile=0, size=[0x100, 0x9000], fixed=[0x88000, -1], need=MemoryNeed.INTERLEAVED
    )
    found = failure(asked, SMALL)
    assert (found.bound, found.capacity) == (0x9100, 0x10000)
    assert (found.hole, found.largest_piece) == (0x8000, 0x10000)
    assert "enough room" in str(found)
    assert {remedy.kind: remedy.size for remedy in found.remedies} == {
        "smaller": 0x8000,
        "without": 0x100,
    }


def test_separations_that_leave_no_element() -> None:
    """There are two elements of 32 KiB, and three buffers that must be apart."""
    asked = Requests.of(
        tile=0,
        size=[0x100, 0x100, 0x200],
        need=MemoryNeed.INTERLEAVED,
        separations=[(0, 1), (1, 2), (0, 2)],
    )
    found = failure(asked, SMALL)
    kinds = {remedy.kind: remedy.value for remedy in found.remedies}
    refused = found.refused.values[0]
    assert kinds["unseparated"] == refused
    assert kinds["without"] != refused
    assert "smaller" not in kinds


def test_what_is_left_out_on_trial_takes_no_separations_with_it() -> None:
    """The smallest is tried first, but does not stand in the way of those that must be apart."""
    asked = Requests.of(
        tile=0,
        size=[0x80, 0x100, 0x100, 0x200],
        need=MemoryNeed.INTERLEAVED,
        separations=[(1, 2), (2, 3), (1, 3)],
    )
    (without,) = [each for each in failure(asked, SMALL).remedies if each.kind == "without"]
    assert without.value in (1, 2, 3)


def test_the_step_is_that_in_which_most_is_live_if_there_is_room_for_the_kind() -> None:
    """In step 1 most needs interleaved memory, but in step 5 another buffer fits nowhere else."""
    asked = Requests.of(
        tile=0,
        size=[0x9000, 0x2000, 0xE000],
        first=[0, 1, 5],
        last=[9, 1, 6],
        need=[MemoryNeed.INTERLEAVED, MemoryNeed.INTERLEAVED, MemoryNeed.ANY],
    )
    found = failure(asked, SMALL)
    assert (found.refused.values, found.step) == ((0,), 5)
    assert (found.bound, found.total_bound) == (0xB000, 0x17000)
    assert [block.size for block in found.live] == [0xE000, 0x9000]


def test_other_memory_that_would_do() -> None:
    asked = Requests.of(tile=0, size=[0xC000, 0x8000], need=[MemoryNeed.INTERLEAVED, 0])
    assert len(place(asked, MemoryPolicy.ipu21()).address) == 2
    asked = Requests.of(tile=0, size=[0xE000, 0x3000], need=MemoryNeed.INTERLEAVED)
    assert "any memory" in {remedy.kind for remedy in failure(asked, SMALL).remedies}


def test_a_boundary_that_is_in_the_way() -> None:
    """Larger than any arena, but not than what the chip has in one piece."""
    asked = Requests.of(tile=0, size=0x40000)
    assert [str(remedy) for remedy in failure(asked).remedies] == [
        "buffer 0 of at most 229,376 bytes",
        "interleaved and ordinary-high as one arena, with another cut",
    ]
    assert place(asked, MemoryPolicy.ipu21(cut=0xE8000)).address.tolist() == [0x80000]


def test_no_arena_of_the_kind() -> None:
    found = failure(Requests.of(tile=0, size=8, resident=True, need=MemoryNeed.EXECUTABLE), SMALL)
    assert (found.arenas, found.capacity, found.hole) == ((), 0, 0)
    assert "no arena that the policy names for resident requests has any of that" in str(found)


def test_joined_requests_are_one_allocation() -> None:
    asked = Requests.of(tile=0, size=[0x8000] * 3, sequence=1, resident=True, value=[5, 6, 7])
    found = failure(asked, SMALL)
    assert (found.refused.values, found.refused.size) == ((5, 6, 7), 0x18000)
    assert "buffer 5 and 2 more with it" in str(found)


def test_the_worst_tile_is_told_and_the_others_named() -> None:
    asked = Requests.of(tile=[1, 5, 7, 9], size=[0x11000, 0x10000, 0x12000, 0x12000], resident=True)
    with pytest.raises(PlacementError, match="tile 7, step 0") as raised:
        place(asked, SMALL)
    assert raised.value.failure.tile == 7
    assert raised.value.tiles == (1, 7, 9)
    assert "other tiles on which requests do not fit: 1, 9" in str(raised.value)


def test_many_live_values_are_summed_up() -> None:
    asked = Requests.of(tile=0, size=[0x10000, *range(0x400, 0x400 + 20)], resident=True)
    found = failure(asked, SMALL)
    assert len(found.live) == 21
    rest = sum(block.size for block in found.live[8:])
    assert f"{rest:,}  in 13 more" in str(found)
