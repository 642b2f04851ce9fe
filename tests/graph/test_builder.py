"""Building: what a graph holds, and how mistakes are told."""

import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewright.graph import (
    ComputeGraph,
    DType,
    GraphError,
    OperatorError,
    Value,
    ValueType,
    evaluate,
    register,
)
from tilewright.graph import operators as ops
from tilewright.graph.operator import REGISTRY
from tilewright.graph.types import NumberFormat


def _mlp() -> ComputeGraph:
    graph = ComputeGraph("mlp")
    x = graph.input("x", (128, 384))
    w = graph.parameter("w", (384, 1536), DType.F8F143.scaled(-4))
    b = graph.host_input("b", (1536,), DType.F32)
    graph.output("y", graph.gelu(graph.gemm(x, w, name="up") + b))
    return graph


def test_parts_in_order() -> None:
    graph = _mlp()
    assert [source.name for source in graph.sources] == ["x", "w", "b"]
    assert [source.name for source in graph.inputs] == ["x"]
    assert [source.name for source in graph.host_inputs] == ["b"]
    assert [source.name for source in graph.parameters] == ["w"]
    gemm, add, gelu = graph.operations
    assert gemm.operator == ops.Gemm()
    assert gemm.operands == (graph.inputs[0].value, graph.parameters[0].value)
    assert gemm.result == Value(3, ValueType(NumberFormat(DType.F16), (128, 1536)), "up")
    assert add.operands == (gemm.result, graph.host_inputs[0].value)
    assert gelu.result.type.dtype is DType.F32
    assert [(each.name, each.value) for each in graph.outputs] == [("y", gelu.result)]
    assert [operation.id for operation in graph.operations] == [3, 4, 5]


def test_equal_graphs() -> None:
    assert _mlp() == _mlp()
    other = _mlp()
    other.output("again", other.tensor(other.operations[0].result))
    assert other != _mlp()
    with pytest.raises(TypeError, match="no hash"):
        hash(other)


def test_copies_and_pickles_are_equal_and_can_grow() -> None:
    for again in (copy.deepcopy(_mlp()), pickle.loads(pickle.dumps(_mlp()))):
        assert again == _mlp()
        again.output("z", again.relu(again.tensor(again.operations[-1].result)))
        again.verify()
        assert again.operations[-1].id == 6


def test_names_are_unique() -> None:
    graph = _mlp()
    with pytest.raises(GraphError, match='has an input or parameter "w" already'):
        graph.input("w", (2,))
    with pytest.raises(GraphError, match='has an output "y" already'):
        graph.output("y", graph.tensor(graph.inputs[0].value))
    with pytest.raises(GraphError, match="need a name"):
        graph.parameter("", (2,))


def test_tensors_of_other_graphs_and_other_things_are_refused() -> None:
    graph, other = _mlp(), ComputeGraph("other")
    x = other.input("x", (2, 2))
    with pytest.raises(
        OperatorError, match=r'%0 "x" f16\[2, 2\] belongs to another graph than "mlp"'
    ):
        graph.relu(x)
    with pytest.raises(OperatorError, match="expected a tensor of the graph, found 3"):
        graph.relu(3)  # type: ignore[arg-type] # the mistake in question


def test_tensors_are_no_sequences() -> None:
    x = ComputeGraph("g").input("x", (3, 2))
    with pytest.raises(TypeError, match="not iterable"):
        list(x)  # type: ignore[call-overload] # the mistake in question


def test_an_operator_without_a_method() -> None:
    """`apply` takes any formula, so that an operator can be tried out from outside."""

    class Cube(ops.Relu):
        __slots__ = ()
        mnemonic = "cube"

        def of(self, x: NDArray[Any]) -> NDArray[Any]:
            return np.asarray(x**3)

    graph = ComputeGraph("cubes")
    graph.output("y", graph.apply(Cube(), graph.input("x", (2,)), name="third power"))
    assert str(graph).splitlines()[2] == '  %1 = cube %0 : f16[2]  "third power"'
    assert evaluate(graph, {"x": [2, -3]})["y"].tolist() == [8, -27]
    assert "cube" not in REGISTRY
    with pytest.raises(ValueError, match="an operator relu already"):
        register(ops.Relu)


# Where in the user's code


def _line_of(text: str) -> int:
    with open(__file__) as file:
        (line,) = [number for number, each in enumerate(file, 1) if each.rstrip().endswith(text)]
    return line


def test_operations_remember_the_users_line() -> None:
    graph = ComputeGraph("places")
    x = graph.input("x", (4, 6))  # the input
    y = (x * 2)[0]  # two operations
    graph.output("y", y)  # the output
    places = [graph.inputs[0].location, graph.outputs[0].location]
    places += [operation.location for operation in graph.operations]
    assert all(place is not None and place.file == __file__ for place in places)
    lines = [place.line for place in places if place]
    assert lines[:2] == [_line_of("# the input"), _line_of("# the output")]
    assert set(lines[2:]) == {_line_of("# two operations")}


def test_errors_name_operator_operands_and_line() -> None:
    graph = ComputeGraph("errors")
    x, w = graph.input("x", (128, 384)), graph.parameter("w", (768, 1536))
    with pytest.raises(OperatorError) as caught:
        graph.gemm(x, w, name="up")  # the bad line
    assert str(caught.value).splitlines() == [
        f"{__file__}:{_line_of('# the bad line')}: gemm: the inner extents differ: "
        "a is 128×384, b is 768×1536",
        '    a = %0 "x" f16[128, 384]',
        '    b = %1 "w" f16[768, 1536]',
    ]
    assert graph.operations == ()


def test_other_mistakes_name_the_line() -> None:
    graph = ComputeGraph("errors")
    x = graph.input("x", (4, 6))
    for build in (
        lambda: x[7],
        lambda: x.reshape(5, -1),
        lambda: graph.input("x", (2,)),
        lambda: graph.input("flat", (0,)),
        lambda: graph.repeat(0),
        lambda: x + "one",  # type: ignore[operator] # a mistake
        lambda: x.cast("f16"),  # type: ignore[arg-type] # a mistake
        lambda: graph.constant([1, 2.5], DType.I32),
        lambda: graph.constant([]),
    ):
        with pytest.raises(GraphError, match="^" + re.escape(__file__) + r":\d+: "):
            build()


def test_long_lists_of_operands_are_cut() -> None:
    graph = ComputeGraph("long")
    parts = [graph.input(f"x{index}", (2, 1 + index)) for index in range(20)]
    with pytest.raises(OperatorError) as caught:
        graph.concat(parts, 0)
    lines = str(caught.value).splitlines()
    assert lines[1] == '    x0 = %0 "x0" f16[2, 1]'
    assert lines[-1] == "    and 12 more"
