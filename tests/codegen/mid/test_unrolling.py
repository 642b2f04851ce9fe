"""Repeats written out mean what they mean as loops."""

import numpy as np

from tilewright.codegen.mid import MidOperation, PipelineConfig, evaluate_mid, plan, verify
from tilewright.codegen.mid.unrolling import unrolled
from tilewright.graph import ComputeGraph


def test_nested_repeats() -> None:
    graph = ComputeGraph("nested")
    x, y = graph.input("x", (4, 8)), graph.input("y", (4, 8))
    weights = [graph.parameter(f"w{number}", (8, 8)) for number in range(2)]
    with graph.repeat(2) as outer:
        a, b, w = outer.carry(x), outer.carry(y), outer.each(weights)
        with graph.repeat(3) as inner:
            c = inner.carry(a)
            inner.yields(graph.tanh(c @ w, name="step"))
        outer.yields(b, inner.results[0])
    for number, result in enumerate(outer.results):
        graph.output(f"{number}", result)
    planned = plan(graph, PipelineConfig(tiles=4)).graph
    flat = unrolled(planned)
    verify(flat)
    operations = [step.provenance.operation for step in flat.steps]
    assert all(isinstance(step, MidOperation) for step in flat.steps)
    assert "step in iteration 2 in iteration 3" in operations
    random = np.random.default_rng(0)
    arrays = {each.name: random.normal(size=each.value.type.shape) for each in graph.sources}
    loops, written_out = evaluate_mid(planned, arrays, {}), evaluate_mid(flat, arrays, {})
    for name, array in loops.items():
        np.testing.assert_array_equal(written_out[name], array)
