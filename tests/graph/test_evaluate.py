"""Evaluation: precisions, arrays that do not fit, watching."""

from typing import Any

import numpy as np
import pytest

from tilewright.graph import (
    ComputeGraph,
    DType,
    EvaluationError,
    Precision,
    Tensor,
    VerificationError,
    evaluate,
)


def _chain() -> ComputeGraph:
    graph = ComputeGraph("chain")
    x = graph.input("x", ())
    w = graph.parameter("w", (), DType.F8F143)
    graph.output("y", x * w + 1)
    return graph


def test_stored_rounds_sources_and_every_result() -> None:
    y = evaluate(_chain(), {"x": 1 / 3}, {"w": 0.7})["y"]
    x, w = np.float16(1 / 3), np.float16(0.6875)  # 11/16
    assert y == np.float16(np.float16(x * w) + np.float16(1))
    assert y.dtype == np.float16


def test_f64_and_f32_do_not_round_to_formats() -> None:
    x, w = 1 / 3, 0.7
    assert evaluate(_chain(), {"x": x}, {"w": w}, Precision.F64)["y"] == x * w + 1
    y = evaluate(_chain(), {"x": x}, {"w": w}, Precision.F32)["y"]
    assert y == np.float32(x) * np.float32(w) + np.float32(1)
    assert y.dtype == np.float32


def test_stored_operators_compute_in_float64() -> None:
    """2048 + 1 + … in halves would stay at 2048."""
    graph = ComputeGraph("sum")
    graph.output("y", graph.reduce_sum(graph.input("x", (9,))))
    assert evaluate(graph, {"x": [2048] + 8 * [1]})["y"] == 2056


def test_f32_computes_in_float32() -> None:
    graph = ComputeGraph("sum")
    x = graph.input("x", (), DType.F32)
    graph.output("y", x + 1.0 - x)
    assert evaluate(graph, {"x": 2.0**24}, precision=Precision.F32)["y"] == 0
    assert evaluate(graph, {"x": 2.0**24}, precision=Precision.F64)["y"] == 1


def test_halves_overflow_to_infinity() -> None:
    graph = ComputeGraph("square")
    x = graph.input("x", ())
    graph.output("y", x * x)
    assert evaluate(graph, {"x": 300})["y"] == np.inf


def test_outputs_are_arrays_of_their_own() -> None:
    graph = ComputeGraph("views")
    x = graph.input("x", (2,), DType.F32)
    graph.output("same", x)
    graph.output("wide", graph.broadcast(x, (3, 2)))
    given = np.array([1.0, 2.0])
    outputs = evaluate(graph, {"x": given}, precision=Precision.F64)
    outputs["same"][0] = 7
    outputs["wide"][0, 0] = 8
    assert given.tolist() == [1, 2]
    assert outputs["wide"].tolist() == [[8, 2], [1, 2], [1, 2]]


def test_arrays_that_do_not_fit_are_told_together() -> None:
    graph = ComputeGraph("g")
    x = graph.input("x", (2, 3))
    n = graph.host_input("n", (2,), DType.I32)
    for name in ("text", "complex", "ragged"):
        graph.input(name, (2,))
    w, v = graph.parameter("w", (3, 3)), graph.parameter("v", (3,))
    graph.output("y", x @ w + v)
    graph.output("n", n)
    arrays: dict[str, Any] = {
        "x": np.zeros((3, 2)),
        "n": [1, 2.5],
        "text": ["a", "b"],
        "complex": [1j, 2],
        "ragged": [[1], [1, 2]],
        "z": 1,
        "w": 1,
    }
    with pytest.raises(EvaluationError) as caught:
        evaluate(graph, arrays, {"w": np.zeros((3, 3)), "y": 0})
    assert str(caught.value).splitlines() == [
        'graph "g" cannot be evaluated:',
        '  the graph has no input "z"',
        '  the graph has no input "w"',
        '  input "x" has the shape [3, 2], expected f16[2, 3]',
        '  input "text" is not an array of numbers',
        '  input "complex" holds complex numbers',
        '  input "ragged" is not an array of numbers',
        '  input "n" holds numbers that are no I32, expected i32[2]',
        '  the graph has no parameter "y"',
        '  parameter "v" is missing (f16[3])',
    ]


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, np.nan, np.inf])
def test_numbers_outside_of_i32(number: float) -> None:
    graph = ComputeGraph("g")
    graph.output("n", graph.input("n", (), DType.I32))
    with pytest.raises(EvaluationError, match="no I32"):
        evaluate(graph, {"n": number})
    assert evaluate(graph, {"n": 2**31 - 1})["n"] == 2**31 - 1


def test_a_graph_that_is_not_valid_is_refused() -> None:
    graph = ComputeGraph("empty")
    with pytest.raises(VerificationError, match="no outputs"):
        evaluate(graph, {})


def test_an_operator_without_a_meaning_is_named_with_its_line() -> None:
    graph = ComputeGraph("g")
    q, n = graph.input("q", (1, 2, 2)), graph.input("n", (), DType.I32)
    graph.output("y", graph.attention(q, q, q, key_counts=n))
    with pytest.raises(EvaluationError, match=r"test_evaluate\.py:\d+: attention: key_counts"):
        evaluate(graph, {"q": np.zeros((1, 2, 2)), "n": 3})


def test_watching() -> None:
    graph = ComputeGraph("g")
    x = graph.input("x", (), DType.F32)
    with graph.repeat(2) as outer:
        h = outer.carry(x, "h")
        with graph.repeat(2) as inner:
            inner.yields(graph.add(inner.carry(h, "k"), 1, name="step"))
        outer.yields(inner.result)
    graph.output("y", outer.result)
    seen: list[tuple[str, tuple[int, ...], float]] = []
    evaluate(graph, {"x": 0}, watch=lambda value, at, a: seen.append((value.name, at, float(a))))
    assert [(at, number) for name, at, number in seen if name == "step"] == [
        ((0, 0), 1),
        ((0, 1), 2),
        ((1, 0), 3),
        ((1, 1), 4),
    ]
    assert [(at, number) for name, at, number in seen if name == "h"] == [((0,), 0), ((1,), 2)]
    assert seen[0] == ("x", (), 0)


def _encoder(layers: int, x: Tensor, weights: list[list[Tensor]], tokens: Tensor) -> Tensor:
    graph = x.graph
    assert isinstance(graph, ComputeGraph)
    with graph.repeat(layers, "layers") as layer:
        h = layer.carry(x)
        wq, wk, wv, wo, up, down = [layer.each(each) for each in weights]
        q, k, v = (graph.split_heads(graph.gemm(h, w), 4) for w in (wq, wk, wv))
        mixed = graph.attention(q, k, v, key_counts=tokens)
        h = graph.layer_norm(h + graph.merge_heads(mixed) @ wo, epsilon=1e-12)
        layer.yields(graph.layer_norm(h + graph.gelu(h @ up) @ down, epsilon=1e-12))
    return layer.result


def test_the_ways_of_evaluating_an_encoder_agree_as_their_precisions_allow() -> None:
    width, layers = 32, 4
    graph = ComputeGraph("encoder")
    x = graph.input("x", (2, 10, width))
    tokens = graph.host_input("tokens", (2,), DType.I32)
    shapes = [(width, width)] * 4 + [(width, 4 * width), (4 * width, width)]
    weights = [
        [graph.parameter(f"layer.{i}.{j}", shape) for i in range(layers)]
        for j, shape in enumerate(shapes)
    ]
    graph.output("y", _encoder(layers, x, weights, tokens))
    rng = np.random.default_rng(6)
    inputs: dict[str, Any] = {
        "x": rng.normal(size=(2, 10, width)).astype(np.float16),
        "tokens": [10, 7],
    }
    parameters = {
        source.name: (rng.normal(size=source.value.type.shape) / 8).astype(np.float16)
        for source in graph.parameters
    }
    exact, single, stored = (
        evaluate(graph, inputs, parameters, precision)["y"] for precision in Precision
    )
    assert 0 < np.abs(single - exact).max() < 1e-5
    assert 1e-4 < np.abs(stored - exact).max() < 2e-2
