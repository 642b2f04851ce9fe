"""Repeats whose bodies are given the same values in several ways."""

from collections.abc import Callable

import pytest

from tests.codegen.mid.computing import assert_same
from tilewright.codegen.mid import MidRepeat, PipelineConfig
from tilewright.graph import ComputeGraph, RepeatBuilder, Tensor

Body = Callable[[ComputeGraph, RepeatBuilder, Tensor, list[Tensor]], Tensor]
"""What it yields, for what it carries and the weights outside."""


def _as_sequence_and_alone(
    graph: ComputeGraph, body: RepeatBuilder, x: Tensor, weights: list[Tensor]
) -> Tensor:
    return graph.softmax(weights[0]) @ x + x @ body.each(weights)


def _in_another_order(
    graph: ComputeGraph, body: RepeatBuilder, x: Tensor, weights: list[Tensor]
) -> Tensor:
    return graph.gelu(x @ body.each(weights)) + body.each(weights[::-1]) @ x


def _twice(graph: ComputeGraph, body: RepeatBuilder, x: Tensor, weights: list[Tensor]) -> Tensor:
    return graph.gelu(x @ body.each(weights)) + body.each(weights) @ x


def _again_inside(
    graph: ComputeGraph, body: RepeatBuilder, x: Tensor, weights: list[Tensor]
) -> Tensor:
    weight = body.each(weights)
    with graph.repeat(2) as inner:
        value = inner.carry(x)
        product = value @ inner.each([weight, weights[1]])
        inner.yields(graph.gelu(product) + inner.each([weights[1], weight]) @ value + weight)
    return inner.result @ weights[0]


BODIES: dict[str, Body] = {
    "as a sequence and alone": _as_sequence_and_alone,
    "in another order": _in_another_order,
    "twice": _twice,
    "again inside": _again_inside,
}


def _repeated(body: Body, weights: Callable[[ComputeGraph], list[Tensor]]) -> ComputeGraph:
    graph = ComputeGraph("repeated")
    given = weights(graph)
    with graph.repeat(2) as repeat:
        repeat.yields(body(graph, repeat, repeat.carry(graph.input("x", (24, 24))), given))
    graph.output("y", repeat.result)
    return graph


def _parameters(graph: ComputeGraph) -> list[Tensor]:
    return [graph.parameter(f"w{number}", (24, 24)) for number in range(2)]


def _pieces(graph: ComputeGraph) -> list[Tensor]:
    """Views of one parameter, which overlap."""
    whole = graph.parameter("w", (3, 24, 24))
    return [whole[0], whole[1]]


@pytest.mark.parametrize("weights", [_parameters, _pieces])
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("tiles", [1, 6])
def test_values_are_given_in_several_ways(
    body: str, tiles: int, weights: Callable[[ComputeGraph], list[Tensor]]
) -> None:
    assert_same(_repeated(BODIES[body], weights), PipelineConfig(tiles=tiles))


def test_the_same_values_in_the_same_order_are_one_sequence() -> None:
    planned = assert_same(_repeated(_twice, _parameters), PipelineConfig(tiles=6))
    (repeat,) = (step for step in planned.steps if isinstance(step, MidRepeat))
    assert len(repeat.sequences) == 1


@pytest.mark.parametrize("tiles", [1, 6])
def test_what_is_loaded_in_one_format_outside_is_so_inside(tiles: int) -> None:
    graph = ComputeGraph("turned outside and inside")
    weight = graph.parameter("w", (24, 24))
    start = graph.softmax(graph.transpose(weight)) * graph.input("x", (24, 24))
    with graph.repeat(2) as body:
        value = body.carry(start)
        body.yields(graph.gelu(value @ graph.transpose(weight)))
    graph.output("y", body.result)
    assert_same(graph, PipelineConfig(tiles=tiles))
