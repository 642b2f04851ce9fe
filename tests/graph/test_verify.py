"""Every rule of the form, broken on its own."""

from dataclasses import replace

import pytest

from tilewright.graph import (
    ComputeGraph,
    DType,
    Location,
    NumberFormat,
    Operation,
    Output,
    Region,
    Repeat,
    Source,
    SourceKind,
    Value,
    ValueType,
    VerificationError,
    find_faults,
)
from tilewright.graph.operators import Add, Attention, Relu, Reshape

F16 = NumberFormat(DType.F16)
PAIR, TRIPLE = ValueType(F16, (2,)), ValueType(F16, (3,))
X = Value(0, PAIR, "x")
PLACE = Location("model.py", 7)


def _graph(
    *operations: Operation,
    outputs: tuple[Output, ...] = (Output("y", X),),
    sources: tuple[Source, ...] = (Source(SourceKind.INPUT, X),),
) -> ComputeGraph:
    return ComputeGraph("broken", sources, operations, outputs)


def _faults(graph: ComputeGraph) -> list[str]:
    return [str(fault) for fault in find_faults(graph)]


def _relu(operand: Value, id: int, type: ValueType = PAIR) -> Operation:
    return Operation(Relu(), (operand,), (Value(id, type),), PLACE)


def test_a_valid_graph_has_none() -> None:
    _graph(_relu(X, 1)).verify()


def test_use_before_definition() -> None:
    graph = _graph(_relu(Value(2, PAIR), 1), _relu(X, 2))
    assert _faults(graph) == ["model.py:7: relu takes %2 f16[2], which is not defined before"]


def test_use_of_what_is_defined_nowhere() -> None:
    assert _faults(_graph(_relu(Value(9, PAIR), 1))) == [
        "model.py:7: relu takes %9 f16[2], which is not defined before"
    ]


def test_a_value_that_differs_from_its_definition() -> None:
    graph = _graph(_relu(replace(X, name="z"), 1))
    assert _faults(graph) == ['model.py:7: relu takes %0 "z" f16[2], which is %0 "x" f16[2]']


def test_one_number_for_two_values() -> None:
    assert _faults(_graph(_relu(X, 1), _relu(X, 1))) == [
        "model.py:7: %1 names two values: %1 f16[2] and %1 f16[2]"
    ]


def test_a_type_against_the_shape_rule() -> None:
    assert _faults(_graph(_relu(X, 1, TRIPLE))) == [
        "model.py:7: relu gives f16[2]; its results are %1 f16[3]"
    ]


def test_operands_against_the_shape_rule() -> None:
    (fault,) = _faults(_graph(Operation(Add(), (X,), (Value(1, PAIR),), PLACE)))
    assert fault == ('model.py:7: add: expected 2 operands (a, b), found 1\n    a = %0 "x" f16[2]')
    (fault,) = _faults(_graph(Operation(Attention(1.0), (X,) * 5, (Value(1, PAIR),))))
    assert "expected 3 to 4 operands (q, k, v, key_counts), found 5" in fault
    assert 'operand 4 = %0 "x" f16[2]' in fault


def test_attributes_without_a_meaning() -> None:
    (fault,) = _faults(_graph(Operation(Reshape((0,)), (X,), (Value(1, PAIR),))))
    assert "each extent of a shape is at least 1" in fault


def test_results_that_are_missing() -> None:
    (fault,) = _faults(_graph(Operation(Relu(), (X,), ())))
    assert fault == "relu gives f16[2]; its results are none"


def test_names() -> None:
    again = Source(SourceKind.PARAMETER, Value(1, PAIR, "x"), PLACE)
    nameless = Source(SourceKind.HOST_INPUT, Value(2, PAIR, ""), PLACE)
    outputs = (Output("y", X), Output("y", X, PLACE), Output("", X, PLACE))
    graph = _graph(sources=(Source(SourceKind.INPUT, X), again, nameless), outputs=outputs)
    assert _faults(graph) == [
        'model.py:7: there is a second input or parameter "x"',
        "model.py:7: an input or parameter has no name",
        'model.py:7: there is a second output "y"',
        "model.py:7: an output has no name",
    ]


def test_outputs() -> None:
    assert _faults(_graph(outputs=())) == ["the graph has no outputs"]
    assert _faults(_graph(outputs=(Output("y", Value(5, PAIR), PLACE),))) == [
        'model.py:7: the output "y" takes %5 f16[2], which is not defined before'
    ]


# Repeats

ARGUMENT = Value(10, PAIR, "h")
NEXT = _relu(ARGUMENT, 11)


def _repeat(
    body: Region,
    operands: tuple[Value, ...] = (X,),
    count: int = 2,
    invariants: int = 0,
    results: tuple[Value, ...] = (Value(20, PAIR),),
) -> ComputeGraph:
    return _graph(Operation(Repeat(count, invariants, body), operands, results, PLACE))


def _told(graph: ComputeGraph) -> str:
    (fault,) = _faults(graph)
    return fault.splitlines()[0]


BODY = Region((ARGUMENT,), (NEXT,), (NEXT.result,))


def test_a_valid_repeat() -> None:
    _repeat(BODY).verify()


def test_a_body_that_uses_a_value_of_outside() -> None:
    body = Region((ARGUMENT,), (_relu(X, 11),), (Value(11, PAIR),))
    assert _told(_repeat(body)) == 'model.py:7: relu takes %0 "x" f16[2] of another region'


def test_a_value_of_a_body_used_outside() -> None:
    inside = Operation(Repeat(2, 0, BODY), (X,), (Value(20, PAIR),))
    assert _told(_graph(inside, _relu(NEXT.result, 21))) == (
        "model.py:7: relu takes %11 f16[2] of another region"
    )


def test_a_yield_of_outside() -> None:
    told = _told(_repeat(Region((ARGUMENT,), (NEXT,), (X,))))
    assert told == 'model.py:7: the yield of a repeat\'s body takes %0 "x" f16[2] of another region'


def test_one_number_in_two_bodies() -> None:
    first = Operation(Repeat(2, 0, BODY), (X,), (Value(20, PAIR),))
    second = Operation(Repeat(2, 0, BODY), (X,), (Value(21, PAIR),), PLACE)
    assert _faults(_graph(first, second)) == [
        'model.py:7: %10 names two values: %10 "h" f16[2] and %10 "h" f16[2]',
        "model.py:7: %11 names two values: %11 f16[2] and %11 f16[2]",
    ]


def test_a_yield_of_another_type() -> None:
    widened = Operation(Add(), (ARGUMENT, Value(12, ValueType(F16, (3, 1)))), ())
    wide = Value(11, ValueType(F16, (3, 2)))
    invariant = Value(12, ValueType(F16, (3, 1)))
    body = Region((ARGUMENT, invariant), (replace(widened, results=(wide,)),), (wide,))
    outside = Source(SourceKind.INPUT, Value(1, invariant.type, "z"))
    graph = _graph(
        Operation(Repeat(2, 1, body), (X, outside.value), (Value(20, wide.type),), PLACE),
        sources=(Source(SourceKind.INPUT, X), outside),
    )
    assert _told(graph) == (
        'model.py:7: repeat: the body yields %11 f16[3, 2] for the carried value %10 "h" f16[2]'
    )


def test_an_argument_given_another_type() -> None:
    body = Region((Value(10, TRIPLE),), (), (Value(10, TRIPLE),))
    graph = _repeat(body, results=(Value(20, TRIPLE),))
    assert _told(graph) == "model.py:7: repeat: the body's argument %10 f16[3] is given f16[2]"


@pytest.mark.parametrize("given", [1, 2, 4, 5])
def test_sequences_of_the_wrong_length(given: int) -> None:
    body = replace(BODY, arguments=(ARGUMENT, Value(12, PAIR)))
    told = _told(_repeat(body, operands=(X,) * given, count=2))
    assert "1 carried values, 0 invariants and 1 sequences of 2 make 3 operands" in told
    assert told.endswith(f"found {given}")


def test_counts() -> None:
    assert "one iteration or more, found 0" in _told(_repeat(BODY, count=0))
    nothing = _graph(Operation(Repeat(2, 0, Region((), (), ())), (), (), PLACE))
    assert "it carries no value" in _told(nothing)
    assert "found 1" in _told(_repeat(BODY, invariants=1))
    assert "found 1" in _told(_repeat(BODY, invariants=-1))


def test_all_faults_come_together() -> None:
    graph = _graph(_relu(X, 1, TRIPLE), _relu(Value(9, PAIR), 2), outputs=())
    with pytest.raises(VerificationError) as caught:
        graph.verify()
    assert len(caught.value.faults) == 3
    assert str(caught.value).splitlines() == [
        'graph "broken" is not valid:',
        "  model.py:7: relu gives f16[2]; its results are %1 f16[3]",
        "  model.py:7: relu takes %9 f16[2], which is not defined before",
        "  the graph has no outputs",
    ]
