"""Arenas, orders and reservations that are refused, and what there is by default."""

import pytest

from tilewright.codegen.place import Arena, MemoryPolicy, PolicyError, Reservation


def test_the_arenas_of_the_chip() -> None:
    """The executable region; of the interleaved one, 192 KiB; and the other 224 KiB."""
    policy = MemoryPolicy.ipu21()
    assert [(arena.name, arena.start, arena.end) for arena in policy.arenas] == [
        ("ordinary-low", 0x4C000, 0x80000),
        ("interleaved", 0x80000, 0xB0000),
        ("ordinary-high", 0xB0000, 0xE8000),
    ]
    assert policy.resident == ("ordinary-high", "ordinary-low", "interleaved")
    assert policy.transient == ("ordinary-low", "interleaved", "ordinary-high")


def test_a_cut_at_an_end_leaves_two_arenas() -> None:
    for cut, name in ((0x80000, "ordinary-high"), (0xE8000, "interleaved")):
        policy = MemoryPolicy.ipu21(cut=cut)
        assert [arena.name for arena in policy.arenas] == ["ordinary-low", name]
        assert policy.resident == tuple(
            each for each in ("ordinary-high", "ordinary-low", "interleaved")
            if each in ("ordinary-low", name)
        )  # fmt: skip


def test_free_bytes() -> None:
    """Without loader and entry, exchange window and runtime state; parts of these count, too."""
    policy = MemoryPolicy.ipu21(reserved=[Reservation("code", 0x60000, 0x61000)])
    assert policy.free_bytes(0x4C000, 0x80000) == 0x34000 - 0x18 - 0x8000 - 0x4000 - 0x1000
    assert policy.free_bytes(0x57000, 0x60800) == 0x4000
    assert policy.free_bytes(0x80000, 0x80010) == 16


@pytest.mark.parametrize(
    ("arenas", "order", "reserved", "reason"),
    [
        ([("a", 0x4BFFF, 0x50000)], "a", [], "arena a extends from 0x4bfff"),
        ([("a", 0x4C000, 0xE8001)], "a", [], "arena a extends from"),
        ([("a", 0x50000, 0x50000)], "a", [], "arena a extends from"),
        ([("a", 0x50000, 0x60000), ("b", 0x5FFFF, 0x70000)], "ab", [], "a and arena b overlap"),
        ([("a", 0x50000, 0x60000), ("a", 0x60000, 0x70000)], "a", [], "2 times arena a"),
        ([("a", 0x50000, 0x60000)], "ab", [], "order names b; arenas are a"),
        ([("a", 0x50000, 0x60000)], "aa", [], "order names a 2 times"),
        ([("a", 0x50000, 0x60000)], "", [], "no arena for resident allocations"),
        ([("a", 0x50000, 0x60000)], "a", [("r", 0, 8)], "reservation r extends from 0x0"),
        (
            [("a", 0x50000, 0x60000)],
            "a",
            [("r", 0x50000, 0x50010), ("s", 0x50008, 0x50010)],
            "r and reservation s overlap",
        ),
    ],
)
def test_refused(
    arenas: list[tuple[str, int, int]],
    order: str,
    reserved: list[tuple[str, int, int]],
    reason: str,
) -> None:
    with pytest.raises(PolicyError, match=reason):
        MemoryPolicy(
            tuple(Arena(*each) for each in arenas),
            tuple(order),
            ("a",),
            tuple(Reservation(*each) for each in reserved),
        )


def test_a_cut_outside_of_region_1() -> None:
    with pytest.raises(PolicyError, match="cannot be cut at 0x7fff8"):
        MemoryPolicy.ipu21(cut=0x7FFF8)
