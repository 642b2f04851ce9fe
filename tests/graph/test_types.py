"""Types of values: what they accept and how they print."""

import itertools

import numpy as np
import pytest

from tilewright.graph import DType, GraphError, NumberFormat, ValueType
from tilewright.graph.types import GREATEST_SCALE, LEAST_SCALE, broadcast_shapes
from tilewright.target.csr import FIELDS


@pytest.mark.parametrize(
    ("type", "text"),
    [
        (ValueType(NumberFormat(DType.F16), (128, 384)), "f16[128, 384]"),
        (ValueType(NumberFormat(DType.I32), ()), "i32[]"),
        (ValueType(NumberFormat(DType.F8F143), (3,)), "f8f143[3]"),
        (ValueType(DType.F8F143.scaled(-4), (3,)), "f8f143*2^-4[3]"),
    ],
)
def test_print(type: ValueType, text: str) -> None:
    assert str(type) == text


def test_shapes_of_numpy_integers_are_shapes() -> None:
    type = ValueType(NumberFormat(DType.F16), (np.int64(2), np.uint8(3)))  # type: ignore[arg-type] # numpy's integers count as whole numbers
    assert type.shape == (2, 3)
    assert str(type) == "f16[2, 3]"


@pytest.mark.parametrize("shape", [(0,), (2, -1), (2.0,), ("2",), 5])
def test_shapes_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(GraphError, match="shape"):
        ValueType(NumberFormat(DType.F16), shape)


def test_scales_are_those_of_the_chip() -> None:
    """Its scale registers hold so many bits, in two's complement."""
    (bits,) = {field.size for field in FIELDS if field.register in ("FP_SCL", "FP_ISCL")}
    assert (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) == (LEAST_SCALE, GREATEST_SCALE)
    for scale in (LEAST_SCALE - 1, GREATEST_SCALE + 1):
        with pytest.raises(GraphError, match=f"is -32 to 31, found {scale}"):
            DType.F8F143.scaled(scale)


def test_only_f8_has_a_scale() -> None:
    with pytest.raises(GraphError, match="F16 has no scale, found 1"):
        DType.F16.scaled(1)


def test_broadcasting_is_numpys() -> None:
    shapes = [shape for rank in range(3) for shape in itertools.product((1, 2, 3), repeat=rank)]
    for first, second in itertools.product(shapes, repeat=2):
        try:
            expected = np.broadcast_shapes(first, second)
        except ValueError:
            expected = None
        assert broadcast_shapes(first, second) == expected
