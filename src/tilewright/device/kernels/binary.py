"""Sums, differences and products of two arrays, or of an array and one value: `binary.S`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.saturation import saturated
from tilewright.device.kernels.spec import Array, Arrays, Kernel, Role, Sizes
from tilewright.device.kernels.vector import (
    N,
    atom_count,
    elements,
    source,
    vector,
    vector_cycles,
)

Operation = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]

_OPERATIONS: dict[str, tuple[str, Operation]] = {
    "add": ("x + y", np.add),
    "sub": ("x - y", np.subtract),
    "mul": ("x · y", np.multiply),
}
_TYPES = {"f16": "f2", "f32": "f4"}
_STORED = 4
_ARRAY_STEPS, _SCALAR_STEPS, _EXAMPLE_STEPS = 23, 22, 25
"""Of a worker with one atom; `add_f16` has a file and a count of its own."""


def _reference(operation: Operation, dtype: str) -> Callable[[Sizes, Arrays], Arrays]:
    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        exact = operation(inputs["x"].astype(np.float64), inputs["y"].astype(np.float64))
        return {"z": saturated(exact, dtype)}

    return reference


def _of_arrays(name: str, type_name: str) -> Kernel:
    formula, operation = _OPERATIONS[name]
    dtype, full = _TYPES[type_name], f"{name}_{type_name}"
    is_example = full == "add_f16"
    return Kernel(
        name=full,
        summary=f"z = {formula}",
        source=source("add_f16.S" if is_example else "binary.S"),
        operands=(
            vector("z", dtype, Role.RESULT),
            vector("x", dtype),
            vector("y", dtype),
            atom_count(dtype),
        ),
        sizes=(N,),
        reference=_reference(operation, dtype),
        cycles=vector_cycles(dtype, _STORED, _EXAMPLE_STEPS if is_example else _ARRAY_STEPS, 3),
        elements=elements,
        in_place=(("z", "x"), ("z", "y")),
    )


def _with_scalar(name: str, type_name: str) -> Kernel:
    formula, operation = _OPERATIONS[name]
    dtype = _TYPES[type_name]
    return Kernel(
        name=f"{name}_scalar_{type_name}",
        summary=f"z = {formula} for one value y",
        source=source("binary.S"),
        operands=(
            vector("z", dtype, Role.RESULT),
            vector("x", dtype),
            Array("y", dtype, Role.INPUT, lambda sizes: 1, alignment=np.dtype(dtype).itemsize),
            atom_count(dtype),
        ),
        sizes=(N,),
        reference=_reference(operation, dtype),
        cycles=vector_cycles(dtype, _STORED, _SCALAR_STEPS, 2),
        elements=elements,
        in_place=(("z", "x"),),
    )


BINARY = tuple(
    make(name, type_name)
    for type_name in _TYPES
    for make in (_of_arrays, _with_scalar)
    for name in _OPERATIONS
)
