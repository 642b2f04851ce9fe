"""Plans held against the graph that they are of, by NumPy."""

import numpy as np

from tests.graph.strategies import random_arrays
from tilewright.codegen.mid import MidGraph, PipelineConfig, evaluate_mid, find_faults, plan
from tilewright.graph import ComputeGraph, Precision, evaluate


def assert_same(graph: ComputeGraph, config: PipelineConfig) -> MidGraph:
    """The plan is valid and computes what the graph does, without rounding, so that only its
    structure counts."""
    planned = plan(graph, config).graph
    assert list(find_faults(planned)) == []
    inputs, parameters = random_arrays(graph)
    expected = evaluate(graph, inputs, parameters, Precision.F64)
    found = evaluate_mid(planned, inputs, parameters, rounding=False)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-6, atol=1e-9)
    return planned
