"""Which format results have, casts and constants."""

import itertools
import re
from collections.abc import Callable

import numpy as np
import pytest

from tests.graph.operators.conftest import Apply
from tilewright.graph import ComputeGraph, DType, OperatorError, Precision, Tensor

F8, F16, F32, I32 = DType.F8F143.scaled(-2), DType.F16, DType.F32, DType.I32


def test_arithmetic_gives_f32_if_an_operand_is_f32_and_otherwise_f16() -> None:
    graph = ComputeGraph("formats")
    by_format = {format: graph.input(str(format), (2, 2, 2), format) for format in (F8, F16, F32)}
    for first, second in itertools.product(by_format, repeat=2):
        a, b = by_format[first], by_format[second]
        expected = F32 if F32 in (first, second) else F16
        for made in (a + b, a @ b, graph.attention(a, b, b), graph.attention(a, a, b)):
            assert made.dtype is expected
        for made in (
            graph.gelu(a),
            graph.softmax(a),
            graph.reduce_sum(a),
            graph.rms_norm(a, b[0, 0]),
        ):
            assert made.dtype is (F32 if first is F32 else F16)


def test_numbers_take_the_format_of_the_result() -> None:
    graph = ComputeGraph("formats")
    for format, expected in ((F8, F16), (F16, F16), (F32, F32)):
        made = graph.input(str(format), (2,), format) * 0.5
        assert made.dtype is expected
        constant = graph.operations[-1].operands[1]
        assert constant.type.dtype is expected


def test_arithmetic_refuses_i32() -> None:
    graph = ComputeGraph("refused")
    n, x = graph.input("n", (2, 2), I32), graph.input("x", (2, 2))
    builds: list[Callable[[], Tensor]] = [
        lambda: n + n,
        lambda: n + 1,
        lambda: x @ n,
        lambda: graph.relu(n),
        lambda: graph.softmax(n),
        lambda: graph.layer_norm(x, n[0]),
        lambda: graph.reduce_max(n),
    ]
    for build in builds:
        with pytest.raises(OperatorError, match="takes no I32 operands; cast them"):
            build()


def test_cast_rounds_only_as_stored(apply: Apply) -> None:
    third = np.array(1 / 3)
    to_f8 = lambda g, x: x.cast(F8).cast(F32)  # noqa: E731 - used twice
    assert apply(to_f8, third, precision=Precision.STORED) == 0.34375  # 11/8 · ¼
    assert apply(to_f8, third) == 1 / 3


def test_counts_become_numbers(apply: Apply) -> None:
    found = apply(lambda g, n: n.cast(F32) / 2, np.array([3, -1]))
    assert found.tolist() == [1.5, -0.5]


def test_numbers_do_not_become_counts() -> None:
    graph = ComputeGraph("refused")
    with pytest.raises(OperatorError, match="F16 cannot be cast to I32"):
        graph.input("x", (2,)).cast(I32)


def test_constants(apply: Apply) -> None:
    table = np.arange(6).reshape(2, 3) / 4
    assert apply(lambda g: g.constant(table)).tolist() == table.tolist()
    assert apply(lambda g: g.constant(np.full((2, 2), 7), I32)).tolist() == [[7, 7], [7, 7]]
    assert apply(lambda g: g.constant(0.1, F16), precision=Precision.STORED) == np.float16(0.1)
    zeros = apply(lambda g: g.constant([0.0, -0.0]))
    assert np.signbit(zeros).tolist() == [False, True]


@pytest.mark.parametrize(
    ("values", "format", "message"),
    [
        (np.inf, F16, "must be finite"),
        ([1, np.nan], F32, "must be finite"),
        (65536, F16, "f16 holds numbers up to 65504 only"),
        (61, F8, "f8f143*2^-2 holds numbers up to 60 only"),
        (0.5, I32, "0.5 is not an I32"),
        (2**31, I32, "is not an I32"),
    ],
)
def test_constants_that_no_format_holds(values: float, format: DType, message: str) -> None:
    with pytest.raises(OperatorError, match=re.escape(message)):
        ComputeGraph("refused").constant(values, format)


def test_the_limits_of_a_format_are_constants() -> None:
    graph = ComputeGraph("limits")
    made: list[Tensor] = [
        graph.constant(65504),
        graph.constant(-60, F8),
        graph.constant(-(2**31), I32),
        graph.constant(2**31 - 1, I32),
    ]
    assert [str(each.type) for each in made] == ["f16[]", "f8f143*2^-2[]", "i32[]", "i32[]"]
