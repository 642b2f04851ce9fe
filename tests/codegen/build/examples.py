"""Graphs whose results are exact, and numbers for them."""

import numpy as np
from numpy.typing import NDArray

from tilewright.graph import ComputeGraph, evaluate

Arrays = dict[str, NDArray[np.float64]]


def product() -> ComputeGraph:
    """Rows and columns that no number of tiles divides, and padding everywhere."""
    graph = ComputeGraph("product")
    x, w = graph.input("x", (21, 30)), graph.parameter("w", (30, 50))
    graph.output("y", graph.relu(x @ w + graph.parameter("b", (50,))))
    return graph


def layers() -> ComputeGraph:
    """A repeat along two sequences, and a second output."""
    graph = ComputeGraph("layers")
    x = graph.input("x", (16, 32))
    weights = [graph.parameter(f"w{layer}", (32, 32)) for layer in range(3)]
    biases = [graph.parameter(f"b{layer}", (32,)) for layer in range(3)]
    with graph.repeat(3) as body:
        value, weight = body.carry(x), body.each(weights)
        body.yields(graph.relu(value @ weight + body.each(biases)))
    graph.output("y", body.results[0])
    graph.output("z", body.results[0] - x)
    return graph


def viewed() -> ComputeGraph:
    """What comes and goes in other orders than it is stored in."""
    graph = ComputeGraph("viewed")
    x, w = graph.input("x", (2, 12, 32)), graph.parameter("w", (48, 32))
    heads = graph.split_heads(graph.reshape(x, (24, 32)) @ graph.transpose(w, (1, 0)), 3)
    graph.output("heads", heads)
    graph.output("some", graph.slice(graph.relu(heads), (0, 0, 0), (3, 10, 16)))
    return graph


def edges() -> ComputeGraph:
    """Less than words, numbers without axes, constants and repeated elements as outputs."""
    graph = ComputeGraph("edges")
    few = graph.input("few", (3,))
    graph.output("sums", graph.relu(few + graph.parameter("one", ())))
    graph.output("held", graph.constant([[1.0, -2.0], [0.5, 4.0], [0.0, 3.0]]))
    graph.output("rows", graph.broadcast(graph.relu(graph.input("row", (4,))), (3, 4)))
    return graph


def numbers(graph: ComputeGraph, seed: int = 0) -> Arrays:
    """Small integers, whose sums of products are exact in halves, for all sources."""
    random = np.random.default_rng(seed)
    return {
        source.name: random.integers(-1, 2, source.value.type.shape).astype(np.float64)
        for source in graph.sources
    }


def split(graph: ComputeGraph, arrays: Arrays) -> tuple[Arrays, Arrays]:
    """Inputs, and parameters."""
    parameters = {source.name for source in graph.parameters}
    return (
        {name: array for name, array in arrays.items() if name not in parameters},
        {name: array for name, array in arrays.items() if name in parameters},
    )


def expected(graph: ComputeGraph, arrays: Arrays) -> Arrays:
    """What NumPy makes of it."""
    inputs, parameters = split(graph, arrays)
    return {name: np.asarray(array) for name, array in evaluate(graph, inputs, parameters).items()}
