"""Emitted programs on the emulated chip give what NumPy computes from the plan."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.codegen.emit.on_chip import finished, loaded, run
from tests.graph.strategies import random_arrays
from tilewright.cli.examples import encoder
from tilewright.codegen.emit import EmissionError, emit, read_outputs, source_contents
from tilewright.codegen.low import lower
from tilewright.codegen.mid import MidGraph, PipelineConfig, evaluate_mid, plan
from tilewright.device.kernels import KERNELS
from tilewright.graph import ComputeGraph, DType
from tilewright.target.geometry import TILES
from tilewright.target.topology import physical_tiles


def one_product() -> ComputeGraph:
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


def joined() -> ComputeGraph:
    graph = ComputeGraph("joined")
    x, y, z = (graph.input(name, (2, size, 16)) for name, size in (("x", 3), ("y", 1), ("z", 4)))
    rows = graph.concat([x, y, z], axis=1)
    graph.output("y", graph.concat([rows, rows], axis=2))
    return graph


def taken_away() -> ComputeGraph:
    graph = ComputeGraph("taken away")
    x, w = graph.input("x", (40, 32)), graph.parameter("w", (32, 48))
    graph.output("y", graph.input("y", (40, 48)) - x @ w)
    graph.output("z", x @ w - graph.parameter("b", (48,)))
    return graph


GRAPHS = [
    taken_away,
    joined,
    products,
    transposed_products,
    layers,
    nested,
    one_product,
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
        source.name: random.integers(-1, 2, source.value.storage.shape).astype(np.float64)
        for source in planned.sources
    }


@pytest.mark.parametrize("tiles", [1, pytest.param(8, marks=pytest.mark.slow), 40])
@pytest.mark.parametrize("build", GRAPHS)
def test_exact_results(build: Callable[[], ComputeGraph], tiles: int) -> None:
    planned = plan(build(), PipelineConfig(tiles=tiles)).graph
    given = small_integers(planned)
    found = run(planned, emit(lower(planned)), given)
    for name, expected in evaluate_mid(planned, given, {}).items():
        assert np.array_equal(found[name], expected), name


@pytest.mark.parametrize(
    ("inner", "tiles", "memory"), [(152, 6, 10000), (152, 8, 6000), (100, 6, 8000)]
)
def test_products_in_steps(inner: int, tiles: int, memory: int) -> None:
    """Windows of unequal extents: what one step leaves is no operand of the next."""
    graph = ComputeGraph("steps")
    graph.output("y", graph.input("x", (24, inner)) @ graph.parameter("w", (inner, 64)))
    planned = plan(graph, PipelineConfig(tiles=tiles, tile_bytes=memory, most_copies=1)).graph
    assert "steps" in str(planned)
    given = small_integers(planned)
    found = run(planned, emit(lower(planned)), given)
    assert np.array_equal(found["y"], evaluate_mid(planned, given, {})["y"])


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


def test_what_no_kernel_does_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {name: kernel for name, kernel in KERNELS.items() if name != "gelu_f16"}
    monkeypatch.setattr("tilewright.codegen.emit.operands.KERNELS", others)
    graph = ComputeGraph("bent")
    graph.output("y", graph.gelu(graph.input("x", (4, 16)), name="bend"))
    schedule = lower(plan(graph, PipelineConfig(tiles=4)).graph)
    with pytest.raises(EmissionError, match=r"^bend: there is no kernel gelu_f16"):
        emit(schedule)


def test_layers_of_an_encoder() -> None:
    """Attention, norms of rows on one tile, GeLU, in a repeat along twelve sequences."""
    graph = encoder("layers", 3, 32, 2, 64, 12, 1, norm_first=False, exact_gelu=True)
    _check_encoder(graph, 24)


def test_an_encoder_whose_elements_are_picked_out_of_words() -> None:
    graph = encoder("layers", 2, 64, 2, 128, 16, 1, norm_first=False, exact_gelu=True)
    _check_encoder(graph, 24)


def test_an_encoder_whose_rows_are_split() -> None:
    graph = encoder("layer", 1, 64, 2, 128, 16, 1, norm_first=False, exact_gelu=True)
    _check_encoder(graph, 40)


def _check_encoder(graph: ComputeGraph, tiles: int) -> None:
    planned = plan(graph, PipelineConfig(tiles=tiles)).graph
    inputs, parameters = random_arrays(graph)
    found = run(planned, emit(lower(planned)), {**inputs, **parameters})["y"]
    expected = evaluate_mid(planned, inputs, parameters)["y"]
    np.testing.assert_allclose(found, expected, atol=0.01 * np.abs(expected).max())


def test_repeats_leave_code_as_it_was() -> None:
    """So a program can run again."""
    planned = plan(layers(), PipelineConfig(tiles=40)).graph
    given = small_integers(planned)
    program = emit(lower(planned))
    chip = loaded(planned, program, given)
    finished(chip)
    first = read_outputs(planned, program, chip.memory.read)
    for tile, physical in enumerate(physical_tiles(np.arange(TILES)).tolist()):
        for piece in program.texts[tile].pieces:
            assert chip.memory.read(physical, piece.address, len(piece.data)) == piece.data
    assert np.array_equal(first["y"], evaluate_mid(planned, given, {})["y"])


def test_arrays_are_checked() -> None:
    planned = plan(one_product(), PipelineConfig(tiles=8)).graph
    program = emit(lower(planned))
    x, w = np.zeros((24, 64)), np.zeros((64, 96))
    with pytest.raises(EmissionError, match='there is no array for "w"'):
        list(source_contents(planned, program, {"x": x}))
    with pytest.raises(EmissionError, match=r'"x": an array of shape \[64, 24\] for \[24, 64\]'):
        list(source_contents(planned, program, {"x": x.T, "w": w}))


def test_programs_are_the_same_each_time() -> None:
    programs = [emit(lower(plan(biased(), PipelineConfig(tiles=40)).graph)) for _ in range(2)]
    assert programs[0].texts == programs[1].texts
