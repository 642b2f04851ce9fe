"""Schedules compute what their planned graphs do: both are followed symbolically, step by step."""

import pytest
from hypothesis import given

from tests.codegen.low.symbolic import Run, Terms, of_graph
from tests.codegen.low.test_moves import GRAPHS
from tests.examples import examples
from tests.graph.strategies import graphs
from tilewright.cli.examples import encoder
from tilewright.codegen.low import (
    RepeatStep,
    TileSchedule,
    lower,
)
from tilewright.codegen.mid import (
    PipelineConfig,
    plan,
)
from tilewright.graph import ComputeGraph


def assert_same(graph: ComputeGraph, tiles: int) -> TileSchedule:
    planned = plan(graph, PipelineConfig(tiles=tiles)).graph
    terms = Terms()
    schedule = lower(planned)
    assert Run(schedule, terms).outputs() == of_graph(planned, terms)
    return schedule


@pytest.mark.parametrize("tiles", [1, 8, 40])
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name: str, tiles: int) -> None:
    assert_same(GRAPHS[name], tiles)


@pytest.mark.parametrize("norm_first", [False, True])
def test_layers_stay_one_body(norm_first: bool) -> None:
    graph = encoder("layers", 5, 32, 2, 64, 12, 1, norm_first=norm_first, exact_gelu=True)
    schedule = assert_same(graph, 24)
    (repeat,) = (step for step in schedule.steps if isinstance(step, RepeatStep))
    assert repeat.count == 5
    assert len(repeat.sequences) == 12
    for number in repeat.sequences:
        sequence = schedule.sequences[number]
        blocks = [schedule.buffers[each] for each in sequence.blocks]
        assert sequence.count == 5
        assert len({(block.bytes, block.tiles, block.memory) for block in blocks}) == 1
        assert [block.block.number for block in blocks if block.block] == [0, 1, 2, 3, 4, None]


def test_carried_values_that_change_places() -> None:
    graph = ComputeGraph("swap")
    a, b = graph.input("a", (8, 8)), graph.input("b", (8, 8))
    with graph.repeat(3) as body:
        first, second = body.carry(a), body.carry(b)
        body.yields(second, graph.relu(first))
    one, other = body.results
    graph.output("one", one)
    graph.output("other", other + a)
    assert_same(graph, 4)


def test_a_carried_value_that_is_needed_afterwards_is_copied() -> None:
    graph = ComputeGraph("kept")
    start = graph.relu(graph.input("x", (8, 8)))
    flat = graph.reshape(start, (64,))
    with graph.repeat(2) as body:
        body.yields(graph.exp(body.carry(flat)))
    graph.output("y", graph.reshape(body.results[0], (8, 8)) + start)
    assert_same(graph, 4)


def test_values_of_several_sequences() -> None:
    """The same blocks again are the same sequence; in another order, or twice, they are copied."""
    graph = ComputeGraph("several")
    x = graph.input("x", (8, 8))
    weights = [graph.parameter(f"w{number}", (8, 8)) for number in range(2)]
    with graph.repeat(2) as outer:
        value, same, again = outer.carry(x), outer.each(weights), outer.each(weights)
        value = graph.relu(value @ same) @ again @ outer.each(weights[::-1])
        with graph.repeat(2) as inner:
            inner.yields(graph.relu(inner.carry(value) @ inner.each(weights)))
        outer.yields(inner.results[0] @ outer.each([weights[0], weights[0]]))
    graph.output("y", outer.results[0])
    schedule = assert_same(graph, 4)
    (repeat,) = (step for step in schedule.steps if isinstance(step, RepeatStep))
    assert len(repeat.sequences) == 3
    assert len(schedule.sequences) == 4


@examples(40)
@given(graphs())
def test_random_graphs(graph: ComputeGraph) -> None:
    assert_same(graph, 8)


def test_work_tells_what_it_is_for() -> None:
    schedule = assert_same(GRAPHS["perceptron"], 8)
    text = str(schedule)
    assert "gemm_f16[initialise]" in text
    for step in schedule.steps:
        assert step.provenance.operation
        assert step.provenance.reason
