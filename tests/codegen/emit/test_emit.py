"""Emitted programs on the emulated chip give what NumPy computes from the plan."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewright.codegen.emit import Program, emit
from tilewright.codegen.low import lower
from tilewright.codegen.mid import MidGraph, PipelineConfig, evaluate_mid, plan
from tilewright.codegen.mid.evaluate import rounded
from tilewright.codegen.mid.orders import Precision
from tilewright.emulator.chip import Chip, End
from tilewright.emulator.images import Piece, TileImage
from tilewright.graph import ComputeGraph, DType
from tilewright.target.geometry import TILES
from tilewright.target.topology import physical_tiles

DTYPES = {Precision.F16: np.dtype("<f2"), Precision.F32: np.dtype("<f4")}
Arrays = Mapping[str, NDArray[np.float64]]


def run(planned: MidGraph, program: Program, given: Arrays) -> dict[str, NDArray[np.float64]]:
    """The outputs of a program whose sources are loaded with given values."""
    chip = Chip()
    physical = physical_tiles(np.arange(TILES))
    kernels = tuple(Piece(each.address, each.data) for each in program.kernels.segments)
    for tile, code in enumerate(program.code):
        pieces = (*kernels, Piece(program.entry, code))
        chip.load(int(physical[tile]), TileImage(pieces, program.entry))
    buffers = dict(program.schedule.sources)
    for source in planned.sources:
        layout = source.value.storage.layout
        array = rounded(layout.format, given[source.name])
        shards = layout.pack(array).astype(DTYPES[layout.format.precision])
        for tile, shard in enumerate(shards):
            address = int(program.addresses[buffers[source.name]])
            chip.memory.write(int(physical[tile]), address, shard.tobytes())
    outcome = chip.run()
    assert outcome.end is End.STOPPED, str(outcome)
    assert all("trap 0" in each for each in outcome.descriptions.values()), str(outcome)
    results = {}
    for (name, number), (_, value) in zip(program.schedule.outputs, planned.outputs, strict=True):
        layout = value.storage.layout
        dtype = DTYPES[layout.format.precision]
        size = layout.shard_elements * dtype.itemsize
        address = int(program.addresses[number])
        shards = [
            np.frombuffer(chip.memory.read(int(physical[tile]), address, size), dtype)
            for tile in range(layout.format.tiles)
        ]
        results[name] = layout.unpack(np.stack(shards)).astype(np.float64)
    return results


def product() -> ComputeGraph:
    graph = ComputeGraph("product")
    graph.output("y", graph.input("x", (24, 64)) @ graph.parameter("w", (64, 96)))
    return graph


def odd_product() -> ComputeGraph:
    graph = ComputeGraph("odd product")
    graph.output("y", graph.input("x", (5, 7)) @ graph.parameter("w", (7, 9)))
    return graph


def biased() -> ComputeGraph:
    graph = ComputeGraph("biased")
    x, w = graph.input("x", (40, 48)), graph.parameter("w", (48, 64))
    graph.output("y", graph.relu(x @ w + graph.parameter("b", (64,))))
    return graph


def chain() -> ComputeGraph:
    graph = ComputeGraph("chain")
    value = graph.input("x", (24, 32))
    for name, (inner, columns) in {"a": (32, 64), "b": (64, 48), "c": (48, 16)}.items():
        value = value @ graph.parameter(name, (inner, columns))
    graph.output("y", value)
    return graph


def element_by_element() -> ComputeGraph:
    graph = ComputeGraph("elements")
    x, y = graph.input("x", (30, 50)), graph.input("y", (30, 50))
    graph.output("z", graph.relu(x + y) * x - y)
    return graph


def residual() -> ComputeGraph:
    graph = ComputeGraph("residual")
    x, w = graph.input("x", (32, 64)), graph.parameter("w", (64, 64))
    graph.output("y", x @ w + x)
    return graph


def layers() -> ComputeGraph:
    graph = ComputeGraph("layers")
    x = graph.input("x", (16, 32))
    weights = [graph.parameter(f"w{layer}", (32, 32)) for layer in range(4)]
    biases = [graph.parameter(f"b{layer}", (32,)) for layer in range(4)]
    with graph.repeat(4) as body:
        value, weight = body.carry(x), body.each(weights)
        body.yields(graph.relu(value @ weight + body.each(biases)))
    graph.output("y", body.results[0])
    return graph


def nested() -> ComputeGraph:
    graph = ComputeGraph("nested")
    x = graph.input("x", (16, 32))
    weights = [graph.parameter(f"w{layer}", (32, 32)) for layer in range(2)]
    shifts = [graph.parameter(f"s{layer}", (16, 32)) for layer in range(3)]
    with graph.repeat(2) as outer:
        value, weight = outer.carry(x), outer.each(weights)
        with graph.repeat(3) as inner:
            shifted = inner.carry(value)
            inner.yields(graph.relu(shifted + inner.each(shifts)) - shifted)
        outer.yields(graph.relu(inner.results[0] @ weight))
    graph.output("y", outer.results[0])
    return graph


def products() -> ComputeGraph:
    graph = ComputeGraph("products")
    x, w = graph.input("x", (3, 2, 20, 32)), graph.input("w", (2, 32, 24))
    graph.output("y", graph.relu(x @ w))
    return graph


def transposed_products() -> ComputeGraph:
    graph = ComputeGraph("transposed products")
    x, y = graph.input("x", (2, 20, 32)), graph.input("y", (2, 24, 32))
    graph.output("z", graph.gemm(x, y, transpose_b=True))
    return graph


GRAPHS = [
    products,
    transposed_products,
    layers,
    nested,
    product,
    odd_product,
    biased,
    chain,
    element_by_element,
    residual,
]


def small_integers(planned: MidGraph) -> dict[str, NDArray[np.float64]]:
    """Values whose sums of products are exact in f16, for all sources."""
    random = np.random.default_rng(0)
    return {
        source.name: random.integers(-1, 2, source.value.storage.shape) * 1.0
        for source in planned.sources
    }


@pytest.mark.parametrize("tiles", [1, 8, 40])
@pytest.mark.parametrize("build", GRAPHS)
def test_exact_results(build: Callable[[], ComputeGraph], tiles: int) -> None:
    planned = plan(build(), PipelineConfig(tiles=tiles)).graph
    given = small_integers(planned)
    found = run(planned, emit(lower(planned)), given)
    for name, expected in evaluate_mid(planned, given, {}).items():
        assert np.array_equal(found[name], expected), name


def normalised() -> ComputeGraph:
    graph = ComputeGraph("normalised")
    x = graph.input("x", (24, 48))
    gain, bias = graph.parameter("gain", (48,)), graph.parameter("bias", (48,))
    graph.output("y", graph.layer_norm(x, gain, bias, epsilon=0.25))
    graph.output("z", graph.rms_norm(x, gain, epsilon=0.5))
    return graph


def shares() -> ComputeGraph:
    graph = ComputeGraph("shares")
    graph.output("y", graph.softmax(graph.input("x", (24, 48))))
    return graph


def attention() -> ComputeGraph:
    graph = ComputeGraph("attention")
    q, k, v = (graph.input(name, (2, 3, 16, 32)) for name in "qkv")
    graph.output("y", graph.attention(q, k, v, scale=0.25))
    return graph


def functions() -> ComputeGraph:
    graph = ComputeGraph("functions")
    x, w = graph.input("x", (20, 32)), graph.parameter("w", (32, 48))
    graph.output("y", graph.gelu(x @ w))
    return graph


def casts() -> ComputeGraph:
    graph = ComputeGraph("casts")
    x = graph.input("x", (20, 32))
    graph.output("y", graph.cast(graph.exp(graph.cast(x, DType.F32)), DType.F16))
    return graph


@pytest.mark.parametrize("tiles", [1, 40])
@pytest.mark.parametrize("build", [normalised, shares, attention, functions, casts])
def test_results(build: Callable[[], ComputeGraph], tiles: int) -> None:
    """Kernels that are not exact: as close as f16 lets them be."""
    planned = plan(build(), PipelineConfig(tiles=tiles)).graph
    given = small_integers(planned)
    found = run(planned, emit(lower(planned)), given)
    for name, expected in evaluate_mid(planned, given, {}).items():
        np.testing.assert_allclose(found[name], expected, rtol=4e-3, atol=2e-3)
