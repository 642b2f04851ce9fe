"""The least of everything: scalars, axes of one element."""

from collections.abc import Callable

import pytest

from tests.codegen.mid.computing import assert_same
from tilewright.codegen.mid import PipelineConfig
from tilewright.graph import ComputeGraph, DType, Tensor

ALONG_ROWS: dict[str, Callable[[ComputeGraph, Tensor], Tensor]] = {
    "softmax": ComputeGraph.softmax,
    "layer_norm": ComputeGraph.layer_norm,
    "rms_norm": ComputeGraph.rms_norm,
    "reduce_sum": ComputeGraph.reduce_sum,
}


@pytest.mark.parametrize("tiles", [1, 3])
@pytest.mark.parametrize("operator", ALONG_ROWS)
def test_rows_of_what_was_computed_as_a_scalar(operator: str, tiles: int) -> None:
    graph = ComputeGraph("scalar")
    row = graph.reshape(graph.gelu(graph.input("x", ())), (1, 1))
    graph.output("y", ALONG_ROWS[operator](graph, row))
    assert_same(graph, PipelineConfig(tiles=tiles))


@pytest.mark.parametrize("tiles", [1, 7])
def test_products_beside_a_scalar_that_is_seen_as_a_matrix(tiles: int) -> None:
    graph = ComputeGraph("scalar")
    scalar = graph.gelu(graph.input("s", ()))
    matrix = graph.reshape(scalar, (1, 1))
    weight = graph.parameter("w", (1, 1), DType.F32)
    graph.output("y", graph.sub(matrix, graph.gemm(matrix, weight)))
    graph.output("z", scalar)
    assert_same(graph, PipelineConfig(tiles=tiles))
