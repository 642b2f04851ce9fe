"""Faults that are put into one pass are found in it, with the operation."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewright.codegen.emit import Program, emit
from tilewright.codegen.emit.operands import Call
from tilewright.codegen.emit.reducing import reduce_calls
from tilewright.codegen.low import ExchangeStep, Moves, TileSchedule, lower
from tilewright.codegen.mid import MidGraph, MidOperation, MidStep, PipelineConfig, plan
from tilewright.codegen.stages import Passes, Stage, find_deviation
from tilewright.graph import ComputeGraph
from tilewright.graph.operators import Add, Sub

CONFIG = PipelineConfig(tiles=8)


def mixed() -> ComputeGraph:
    graph = ComputeGraph("mixed")
    x, w = graph.input("x", (12, 32)), graph.parameter("w", (32, 48))
    product = graph.gemm(x, w, name="product")
    total = graph.add(product, graph.input("y", (12, 48)), name="total")
    summed = graph.reduce_sum(graph.tanh(total, name="bounded"), name="brought together")
    graph.output("z", summed)
    return graph


def arrays() -> dict[str, NDArray[np.float64]]:
    random = np.random.default_rng(0)
    shapes = {"x": (12, 32), "w": (32, 48), "y": (12, 48)}
    return {name: random.normal(size=shape) / 4 for name, shape in shapes.items()}


def stage_of(passes: Passes) -> tuple[Stage, str]:
    deviation = find_deviation(mixed(), arrays(), CONFIG, passes)
    assert deviation is not None
    return deviation.stage, deviation.operation


def test_a_build_without_faults_has_none() -> None:
    assert find_deviation(mixed(), arrays(), CONFIG) is None


def test_another_operator_is_a_fault_of_the_plan() -> None:
    def wrong(graph: ComputeGraph, config: PipelineConfig) -> MidGraph:
        planned = plan(graph, config).graph
        return replace(planned, steps=tuple(map(subtracting, planned.steps)))

    assert stage_of(Passes(plan=wrong)) == (Stage.PLAN, "bounded")


def subtracting(step: MidStep) -> MidStep:
    """The step with differences in the place of sums."""
    if not isinstance(step, MidOperation):
        return step
    behind = [
        replace(each, operator=Sub()) if isinstance(each.operator, Add) else each
        for each in step.epilogues
    ]
    operator = Sub() if isinstance(step.operator, Add) else step.operator
    return replace(step, operator=operator, epilogues=tuple(behind))


def with_first_moves(change: Callable[[Moves], Moves]) -> Passes:
    """Passes whose first phase moves something else."""

    def wrong(planned: MidGraph) -> TileSchedule:
        schedule = lower(planned)
        steps = list(schedule.steps)
        at, step = next((i, step) for i, step in enumerate(steps) if isinstance(step, ExchangeStep))
        source, target, moves = step.moves[0]
        steps[at] = replace(step, moves=((source, target, change(moves)), *step.moves[1:]))
        return replace(schedule, steps=tuple(steps))

    return Passes(lower=wrong)


def test_words_from_beside_are_a_fault_of_lowering() -> None:
    passes = with_first_moves(lambda moves: replace(moves, source=moves.source + 1))
    assert stage_of(passes)[0] is Stage.LOWERING


def test_a_move_that_is_left_out_is_a_fault_of_lowering() -> None:
    def fewer(moves: Moves) -> Moves:
        receivers = int(moves.receiver_start[1])
        return replace(
            moves,
            source_tile=moves.source_tile[1:],
            source=moves.source[1:],
            words=moves.words[1:],
            receiver_start=moves.receiver_start[1:] - receivers,
            receiver_tile=moves.receiver_tile[receivers:],
            receiver=moves.receiver[receivers:],
        )

    assert stage_of(with_first_moves(fewer))[0] is Stage.LOWERING


def test_shared_memory_is_a_fault_of_placement() -> None:
    def wrong(schedule: TileSchedule) -> Program:
        program = emit(schedule)
        addresses = program.addresses.copy()
        first, second = (buffer for _, buffer in schedule.sources[:2])
        addresses[first] = addresses[second]
        return replace(program, memory=replace(program.memory, addresses=addresses))

    assert stage_of(Passes(emit=wrong))[0] is Stage.PLACEMENT


def test_another_kernel_is_a_fault_on_the_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*given: Any) -> Iterator[Call]:
        for call in reduce_calls(*given):
            yield replace(call, kernel="reduce_max_f16")

    monkeypatch.setattr("tilewright.codegen.emit.calls.reduce_calls", wrong)
    assert stage_of(Passes()) == (Stage.CHIP, "brought together")


def test_faults_within_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """The iteration is told, too."""
    graph = ComputeGraph("layers")
    x = graph.input("x", (4, 8))
    with graph.repeat(2) as body:
        value = body.carry(x)
        summed = graph.reduce_sum(value, keep=True, name="brought together")
        body.yields(graph.tanh(value - summed, name="bounded"))
    graph.output("y", body.results[0])

    def wrong(*given: Any) -> Iterator[Call]:
        for call in reduce_calls(*given):
            yield replace(call, kernel="reduce_max_f16")

    monkeypatch.setattr("tilewright.codegen.emit.calls.reduce_calls", wrong)
    given = {"x": np.random.default_rng(0).normal(size=(4, 8))}
    deviation = find_deviation(graph, given, PipelineConfig(tiles=1))
    assert deviation is not None
    assert deviation.stage is Stage.CHIP
    assert deviation.operation == "brought together in iteration 1"
