"""Barriers: zones, automatic participation, time, and what is said of those that never complete."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tilewright.emulator.barriers import (
    Participations,
    Received,
    Waiting,
    complete_zone,
    describe_tiles,
    describe_waiting,
)
from tilewright.emulator.chip import Chip, End, Outcome
from tilewright.emulator.events import EventKind
from tilewright.emulator.fabric import Executed
from tilewright.emulator.faults import InternalMuxFault, ReceiveCountFault
from tilewright.emulator.images import TileImage
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.records import Tiles
from tilewright.isa import Mode
from tilewright.target.csr import CSRS
from tilewright.target.timing import INTERNAL_SYNC, SYNC

if TYPE_CHECKING:
    from .conftest import Bench

CODE = 0x4C100
COUNT = "get $m1, $SCOUNT_L"
"""The cycle in which this is issued."""


def load(bench: "Bench", chip: Chip, texts: Sequence[str]) -> Chip:
    for tile, text in enumerate(texts):
        chip.load(tile, TileImage((bench.code(text + "\n trap 0", CODE),), CODE))
    return chip


def run(bench: "Bench", *texts: str, chip: Chip | None = None) -> tuple[Chip, Outcome]:
    """Four tiles; those without a text of their own have the last."""
    filled = [*texts, *[texts[-1]] * (4 - len(texts))]
    loaded = load(bench, chip or Chip(4), filled)
    return loaded, loaded.run()


def m1(chip: Chip, tile: int) -> int:
    return int(chip.state(tile)["supervisor"]["m"][1])


def csr(chip: Chip, tile: int, name: str) -> int:
    return int(chip.state(tile)["supervisor"]["csr"][CSRS[name].index])


# -- who takes part -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zones", "automatic", "expected"),
    [
        ([3, 3, 3], [0, 0, 0], 3),
        ([3, 3, None], [0, 0, 1], 3),
        ([3, 3, 1], [0, 0, 1], 3),
        ([1, 1, 1], [1, 2, 1], 3),
        ([3, 3, None], [0, 0, 0], None),
        ([3, 3, 0], [0, 0, 0], None),
        ([3, 3, 7], [0, 0, 0], None),
        ([7, 15, 7], [0, 0, 0], 7),
        ([15, 7, 1], [0, 0, 2], 7),
        ([4, 12, 4], [0, 0, 0], 4),
        ([4, 6, 4], [0, 0, 0], None),
    ],
)
def test_when_a_barrier_is_complete(
    zones: list[int | None], automatic: list[int], expected: int | None
) -> None:
    made = Participations()
    for tile, count in enumerate(automatic):
        if count:
            made.add(tile, count, 0)
    waiting = np.array([zone for zone in zones if zone is not None])
    assert complete_zone(3, waiting, int(np.count_nonzero(made.left(3)))) == expected


def test_participations_are_used_up_in_order() -> None:
    made = Participations()
    made.add([1, 2], [2, 1], [10, 20])
    made.add(1, 1, 50)
    taken = []
    for left in (2, 1, 0):
        tiles, cycles = made.take()
        taken.append(dict(zip(tiles.tolist(), cycles.tolist(), strict=True)))
        assert made.left(3).tolist() == [0, left, 0]
    assert taken == [{1: 10, 2: 20}, {1: 10}, {1: 50}]


# -- time -----------------------------------------------------------------------------------------


def test_all_go_on_together_after_the_last_has_come(bench: "Bench") -> None:
    chip, outcome = run(bench, f"delay 99\n sync 3\n {COUNT}", f"sync 3\n {COUNT}")
    assert outcome.end is End.STOPPED
    assert {m1(chip, tile) for tile in range(4)} == {100 + INTERNAL_SYNC.value}


def test_the_cost_of_a_barrier_is_a_parameter(bench: "Bench") -> None:
    chip, _ = run(bench, f"sync 3\n {COUNT}", chip=Chip(4, barrier_cycles=7))
    assert m1(chip, 0) == 7


def test_an_automatic_participation_counts_when_it_is_registered(bench: "Bench") -> None:
    """Tile 0 comes to `sync 1` long after the barrier; it does not wait, and nobody does for it."""
    chip, _ = run(bench, f"sans 0\n delay 499\n sync 1\n {COUNT}", f"sync 3\n {COUNT}")
    assert m1(chip, 1) == INTERNAL_SYNC.value
    assert m1(chip, 0) == 501 + SYNC.value


def test_a_wait_for_participations_ends_with_the_barrier(bench: "Bench") -> None:
    chip, _ = run(bench, f"sans 0\n sync 1\n {COUNT}", f"delay 99\n sync 3\n {COUNT}")
    assert m1(chip, 0) == m1(chip, 1) == 100 + INTERNAL_SYNC.value


def test_participations_add_up(bench: "Bench") -> None:
    three = "sync 3\n" * 3
    chip, outcome = run(bench, "sans 1\n sans 0\n get $m1, $ANS_DCOUNT\n sync 1", three)
    assert outcome.end is End.STOPPED
    assert m1(chip, 0) == 3
    assert csr(chip, 0, "ANS_DCOUNT") == 0


def test_too_few_participations_hang(bench: "Bench") -> None:
    _, outcome = run(bench, "sans 0\n sync 1", "sync 3\n sync 3")
    assert outcome.end is End.STUCK
    assert {each.tile for each in outcome.waiting} == {1, 2, 3}


def test_the_status_shows_automatic_participation(bench: "Bench") -> None:
    chip, _ = run(bench, "sans 0\n get $m1, $SSR\n sync 1\n get $m2, $SSR", "sync 3")
    assert m1(chip, 0) & 0b100
    assert not int(chip.state(0)["supervisor"]["m"][2]) & 0b100


def test_delays_after_a_wait_for_participations_are_no_row(bench: "Bench") -> None:
    _, outcome = run(bench, "sans 0\n sync 1\n delay 9\n sync 2", "sync 3")
    assert outcome.end is End.STOPPED, str(outcome)
    assert list(outcome.stopped) == [0, 1, 2, 3], "every tile has reached its trap"


def test_sync_1_without_participations_does_not_wait(bench: "Bench") -> None:
    chip, _ = run(bench, f"sync 1\n {COUNT}")
    assert m1(chip, 0) == SYNC.value


# -- what the chip refuses ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "cause"),
    [
        ("sans 0\n sync 3", "EXCONF", "sync 3 while automatic participations are left (1)"),
        ("sans 0\n sync 2", "EXCONF", "sync 2 while automatic participations are left (1)"),
        ("sans 524286\n sans 0", "EXCONF", "sans 0 makes 524288 automatic participations"),
        ("sans 524287", "EXCONF", "sans 524287 makes 524288 automatic participations"),
        ("sync 8", "INVALID_OP", "sync 8: there is no such zone"),
        ("sync 11", "INVALID_OP", "sync 11: there is no such zone"),
    ],
)
def test_wrong_uses(bench: "Bench", text: str, name: str, cause: str) -> None:
    chip, outcome = run(bench, text, "trap 0")
    assert f"{name}: {cause}" in str(outcome.stopped[0].fault)
    pc = CODE + 4 * text.count("\n")
    assert int(chip.state(0)["supervisor"]["pc"]) == pc


def test_no_barrier_while_workers_run(bench: "Bench") -> None:
    start = "setzi $m0, 0x4d000\n run $m0, $m15, 0\n sync 3"
    chip = load(bench, Chip(4), [start, *["sync 3"] * 3])
    chip.memory.write(0, *bench.code("nop\n" * 40 + "exitz $mzero", 0x4D000, Mode.WORKER))
    outcome = chip.run()
    assert "EXCONF: sync 3 while workers are active" in str(outcome.stopped[0].fault)


# -- barriers that never complete -----------------------------------------------------------------


def test_tiles_of_a_barrier_that_cannot_complete_are_named(bench: "Bench") -> None:
    _, outcome = run(bench, "trap 0", "nop\n sync 3", "sync 3")
    assert outcome.end is End.STUCK
    assert [(each.tile, each.zone, each.pc) for each in outcome.waiting] == [
        (1, 3, CODE + 4),
        (2, 3, CODE),
        (3, 3, CODE),
    ]
    assert list(outcome.stopped) == [0]
    text = str(outcome)
    assert f"tiles 2-3 at sync 3 (INTERNAL), pc {CODE:#x}" in text
    assert f"stopped: tile 0: supervisor at pc {CODE:#x}: PBRK0" in text


def test_tiles_without_a_program_are_named(bench: "Bench") -> None:
    chip = load(bench, Chip(8), ["sync 3"] * 4)
    outcome = chip.run()
    assert outcome.end is End.STUCK
    assert outcome.unloaded == (4, 5, 6, 7)
    assert "without a program: tiles 4-7" in str(outcome)


def test_a_tile_that_has_stopped_may_still_take_part(bench: "Bench") -> None:
    _, outcome = run(bench, "sans 0\n trap 0", "sync 3")
    assert outcome.end is End.STOPPED


def test_a_receive_count_that_nothing_satisfies(bench: "Bench") -> None:
    _, outcome = run(bench, "setzi $m0, 1\n put $INCOMING_DCOUNT, $m0\n sync 0", "trap 0")
    assert outcome.end is End.STUCK
    assert "tile 0 at sync 0 (RECEIVE)" in str(outcome)


def test_a_receive_count_of_zero_is_satisfied(bench: "Bench") -> None:
    chip, outcome = run(bench, f"sync 0\n {COUNT}", "trap 0")
    assert outcome.end is End.STOPPED
    assert m1(chip, 0) == SYNC.value


@pytest.mark.parametrize("zone", [4, 5, 6, 7, 12, 13, 14, 15])
def test_without_a_host_its_barriers_never_complete(bench: "Bench", zone: int) -> None:
    _, outcome = run(bench, f"sync {zone}")
    assert outcome.end is End.STUCK
    assert f"tiles 0-3 at sync {zone} (" in str(outcome)


# -- the host -------------------------------------------------------------------------------------


class Host:
    """A port with credits, whose words arrive in one cycle; it notes what it is asked."""

    def __init__(self, credits: int, words: int = 0, cycle: int = 0) -> None:
        self.credits = credits
        self.words = words
        self.cycle = cycle
        self.phases: list[list[int]] = []
        self.executed: list[Executed] = []
        self.ended = 0

    def may_complete(self, zone: int) -> bool:
        assert zone == 7
        self.credits -= 1
        return self.credits >= 0

    def begin(self, tiles: int, masters: Tiles) -> None:
        assert tiles == 4
        self.phases.append(masters.tolist())

    def exchange(self, executed: Executed, memory: TileMemory) -> Received:
        self.executed.append(executed)
        words, cycles = np.zeros((2, len(memory.bytes)), np.int64)
        words[0], cycles[0] = self.words, self.cycle
        return Received(words, cycles, np.zeros_like(words))

    def check_requests(self) -> None:
        pass

    def end(self) -> None:
        self.ended += 1


def test_the_host_completes_barriers_of_groups(bench: "Bench") -> None:
    host = Host(2)
    owner, follower, idle = "sync 15\n delay 9\n sync 7", "sync 7\n sync 7", "sans 1\n sync 1"
    _, outcome = run(bench, owner, follower, idle, chip=Chip(4, host=host))
    assert outcome.end is End.STOPPED
    assert host.phases == [[0], []]
    assert host.ended == 2


def test_the_host_gets_what_tiles_did_since_its_barrier(bench: "Bench") -> None:
    host = Host(1)
    text = "sync 7\n send 3, 0x14000, 1\n delay 9"
    run(bench, text, "sync 7", chip=Chip(4, host=host))
    (first,) = host.executed
    assert first.events["kind"].tolist() == [EventKind.SEND, EventKind.DELAY]
    assert first.bounds.tolist() == [0, 2, 2, 2, 2]


def test_the_host_gets_rows_until_the_next_barrier(bench: "Bench") -> None:
    """What follows a row waits until it has been served; later rows are of the same phase."""
    host = Host(1)
    text = "sync 7\n send 3, 0x14000, 1\n get $m1, $PC\n send 3, 0x14004, 1\n sync 3\n delay 9"
    run(bench, text, "sync 7\n sync 3", chip=Chip(4, host=host))
    sent = [each.events[each.events["kind"] == EventKind.SEND] for each in host.executed]
    assert [each["arguments"][:, 1].tolist() for each in sent] == [[0x14000], [0x14004]]


def test_a_barrier_without_credit_waits_for_the_host(bench: "Bench") -> None:
    _, outcome = run(bench, "sync 7\n sync 7", chip=Chip(4, host=Host(1)))
    assert outcome.end is End.HOST
    assert "a barrier waits for the host:\n  tiles 0-3 at sync 7 (GS2H)" in str(outcome)


def test_a_barrier_that_others_have_not_reached_does_not_wait_for_the_host(bench: "Bench") -> None:
    _, outcome = run(bench, "trap 0", "sync 7", chip=Chip(4, host=Host(1)))
    assert outcome.end is End.STUCK


EXPECT_8 = "setzi $m0, 8\n put $INCOMING_DCOUNT, $m0\n sync 7\n send 1, 0x14000, 3\n sync 0"


def test_words_of_the_host_count_down(bench: "Bench") -> None:
    chip, outcome = run(bench, EXPECT_8, "sync 7", chip=Chip(4, host=Host(1, words=8)))
    assert outcome.end is End.STOPPED
    assert csr(chip, 0, "INCOMING_DCOUNT") == 0


def test_a_receive_waits_for_the_last_word(bench: "Bench") -> None:
    host = Host(1, words=8, cycle=5000)
    chip, _ = run(bench, f"{EXPECT_8}\n {COUNT}", "sync 7", chip=Chip(4, host=host))
    assert m1(chip, 0) == 5000


def test_too_few_words_of_the_host_leave_a_tile_waiting(bench: "Bench") -> None:
    _, outcome = run(bench, EXPECT_8, "sync 7", chip=Chip(4, host=Host(1, words=7)))
    assert "tile 0 at sync 0 (RECEIVE)" in str(outcome)


def test_too_many_words_of_the_host(bench: "Bench") -> None:
    with pytest.raises(ReceiveCountFault, match="tile 0: EXCONF: the host sends 9 words"):
        run(bench, EXPECT_8, "sync 7", chip=Chip(4, host=Host(1, words=9)))


def test_no_barrier_with_the_host_while_a_tile_listens_to_another(bench: "Bench") -> None:
    listening = "setzi $m0, 5\n put $INCOMING_MUX, $m0\n sync 7"
    with pytest.raises(InternalMuxFault, match="tile 0, pc 0x4c108"):
        run(bench, listening, "sync 7", chip=Chip(4, host=Host(1)))


# -- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tiles", "text"),
    [([3], "tile 3"), ([0, 1, 2, 5], "tiles 0-2, 5"), ([7, 5], "tiles 5, 7")],
)
def test_tiles_in_words(tiles: list[int], text: str) -> None:
    assert describe_tiles(tiles) == text


def test_waiting_in_words_is_grouped_by_zone_and_place() -> None:
    waiting = [Waiting(tile, 3, 0x4C100 + 4 * (tile == 2), 0) for tile in range(4)]
    assert describe_waiting([*waiting, Waiting(9, 15, 0x4C200, 0)]) == [
        "tiles 0-1, 3 at sync 3 (INTERNAL), pc 0x4c100",
        "tile 2 at sync 3 (INTERNAL), pc 0x4c104",
        "tile 9 at sync 15 (GS2H_MASTER), pc 0x4c200",
    ]
