"""Laws that hold for every graph: its plan is valid, and computes the same."""

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.codegen.mid.computing import assert_same
from tests.examples import examples
from tests.graph.strategies import graphs
from tilewright.codegen.mid import (
    MidOperation,
    PipelineConfig,
    plan,
    print_dispatch,
    walk_steps,
)
from tilewright.graph import ComputeGraph


@examples(250, allow=list(HealthCheck))
@given(graphs(), st.sampled_from([1, 2, 5, 16, 64]))
def test_a_planned_graph_computes_what_the_graph_does(graph: ComputeGraph, tiles: int) -> None:
    assert_same(graph, PipelineConfig(tiles=tiles))


@examples(30, allow=list(HealthCheck))
@given(graphs())
def test_every_plan_prints(graph: ComputeGraph) -> None:
    planned = plan(graph, PipelineConfig(tiles=6)).graph
    lines = str(planned).splitlines()
    for step, _ in walk_steps(planned.steps):
        if isinstance(step, MidOperation):
            assert any(line.strip().startswith(f"{step.result}") for line in lines)
            if step.plan is not None:
                assert print_dispatch(step.plan.dispatch)
