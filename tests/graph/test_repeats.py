"""Building repeats: carried values, sequences, captured invariants, and mistakes."""

import numpy as np
import pytest

from tilewright.graph import (
    ComputeGraph,
    DType,
    OperatorError,
    Precision,
    Repeat,
    Tensor,
    evaluate,
)


def _power(count: int = 3) -> tuple[ComputeGraph, Tensor, list[Tensor]]:
    graph = ComputeGraph("power")
    x = graph.input("x", (2, 2), DType.F32)
    ws = [graph.parameter(f"layer.{i}.w", (2, 2), DType.F32) for i in range(count)]
    return graph, x, ws


def test_a_chain_of_layers() -> None:
    graph, x, ws = _power()
    with graph.repeat(3, "layers") as layer:
        h = layer.carry(x)
        layer.yields(h @ layer.each(ws, "w"))
    graph.output("y", layer.result)
    (operation,) = graph.operations
    repeat = operation.operator
    assert isinstance(repeat, Repeat)
    assert (repeat.count, repeat.carried, repeat.invariants, repeat.sequences) == (3, 1, 0, 1)
    assert operation.operands == (x.value, *(w.value for w in ws))
    parts = repeat.parts(operation.operands)
    assert parts.sequences == (tuple(w.value for w in ws),)
    assert operation.label == "layers"
    arrays = {f"layer.{i}.w": np.array([[1, i + 1], [0, 1]]) for i in range(3)}
    y = evaluate(graph, {"x": np.eye(2)}, arrays, Precision.F64)["y"]
    assert y.tolist() == [[1, 1 + 2 + 3], [0, 1]]


def test_outer_tensors_become_invariants_once() -> None:
    graph, x, _ = _power(0)
    bias = graph.parameter("bias", (2,), DType.F32)
    with graph.repeat(4) as layer:
        h = layer.carry(x)
        layer.yields(h + bias + bias)
    graph.output("y", layer.result)
    (operation,) = graph.operations
    assert operation.operands == (x.value, bias.value)
    assert isinstance(operation.operator, Repeat)
    assert operation.operator.invariants == 1
    graph.verify()
    y = evaluate(graph, {"x": np.zeros((2, 2))}, {"bias": [1, 10]}, Precision.F64)["y"]
    assert y.tolist() == [[8, 80], [8, 80]]


def test_nested_repeats_capture_through_both_bodies() -> None:
    graph, x, _ = _power(0)
    step = graph.parameter("step", (), DType.F32)
    with graph.repeat(2, "outer") as outer:
        h = outer.carry(x)
        with graph.repeat(3, "inner") as inner:
            inner.yields(inner.carry(h) + step)
        outer.yields(inner.result * 2)
    graph.output("y", outer.result)
    graph.verify()
    (operation,) = graph.operations
    assert operation.operands == (x.value, step.value)
    y = evaluate(graph, {"x": np.zeros((2, 2))}, {"step": 1}, Precision.F64)["y"]
    assert y[0, 0] == ((0 + 3) * 2 + 3) * 2


def test_several_carried_values_change_together() -> None:
    graph = ComputeGraph("fibonacci")
    with graph.repeat(10, "steps") as steps:
        a = steps.carry(graph.input("a", (), DType.F32))
        b = steps.carry(graph.input("b", (), DType.F32), "second")
        steps.yields(b, a + b)
    graph.output("y", steps.results[0])
    assert [tensor.name for tensor in steps.results] == ["steps.a", "steps.second"]
    assert evaluate(graph, {"a": 0, "b": 1})["y"] == 55


def test_parameters_may_be_made_inside_a_body() -> None:
    graph, x, _ = _power()
    with graph.repeat(2) as layer:
        h = layer.carry(x)
        ws = [graph.parameter(f"late.{i}", (2, 2), DType.F32) for i in range(2)]
        layer.yields(h @ layer.each(ws) + graph.parameter("shared", (2,), DType.F32))
    graph.output("y", layer.result)
    graph.verify()


def test_a_body_that_fails_leaves_the_graph_as_it_was() -> None:
    graph, x, ws = _power()
    with pytest.raises(OperatorError, match="do not broadcast"), graph.repeat(3) as layer:
        layer.yields(layer.carry(x) + graph.parameter("odd", (3,)))
    assert graph.operations == ()
    graph.output("y", x @ ws[0])
    graph.verify()


def test_tensors_of_a_closed_body_are_refused() -> None:
    graph, x, _ = _power()
    with graph.repeat(3) as layer:
        h = layer.carry(x)
        layer.yields(graph.relu(h))
    with pytest.raises(OperatorError, match="belongs to the body of a repeat; outside of it, use"):
        graph.relu(h)
    with pytest.raises(OperatorError, match="belongs to the body of a repeat"):
        graph.output("h", h)


def test_mistakes() -> None:
    graph, x, ws = _power()
    wide = graph.parameter("wide", (2, 2), DType.F16)
    with graph.repeat(3) as layer:
        with pytest.raises(OperatorError, match="after its `with` block"):
            _ = layer.result
        with pytest.raises(OperatorError, match="needs 3 values, one per iteration, found 2"):
            layer.each(ws[:2])
        with pytest.raises(OperatorError, match=r"of one type, found %1 .* and %4 \"wide\" f16"):
            layer.each([*ws[:2], wide])
        h = layer.carry(x)
        with pytest.raises(OperatorError, match="carries 1 values and yields 2"):
            layer.yields(h, h)
        with pytest.raises(OperatorError, match="types must be equal"):
            layer.yields(h[0])
        with graph.repeat(2) as inner:
            with pytest.raises(OperatorError, match="body of another repeat is open inside"):
                layer.carry(x)
            inner.yields(inner.carry(h))
        layer.yields(inner.result)
        with pytest.raises(OperatorError, match="yields already"):
            layer.yields(h)
    with pytest.raises(OperatorError, match="built inside its `with` block"):
        layer.carry(x)
    with pytest.raises(OperatorError, match="has a body already"):
        layer.__enter__()


def test_a_body_must_carry_and_yield() -> None:
    graph, x, _ = _power()
    message = "must carry one value or more, and call `yields`"
    with pytest.raises(OperatorError, match=message), graph.repeat(3) as layer:
        layer.carry(x)
    with pytest.raises(OperatorError, match=message), graph.repeat(3) as layer:
        layer.yields()


def test_the_only_result_of_several() -> None:
    graph, x, _ = _power()
    with graph.repeat(3) as layer:
        a, b = layer.carry(x), layer.carry(x)
        layer.yields(b, a)
    with pytest.raises(OperatorError, match="has 2 results"):
        _ = layer.result
