"""Whatever the host cannot send or fetch as it is stored is brought to another form on the chip."""

import numpy as np
import pytest

from tests.codegen.build.examples import expected, numbers, split
from tilewright.codegen.build import PackageConfig, build_package
from tilewright.codegen.build.passing import flat
from tilewright.codegen.mid import (
    AxisTiling,
    ElementOrder,
    KernelPolicy,
    PipelineConfig,
    Precision,
    TensorFormat,
    plan,
)
from tilewright.graph import ComputeGraph, DType
from tilewright.package import Application, Role, validate
from tilewright.runtime import InputError, open_device


def config(tiles: int, seed: int = 0) -> PackageConfig:
    return PackageConfig(
        PipelineConfig(tiles=tiles, policy=KernelPolicy.BUILD, placement_seed=seed)
    )


def mixed() -> ComputeGraph:
    """Parts of words, several orders of one input, slices, values that pass as they are."""
    graph = ComputeGraph("mixed")
    odd, square = graph.input("odd", (3, 5)), graph.input("square", (21, 21))
    stacked = graph.input("stacked", (3, 7, 9))
    codes = graph.input("codes", (3, 5), DType.F8F143.scaled(1))
    graph.output("odd again", odd)
    graph.output("turned", graph.transpose(odd, (1, 0)))
    graph.output("less", graph.cast(graph.relu(odd), DType.F8F143))
    graph.output("more", graph.cast(codes, DType.F16) - odd)
    graph.output("both", square @ graph.parameter("w", (21, 21)) + square)
    graph.output("left", graph.parameter("v", (4, 21)) @ square)
    graph.output("middle", stacked[1, 2:5] @ graph.parameter("u", (9, 2)))
    graph.output("number", graph.relu(graph.input("one", ())))
    return graph


def given(graph: ComputeGraph) -> dict[str, np.ndarray]:
    """Numbers that eight bits with a scale of 2 hold, too."""
    return {name: 2 * array for name, array in numbers(graph).items()}


def built(graph: ComputeGraph, tiles: int, seed: int = 0) -> Application:
    application = build_package(graph, config(tiles, seed), split(graph, given(graph))[1])
    assert validate(application, hashes=True) == ()
    return application


def results(application: Application, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    with open_device() as device, device.load(application) as session:
        return dict(session.run(inputs).outputs)


@pytest.mark.parametrize("tiles", [pytest.param(1, marks=pytest.mark.slow), 24])
def test_anything_passes(tiles: int) -> None:
    graph = mixed()
    application = built(graph, tiles)
    names = [each.name for each in application.tensors if each.role is Role.INPUT]
    assert sorted(names) == sorted({*names}) == ["codes", "odd", "one", "square", "stacked"]
    found = results(application, split(graph, given(graph))[0])
    for name, array in expected(graph, given(graph)).items():
        np.testing.assert_array_equal(found[name], array.astype(found[name].dtype), err_msg=name)


def test_what_passes_already_is_left_alone() -> None:
    graph = ComputeGraph("even")
    graph.output("y", graph.relu(graph.input("x", (24, 64))))
    planned = plan(graph, config(8).pipeline).graph
    application = built(graph, 8)
    assert application.debug is not None
    assert len(planned.steps) == 1
    assert not any("for the host" in text for text in application.debug.strings)


def test_flat_tensors_are_shared_out_in_whole_words() -> None:
    halves = TensorFormat(Precision.F16, ElementOrder.OUTPUT, (AxisTiling(), AxisTiling()))
    layout = flat(halves, (3, 1001), 24).layout
    ((starts, _),) = layout.shard(np.arange(layout.format.tiles))
    assert layout.format.tiles == 3 * 1001 * 2 // 1024
    assert not np.any(starts % 2)


def test_inputs_that_nothing_reads() -> None:
    """Runs may give them, in their shape, or not."""
    graph = ComputeGraph("some")
    graph.input("unread", (3, 3))
    graph.host_input("counts", (2,), DType.I32)
    graph.output("y", graph.relu(graph.input("x", (4,))))
    application = built(graph, 8)
    x = np.arange(4.0)
    unread: dict[str, np.ndarray] = {"unread": np.ones((3, 3)), "counts": np.ones(2, np.int32)}
    nothing: dict[str, np.ndarray] = {}
    with open_device() as device, device.load(application) as session:
        for more in (nothing, unread):
            np.testing.assert_array_equal(session.run({"x": x, **more}).outputs["y"], x)
        with pytest.raises(InputError, match="'unread' has shape"):
            session.run({"x": x, "unread": np.ones(3)})


def related() -> ComputeGraph:
    graph = ComputeGraph("layers")
    x = graph.input("x", (12, 32))
    weights = [graph.parameter(f"w{number}", (32, 32)) for number in range(2)]
    with graph.repeat(2) as body:
        h, w = body.carry(x), body.each(weights)
        q, k = (graph.split_heads(each @ w, 2) for each in (h, x))
        body.yields(graph.layer_norm(h + graph.merge_heads(graph.attention(q, k, k))))
    graph.output("y", body.results[0])
    return graph


@pytest.mark.slow
def test_outputs_do_not_depend_on_addresses() -> None:
    """To the bit."""
    graph = related()
    random = np.random.default_rng(0)
    arrays = {each.name: random.normal(size=each.value.type.shape) / 3 for each in graph.sources}
    inputs, parameters = split(graph, arrays)
    first, second = (build_package(graph, config(24, seed), parameters) for seed in (0, 1))
    assert not np.array_equal(first.shards.address, second.shards.address)
    assert results(first, inputs)["y"].tobytes() == results(second, inputs)["y"].tobytes()
