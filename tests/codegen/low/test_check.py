"""Moves of right schedules are right; more faults that are found are in `test_stages.py`."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.graph.strategies import graphs
from tilewright.codegen.low import ExchangeStep, lower
from tilewright.codegen.low.check import misplaced
from tilewright.codegen.mid import PipelineConfig, plan
from tilewright.graph import ComputeGraph, DType, Tensor

Seeing = Callable[[ComputeGraph, Tensor], Tensor]
SEEN: dict[str, Seeing] = {
    "with an axis more": lambda graph, x: graph.split_heads(x, 1),
    "turned": lambda graph, x: graph.transpose(x, (2, 0, 1)),
    "cut": lambda graph, x: graph.slice(x, (1, 0, 0), (2, 1, 2)),
    "repeated": lambda graph, x: graph.broadcast(x, (3, 2, 1, 2)),
    "flat": lambda graph, x: graph.reshape(x, (1, 4)),
    "repeated, beside others": lambda graph, x: graph.concat(
        [graph.broadcast(x, (2, 3, 2)), graph.input("z", (2, 2, 2))], 1
    ),
    "turned, behind others": lambda graph, x: graph.concat(
        [graph.input("z", (2, 2, 1)), graph.transpose(x)], 1
    ),
}


@examples(12)
@given(graphs(), st.integers(1, 30))
def test_every_word_comes_to_where_it_belongs(graph: ComputeGraph, tiles: int) -> None:
    schedule = lower(plan(graph, PipelineConfig(tiles=tiles)).graph)
    assert list(misplaced(schedule)) == []


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("tiles", [1, 3])
def test_words_of_what_is_seen_otherwise_come_to_where_they_belong(seen: str, tiles: int) -> None:
    graph = ComputeGraph(seen)
    computed = graph.gelu(graph.input("x", (2, 1, 2)))
    graph.output("y", graph.softmax(SEEN[seen](graph, computed)))
    assert list(misplaced(lower(plan(graph, PipelineConfig(tiles=tiles)).graph))) == []


def test_words_that_belong_elsewhere_in_what_is_seen_are_found() -> None:
    """The same moves are wrong where the operation reads the buffer as it is."""
    graph = ComputeGraph("turned")
    computed = graph.gelu(graph.input("x", (4, 4), DType.F32))
    graph.output("y", graph.softmax(graph.transpose(computed), name="rows"))
    schedule = lower(plan(graph, PipelineConfig(tiles=4)).graph)
    assert list(misplaced(schedule)) == []
    (at,) = (i for i, step in enumerate(schedule.steps) if isinstance(step, ExchangeStep))
    step = schedule.steps[at]
    assert isinstance(step, ExchangeStep)
    plain = tuple(replace(seen, view=None) for seen in step.seen)
    wrong = (*schedule.steps[:at], replace(step, seen=plain), *schedule.steps[at + 1 :])
    found = next(misplaced(replace(schedule, steps=wrong)))
    assert found.startswith("rows: ")
    assert found.endswith("that belong elsewhere")


def test_terms_windows_and_shared_weights_come_to_where_they_belong() -> None:
    graph = ComputeGraph("products")
    x, w = graph.input("x", (640, 512)), graph.parameter("w", (512, 96))
    graph.output("y", x @ w)
    for config in (
        PipelineConfig(tiles=40, most_copies=1),
        PipelineConfig(tiles=40, tile_bytes=60_000),
        PipelineConfig(tiles=7),
    ):
        assert list(misplaced(lower(plan(graph, config).graph))) == []
