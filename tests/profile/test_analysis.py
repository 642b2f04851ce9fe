"""What follows from samples, on profiles whose answers are known."""

import numpy as np
import pytest

from tests.profile import synthetic
from tilewright.package import (
    NONE,
    ListOfTiles,
    Profile,
    ProfilePlan,
    StepKind,
    Steps,
    StepTable,
)
from tilewright.profile import By, analyse, grouped, planned_profile


def test_tiles_wait_for_the_last_one_and_for_nothing_else() -> None:
    taken = analyse(synthetic.profile()).taken
    assert taken.tile.tolist() == [0] * 5 + [2] * 5 + [5] * 3
    assert taken.waited.tolist() == [100, 0, 0, 30, 0, 90, 0, 0, 0, 0, 0, 0, 170]
    assert taken.start[:5].tolist() == [0, 180, 490, 580, 680]


def test_the_critical_path_is_as_long_as_the_run() -> None:
    analysis = analyse(synthetic.profile())
    # From the first barrier on: row of tiles 0 and 2, tile 2's work, row, tile 0's last product.
    assert analysis.cycles == (30 + 50 + 310 + 120) + (30 + 40 + 500)
    assert analysis.parts == {
        "compute": 310 + 120 + 500,
        "exchange": 50 + 40,
        "sync": 30 + 30,
        "host": 0,
        "idle": 0,
    }
    assert analysis.microseconds == pytest.approx(1.08)
    busy = (310 + 90 + 500) + (310 + 120 + 480) + 290
    assert analysis.utilisation == pytest.approx(busy / (3 * 1080))


def test_steps_of_the_chip_join_the_work_of_different_lists() -> None:
    chip = analyse(synthetic.profile()).chip
    phases = synthetic.steps().table.phase[chip.row][chip.order]
    assert phases.tolist() == [0, 1, 2, 3, 4]
    assert chip.tiles[chip.order].tolist() == [3, 3, 2, 3, 2]
    assert chip.longest[chip.order].tolist() == [80, 310, 120, 70, 500]
    assert chip.critical[chip.order].tolist() == [0, 0, 2, 0, 0]
    assert chip.planned[chip.order].tolist() == [50, 300, 100, 40, -1]


def test_by_operation() -> None:
    groups = grouped(analyse(synthetic.profile()), By.OPERATION)
    assert [group.name for group in groups] == ["down", "up", "load"]
    assert [group.cycles for group in groups] == [570, 430, 80]
    down, up, load = groups
    assert (down.planned, up.planned, load.planned) == (None, 400, 50)
    assert (up.parts["compute"], load.parts["sync"], down.parts["exchange"]) == (430, 30, 40)
    assert sum(group.share for group in groups) == pytest.approx(1)
    assert (up.steps, up.tiles, up.critical) == (2, 3, 0)
    assert load.waiting == pytest.approx(190 / (190 + 80 + 80 + 50))
    assert up.balance == pytest.approx((310 + 310 + 290 + 90 + 120) / (3 * 310 + 2 * 120))


def test_by_kernel_and_by_phase() -> None:
    analysis = analyse(synthetic.profile())
    kernels = {group.name: group.cycles for group in grouped(analysis, By.KERNEL)}
    assert kernels == {"gemm_f16": 810, "gelu_f16": 120, "no kernel": 150}
    phases = grouped(analysis, By.PHASE)
    assert [(group.name, group.cycles) for group in phases] == [
        ("0", 80),
        ("1", 310),
        ("2", 120),
        ("3", 70),
        ("4", 500),
    ]


def test_without_plans_the_tile_that_takes_least_is_the_last_to_come() -> None:
    plain = synthetic.steps()
    table = {name: getattr(plain.table, name) for name in StepTable.columns()}
    unplanned = Steps(
        plain.strings, plain.tiles, StepTable(**{**table, "planned": [NONE] * len(plain.table)})
    )
    analysis = analyse(Profile(unplanned, synthetic.profile().samples))
    assert analysis.taken.waited[[0, 5, 10]].tolist() == [130, 120, 0]
    assert analysis.parts["sync"] == 0


def test_the_same_work_twice_in_a_list_is_two_steps() -> None:
    table = StepTable([0] * 3, [1] * 3, [0] * 3, [0] * 3, [0] * 3, [NONE] * 3, [NONE] * 3)
    steps = Steps(("add",), ListOfTiles([1, 2], [0, 0]), table)
    chip = analyse(Profile(steps, [0, 10, 30, 60, 0, 10, 50, 60])).chip
    assert chip.longest.tolist() == [10, 40, 30]
    assert chip.critical.tolist() == [1, 2, 1]


def test_epochs_are_in_the_order_of_the_chip() -> None:
    """A body of two phases, twice, and a phase behind it."""
    table = StepTable(
        [0] * 5, [1, 2, 1, 2, 3], [0, 0, 1, 1, 0], [0] * 5, [0] * 5, [NONE] * 5, [7] * 5
    )
    steps = Steps(("add",), ListOfTiles([4], [0]), table)
    groups = grouped(analyse(Profile(steps, [0, 1, 3, 6, 10, 15])), By.PHASE)
    assert [group.name for group in groups] == [
        "1 in epoch 0",
        "2 in epoch 0",
        "1 in epoch 1",
        "2 in epoch 1",
        "3 in epoch 0",
    ]
    assert [group.cycles for group in groups] == [1, 2, 3, 4, 5]


def test_a_plan_alone() -> None:
    plan = ProfilePlan(synthetic.steps())
    analysis = analyse(planned_profile(plan))
    assert analysis.taken.cycles.tolist() == [50, 300, 100, 40, 0] * 2 + [20, 300, 40]
    assert analysis.cycles == 50 + 400 + 40
    assert analysis.parts["sync"] == 0
    assert analysis.clock == 1_500_000_000


def test_nothing_at_all() -> None:
    analysis = analyse(Profile(Steps()))
    assert (analysis.cycles, analysis.utilisation) == (0, 0.0)
    assert grouped(analysis, By.OPERATION) == []


@pytest.mark.parametrize("seed", range(10))
def test_random_runs_add_up(seed: int) -> None:
    """Tiles that compute, exchange rows of lengths of their own, and wait; simulated in time."""
    random = np.random.default_rng(seed)
    tiles, rounds = 7, 5
    work = random.integers(1, 1000, (rounds, tiles))
    length = random.integers(1, 200, (rounds, tiles))
    barrier = 37
    now = np.zeros(tiles, np.int64)
    cycles = []
    for turn in range(rounds):
        cycles.append(work[turn])
        left = (now + work[turn]).max() + barrier + length[turn]
        cycles.append(left - now - work[turn])
        now = left
    count = 2 * rounds
    number = np.tile(np.arange(count), tiles)
    table = StepTable(
        list=np.repeat(np.arange(tiles), count),
        phase=number,
        epoch=number * 0,
        kind=np.where(number % 2, StepKind.EXCHANGE, StepKind.COMPUTE),
        operation=number * 0,
        kernel=np.full(count * tiles, NONE),
        planned=np.stack([work, length], 1).reshape(count, tiles).T.ravel(),
    )
    steps = Steps(("x",), ListOfTiles(np.arange(tiles), np.arange(tiles)), table)
    samples = np.cumsum(np.concatenate([np.zeros((1, tiles), np.int64), np.array(cycles)]), axis=0)
    analysis = analyse(Profile(steps, samples.T.ravel()))
    assert analysis.cycles == now.max()
    assert analysis.parts["sync"] == rounds * barrier
    assert (analysis.taken.waited >= 0).all()
    for by in By:
        assert sum(group.cycles for group in grouped(analysis, by)) == now.max()
