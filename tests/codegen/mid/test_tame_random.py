"""Random graphs whose values stay tame: planned and rounded, they are near what they mean in f64.

Errors are RMS error over RMS value. One stored f16 result costs 2.1e-4 and a product with f16 terms
3e-4, whatever its inner extent; 8-bit weights about 2.8e-2, which are exact here because the same
stored numbers are given to both. Each operation may add as much to what it receives; none of those
drawn here amplifies an error by more than a small factor.
"""

import numpy as np
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.examples import examples
from tilewright.codegen.mid import PipelineConfig, evaluate_mid, plan, verify
from tilewright.graph import (
    ComputeGraph,
    DType,
    NumberFormat,
    Precision,
    Tensor,
    evaluate,
    round_to,
)

PER_OPERATION = 8e-4
"""2.7 times the error of a product with f16 terms."""
FORMATS = (NumberFormat(DType.F16), NumberFormat(DType.F16), DType.F8F143.scaled(-8))


def _product(draw: st.DrawFn, graph: ComputeGraph, x: Tensor) -> Tensor:
    inner, columns = x.shape[-1], draw(st.integers(8, 70))
    turned = draw(st.booleans())
    shape = (columns, inner) if turned else (inner, columns)
    weight = graph.parameter(f"w{len(graph.sources)}", shape, draw(st.sampled_from(FORMATS)))
    made = graph.gemm(x, weight, transpose_b=turned)
    if draw(st.booleans()):
        made = made + graph.parameter(f"b{len(graph.sources)}", (columns,))
    return graph.tanh(made) if draw(st.booleans()) else made


def _residual(draw: st.DrawFn, graph: ComputeGraph, x: Tensor) -> Tensor:
    weight = graph.parameter(f"w{len(graph.sources)}", (x.shape[-1], x.shape[-1]))
    return x + x @ weight


def _normalised(draw: st.DrawFn, graph: ComputeGraph, x: Tensor) -> Tensor:
    return draw(st.sampled_from([graph.layer_norm, graph.rms_norm]))(x)


def _turned(draw: st.DrawFn, graph: ComputeGraph, x: Tensor) -> Tensor:
    return graph.transpose(x)


def _scaled(draw: st.DrawFn, graph: ComputeGraph, x: Tensor) -> Tensor:
    shape = draw(st.sampled_from([x.shape, x.shape[-1:], (*x.shape[:-1], 1)]))
    return x * graph.parameter(f"s{len(graph.sources)}", shape)


def _repeated(draw: st.DrawFn, graph: ComputeGraph, x: Tensor) -> Tensor:
    count = draw(st.integers(2, 3))
    width = x.shape[-1]
    weights = [graph.parameter(f"r{len(graph.sources)}", (width, width)) for _ in range(count)]
    with graph.repeat(count) as body:
        h = body.carry(x)
        body.yields(graph.gelu(graph.layer_norm(h) @ body.each(weights)) + h)
    return body.result


STEPS = (_product, _product, _residual, _normalised, _turned, _scaled, _repeated)


@st.composite
def tame_graphs(draw: st.DrawFn) -> ComputeGraph:
    graph = ComputeGraph("tame")
    batch = draw(st.sampled_from([(), (), (3,)]))
    shape = (*batch, draw(st.integers(4, 60)), draw(st.integers(8, 90)))
    x = graph.input("x", shape)
    for _ in range(draw(st.integers(1, 4))):
        x = draw(st.sampled_from(STEPS))(draw, graph, x)
    graph.output("y", x)
    return graph


@examples(40, allow=list(HealthCheck))
@given(tame_graphs(), st.sampled_from([1, 6, 50, 300]), st.integers(0, 2**16))
def test_a_planned_graph_rounds_as_expected(graph: ComputeGraph, tiles: int, seed: int) -> None:
    planned = plan(graph, PipelineConfig(tiles=tiles)).graph
    verify(planned)
    rng = np.random.default_rng(seed)
    arrays = {}
    for source in graph.sources:
        shape = source.value.type.shape
        sigma = 1 / np.sqrt(shape[-1]) if source.name.startswith(("w", "r")) else 1.0
        numbers = rng.normal(scale=sigma, size=shape)
        arrays[source.name] = round_to(source.value.type.format, numbers)
    inputs = {"x": arrays.pop("x")}
    exact = evaluate(graph, inputs, arrays, Precision.F64)["y"]
    found = evaluate_mid(planned, inputs, arrays)["y"]
    operations = 1 + len(graph.operations) * 6
    error = np.sqrt(np.mean((found - exact) ** 2) / (np.mean(exact**2) + 1e-12))
    assert error < PER_OPERATION * operations
