"""Rounding in planned products stays within what was found for such plans on random data.

Relative errors are RMS error over RMS result, activations with sigma 0.5, weights uniform as Xavier
has them. An f16 result alone costs 2.1e-4; f16 terms between tiles 2.9e-4 to 3e-4, whatever the
inner extent; weights in 8 bits 2.5e-2 to 2.8e-2.
"""

import numpy as np
import pytest

from tilewright.codegen.mid import PipelineConfig, evaluate_mid, plan
from tilewright.codegen.mid.midgraph import MidOperation
from tilewright.graph import ComputeGraph, DType, NumberFormat, evaluate, round_to
from tilewright.graph import Precision as Arithmetic


def _error(inner: int, activations: DType, weights: NumberFormat) -> tuple[float, float, str]:
    """Relative error against the same stored operands, against exact weights, and the plan."""
    rows, columns = 64, 96
    graph = ComputeGraph("product")
    x = graph.input("x", (rows, inner), activations)
    graph.output("y", x @ graph.parameter("w", (inner, columns), weights))
    rng = np.random.default_rng(1)
    bound = np.sqrt(6 / (inner + columns))
    given = round_to(NumberFormat(activations), rng.normal(scale=0.5, size=(rows, inner)))
    exact = rng.uniform(-bound, bound, size=(inner, columns))
    stored = round_to(weights, exact)
    planned = plan(graph, PipelineConfig(tiles=400)).graph
    found = evaluate_mid(planned, {"x": given}, {"w": exact})["y"]
    reference = evaluate(graph, {"x": given}, {"w": stored}, Arithmetic.F64)["y"]
    (step,) = (each for each in planned.steps if isinstance(each, MidOperation))
    assert step.plan is not None
    return (
        _relative(found, reference),
        _relative(found, given @ exact),
        f"{step.plan.fact('inner_parts')} {step.plan.fact('partial')}",
    )


def _relative(found: np.ndarray, exact: np.ndarray) -> float:
    return float(np.sqrt(np.mean((found - exact) ** 2) / np.mean(exact**2)))


@pytest.mark.parametrize("inner", [384, 768, 3072])
def test_f16_products_round_no_more_than_f16_terms_do(inner: int) -> None:
    error, _, chosen = _error(inner, DType.F16, NumberFormat(DType.F16))
    assert chosen != "1 f16"
    assert 1e-4 < error < 3.5e-4


def test_f32_products_round_as_f32() -> None:
    error, _, _ = _error(768, DType.F32, NumberFormat(DType.F32))
    assert error < 2e-7


def test_weights_in_8_bits_cost_what_three_fraction_bits_cost() -> None:
    """The product itself rounds as with f16 weights: they are exact in f16."""
    error, against_exact, _ = _error(768, DType.F16, DType.F8F143.scaled(-10))
    assert error < 3.5e-4
    assert 1.5e-2 < against_exact < 3.5e-2


def test_attention_rounds_scores_and_probabilities_to_f16() -> None:
    """Errors below 8e-5 were measured for attention of unit inputs over many keys."""
    graph = ComputeGraph("attention")
    q, k, v = (graph.input(name, (4, 196, 64)) for name in "qkv")
    graph.output("y", graph.attention(q, k, v))
    rng = np.random.default_rng(2)
    inputs = {name: rng.normal(scale=0.5, size=(4, 196, 64)).astype(np.float16) for name in "qkv"}
    planned = plan(graph, PipelineConfig(tiles=200)).graph
    found = evaluate_mid(planned, inputs, {})["y"]
    exact = evaluate(graph, inputs, {}, Arithmetic.F64)["y"]
    assert np.max(np.abs(found - exact)) < 3e-4
    assert _relative(found, exact) < 1e-3
