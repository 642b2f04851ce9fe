"""Cycle costs, against published totals, the instruction table and plain counting."""

from itertools import count

import pytest

from tilewright.isa import FORMS, Lane, Mode
from tilewright.target import timing
from tilewright.target.geometry import TILES
from tilewright.target.timing import (
    CLOCK,
    INTERNAL_SYNC,
    MULTI_STEP,
    PHASE_BOUNDARY,
    Cost,
    CostEvidence,
    Unit,
    branch_cycles,
    bundle_steps,
    first_worker_issue,
    local_sync_end,
    seconds,
    weight_load_cycles,
    worker_cycles,
    worker_steps,
)

MNEMONICS = {form.mnemonic for form in FORMS}
COSTS = [each for each in vars(timing).values() if isinstance(each, Cost)] + [*MULTI_STEP.values()]


def test_costs_have_names_of_their_own() -> None:
    names = [cost.name for cost in COSTS]
    assert sorted(set(names)) == sorted(names)
    assert len(names) > len(MULTI_STEP)


def test_assumed_costs_name_their_assumption() -> None:
    assumed = [cost for cost in COSTS if cost.evidence is CostEvidence.ASSUMED]
    assert assumed
    assert [cost.name for cost in assumed if cost.assumption is None] == []


def test_spans_hold_their_value() -> None:
    varied = [cost for cost in COSTS if cost.span]
    assert varied
    for cost in varied:
        assert cost.span
        least, greatest = cost.span
        assert least <= cost.value <= greatest, cost.name


PUBLISHED = """
    CLOCK=1500000000 WORKER_STEP=6 SUPERVISOR_ISSUE=1 SUPERVISOR_LATENCY=6 CSR_LATENCY=6
    TAKEN_BRANCH=6 NOT_TAKEN_BRANCH=1 RUN=6 SYNC=6 WEIGHT_LOAD=1 VERTEX_CALL=11
    INTERNAL_SYNC=90 EXCHANGE_OVERHEAD=100 GLOBAL_SYNC=600 BASE_WRITE=13 BASES_LOAD=27 ROW_JOIN=46
"""


@pytest.mark.parametrize("line", PUBLISHED.split())
def test_costs_are_the_published_figures(line: str) -> None:
    name, value = line.split("=")
    assert getattr(timing, name).value == int(value)


# -- workers --------------------------------------------------------------------------------------

TYPICAL_STEPS = """
    f32div=3 f32exp=3 f32exp2=3 f32ln=6 f32log2=6 f32tanh=5 f32sigm=5 f32sqrt=5 f32oorx=4 f32oox=3
    f16v2exp=2 f16v2exp2=2 f16v2ln=2 f16v2log2=2 f16v2tanh=1 f16v2sigm=2
    f32v2mul=1 f16v4hihoamp=1 f16v8acc=1 f32tof16=1 ld64step=1 brnzdec=1
"""
"""As the vendor's estimators count them."""


@pytest.mark.parametrize("line", TYPICAL_STEPS.split())
def test_typical_steps(line: str) -> None:
    mnemonic, steps = line.split("=")
    assert mnemonic in MNEMONICS
    assert worker_steps(mnemonic) == int(steps)


def test_divisions_alone_depend_on_operands() -> None:
    special = {name: worker_steps(name, special_operand=True) for name in MNEMONICS}
    assert {name for name in special if special[name] != worker_steps(name)} == {"f32div"}
    assert special["f32div"] == 1


def test_longer_instructions_are_those_that_the_estimators_name() -> None:
    listed = {line.split("=")[0] for line in TYPICAL_STEPS.split() if not line.endswith("=1")}
    assert {name for name in MNEMONICS if worker_steps(name) > 1} == listed


def test_instructions_of_several_steps_are_float_instructions_of_workers() -> None:
    forms = [form for form in FORMS if form.mnemonic in MULTI_STEP]
    assert {form.mnemonic for form in forms} == set(MULTI_STEP)
    assert {(form.mode, form.lane) for form in forms} == {(Mode.WORKER, Lane.AUX)}


def test_bundles_take_as_long_as_their_longer_half() -> None:
    assert bundle_steps(worker_steps("ld32"), worker_steps("f32sqrt")) == 5
    assert bundle_steps(3, 1) == 3


def test_rate_of_matrix_products_is_the_vendors() -> None:
    """A worker's row of 16×16 halves takes 4 steps; the vendor's peak is 280 teraflops."""
    operations = 2 * 16 * 16
    rows_per_second = 6 / seconds(worker_cycles(4))
    assert TILES * operations * rows_per_second == pytest.approx(280e12, rel=0.01)


def test_rate_of_matrix_products_in_single_precision_is_the_vendors() -> None:
    """8×16 singles take 8 steps; 70 teraflops."""
    rows_per_second = 6 / seconds(worker_cycles(8))
    assert TILES * 2 * 8 * 16 * rows_per_second == pytest.approx(70e12, rel=0.01)


def test_a_cycle_is_two_thirds_of_a_nanosecond() -> None:
    assert CLOCK.unit is Unit.HERTZ
    # A plan of 19,600 cycles, published with its time.
    assert seconds(19_600) == pytest.approx(13.1e-6, abs=0.05e-6)


@pytest.mark.parametrize("launch", range(12))
@pytest.mark.parametrize("slot", range(6))
def test_workers_start_in_their_slot_once_launched(launch: int, slot: int) -> None:
    first = next(cycle for cycle in count(launch + 6) if cycle % 6 == slot)
    assert first_worker_issue(launch, slot) == first


# -- the supervisor -------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [1, 2, 100])
def test_branches_of_a_counted_loop(rounds: int) -> None:
    """`brnzdec` is taken but for the last time; estimators count 6(n - 1) + 1."""
    branches = sum(branch_cycles(taken=remaining > 0) for remaining in reversed(range(rounds)))
    assert branches == 6 * (rounds - 1) + 1


@pytest.mark.parametrize(
    ("entries", "bits", "cycles"), [(32, 128, 16), (32, 64, 32), (64, 128, 32), (64, 64, 64)]
)
def test_loads_of_the_weight_store(entries: int, bits: int, cycles: int) -> None:
    assert weight_load_cycles(entries, bits) == cycles


def test_wide_loads_of_weights_save_what_was_measured() -> None:
    """A kernel that fills the store four times took 1063 cycles by narrow loads, 940 with wide."""
    saved = 4 * (weight_load_cycles(64, 64) - weight_load_cycles(64, 128))
    assert saved == pytest.approx(1063 - 940, abs=6)


def test_a_local_sync_waits_for_the_last_worker() -> None:
    assert local_sync_end(issued=100, last_exit=None) == 106
    assert local_sync_end(issued=100, last_exit=40) == 106
    assert local_sync_end(issued=100, last_exit=140) == 146


def test_an_empty_kernel_takes_less_than_a_measured_one() -> None:
    """A minimal kernel of six workers took 288 cycles in all; launch, exit and sync are in that."""
    launched = timing.VERTEX_CALL.value
    exits = [first_worker_issue(launched, slot) for slot in range(6)]
    assert local_sync_end(launched + timing.RUN.value, max(exits)) < 288


# -- the boundary of an exchange phase -------------------------------------------------------------

MEASURED_BOUNDARIES = (229, 248, 267, 273, 275, 277, 278, 294)


def test_a_phase_boundary_lies_among_the_measured() -> None:
    assert PHASE_BOUNDARY.span == (min(MEASURED_BOUNDARIES), max(MEASURED_BOUNDARIES))
    assert PHASE_BOUNDARY.value == 250


def test_both_base_registers_cost_two_writes_and_a_load_of_the_address() -> None:
    assert timing.BASES_LOAD.value == 2 * timing.BASE_WRITE.value + timing.SUPERVISOR_ISSUE.value


def test_a_phase_boundary_has_room_for_its_parts() -> None:
    """Two base registers, a launch of workers, a local sync and the barrier."""
    parts = 2 * timing.CSR_LATENCY.value + timing.RUN.value + timing.SYNC.value
    assert parts + INTERNAL_SYNC.value < PHASE_BOUNDARY.value < timing.GLOBAL_SYNC.value
