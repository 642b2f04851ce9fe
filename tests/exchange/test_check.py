"""Wrong rows, made of right ones by one change, are refused by the checker and by the chip."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.exchange.on_chip import assert_carried_out
from tilewright.emulator.faults import ExchangeFault
from tilewright.exchange import (
    ExchangePhase,
    RowFault,
    Rows,
    Schedule,
    Transfer,
    check,
    encode,
    find_faults,
    schedule,
)
from tilewright.exchange.controls import (
    FORMAT,
    PAIRED_SOURCE,
    POINTER,
    SOURCE,
    TileControls,
    TileSends,
    tile_controls,
    tile_receives,
    tile_sends,
)
from tilewright.exchange.encode import write
from tilewright.target.topology import NEUTRAL_MUX

FROM, TO = 0x5C000, 0x80000
BUSY = 613
"""Receives twice in NARROW, without a slot between."""
NARROW = ExchangePhase.of(
    [
        Transfer(260, FROM, 20, [(BUSY, TO), (1216, TO)]),
        Transfer(128, FROM, 30, [(BUSY, TO + 0x200)]),
        Transfer(BUSY, FROM, 40, [(260, TO)]),
    ]
)
WIDE = ExchangePhase.of(
    [
        Transfer(0, FROM, 160, [(64, TO), (66, TO), (301, TO), (303, TO)]),
        Transfer(128, FROM, 160, [(64, TO + 0x1000), (66, TO + 0x1000)]),
    ]
)

Change = Callable[[TileSends, TileControls], tuple[TileSends, TileControls]]
COLUMNS = ("tile", "event", "kind", "value", "receiver")


def last(controls: TileControls, kind: int, neutral: bool | None) -> int:
    """The last control of a kind of the tiles that receive twice."""
    chosen = (controls.kind == kind) & np.isin(controls.tile, (BUSY, 64, 66))
    if neutral is not None:
        chosen &= (controls.value == NEUTRAL_MUX) == neutral
    return int(np.flatnonzero(chosen)[-1])


def moved(kind: int, by: int, neutral: bool | None = None) -> Change:
    def change(sends: TileSends, controls: TileControls) -> tuple[TileSends, TileControls]:
        event = controls.event.copy()
        event[last(controls, kind, neutral)] += by
        return sends, _sorted(replace(controls, event=event))

    return change


def revalued(kind: int, new: Callable[[int], int], neutral: bool | None = None) -> Change:
    def change(sends: TileSends, controls: TileControls) -> tuple[TileSends, TileControls]:
        chosen = last(controls, kind, neutral)
        value = controls.value.copy()
        value[chosen] = new(int(value[chosen]))
        return sends, replace(controls, value=value)

    return change


def dropped(kind: int, neutral: bool | None = None) -> Change:
    def change(sends: TileSends, controls: TileControls) -> tuple[TileSends, TileControls]:
        keep = np.ones(len(controls.kind), dtype=np.bool_)
        keep[last(controls, kind, neutral)] = False
        return sends, TileControls(*(getattr(controls, name)[keep] for name in COLUMNS))

    return change


def sent(name: str, new: Callable[[int], int], which: int = 0) -> Change:
    def change(sends: TileSends, controls: TileControls) -> tuple[TileSends, TileControls]:
        column = getattr(sends, name).copy()
        column[which] = new(int(column[which]))
        return replace(sends, **{name: column}), controls

    return change


def swapped_members(sends: TileSends, controls: TileControls) -> tuple[TileSends, TileControls]:
    """The late member sets the muxes of its pair."""
    tile = np.where(controls.kind == PAIRED_SOURCE, controls.tile ^ 2, controls.tile)
    return sends, _sorted(replace(controls, tile=tile))


def _sorted(controls: TileControls) -> TileControls:
    order = np.lexsort((controls.kind, controls.event, controls.tile))
    return TileControls(*(getattr(controls, name)[order] for name in COLUMNS))


def plus(by: int) -> Callable[[int], int]:
    return lambda value: value + by


def to_partner(tile: int) -> int:
    return tile ^ 2


MUTATIONS: list[tuple[ExchangePhase, str, Change]] = [
    (NARROW, "send early", sent("event", plus(-1))),
    (NARROW, "send late", sent("event", plus(1))),
    (NARROW, "mux early", moved(SOURCE, -1, neutral=False)),
    (NARROW, "mux late", moved(SOURCE, 1, neutral=False)),
    (NARROW, "mux dropped", dropped(SOURCE, neutral=False)),
    (NARROW, "neutral early", moved(SOURCE, -1, neutral=True)),
    (NARROW, "neutral late", moved(SOURCE, 1, neutral=True)),
    (NARROW, "neutral dropped", dropped(SOURCE, neutral=True)),
    (NARROW, "pointer early", moved(POINTER, -1)),
    (NARROW, "pointer late", moved(POINTER, 1)),
    (NARROW, "pointer dropped", dropped(POINTER)),
    (NARROW, "wrong source", revalued(SOURCE, to_partner, neutral=False)),
    (NARROW, "wrong destination", revalued(POINTER, plus(4))),
    (NARROW, "wrong direction", sent("control", lambda way: way ^ 3)),
    (NARROW, "one direction of two", sent("control", lambda _: 1, which=1)),
    (NARROW, "other words", sent("address", plus(4))),
    (NARROW, "one item less", sent("items", plus(-1))),
    (WIDE, "send early", sent("event", plus(-1))),
    (WIDE, "send late", sent("event", plus(1), which=1)),
    (WIDE, "mux early", moved(PAIRED_SOURCE, -1, neutral=False)),
    (WIDE, "mux late", moved(PAIRED_SOURCE, 1, neutral=False)),
    (WIDE, "mux dropped", dropped(PAIRED_SOURCE, neutral=False)),
    (WIDE, "neutral early", moved(PAIRED_SOURCE, -1, neutral=True)),
    (WIDE, "neutral late", moved(PAIRED_SOURCE, 1, neutral=True)),
    (WIDE, "neutral dropped", dropped(PAIRED_SOURCE, neutral=True)),
    (WIDE, "pointer early", moved(POINTER, -1)),
    (WIDE, "pointer late", moved(POINTER, 1)),
    (WIDE, "format back early", moved(FORMAT, -1)),
    (WIDE, "format not set back", dropped(FORMAT)),
    (WIDE, "wrong source", revalued(PAIRED_SOURCE, to_partner, neutral=False)),
    (WIDE, "members swapped", swapped_members),
    (WIDE, "narrow items", sent("control", lambda way: way & 3)),
    (WIDE, "one item less", sent("items", plus(-1), which=1)),
]


def rows_with(found: Schedule, change: Change | None) -> Rows:
    sends, receives = tile_sends(found), tile_receives(found)
    controls = tile_controls(found, receives, np.zeros_like(receives.receiver))
    if change is not None:
        sends, controls = change(sends, controls)
    return write(found, sends, receives, controls)


@pytest.mark.parametrize(
    ("phase", "change"),
    [(phase, change) for phase, _, change in MUTATIONS],
    ids=[f"{'wide' if phase is WIDE else 'narrow'} {name}" for phase, name, _ in MUTATIONS],
)
def test_one_change_is_noticed(phase: ExchangePhase, change: Change) -> None:
    rows = rows_with(schedule(phase), change)
    with pytest.raises(RowFault):
        check(rows)
    # The chip reports the fault, or memory is not as it should be.
    with pytest.raises((ExchangeFault, AssertionError)):
        assert_carried_out(phase, rows)


@pytest.mark.parametrize("phase", [NARROW, WIDE])
def test_without_a_change_nothing_is_noticed(phase: ExchangePhase) -> None:
    found = schedule(phase)
    assert found.messages.wide.any() == (phase is WIDE)
    assert find_faults(rows_with(found, None)) == []
    assert rows_with(found, None).words.tobytes() == encode(found).words.tobytes()


def test_rows_for_another_phase() -> None:
    rows = encode(schedule(NARROW))
    others = [NARROW.transfer(0), NARROW.transfer(1), Transfer(BUSY, FROM, 39, [(260, TO)])]
    with pytest.raises(RowFault) as raised:
        check(replace(rows, phase=ExchangePhase.of(others)))
    assert "tile 260" in str(raised.value)


def test_rows_that_end_early() -> None:
    rows = encode(schedule(NARROW))
    words = rows.words.copy()
    last_word = rows.start[1217] - 1
    words[last_word] -= 1  # the last delay of tile 1216, one event less
    (fault,) = find_faults(replace(rows, words=words))
    assert fault.tile == 1216
    assert "ends before" in str(fault)


def test_a_relay_that_leaves_before_its_words_have_come() -> None:
    relayed = ExchangePhase.of([Transfer(0, FROM, 8, [(64, TO)]), Transfer(64, TO, 8, [(613, TO)])])
    found = schedule(relayed)
    hasty = replace(found, first=np.where(found.messages.source == 64, 58, found.first))
    causes = {fault.cause for fault in find_faults(encode(hasty))}
    assert any("before they have arrived" in cause for cause in causes)


def test_rows_in_a_memory_element_of_the_phase() -> None:
    rows = encode(schedule(NARROW))
    check(rows, row_address=np.full(1472, 0x4C100))
    for address in (FROM + 0x800, FROM - 0x20, TO - 0x10):
        with pytest.raises(RowFault, match="holds its row"):
            check(rows, row_address=np.full(1472, address))


def test_sends_and_receives_in_one_memory_element() -> None:
    both = ExchangePhase.of(
        [Transfer(0, FROM, 100, [(64, TO)]), Transfer(64, FROM, 100, [(0, FROM + 0x1000)])]
    )
    found = schedule(both)
    check(encode(found))
    at_once = replace(found, first=found.messages.earliest)
    with pytest.raises(RowFault, match="memory element while words arrive"):
        check(encode(at_once))
