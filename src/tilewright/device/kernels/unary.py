"""Functions of one array, element by element: `unary.S`, and GeLU: `gelu.S`."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.saturation import saturated
from tilewright.device.kernels.spec import (
    EXACT,
    Accuracy,
    Arrays,
    Kernel,
    Role,
    Sample,
    Sizes,
    normal,
)
from tilewright.device.kernels.vector import (
    HALF,
    SINGLE,
    N,
    atom_count,
    elements,
    source,
    vector,
    vector_cycles,
)

Values = NDArray[np.float64]
Function = Callable[[Values], Values]
_TYPES = {"f16": "f2", "f32": "f4"}
_STORED = 3


def relu(x: Values) -> Values:
    """max(x, 0), which is 0 for NaN, as the chip's maximum has it."""
    largest: Values = np.fmax(x, 0.0)
    return largest


def sigmoid(x: Values) -> Values:
    value: Values = 1 / (1 + np.exp(-x))
    return value


def silu(x: Values) -> Values:
    return x * sigmoid(x)


def gelu(x: Values) -> Values:
    """x · Φ(x), by the error function."""
    phi = [math.erfc(-value / math.sqrt(2)) / 2 for value in x.ravel().tolist()]
    value: Values = x * np.array(phi).reshape(x.shape)
    return value


def gelu_tanh(x: Values) -> Values:
    """x / 2 · (1 + tanh(√(2/π) (x + 0.044715 x³)))."""
    return x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def positive(random: np.random.Generator, count: int) -> NDArray[Any]:
    values: NDArray[Any] = np.abs(normal(random, count)) + 2.0**-10
    return values


def _of(
    name: str,
    type_name: str,
    formula: str,
    function: Function,
    further: int,
    accuracy: Accuracy = EXACT,
    *,
    before: int = 18,
    file: str = "unary.S",
    sample: Sample = normal,
) -> Kernel:
    """A kernel whose workers take `before` steps, and `further` for each atom."""
    dtype = _TYPES[type_name]

    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        exact = function(inputs["x"].astype(np.float64))
        return {"z": saturated(exact, dtype) if accuracy.is_exact else exact}

    return Kernel(
        name=f"{name}_{type_name}",
        summary=f"z = {formula}",
        source=source(file),
        operands=(
            vector("z", dtype, Role.RESULT),
            vector("x", dtype, sample=sample),
            atom_count(dtype),
        ),
        sizes=(N,),
        reference=reference,
        cycles=vector_cycles(dtype, _STORED, before + further, further),
        elements=elements,
        accuracy=accuracy,
        in_place=(("z", "x"),),
    )


def _gelu(name: str, type_name: str, formula: str, function: Function, further: int) -> Kernel:
    accuracies = {"f16": Accuracy(4e-4, HALF), "f32": Accuracy(5e-7, SINGLE)}
    return _of(
        name,
        type_name,
        formula,
        function,
        further,
        accuracies[type_name],
        before=20,
        file="gelu.S",
    )


_TANH_FORMULA = "GeLU of x by tanh"
_SILU = "x · σ(x)"

UNARY = (
    _of("relu", "f16", "max(x, 0)", relu, 2),
    _of("relu", "f32", "max(x, 0)", relu, 2),
    _of("exp", "f16", "exp x", np.exp, 5, Accuracy(2.0**-25, HALF)),
    _of("exp", "f32", "exp x", np.exp, 7, Accuracy(0, SINGLE)),
    _of("tanh", "f16", "tanh x", np.tanh, 3, Accuracy(2.0**-25, HALF)),
    _of("tanh", "f32", "tanh x", np.tanh, 11, Accuracy(0, SINGLE)),
    _of("sigmoid", "f16", "1 / (1 + exp(-x))", sigmoid, 5, Accuracy(2.0**-25, HALF)),
    _of("sigmoid", "f32", "1 / (1 + exp(-x))", sigmoid, 11, Accuracy(0, SINGLE)),
    _of("silu", "f16", _SILU, silu, 6, Accuracy(2.0**-20, 2.01 * HALF)),
    _of("silu", "f32", _SILU, silu, 12, Accuracy(0, 2.01 * SINGLE)),
    _of("sqrt", "f16", "√x", np.sqrt, 25, sample=positive),
    _of("sqrt", "f32", "√x", np.sqrt, 11, sample=positive),
    _gelu("gelu", "f16", "x · Φ(x), exact GeLU", gelu, 31),
    _gelu("gelu", "f32", "x · Φ(x), exact GeLU", gelu, 27),
    _gelu("gelu_tanh", "f16", _TANH_FORMULA, gelu_tanh, 19),
    _gelu("gelu_tanh", "f32", _TANH_FORMULA, gelu_tanh, 17),
)
