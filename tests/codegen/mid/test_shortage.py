"""What is said of graphs that do not fit, for each of the limits that they may exceed."""

import pytest

from tests.codegen.mid.computing import assert_same
from tilewright.cli.examples import product
from tilewright.codegen.mid import DoesNotFit, PipelineConfig, plan
from tilewright.graph import ComputeGraph, DType


def _shortage(graph: ComputeGraph, config: PipelineConfig) -> str:
    with pytest.raises(DoesNotFit) as caught:
        plan(graph, config)
    assert caught.value.needed > caught.value.available > 0
    return str(caught.value)


def test_results_that_the_chip_cannot_hold_are_listed_at_once() -> None:
    graph = ComputeGraph("wide")
    row = graph.input("x", (1 << 20,))
    table = graph.gelu(graph.broadcast(row, (1 << 19, 1 << 20)), name="table")
    graph.output("y", graph.exp(table))
    said = _shortage(graph, PipelineConfig(tiles=8)).splitlines()
    assert said[0] == 'graph "wide" does not fit 8 tiles:'
    assert said[1].startswith("  table needs at least 134,217,728.0 KiB of a tile for its result;")
    assert said[2].startswith("  exp %3 needs at least")


def test_scores_of_attention_that_the_chip_cannot_hold() -> None:
    graph = ComputeGraph("long")
    x = graph.input("x", (1, 20_000, 8))
    graph.output("y", graph.attention(x, x, x, name="attention"))
    assert "attention needs at least" in _shortage(graph, PipelineConfig(tiles=4))


def test_interleaved_memory_is_told_from_other() -> None:
    config = PipelineConfig(tiles=4, interleaved_bytes=30)
    said = _shortage(product(16, 32, 32), config)
    assert "the fullest tile needs" in said
    assert "of interleaved memory, for weights and for results of products" in said
    assert "of which it has 30 bytes" in said


def test_pieces_that_fit_neither_region_are_told_from_too_many_bytes() -> None:
    """A tile has 416 KiB in one region and 144 in the other: 150 fit neither beside 300."""
    graph = ComputeGraph("pieces")
    for kib in (300, 150):
        values = graph.parameter(f"{kib} KiB", (kib << 8,), DType.F32)
        graph.output(f"sum of {kib}", graph.reduce_sum(values))
    with pytest.raises(DoesNotFit) as caught:
        plan(graph, PipelineConfig(tiles=1))
    assert "but not in pieces that fit its two regions of memory" in str(caught.value)
    assert "about 2 tiles would hold it" in str(caught.value)


def test_an_operation_may_work_in_all_that_is_left() -> None:
    """A weight of 1,024 bytes that is cast in one piece, to 2,048."""
    graph = ComputeGraph("one block")
    weight = graph.parameter("w", (16, 64), DType.F8F143)
    graph.output("y", graph.input("x", (1, 16)) @ weight)
    assert_same(graph, PipelineConfig(tiles=1, tile_bytes=3500))
