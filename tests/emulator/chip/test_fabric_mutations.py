"""One thing in a correct schedule is changed at a time; each change shows (section 9, rule 7).

Either the chip reports a fault, or words go where the test says. The two schedules pack messages as
closely as the rules allow, so that nothing can move by one event without meeting its neighbour.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewright.emulator import faults
from tilewright.emulator.faults import ExchangeFault
from tilewright.target.routes import Direction, directions, early_members, times
from tilewright.target.topology import NEUTRAL_MUX

if TYPE_CHECKING:
    from .conftest import Bench, Run, Step

N = NEUTRAL_MUX
SOURCE = 0x50000
Steps = dict[str, "Step | None"]


def send(source: int, receiver: int, slot: int, items: int, address: int = SOURCE) -> "Step":
    """A 32-bit send that is on the receiver's bus from a slot on."""
    event = slot - int(times(source, receiver))
    return (event, "send", items, address, int(directions(source, receiver)))


def run(
    bench: "Bench", steps: Mapping[int, Steps], lengths: Mapping[int, int], tiles: int
) -> "Run":
    rows = {
        tile: bench.row(*(step for step in of_tile.values() if step), length=lengths[tile])
        for tile, of_tile in steps.items()
    }
    return bench.prepare(rows, tiles)


def changed(steps: Mapping[int, Steps], changes: Mapping[tuple[int, str], Any]) -> dict[int, Steps]:
    """The steps with some replaced: by another step, by None, or moved by so many events."""
    result = {tile: dict(of_tile) for tile, of_tile in steps.items()}
    for (tile, name), change in changes.items():
        old = result[tile].get(name)
        if isinstance(change, int):
            assert old is not None
            change = (old[0] + change, *old[1:])
        result[tile][name] = change
    return result


# -- two messages back to back -------------------------------------------------------------------

A, B, R = 0, 9, 72
"""Two sources and a receiver, which is in row 1: its pointers come 54 events after the slots."""
OTHER = 4
M, FIRST, SECOND = 100, 5, 4
TO_A, TO_B = 0x60000, 0x64000


def chain() -> dict[int, Steps]:
    return {
        A: {"send": send(A, R, M, FIRST)},
        B: {"send": send(B, R, M + FIRST, SECOND)},
        R: {
            "first": (M, "source", A),
            "second": (M + FIRST, "source", B),
            "neutral": (M + FIRST + SECOND, "source", N),
            "first pointer": (M + 54, "pointer", TO_A),
            "second pointer": (M + FIRST + 54, "pointer", TO_B),
        },
    }


CHAIN_LENGTHS = {A: 200, B: 200, R: M + FIRST + SECOND + 59}
CHAIN_TILES = 76


def check_chain(made: "Run", *expected: tuple[int, list[tuple[int, int]]]) -> None:
    """`expected`: addresses, and the words there: (source, index)."""
    for address, words in expected:
        sent = [made.words(source, SOURCE + 4 * index, 1) for source, index in words]
        made.expect(R, address, np.concatenate(sent))
    made.go().check()


def of(source: int, first: int, end: int) -> list[tuple[int, int]]:
    return [(source, index) for index in range(first, end)]


def test_the_chain_is_correct(bench: "Bench") -> None:
    made = run(bench, chain(), CHAIN_LENGTHS, CHAIN_TILES)
    check_chain(made, (TO_A, of(A, 0, 5)), (TO_B, of(B, 0, 4)))


WRONG_WAY = int(Direction.EAST) + int(Direction.WEST) - int(directions(A, R))
CHAIN_FAULTS: dict[str, tuple[dict[tuple[int, str], Any], type[ExchangeFault]]] = {
    "first send early": ({(A, "send"): -1}, faults.SilentBusFault),
    "first send late": ({(A, "send"): 1}, faults.SilentBusFault),
    "second send early": ({(B, "send"): -1}, faults.SilentBusFault),
    "second send late": ({(B, "send"): 1}, faults.SilentBusFault),
    "first source early": ({(R, "first"): -1}, faults.SilentBusFault),
    "second source early": ({(R, "second"): -1}, faults.SilentBusFault),
    "second source late": ({(R, "second"): 1}, faults.SilentBusFault),
    "neutral late": ({(R, "neutral"): 1}, faults.SilentBusFault),
    "first pointer late": ({(R, "first pointer"): 1}, faults.ReceiveAddressFault),
    "first pointer dropped": ({(R, "first pointer"): None}, faults.ReceiveAddressFault),
    "neutral dropped": ({(R, "neutral"): None}, faults.ConnectedAtEndFault),
    "second source dropped": ({(R, "second"): None}, faults.SilentBusFault),
    "a source that is silent": ({(R, "first"): (M, "source", OTHER)}, faults.SilentBusFault),
    "a source that sends later": ({(R, "first"): (M, "source", B)}, faults.SilentBusFault),
    "the host as source": ({(R, "first"): (M, "source", 0x600)}, faults.ExternalMuxFault),
    "no source": ({(R, "first"): (M, "source", 0x641)}, faults.MuxRangeFault),
    "wrong direction": (
        {(A, "send"): (*send(A, R, M, FIRST)[:-1], WRONG_WAY)},
        faults.SilentBusFault,
    ),
    "one item less": ({(A, "send"): send(A, R, M, FIRST - 1)}, faults.SilentBusFault),
    "64-bit items": (
        {(A, "send"): (*send(A, R, M, FIRST)[:-1], 4 | int(directions(A, R)))},
        faults.LentLaneFault,
    ),
    "a 64-bit format": (
        {(R, "format"): (M + 56, "format", 1), (R, "format off"): (M + 62, "format", 0)},
        faults.ReceiveModeFault,
    ),
    "a 64-bit format before": (
        {(R, "format"): (M - 1, "format", 1), (R, "format off"): (M + 70, "format", 0)},
        faults.ReceiveConfigurationFault,
    ),
    "a format that is left": ({(R, "format"): (M + 65, "format", 1)}, faults.ConnectedAtEndFault),
    "a format that is none": ({(R, "format"): (M + 65, "format", 3)}, faults.FormatValueFault),
    "a send from outside": (
        {(A, "send"): send(A, R, M, FIRST, 0x4BFF8)},
        faults.SendAddressFault,
    ),
    "a pointer outside": (
        {(R, "second pointer"): (M + FIRST + 54, "pointer", 0xE7FF8)},
        faults.ReceiveAddressFault,
    ),
}


@pytest.mark.parametrize("name", CHAIN_FAULTS)
def test_faults_of_the_chain(bench: "Bench", name: str) -> None:
    changes, kind = CHAIN_FAULTS[name]
    made = run(bench, changed(chain(), changes), CHAIN_LENGTHS, CHAIN_TILES)
    with pytest.raises(ExchangeFault) as raised:
        made.chip.run()
    assert kind in {type(fault) for fault in (raised.value, *raised.value.others)}, raised.value


Words = list[tuple[int, list[tuple[int, int]]]]
CHAIN_RESULTS: dict[str, tuple[dict[tuple[int, str], Any], Words]] = {
    "first source late": (
        {(R, "first"): 1},
        [(TO_A, of(A, 1, 5)), (TO_B, of(B, 0, 4))],
    ),
    "neutral early": (
        {(R, "neutral"): -1},
        [(TO_A, of(A, 0, 5)), (TO_B, of(B, 0, 3))],
    ),
    "second pointer early": (
        {(R, "second pointer"): -1},
        [(TO_A, of(A, 0, 4)), (TO_B, [*of(A, 4, 5), *of(B, 0, 4)])],
    ),
    "second pointer late": (
        {(R, "second pointer"): 1},
        [(TO_A, [*of(A, 0, 5), *of(B, 0, 1)]), (TO_B, of(B, 1, 4))],
    ),
    "second pointer dropped": (
        {(R, "second pointer"): None},
        [(TO_A, [*of(A, 0, 5), *of(B, 0, 4)])],
    ),
    "another source address": (
        {(A, "send"): send(A, R, M, FIRST, SOURCE + 4)},
        [(TO_A, of(A, 1, 6)), (TO_B, of(B, 0, 4))],
    ),
    "both directions": (
        {(A, "send"): (*send(A, R, M, FIRST)[:-1], 3)},
        [(TO_A, of(A, 0, 5)), (TO_B, of(B, 0, 4))],
    ),
    "one item more, to which nobody listens": (
        {(A, "send"): send(A, R, M, FIRST + 1)},
        [(TO_A, of(A, 0, 5)), (TO_B, of(B, 0, 4))],
    ),
    "first pointer early, while nothing arrives": (
        {(R, "first pointer"): -1},
        [(TO_A, of(A, 0, 5)), (TO_B, of(B, 0, 4))],
    ),
}


@pytest.mark.parametrize("name", CHAIN_RESULTS)
def test_results_of_the_chain(bench: "Bench", name: str) -> None:
    changes, expected = CHAIN_RESULTS[name]
    check_chain(run(bench, changed(chain(), changes), CHAIN_LENGTHS, CHAIN_TILES), *expected)


def test_a_receivers_row_must_not_end_early(bench: "Bench") -> None:
    """The senders' rows end with their sends."""
    exact = CHAIN_LENGTHS | {A: 0, B: 0}
    run(bench, chain(), exact, CHAIN_TILES).go().check_end()
    made = run(bench, chain(), exact | {R: exact[R] - 1}, CHAIN_TILES)
    with pytest.raises(faults.ShortRowFault, match=rf"tile {R}, event {exact[R] - 1}"):
        made.chip.run()


# -- a 64-bit message between 32-bit ones ---------------------------------------------------------

S, LENDER, EARLY, LATE, X, Y = 0, 2, 64, 66, 9, 13
"""A 64-bit source, its partner, the members of the receiving pair, and a 32-bit source for each."""
M2, ITEMS = 200, 64
FORMAT, POINTER = M2 + 51 + 2, M2 + 53 + 2
BEFORE, AFTER = 0x60000, 0x68000
WIDE_TO = {EARLY: 0x64000, LATE: 0x70000}
PAIR_LENGTH = 400


def pair_chain() -> dict[int, Steps]:
    def late(slot: int) -> Steps:
        return {
            "before": (M2 - 4, "source", slot),
            "before neutral": (M2 - 1, "source", N),
            "before pointer": (M2 - 4 + 54, "pointer", BEFORE),
        }

    wide = int(directions(S, EARLY))
    common: dict[int, Steps] = {
        tile: {
            "format": (FORMAT, "format", wide),
            "pointer": (POINTER, "pointer", WIDE_TO[tile]),
            "format off": (FORMAT + ITEMS, "format", 0),
        }
        for tile in (EARLY, LATE)
    }
    return {
        S: {"send": (M2 - int(times(S, EARLY)), "send", ITEMS, SOURCE, 4 | wide)},
        LENDER: {},
        X: {
            "before": send(X, EARLY, M2 - 4, 3),
            "after": send(X, EARLY, M2 + ITEMS + 1, 3, SOURCE + 0x100),
        },
        Y: {
            "before": send(Y, LATE, M2 - 4, 3),
            "after": send(Y, LATE, M2 + ITEMS + 3, 3, SOURCE + 0x100),
        },
        EARLY: {
            **late(X),
            **common[EARLY],
            "pair": (M2, "pair", S),
            "pair neutral": (M2 + ITEMS, "pair", N),
            "after": (M2 + ITEMS + 1, "source", X),
            "after neutral": (M2 + ITEMS + 4, "source", N),
            "after pointer": (M2 + ITEMS + 1 + 54, "pointer", AFTER),
        },
        LATE: {
            **late(Y),
            **common[LATE],
            "after": (M2 + ITEMS + 3, "source", Y),
            "after neutral": (M2 + ITEMS + 6, "source", N),
            "after pointer": (M2 + ITEMS + 3 + 54, "pointer", AFTER),
        },
    }


PAIR_TILES = 68
PAIR_LENGTHS = dict.fromkeys((S, LENDER, X, Y, EARLY, LATE), PAIR_LENGTH)


def expect_pair(made: "Run", tiles: tuple[int, ...] = (EARLY, LATE)) -> NDArray[np.uint32]:
    """Expect everything that the correct schedule moves; returns the words of the 64-bit items."""
    wide = made.words(S, SOURCE, 2 * ITEMS)
    for tile, source in ((EARLY, X), (LATE, Y)):
        made.expect(tile, BEFORE, made.words(source, SOURCE, 3))
        made.expect(tile, AFTER, made.words(source, SOURCE + 0x100, 3))
        if tile in tiles:
            made.expect(tile, WIDE_TO[tile], wide)
    return wide


def test_the_early_member_is_the_first_one_here() -> None:
    assert int(early_members(S, LATE)) == EARLY


def test_the_pair_chain_is_correct(bench: "Bench") -> None:
    made = run(bench, pair_chain(), PAIR_LENGTHS, PAIR_TILES)
    expect_pair(made)
    made.go().check()


SWAPPED: dict[tuple[int, str], Any] = {
    (EARLY, "pair"): None,
    (EARLY, "pair neutral"): None,
    (EARLY, "after"): None,
    (EARLY, "after neutral"): None,
    (LATE, "pair"): (M2 + 1, "pair", S ^ 2),
    (LATE, "pair neutral"): (M2 + 1 + ITEMS, "pair", N),
}
NO_GAP: dict[tuple[int, str], Any] = {
    (EARLY, "pair neutral"): None,
    (EARLY, "after"): -1,
    (EARLY, "after neutral"): -1,
    (X, "after"): -1,
    (LATE, "own neutral"): (M2 + 1 + ITEMS, "source", N),
}
WEST_FORMAT = 3 - int(directions(S, EARLY))
PAIR_FAULTS: dict[str, tuple[dict[tuple[int, str], Any], type[ExchangeFault]]] = {
    "send early": ({(S, "send"): -1}, faults.SilentBusFault),
    "send late": ({(S, "send"): 1}, faults.SilentBusFault),
    "pair early": ({(EARLY, "before neutral"): None, (EARLY, "pair"): -1}, faults.SilentBusFault),
    "pair neutral late": (
        {(EARLY, "pair neutral"): 1, (EARLY, "after"): None, (EARLY, "after neutral"): None},
        faults.SilentBusFault,
    ),
    "pair neutral dropped on the way": ({(EARLY, "pair neutral"): None}, faults.SilentBusFault),
    "the later member writes": (SWAPPED, faults.PairingFault),
    "both members write": ({(LATE, "own"): (M2 + 1, "source", S ^ 2)}, faults.PairedMuxClashFault),
    "no gap after the later slot": (NO_GAP, faults.ReceiveOverlapFault),
    "not as a pair": (
        {(EARLY, "pair"): (M2, "source", S)},
        faults.ReceiveConfigurationFault,
    ),
    "the lane of the partner": (
        {(EARLY, "pair"): (M2, "pair", S ^ 2)},
        faults.ReceiveConfigurationFault,
    ),
    "wrong direction": (
        {(S, "send"): (M2 - int(times(S, EARLY)), "send", ITEMS, SOURCE, 4 | WEST_FORMAT)},
        faults.SilentBusFault,
    ),
    "32-bit items": (
        {(S, "send"): (M2 - int(times(S, EARLY)), "send", ITEMS, SOURCE, 3)},
        faults.SilentBusFault,
    ),
    "the partner sends for itself": (
        {(LENDER, "send"): (M2 + 40, "send", 1, SOURCE, 1)},
        faults.LentLaneFault,
    ),
    "misaligned destination": (
        {(EARLY, "pointer"): (POINTER, "pointer", WIDE_TO[EARLY] + 4)},
        faults.ReceiveAddressFault,
    ),
    "early pointer late": ({(EARLY, "pointer"): 1}, faults.ReceiveAddressFault),
    "late pointer late": ({(LATE, "pointer"): 1}, faults.ReceiveAddressFault),
    "format off late, before the next message": (
        {(EARLY, "format off"): 1},
        faults.ReceiveModeFault,
    ),
}
for _tile, _name in ((EARLY, "early"), (LATE, "late")):
    PAIR_FAULTS |= {
        f"{_name} member's format early": ({(_tile, "format"): -1}, faults.ReceiveModeFault),
        f"{_name} member's format late": ({(_tile, "format"): 1}, faults.ReceiveModeFault),
        f"{_name} member's format off early": (
            {(_tile, "format off"): -1},
            faults.ReceiveModeFault,
        ),
        f"{_name} member's format dropped": (
            {(_tile, "format"): None, (_tile, "format off"): None},
            faults.ReceiveConfigurationFault,
        ),
        f"{_name} member's format for the other direction": (
            {(_tile, "format"): (FORMAT, "format", WEST_FORMAT)},
            faults.ReceiveModeFault,
        ),
    }


@pytest.mark.parametrize("name", PAIR_FAULTS)
def test_faults_of_the_pair_chain(bench: "Bench", name: str) -> None:
    changes, kind = PAIR_FAULTS[name]
    made = run(bench, changed(pair_chain(), changes), PAIR_LENGTHS, PAIR_TILES)
    with pytest.raises(ExchangeFault) as raised:
        made.chip.run()
    assert kind in {type(fault) for fault in (raised.value, *raised.value.others)}, raised.value


def test_without_the_pair_nothing_arrives(bench: "Bench") -> None:
    made = run(bench, changed(pair_chain(), {(EARLY, "pair"): None}), PAIR_LENGTHS, PAIR_TILES)
    expect_pair(made, tiles=())
    made.go().check()


def test_a_late_pair_loses_the_first_item_of_both(bench: "Bench") -> None:
    made = run(bench, changed(pair_chain(), {(EARLY, "pair"): 1}), PAIR_LENGTHS, PAIR_TILES)
    wide = expect_pair(made, tiles=())
    for tile in (EARLY, LATE):
        made.expect(tile, WIDE_TO[tile], wide[2:])
    made.go().check()


def test_an_early_neutral_loses_the_last_item_of_both(bench: "Bench") -> None:
    steps = changed(pair_chain(), {(EARLY, "pair neutral"): -1})
    made = run(bench, steps, PAIR_LENGTHS, PAIR_TILES)
    wide = expect_pair(made, tiles=())
    for tile in (EARLY, LATE):
        made.expect(tile, WIDE_TO[tile], wide[:-2])
    made.go().check()


@pytest.mark.parametrize(
    "changes",
    [{(EARLY, "pointer"): -1}, {(LATE, "pointer"): -1}, {(LATE, "format off"): 1}],
    ids=["early member's pointer", "late member's pointer", "late member's format off"],
)
def test_controls_may_move_where_nothing_is_on_its_way(
    bench: "Bench", changes: dict[tuple[int, str], int]
) -> None:
    made = run(bench, changed(pair_chain(), changes), PAIR_LENGTHS, PAIR_TILES)
    expect_pair(made)
    made.go().check()


def test_the_lender_needs_a_row_as_long_as_the_senders(bench: "Bench") -> None:
    event, _, items, *_ = pair_chain()[S]["send"] or ()
    needed = event + items - 1
    made = run(bench, pair_chain(), PAIR_LENGTHS | {LENDER: needed}, PAIR_TILES)
    expect_pair(made)
    made.go().check()
    made = run(bench, pair_chain(), PAIR_LENGTHS | {LENDER: needed - 1}, PAIR_TILES)
    with pytest.raises(faults.LentLaneFault, match=f"tile {LENDER}, event {needed - 1}"):
        made.chip.run()


def test_the_lenders_row_starts_with_the_others(bench: "Bench") -> None:
    rows = {
        tile: bench.row(*(step for step in of_tile.values() if step), length=PAIR_LENGTH)
        for tile, of_tile in pair_chain().items()
    }
    rows[LENDER] = "add $m0, $m0, 1\n" + rows[LENDER]
    made = bench.prepare(rows, PAIR_TILES)
    with pytest.raises(faults.RowOriginFault, match=f"tile {LENDER}, event 1"):
        made.chip.run()


@pytest.mark.parametrize("tile", [LENDER, LATE])
def test_all_tiles_of_both_pairs_need_rows(bench: "Bench", tile: int) -> None:
    steps = pair_chain()
    del steps[tile]
    made = run(bench, steps, PAIR_LENGTHS, PAIR_TILES)
    with pytest.raises(ExchangeFault) as raised:
        made.chip.run()
    kind = faults.LentLaneFault if tile == LENDER else faults.ShortRowFault
    assert (kind, tile) in {
        (type(fault), fault.tile) for fault in (raised.value, *raised.value.others)
    }


@pytest.mark.parametrize("tile", [EARLY, LATE])
def test_rows_of_pairs_must_not_end_early(bench: "Bench", tile: int) -> None:
    drop = {
        (each, name): None
        for each in (EARLY, LATE)
        for name in ("after", "after neutral", "after pointer")
    }
    steps = changed(pair_chain(), drop)
    needed = M2 + ITEMS + 58 + 2
    lengths = PAIR_LENGTHS | {EARLY: needed, LATE: needed}
    run(bench, steps, lengths, PAIR_TILES).go().check_end()
    made = run(bench, steps, lengths | {tile: needed - 1}, PAIR_TILES)
    with pytest.raises(faults.ShortRowFault, match=f"tile {tile}, event {needed - 1}"):
        made.chip.run()
