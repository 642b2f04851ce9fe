"""Laws that hold for every graph."""

from dataclasses import replace
from itertools import count
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.examples import examples
from tests.graph.strategies import STEPS, graphs, random_arrays
from tilewright.graph import (
    REGISTRY,
    ComputeGraph,
    DType,
    GraphTextError,
    Precision,
    Uses,
    Value,
    evaluate,
    find_faults,
    parse_graph,
    print_graph,
    regions,
    values_of,
    walk,
)
from tilewright.graph.operators import Repeat
from tilewright.graph.structure import Operation

_DTYPES = {DType.F8F143: "f4", DType.F16: "f2", DType.F32: "f4", DType.I32: "i4"}
_FLOATS = {Precision.F64: "f8", Precision.F32: "f4"}


def test_every_operator_can_be_drawn() -> None:
    assert STEPS.keys() == REGISTRY.keys()


@given(graphs())
def test_drawn_graphs_are_valid(graph: ComputeGraph) -> None:
    assert find_faults(graph) == []


@given(graphs())
def test_text_reads_back_to_the_same_graph(graph: ComputeGraph) -> None:
    text = print_graph(graph)
    parsed = parse_graph(text)
    assert parsed == graph
    assert print_graph(parsed) == text
    assert [hash(each) for each in parsed.operations] == [hash(each) for each in graph.operations]


@given(graphs())
def test_places_in_the_text_are_comments(graph: ComputeGraph) -> None:
    assert parse_graph(print_graph(graph, locations=True)) == graph


@given(graphs(), st.data())
def test_damaged_text_is_refused_or_a_graph(graph: ComputeGraph, data: st.DataObject) -> None:
    text = print_graph(graph)
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(len(text), start + 8)))
    inserted = data.draw(st.text('%0123456789=,:[]{}"\\ e.-#fi', max_size=3) | st.text(max_size=2))
    try:
        parsed = parse_graph(text[:start] + inserted + text[stop:], "damaged")
    except GraphTextError as error:
        message = str(error)
        assert message.startswith("damaged:")
    else:
        assert find_faults(parsed) == []


@given(graphs(), st.sampled_from(Precision))
def test_outputs_have_the_shapes_and_formats_of_their_types(
    graph: ComputeGraph, precision: Precision
) -> None:
    outputs = evaluate(graph, *random_arrays(graph), precision)
    for output in graph.outputs:
        type = output.value.type
        found = outputs[output.name]
        assert found.shape == type.shape
        stored = precision is Precision.STORED or type.dtype is DType.I32
        assert found.dtype == (_DTYPES[type.dtype] if stored else _FLOATS[precision])


@given(graphs())
def test_stored_values_are_numbers_of_their_formats(graph: ComputeGraph) -> None:
    def check(value: Value, iterations: tuple[int, ...], array: NDArray[Any]) -> None:
        format = value.type.format
        if format.dtype is DType.F8F143:
            narrow = np.ldexp(array, -format.scale).astype(ml_dtypes.float8_e4m3fnuz)
            again = np.ldexp(narrow.astype(np.float64), format.scale)
        else:
            with np.errstate(all="ignore"):
                again = array.astype(_DTYPES[format.dtype]).astype(array.dtype)
        np.testing.assert_array_equal(array, again)

    evaluate(graph, *random_arrays(graph), Precision.STORED, watch=check)


@given(graphs(), st.sampled_from(Precision))
def test_a_repeat_is_its_body_written_out(graph: ComputeGraph, precision: Precision) -> None:
    arrays = random_arrays(graph)
    flat = unrolled(graph)
    assert not any(isinstance(each.operator, Repeat) for each in flat.operations)
    expected = evaluate(flat, *arrays, precision)
    for name, array in evaluate(graph, *arrays, precision).items():
        np.testing.assert_array_equal(array, expected[name])


def unrolled(graph: ComputeGraph) -> ComputeGraph:
    """The graph with the body of each repeat copied for each iteration."""
    fresh = count(1 + max(value.id for value in values_of(graph)))
    flat: list[Operation] = []

    def copy(operations: tuple[Operation, ...], called: dict[int, Value]) -> None:
        """Append copies; `called` maps ids of the region to values of the flat graph."""
        for operation in operations:
            operands = [called[operand.id] for operand in operation.operands]
            operator = operation.operator
            if isinstance(operator, Repeat):
                results = copy_body(operator, operands)
            else:
                results = [replace(result, id=next(fresh)) for result in operation.results]
                flat.append(Operation(operator, tuple(operands), tuple(results)))
            called.update(zip((each.id for each in operation.results), results, strict=True))

    def copy_body(repeat: Repeat, operands: list[Value]) -> list[Value]:
        carried, fixed = operands[: repeat.carried], operands[repeat.carried :]
        invariants, elements = fixed[: repeat.invariants], fixed[repeat.invariants :]
        for iteration in range(repeat.count):
            given = [*carried, *invariants, *elements[iteration :: repeat.count]]
            arguments = (argument.id for argument in repeat.body.arguments)
            called = dict(zip(arguments, given, strict=True))
            copy(repeat.body.operations, called)
            carried = [called[result.id] for result in repeat.body.results]
        return carried

    called = {source.value.id: source.value for source in graph.sources}
    copy(graph.operations, called)
    outputs = [replace(output, value=called[output.value.id]) for output in graph.outputs]
    return ComputeGraph(graph.name, graph.sources, flat, outputs)


@given(graphs())
def test_uses_are_the_operands_that_walking_finds(graph: ComputeGraph) -> None:
    uses = Uses(graph)
    for value in values_of(graph):
        users = [each for each in walk(graph) if value in each.operands]
        assert list(uses.users(value)) == users
        producers = [each for each in walk(graph) if value in each.results]
        assert uses.producer(value) == (producers[0] if producers else None)
        assert uses.leaves(value) == any(value in region.results for region in regions(graph))


@given(graphs())
def test_identities_are_the_numbers_from_0(graph: ComputeGraph) -> None:
    ids = sorted(value.id for value in values_of(graph))
    assert ids == list(range(len(ids)))


def test_draws_reach_every_operator() -> None:
    seen: set[str] = set()

    @given(graphs())
    @examples(300)
    def collect(graph: ComputeGraph) -> None:
        seen.update(each.operator.mnemonic for each in walk(graph))

    collect()
    assert seen == REGISTRY.keys()
