"""Sums, differences, products, quotients of two arrays, or an array and one value: `binary.S`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.saturation import saturated
from tilewright.device.kernels.spec import (
    Array,
    Arrays,
    Kernel,
    Places,
    Role,
    Sample,
    Sizes,
    normal,
)
from tilewright.device.kernels.vector import (
    N,
    atom_count,
    elements,
    source,
    vector,
    vector_cycles,
)
from tilewright.target.timing import worker_steps

Operation = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]

OPERATIONS: dict[str, tuple[str, Operation]] = {
    "add": ("x + y", np.add),
    "sub": ("x - y", np.subtract),
    "mul": ("x · y", np.multiply),
    "div": ("x / y", np.divide),
}
TYPES = {"f16": "f2", "f32": "f4"}
_STORED = 4
_EXAMPLE_STEPS = (25, 3)
"""Of a worker with one atom, and for each more: `add_f16` has a file of its own."""
_ARRAY_STEPS, _SCALAR_STEPS = (23, 3), (22, 2)
_QUOTIENT_STEPS = {
    ("div_f16", False): (40, 20),
    ("div_f32", False): (28, 8),
    ("div_f16", True): (37, 17),
    ("div_f32", True): (27, 7),
}
"""For operands that a division takes its full time for."""


def _away_from_zero(random: np.random.Generator, count: int) -> NDArray[Any]:
    values: NDArray[Any] = random.choice([-1.0, 1.0], count) * random.uniform(0.25, 4, count)
    return values


def _steps(full: str, with_scalar: bool) -> tuple[int, int]:
    if full == "add_f16" and not with_scalar:
        return _EXAMPLE_STEPS
    return _QUOTIENT_STEPS.get((full, with_scalar), _SCALAR_STEPS if with_scalar else _ARRAY_STEPS)


def _cycles(full: str, dtype: str, with_scalar: bool) -> Callable[[Sizes, Places], int]:
    """Padding is taken as NaN, which a division is done with at once."""
    saved = worker_steps("f32div") - worker_steps("f32div", special_operand=True)
    padding_saves = saved if full.startswith("div") else 0
    return vector_cycles(dtype, _STORED, *_steps(full, with_scalar), padding_saves)


def sample_of(name: str) -> Sample:
    return _away_from_zero if name == "div" else normal


def _reference(operation: Operation, dtype: str) -> Callable[[Sizes, Arrays], Arrays]:
    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        exact = operation(inputs["x"].astype(np.float64), inputs["y"].astype(np.float64))
        return {"z": saturated(exact, dtype)}

    return reference


def _one(sizes: Sizes) -> int:
    return 1


def _of_arrays(name: str, type_name: str) -> Kernel:
    formula, operation = OPERATIONS[name]
    dtype, full = TYPES[type_name], f"{name}_{type_name}"
    return Kernel(
        name=full,
        summary=f"z = {formula}",
        source=source("add_f16.S" if full == "add_f16" else "binary.S"),
        operands=(
            vector("z", dtype, Role.RESULT),
            vector("x", dtype, sample=sample_of(name)),
            vector("y", dtype, sample=sample_of(name)),
            atom_count(dtype),
        ),
        sizes=(N,),
        reference=_reference(operation, dtype),
        cycles=_cycles(full, dtype, with_scalar=False),
        elements=elements,
        in_place=(("z", "x"), ("z", "y")),
    )


def _with_scalar(name: str, type_name: str) -> Kernel:
    formula, operation = OPERATIONS[name]
    dtype = TYPES[type_name]
    return Kernel(
        name=f"{name}_scalar_{type_name}",
        summary=f"z = {formula} for one value y",
        source=source("binary.S"),
        operands=(
            vector("z", dtype, Role.RESULT),
            vector("x", dtype, sample=sample_of(name)),
            Array("y", dtype, Role.INPUT, _one, np.dtype(dtype).itemsize, sample=sample_of(name)),
            atom_count(dtype),
        ),
        sizes=(N,),
        reference=_reference(operation, dtype),
        cycles=_cycles(f"{name}_{type_name}", dtype, with_scalar=True),
        elements=elements,
        in_place=(("z", "x"),),
    )


BINARY = tuple(
    make(name, type_name)
    for type_name in TYPES
    for make in (_of_arrays, _with_scalar)
    for name in OPERATIONS
)
