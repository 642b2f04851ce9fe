"""Events of receivers and senders, against worked rows and bounds of the exchange notes."""

import numpy as np
import numpy.typing as npt
import pytest

from tilewright.target.geometry import TILES
from tilewright.target.routes import early_members, times
from tilewright.target.row_events import (
    FIRST_EVENT,
    FORMAT_BEFORE_POINTER,
    LATE_MEMBER_DELAY,
    clash_delays,
    pointer_delays,
    row_end_delays,
    sender_row_end,
    visible_delays,
)
from tilewright.target.topology import partners, physical_tiles

ALL = np.arange(TILES)


@pytest.mark.parametrize(
    ("tile", "slot", "pointer"),
    [
        (53, 113, 165),
        (63, 113, 165),
        (0, 113, 165),
        (9, 1, 53),
        (53, 1, 53),
        (2, 1, 53),
        (32, 20, 72),
        (53, 249, 301),
        # These rows had the pointer one event early, which was later found wrong on hardware.
        (260, 113, 172 + 1),
        (260, 84, 143 + 1),
        (613, 1, 70 + 1),
    ],
)
def test_pointers_of_worked_rows(tile: int, slot: int, pointer: int) -> None:
    assert slot + pointer_delays(tile) == pointer


@pytest.mark.parametrize(
    ("tile", "slots", "pointers"),
    [(0, [1, 53, 105, 157], [53, 105, 157, 209]), (64, [2, 54, 106, 158], [56, 108, 160, 212])],
)
def test_pointers_of_the_vendors_rows(tile: int, slots: list[int], pointers: list[int]) -> None:
    assert (np.array(slots) + pointer_delays(tile)).tolist() == pointers


def test_rows_further_along_take_two_events_more_each() -> None:
    delays = pointer_delays(64 * np.arange(23))
    assert delays[0] == 52
    assert (np.diff(delays) == 2).all()


@pytest.mark.parametrize(
    ("tile", "slot", "words", "end"),
    [
        (53, 113, 3, 173),
        (63, 113, 65, 235),
        (0, 113, 4148, 4318),
        (260, 113, 52, 230),
        (9, 1, 3, 61),
        (53, 1, 3, 61),
        (260, 84, 52, 201),
        (613, 1, 52, 128),
        (2, 1, 1, 59),
        (9, 1, 64, 122),
        (53, 249, 64, 370),
        (0, 157, 52, 266),
    ],
)
def test_ends_of_worked_rows(tile: int, slot: int, words: int, end: int) -> None:
    assert slot + words + row_end_delays(tile) == end


@pytest.mark.parametrize(
    ("early", "row_format", "pointer", "end"),
    [(64, 54, 56, 125), (0, 52, 54, 123), (1411, 96, 98, 167)],
)
def test_worked_rows_with_64_bit_items(early: int, row_format: int, pointer: int, end: int) -> None:
    """64 items of which the first meets the early member in slot 1; the same for both members."""
    early_slot, items = 1, 64
    slot = early_slot + LATE_MEMBER_DELAY
    for member in (early, partners(early)):
        assert slot + pointer_delays(member) - FORMAT_BEFORE_POINTER == row_format
        assert slot + pointer_delays(member) == pointer
        assert slot + items + row_end_delays(member) == end


def test_vendors_row_with_64_bit_items() -> None:
    """Four messages of 176 items on a tile of row 1, format set once and cleared once."""
    slots = np.array([1, 177, 353, 529]) + LATE_MEMBER_DELAY
    pointers = slots + pointer_delays(64)
    assert pointers.tolist() == [56, 232, 408, 584]
    assert pointers[0] - FORMAT_BEFORE_POINTER == 54
    assert pointers[-1] + 176 - FORMAT_BEFORE_POINTER == 758


def test_late_members_are_later_by_the_difference_of_the_times() -> None:
    early = early_members(0, ALL)
    assert (times(0, partners(early)) - times(0, early) == LATE_MEMBER_DELAY).all()


@pytest.mark.parametrize(
    ("first", "items", "end"),
    [
        (136, 3, 138),
        (127, 65, 191),
        (110, 4148, 4257),
        (64, 52, 115),
        (24, 3, 26),
        (29, 1, 29),
        (32, 64, 95),
        (1, 2, 6),
    ],
)
def test_ends_of_senders_rows(first: int, items: int, end: int) -> None:
    assert sender_row_end(first, items) == end


def test_a_word_is_in_memory_before_the_row_ends() -> None:
    """The last word's write takes the last event of its row, and a read may follow at once."""
    last_slot, slot_after = 100, 101
    write = last_slot + clash_delays(ALL)
    assert (write > last_slot + pointer_delays(ALL)).all()
    assert (write == slot_after + row_end_delays(ALL)).all()
    assert (write + 1 == last_slot + visible_delays(ALL)).all()


def test_a_write_follows_its_pointer_by_the_lead_of_a_pointer() -> None:
    # The vendor's names: mux to write, 59 cycles and two per row, and a lead of 7.
    assert (visible_delays(ALL) - pointer_delays(ALL) == 7).all()
    assert visible_delays(0) == 59


# -- bounds of whole patterns, which put routes and rows together ----------------------------------


def horizon(sources: npt.ArrayLike, receivers: npt.ArrayLike, words: int) -> int:
    """The last event of messages between logical tiles, one per tile, each as early as allowed."""
    source, receiver = physical_tiles(sources), physical_tiles(receivers)
    time = times(source, receiver)
    slots = np.maximum(FIRST_EVENT, FIRST_EVENT - time) + time
    return int((slots + words + row_end_delays(receiver)).max())


@pytest.mark.parametrize(
    ("receivers", "events"),
    [
        ((5 * ALL + 17) % TILES, {1: 148, 64: 211, 1024: 1171}),
        ((ALL + 1) % TILES, {1: 103, 64: 166, 1024: 1126}),
        ((ALL + 736) % TILES, {1: 171, 64: 234, 1024: 1194}),
        (TILES - 1 - ALL, {1: 103, 64: 166, 1024: 1126}),
    ],
    ids=["5l+17", "l+1", "l+736", "reversal"],
)
def test_horizons_of_permutations(receivers: npt.ArrayLike, events: dict[int, int]) -> None:
    assert {words: horizon(ALL, receivers, words) for words in events} == events


def test_horizons_of_a_reduction() -> None:
    """In each stage the right of two neighbours sends one word to the left one, which stays."""
    survivors, stages = ALL, []
    while len(survivors) > 1:
        pairs = survivors[: len(survivors) // 2 * 2].reshape(-1, 2)
        stages.append((len(pairs), horizon(pairs[:, 1], pairs[:, 0], 1)))
        survivors = survivors[::2]
    transfers, events = zip(*stages, strict=True)
    assert transfers == (736, 368, 184, 92, 46, 23, 11, 6, 3, 1, 1)
    assert events == (*[103] * 6, 101, 97, 100, 127, 106)


@pytest.mark.parametrize(("words", "events"), [(1, 128), (64, 191), (1024, 1151), (4148, 4275)])
def test_horizon_of_a_broadcast(words: int, events: int) -> None:
    receivers = physical_tiles(ALL[1:])
    first = FIRST_EVENT - times(0, receivers).min()
    assert first == 74
    slots = first + times(0, receivers)
    assert (slots + words + row_end_delays(receivers)).max() == events


@pytest.mark.parametrize(("words", "events"), [(128, 191), (2048, 1151)])
def test_horizon_of_a_broadcast_of_64_bit_items(words: int, events: int) -> None:
    early = early_members(0, ALL)
    slots = FIRST_EVENT - times(0, early).min() + times(0, early) + LATE_MEMBER_DELAY
    assert (slots + words // 2 + row_end_delays(ALL)).max() == events


@pytest.mark.parametrize(("words", "events"), [(1, 122), (8, 570), (52, 3386), (64, 4154)])
def test_horizon_of_a_gather_from_64_tiles(words: int, events: int) -> None:
    first_slot = max(FIRST_EVENT, FIRST_EVENT + times(physical_tiles(ALL[1:65]), 0).min())
    assert first_slot + 64 * words + row_end_delays(0) == events


@pytest.mark.parametrize(("words", "events"), [(8, 569), (52, 3385), (64, 4153)])
def test_horizon_of_a_scatter_to_64_tiles(words: int, events: int) -> None:
    """All receivers can be waited for while others are sent to; the fastest comes last."""
    receivers = physical_tiles(ALL[1:65])
    time = times(0, receivers)
    after_last = max(FIRST_EVENT, FIRST_EVENT - time.max()) + 64 * words
    assert (after_last + time + row_end_delays(receivers)).min() == events
