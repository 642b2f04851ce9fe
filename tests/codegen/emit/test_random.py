"""Random graphs on the emulated chip give what NumPy computes from the plan, the same each time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.codegen.emit.on_chip import run
from tests.examples import examples
from tests.graph.strategies import graphs, random_arrays
from tilewright.codegen.emit import emit
from tilewright.codegen.low import lower
from tilewright.codegen.mid import PipelineConfig, evaluate_mid, plan
from tilewright.graph import ComputeGraph

BOUND = 1e-2
"""Relative and absolute, on whatever is finite: kernels round at other places than NumPy."""


def check(graph: ComputeGraph, tiles: int) -> None:
    planned = plan(graph, PipelineConfig(tiles=tiles)).graph
    inputs, parameters = random_arrays(graph)
    found = run(planned, emit(lower(planned)), {**inputs, **parameters})
    for name, expected in evaluate_mid(planned, inputs, parameters).items():
        finite = np.isfinite(expected)
        np.testing.assert_allclose(found[name][finite], expected[finite], rtol=BOUND, atol=BOUND)


@examples(16)
@given(graphs(), st.sampled_from([1, 2, 8, 40]))
def test_random_graphs(graph: ComputeGraph, tiles: int) -> None:
    check(graph, tiles)


@pytest.mark.slow
@examples(15)
@given(graphs(14), st.integers(1, 64) | st.just(1472))
def test_many_random_graphs(graph: ComputeGraph, tiles: int) -> None:
    check(graph, tiles)


def layered(with_another: bool) -> ComputeGraph:
    """Products, a norm and softmax; perhaps beside it something that has nothing to do with it."""
    graph = ComputeGraph("layered")
    x, w = graph.input("x", (24, 64)), graph.parameter("w", (64, 64))
    value = graph.layer_norm(graph.gelu(x @ w) + x, graph.parameter("g", (64,)))
    graph.output("y", graph.softmax(graph.exp(value / 4) @ w))
    if with_another:
        other = graph.input("other", (7, 9))
        graph.output("z", graph.reduce_max(graph.tanh(other)))
    return graph


def outputs(graph: ComputeGraph, threads: int | None = None, seed: int = 0) -> NDArray[np.float64]:
    planned = plan(graph, PipelineConfig(tiles=12)).graph
    random = np.random.default_rng(0)
    arrays = {name: random.normal(size=shape) / 4 for name, shape in SHAPES.items()}
    return run(planned, emit(lower(planned), seed=seed), arrays, threads)["y"]


SHAPES = {"x": (24, 64), "w": (64, 64), "g": (64,), "other": (7, 9)}


def test_outputs_are_the_same_to_the_bit() -> None:
    """Whatever the number of threads, beside another operator, and at other addresses."""
    first = outputs(layered(with_another=False))
    assert np.array_equal(outputs(layered(with_another=False), threads=1), first)
    assert np.array_equal(outputs(layered(with_another=True)), first)
    assert np.array_equal(outputs(layered(with_another=False), seed=1), first)
