"""Laws that hold for every graph: its plan is valid, and computes the same."""

import numpy as np
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.graph.strategies import graphs, random_arrays
from tilewright.codegen.mid import (
    MidOperation,
    PipelineConfig,
    evaluate_mid,
    find_faults,
    plan,
    print_dispatch,
    walk_steps,
)
from tilewright.graph import ComputeGraph, Precision, evaluate


@examples(250, allow=list(HealthCheck))
@given(graphs(), st.sampled_from([1, 2, 5, 16, 64]))
def test_a_planned_graph_computes_what_the_graph_does(graph: ComputeGraph, tiles: int) -> None:
    """Without rounding, so that only the plan's structure counts."""
    planned = plan(graph, PipelineConfig(tiles=tiles)).graph
    assert list(find_faults(planned)) == []
    inputs, parameters = random_arrays(graph)
    expected = evaluate(graph, inputs, parameters, Precision.F64)
    found = evaluate_mid(planned, inputs, parameters, rounding=False)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-6, atol=1e-9)


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
