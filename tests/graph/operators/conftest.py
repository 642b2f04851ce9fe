"""Applying one operator to arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from tilewright.graph import ComputeGraph, DType, NumberFormat, Precision, Tensor, evaluate

Apply = Callable[..., NDArray[Any]]


@pytest.fixture
def apply() -> Apply:
    """`apply(build, *arrays)`: what the operation that `build(graph, *tensors)` adds gives.

    Floating arrays come in as F32, integer arrays as I32; evaluation is in float64.
    """
    return apply_operator


def apply_operator(
    build: Callable[..., Tensor],
    *arrays: ArrayLike,
    precision: Precision = Precision.F64,
    format: DType | NumberFormat = DType.F32,
) -> NDArray[Any]:
    graph = ComputeGraph("one operator")
    inputs = {str(index): np.asarray(array) for index, array in enumerate(arrays)}
    tensors = [
        graph.input(name, array.shape, DType.I32 if array.dtype.kind == "i" else format)
        for name, array in inputs.items()
    ]
    graph.output("y", build(graph, *tensors))
    return evaluate(graph, inputs, precision=precision)["y"]
