"""Operators with exact kernels on the emulated chip: what comes out is what NumPy computes."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.codegen.emit.on_chip import run
from tilewright.codegen.emit import emit
from tilewright.codegen.low import lower
from tilewright.codegen.mid import PipelineConfig, evaluate_mid, plan
from tilewright.graph import ComputeGraph, DType, NumberFormat, Tensor
from tilewright.graph.types import Shape

F8, F16, F32, I32 = (NumberFormat(each) for each in (DType.F8F143, DType.F16, DType.F32, DType.I32))
TILES = (1, 7)


def check(graph: ComputeGraph, tiles: int, config: PipelineConfig | None = None) -> None:
    """Whole numbers from -3 to 3 in, and out what the plan computes of them."""
    planned = plan(graph, config or PipelineConfig(tiles=tiles)).graph
    random = np.random.default_rng(0)
    given: dict[str, NDArray[np.float64]] = {
        source.name: random.integers(-3, 4, source.value.type.shape).astype(np.float64)
        for source in graph.sources
    }
    found = run(planned, emit(lower(planned)), given)
    for name, expected in evaluate_mid(planned, given, {}).items():
        np.testing.assert_array_equal(found[name], expected, name)


@pytest.mark.parametrize("tiles", TILES)
def test_casts_between_all_formats(tiles: int) -> None:
    graph = ComputeGraph("casts")
    sources = {
        "f8": graph.input("f8", (5, 7), DType.F8F143.scaled(-2)),
        "f16": graph.input("f16", (5, 7), F16),
        "f32": graph.input("f32", (5, 7), F32),
        "i32": graph.input("i32", (5, 7), I32),
    }
    for name, x in sources.items():
        for to in (F16, F32, DType.F8F143.scaled(-3), F8):
            if to != x.format:
                graph.output(f"{name} as {to}", graph.cast(x, to))
        graph.output(f"{name} as it is", x)
    check(graph, tiles)


SHAPES = [
    ((5, 7), (7,)),
    ((5, 7), (1,)),
    ((5, 7), (5, 1)),
    ((5, 1), (1, 7)),
    ((3, 4, 6), (4, 1)),
    ((3, 4, 5), (3, 1, 5)),
    ((2, 1, 3, 1), (4, 1, 5)),
    ((), (3, 3)),
    ((6, 40), (6, 1)),
]


@pytest.mark.parametrize("tiles", TILES)
@pytest.mark.parametrize("format", [F16, F32])
def test_operands_broadcast(format: NumberFormat, tiles: int) -> None:
    graph = ComputeGraph("broadcast")
    for number, (first, second) in enumerate(SHAPES):
        x = graph.input(f"x {number}", first, format)
        y = graph.input(f"y {number}", second, format)
        graph.output(f"x - y {number}", x - y)
        graph.output(f"y - x {number}", y - x)
        graph.output(f"x y {number}", x * y)
        graph.output(f"x / y {number}", x / graph.exp(y - y))
    check(graph, tiles)


REDUCED = [((6, 5), 1), ((6, 5), 2), ((5, 3, 4), 2), ((3, 3, 5), 2), ((1, 1), 1), ((9,), 1)]


@pytest.mark.parametrize("tiles", TILES)
def test_reductions(tiles: int) -> None:
    graph = ComputeGraph("reductions")
    for number, (shape, axes) in enumerate(REDUCED):
        for format in (F16, F32, F8):
            x = graph.input(f"x {number} {format}", shape, format)
            graph.output(f"sum {number} {format}", graph.reduce_sum(x, axes))
            graph.output(f"greatest {number} {format}", graph.reduce_max(x, axes, keep=True))
    check(graph, tiles)


def sliced(x: Tensor, graph: ComputeGraph) -> Tensor:
    return graph.relu(graph.slice(x, [0, 1], [6, 6]))


def joined(x: Tensor, graph: ComputeGraph) -> Tensor:
    return graph.concat([x, graph.slice(x, [0, 0], [6, 3]), x], axis=1)


def turned(x: Tensor, graph: ComputeGraph) -> Tensor:
    return graph.concat([graph.transpose(x, [1, 0])] * 2, axis=0)


def shifted(x: Tensor, graph: ComputeGraph) -> Tensor:
    flat = graph.reshape(x, [-1])
    return graph.reshape(graph.slice(flat, [3], [39]), [4, 9]) + graph.slice(x, [0, 0], [1, 1])


@pytest.mark.parametrize("tiles", TILES)
@pytest.mark.parametrize("view", [sliced, joined, turned, shifted])
def test_elements_are_picked_out_of_words(
    view: Callable[[Tensor, ComputeGraph], Tensor], tiles: int
) -> None:
    graph = ComputeGraph("views")
    for format in (F16, F32):
        graph.output(f"y {format}", view(graph.input(f"x {format}", (6, 7), format), graph))
    x = graph.input("x f8", (6, 7), F8)
    graph.output("y f8", graph.cast(view(graph.cast(x, F16), graph), F8))
    graph.output("joined f8", joined(x, graph))
    check(graph, tiles)


@pytest.mark.parametrize("weights", [F8, F16, F32])
def test_padding_does_not_count(weights: NumberFormat) -> None:
    """Functions of nothing that are not nothing, before a product over what is padded."""
    graph = ComputeGraph("padding")
    x = graph.input("x", (5, 7))
    zero = x - x
    left = graph.exp(zero) / graph.exp(zero) + graph.sigmoid(zero)
    w = graph.parameter("w", (7, 5), weights)
    graph.output("y", left @ w)
    graph.output("z", graph.gemm(left, graph.exp(zero), transpose_b=True))
    check(graph, 3)


@pytest.mark.parametrize("tiles", [16, 40])
def test_terms_of_many_matrices_are_summed_up(tiles: int) -> None:
    graph = ComputeGraph("terms")
    x, w = graph.input("x", (16, 4, 512)), graph.input("w", (16, 512, 16))
    graph.output("y", x @ w)
    check(graph, tiles)


def test_a_random_row_of_singles_becomes_the_nearest_quarters() -> None:
    """Also of numbers beside the middle between two, whose halves lie on it."""
    middles = np.arange(1, 120) + 0.5
    values = np.concatenate([middles * 2.0**-3 * (1 + sign * 2.0**-20) for sign in (-1, 0, 1)])
    graph = ComputeGraph("quarters")
    graph.output("y", graph.cast(graph.input("x", values.shape, F32), F8))
    planned = plan(graph, PipelineConfig(tiles=1)).graph
    found = run(planned, emit(lower(planned)), {"x": values})["y"]
    np.testing.assert_array_equal(found, evaluate_mid(planned, {"x": values}, {})["y"])


@pytest.mark.parametrize("weights", [F8, F16])
def test_weights_that_tiles_share(weights: NumberFormat) -> None:
    graph = ComputeGraph("shared")
    graph.output("y", graph.input("x", (320, 64)) @ graph.parameter("w", (64, 64), weights))
    check(graph, 16, config=PipelineConfig(tiles=16, most_copies=1))


@pytest.mark.parametrize("shape", [(300,), (3, 95), (2, 7, 90), (5, 40, 3)])
def test_what_is_reduced_is_divided(shape: Shape) -> None:
    graph = ComputeGraph("divided")
    for format in (F16, F32):
        x = graph.input(f"x {format}", shape, format)
        axes = max(1, len(shape) - 1)
        graph.output(f"sum {format}", graph.reduce_sum(x, axes))
        graph.output(f"greatest {format}", graph.reduce_max(x, axes, keep=True))
    check(graph, 40)


def test_eight_bit_sources_stay_what_they_are_for_all_their_users() -> None:
    graph = ComputeGraph("eight bits")
    x = graph.input("x", (3, 3, 2, 1), DType.F8F143.scaled(3))
    graph.output("mean", graph.reduce_mean(x, 2))
    graph.output("cast", graph.cast(x, DType.F8F143.scaled(4)))
    graph.output("turned", graph.transpose(x, [3, 2, 1, 0]) * 2)
    check(graph, 9)


@pytest.mark.parametrize("shape", [(9, 20), (20,)])
@pytest.mark.parametrize(("product", "other"), [(F16, F8), (F32, F16), (F32, F8)])
def test_what_is_added_to_a_product_may_be_of_another_precision(
    product: NumberFormat, other: NumberFormat, shape: Shape
) -> None:
    graph = ComputeGraph("added")
    x, w = graph.input("x", (9, 6), product), graph.input("w", (6, 20), product)
    graph.output("y", x @ w + graph.input("z", shape, other))
    check(graph, 3)
