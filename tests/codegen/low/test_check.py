"""Moves of right schedules are right; what is found in wrong ones is in `test_stages.py`."""

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.graph.strategies import graphs
from tilewright.codegen.low import lower
from tilewright.codegen.low.check import misplaced
from tilewright.codegen.mid import PipelineConfig, plan
from tilewright.graph import ComputeGraph


@examples(12)
@given(graphs(), st.integers(1, 30))
def test_every_word_comes_to_where_it_belongs(graph: ComputeGraph, tiles: int) -> None:
    schedule = lower(plan(graph, PipelineConfig(tiles=tiles)).graph)
    assert list(misplaced(schedule)) == []


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
