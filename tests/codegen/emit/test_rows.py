"""Softmax, norms and attention on the emulated chip, against the graph's meaning in NumPy."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.codegen.emit.on_chip import run
from tilewright.codegen.emit import emit
from tilewright.codegen.low import KernelStep, TileSchedule, lower
from tilewright.codegen.mid import KernelPolicy, PipelineConfig, plan
from tilewright.graph import ComputeGraph, DType, evaluate

CLOSE = {DType.F16: 1e-2, DType.F32: 2e-5}
"""Absolute, for results around 1."""


def check(graph: ComputeGraph, given: dict[str, NDArray[np.generic]], tiles: int) -> TileSchedule:
    """The graph's outputs on so many tiles are what NumPy makes of them; gives the schedule."""
    planned = plan(graph, PipelineConfig(tiles=tiles, policy=KernelPolicy.BUILD)).graph
    schedule = lower(planned)
    found = run(planned, emit(schedule), given)
    names = {source.name for source in graph.inputs}
    inputs = {name: array for name, array in given.items() if name in names}
    parameters = {name: array for name, array in given.items() if name not in names}
    expected = evaluate(graph, inputs, parameters)
    for output in graph.outputs:
        close, name = CLOSE[output.value.type.dtype], output.name
        np.testing.assert_allclose(
            found[name], expected[name], rtol=close, atol=close, err_msg=name
        )
    return schedule


def kernels(schedule: TileSchedule) -> set[str]:
    return {step.kernel for step in schedule.steps if isinstance(step, KernelStep)}


def numbers(seed: int, dtype: DType, *shape: int) -> NDArray[np.generic]:
    values = np.random.default_rng(seed).normal(size=shape)
    return values.astype({DType.F16: np.float16, DType.F32: np.float32}[dtype])


@dataclass(frozen=True)
class Heads:
    """Sizes of an attention."""

    batch: int
    heads: int
    queries: int
    keys: int
    size: int


def attention(
    sizes: Heads,
    tiles: int,
    dtype: DType = DType.F16,
    scale: float = 0.25,
    *,
    causal: bool = False,
    counts: list[int] | None = None,
) -> None:
    graph = ComputeGraph("attention")
    outer = (sizes.batch, sizes.heads)
    shapes = {
        "q": (*outer, sizes.queries, sizes.size),
        "k": (*outer, sizes.keys, sizes.size),
        "v": (*outer, sizes.keys, sizes.size),
    }
    q, k, v = (graph.input(name, shape, dtype) for name, shape in shapes.items())
    given: dict[str, NDArray[np.generic]] = {
        name: numbers(seed, dtype, *shape) for seed, (name, shape) in enumerate(shapes.items())
    }
    of_keys = None
    if counts is not None:
        of_keys = graph.input("counts", (sizes.batch,), DType.I32)
        given["counts"] = np.array(counts, np.int32)
    graph.output("y", graph.attention(q, k, v, scale=scale, causal=causal, key_counts=of_keys))
    check(graph, given, tiles)


@pytest.mark.parametrize("tiles", [1, 5, 40])
def test_texts_of_a_batch_see_as_many_keys_as_they_have(tiles: int) -> None:
    attention(Heads(3, 2, 17, 17, 20), tiles, counts=[1, 17, 6])


@pytest.mark.parametrize("tiles", [1, 5, 40])
def test_queries_see_the_keys_up_to_their_own(tiles: int) -> None:
    attention(Heads(2, 2, 18, 18, 16), tiles, causal=True)


@pytest.mark.parametrize("tiles", [1, 24])
def test_both_masks_together(tiles: int) -> None:
    attention(Heads(2, 3, 9, 9, 8), tiles, causal=True, counts=[4, 9])


def test_more_keys_than_queries() -> None:
    attention(Heads(1, 2, 3, 50, 12), 7, counts=[33])


def test_rows_of_one_panel_stay_where_they_are() -> None:
    attention(Heads(1, 4, 16, 16, 16), 1, counts=[11])


def test_a_single_matrix_of_scores() -> None:
    attention(Heads(1, 1, 16, 16, 20), 4, DType.F32, counts=[5])


def test_attention_of_singles() -> None:
    attention(Heads(2, 2, 10, 10, 8), 6, DType.F32, counts=[10, 3])


@pytest.mark.parametrize("scale", [0.0, -0.5, 2.0**-5])
def test_any_scale(scale: float) -> None:
    attention(Heads(1, 2, 8, 8, 16), 4, scale=scale)


def test_scores_beyond_what_is_left_of_them_after_scaling() -> None:
    """Their largest is 40,000 before the scale; e to the power of it is beyond all formats."""
    graph = ComputeGraph("large")
    q, k, v = (graph.input(name, (1, 1, 8, 16)) for name in "qkv")
    graph.output("y", graph.attention(q, k, v, scale=2.0**-9))
    given: dict[str, NDArray[np.generic]] = {
        name: np.round(numbers(seed, DType.F16, 1, 1, 8, 16).astype(np.float64) * 30).astype("f2")
        for seed, name in enumerate("qkv")
    }
    check(graph, {**given, "v": numbers(3, DType.F16, 1, 1, 8, 16)}, 2)


@pytest.mark.parametrize("dtype", [DType.F16, DType.F32])
@pytest.mark.parametrize(("shape", "tiles"), [((3, 22), 1), ((2, 3, 37), 4)])
def test_softmax(shape: tuple[int, ...], tiles: int, dtype: DType) -> None:
    graph = ComputeGraph("softmax")
    graph.output("y", graph.softmax(graph.input("x", shape, dtype)))
    schedule = check(graph, {"x": 3 * numbers(0, dtype, *shape)}, tiles)
    assert any(kernel.startswith("softmax") for kernel in kernels(schedule))


def test_softmax_of_rows_that_span_tiles() -> None:
    """Longer than the planner wants to have on one tile."""
    for dtype, name in ((DType.F16, "f16"), (DType.F32, "f32")):
        graph = ComputeGraph("softmax")
        graph.output("y", graph.softmax(graph.input("x", (2, 2020), dtype)))
        schedule = check(graph, {"x": 3 * numbers(0, dtype, 2, 2020)}, 32)
        assert kernels(schedule) >= {f"softmax_statistics_{name}", f"softmax_apply_{name}"}


@pytest.mark.parametrize("dtype", [DType.F16, DType.F32])
@pytest.mark.parametrize(("shape", "tiles"), [((5, 30), 2), ((2, 3, 100), 24)])
def test_norms(shape: tuple[int, ...], tiles: int, dtype: DType) -> None:
    """With gain and bias, with a gain, with neither."""
    graph = ComputeGraph("norms")
    x = graph.input("x", shape, dtype)
    given = {"x": numbers(0, dtype, *shape)}
    vectors = []
    for name in ("gain", "bias"):
        vectors.append(graph.parameter(name, shape[-1:], dtype))
        given[name] = numbers(len(vectors), dtype, shape[-1])
    for count in range(3):
        graph.output(f"layer norm {count}", graph.layer_norm(x, *vectors[:count]))
        graph.output(f"rms norm {count}", graph.rms_norm(x, *vectors[:count]))
    check(graph, given, tiles)


@pytest.mark.parametrize("tiles", [1, 3, 50])
def test_norms_of_products(tiles: int) -> None:
    """What a product leaves as panels."""
    graph = ComputeGraph("product")
    x, w = graph.input("x", (20, 32)), graph.parameter("w", (32, 72))
    graph.output("y", graph.layer_norm(x @ w))
    check(graph, {"x": numbers(0, DType.F16, 20, 32), "w": numbers(1, DType.F16, 32, 72)}, tiles)


@pytest.mark.parametrize("dtype", [DType.F16, DType.F32])
def test_a_single_row_whose_parts_are_no_whole_atoms(dtype: DType) -> None:
    """Sums of rows lie where the rows were, some more on a tile than on others."""
    graph = ComputeGraph("sums")
    sums = graph.reduce_sum(graph.gelu(graph.input("x", (19, 8), dtype)))
    graph.output("y", graph.rms_norm(sums))
    graph.output("z", graph.softmax(sums))
    check(graph, {"x": numbers(1, dtype, 19, 8)}, 6)
