"""Memory of plans on the fullest tile."""

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.graph.strategies import graphs
from tilewright.cli.examples import deep_perceptron, perceptron
from tilewright.codegen.mid import (
    MidOperation,
    MidRepeat,
    MidSource,
    MidStep,
    PipelineConfig,
    memory_use,
    plan,
)
from tilewright.graph import ComputeGraph, SourceKind


def _is_parameter(source: MidSource) -> bool:
    return source.kind in (None, SourceKind.PARAMETER)


def _operations(steps: tuple[MidStep, ...]) -> list[MidOperation]:
    found = []
    for step in steps:
        if isinstance(step, MidRepeat):
            found += _operations(step.body)
        else:
            found.append(step)
    return found


@examples(60, allow=list(HealthCheck))
@given(graphs(), st.sampled_from([1, 7, 40]))
def test_use_lies_between_one_operation_and_everything_at_once(
    graph: ComputeGraph, tiles: int
) -> None:
    planned = plan(graph, PipelineConfig(tiles=tiles)).graph
    use = memory_use(planned)
    residents = [source.value.storage for source in planned.sources if _is_parameter(source)]
    assert use.resident == sum(storage.layout.shard_bytes for storage in residents)
    inputs = [source.value.storage for source in planned.sources if not _is_parameter(source)]
    planned_operations = [each for each in _operations(planned.steps) if each.plan is not None]
    made = [each.result.storage.layout.shard_bytes for each in planned_operations]
    working = [each.plan.bytes.transient for each in planned_operations if each.plan is not None]
    everything = sum(made) + sum(storage.layout.shard_bytes for storage in inputs)
    assert use.live + use.working <= everything + max(working, default=0)
    # an operation's result may lie in an operand's memory, so only one of them is sure
    for size, work in zip(made, working, strict=True):
        assert size + work <= use.live + use.working


def test_a_value_dies_with_its_last_use() -> None:
    """Three values in a row: the first is gone when the third is made."""
    graph = ComputeGraph("row")
    x = graph.input("x", (64, 64))
    first = graph.softmax(x)
    second = graph.softmax(first)
    graph.output("y", graph.softmax(second))
    use = memory_use(plan(graph, PipelineConfig(tiles=1)).graph)
    assert use.live == 64 * 64 * 2  # each softmax writes over its operand
    assert use.resident == 0


def test_what_is_needed_later_stays() -> None:
    graph = ComputeGraph("later")
    x = graph.input("x", (64, 64))
    graph.output("y", graph.softmax(graph.softmax(x)) + x)
    use = memory_use(plan(graph, PipelineConfig(tiles=1)).graph)
    assert use.live == 2 * 64 * 64 * 2


def test_layers_hold_their_weights_at_once() -> None:
    few, many = (
        memory_use(plan(deep_perceptron(16, 64, layers), PipelineConfig(tiles=4)).graph)
        for layers in (2, 8)
    )
    assert many.resident == 4 * few.resident
    assert many.live == few.live


def test_the_largest_things_are_named() -> None:
    use = memory_use(plan(perceptron(16, 64, 256), PipelineConfig(tiles=4)).graph)
    names = [name for name, _ in use.largest]
    assert {"up", "down"} <= set(names)
    assert [size for _, size in use.largest] == sorted(
        (size for _, size in use.largest), reverse=True
    )
