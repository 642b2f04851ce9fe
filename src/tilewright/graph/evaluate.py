"""What a graph computes, by NumPy: the reference that compiled programs are held against."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tilewright.graph.faults import EvaluationError, evaluation_error
from tilewright.graph.graph import ComputeGraph
from tilewright.graph.operator import Array, Formula
from tilewright.graph.operators import Repeat
from tilewright.graph.rounding import round_to
from tilewright.graph.structure import Operation, Region, Source
from tilewright.graph.types import INDEX_LIMIT, DType, NumberFormat, show_shape
from tilewright.graph.values import Value, quoted


class Precision(Enum):
    """The numbers in which a graph is evaluated."""

    F64 = "f64"
    """Everything in float64; number formats have no effect."""
    F32 = "f32"
    """Everything in float32; number formats have no effect."""
    STORED = "stored"
    """Each operator in float64, then its result rounded to its own format; so are the sources."""


Watch: TypeAlias = Callable[[Value, tuple[int, ...], Array], None]
"""Told each value as it is known, with the iterations of the repeats around it, outermost first."""

_RESULT_DTYPES = {DType.F8F143: np.float32, DType.F16: np.float16, DType.F32: np.float32}


def evaluate(
    graph: ComputeGraph,
    inputs: Mapping[str, ArrayLike],
    parameters: Mapping[str, ArrayLike] | None = None,
    precision: Precision = Precision.STORED,
    watch: Watch | None = None,
) -> dict[str, Array]:
    """The outputs by name, for inputs and host inputs, and parameters, by theirs.

    Arrays hold the numbers meant, scales of F8F143 applied, in any real dtype. Outputs are float64
    or float32 as `precision` says; with `STORED` float16 for F16 and float32 for F32 and F8F143
    (which it holds exactly). I32 is always int32.

    Raises `VerificationError` for a graph that is not valid, and `EvaluationError`, which lists all
    arrays that are missing, unknown or of the wrong shape, or names an operator without a meaning
    for the numbers that it met.
    """
    graph.verify()
    values = _read_sources(graph, inputs, parameters or {})
    evaluator = _Evaluator(precision, watch or _watch_nothing)
    with np.errstate(all="ignore"):  # infinities and NaN are results like others
        arguments = [
            evaluator.settle(source.value.type.format, values[source.name])
            for source in graph.sources
        ]
        results = evaluator.run(graph.region, arguments, ())
        return {
            output.name: evaluator.finish(output.value.type.format, result)
            for output, result in zip(graph.outputs, results, strict=True)
        }


class _Evaluator:
    def __init__(self, precision: Precision, watch: Watch) -> None:
        self._precision = precision
        self._watch = watch
        self._dtype = np.float32 if precision is Precision.F32 else np.float64

    def settle(self, format: NumberFormat, array: Array) -> Array:
        """An operator's result, or a source, as the value that the next operators see."""
        if not format.dtype.is_float:
            return array.astype(np.int64, copy=False)
        numbers: Array = array.astype(self._dtype, copy=False)
        return round_to(format, numbers) if self._precision is Precision.STORED else numbers

    def finish(self, format: NumberFormat, array: Array) -> Array:
        """A value as it is handed to the user: an array of its own."""
        if not format.dtype.is_float:
            return array.astype(np.int32)
        stored = self._precision is Precision.STORED
        return np.array(array, _RESULT_DTYPES[format.dtype] if stored else self._dtype)

    def run(
        self, region: Region, arguments: Sequence[Array], iterations: tuple[int, ...]
    ) -> list[Array]:
        known: dict[int, Array] = {}
        for value, array in zip(region.arguments, arguments, strict=True):
            known[value.id] = array
            self._watch(value, iterations, array)
        last_uses = _last_uses(region)
        for place, operation in enumerate(region.operations):
            operands = [known[operand.id] for operand in operation.operands]
            for id in last_uses[place]:
                del known[id]
            results = self._operation(operation, operands, iterations)
            for value, array in zip(operation.results, results, strict=True):
                known[value.id] = array
                self._watch(value, iterations, array)
        return [known[value.id] for value in region.results]

    def _operation(
        self, operation: Operation, operands: list[Array], iterations: tuple[int, ...]
    ) -> list[Array]:
        operator = operation.operator
        if isinstance(operator, Repeat):
            return self._repeat(operator, operands, iterations)
        assert isinstance(operator, Formula)
        try:
            result = operator.evaluate(operands)
        except EvaluationError as fault:
            place = f"{operation.location}: " if operation.location else ""
            raise EvaluationError(f"{place}{operator.mnemonic}: {fault}") from None
        return [self.settle(operation.result.type.format, result)]

    def _repeat(
        self, repeat: Repeat, operands: list[Array], iterations: tuple[int, ...]
    ) -> list[Array]:
        parts = repeat.parts(operands)
        carried = list(parts.carried)
        for index in range(repeat.count):
            current = [sequence[index] for sequence in parts.sequences]
            arguments = [*carried, *parts.invariants, *current]
            carried = self.run(repeat.body, arguments, (*iterations, index))
        return carried


def _last_uses(region: Region) -> list[list[int]]:
    """For each operation, the values that nothing needs after it."""
    staying = {value.id for value in region.results}
    last: dict[int, int] = {}
    for place, operation in enumerate(region.operations):
        for value in operation.operands:
            if value.id not in staying:
                last[value.id] = place
    by_place: list[list[int]] = [[] for _ in region.operations]
    for id, place in last.items():
        by_place[place].append(id)
    return by_place


def _read_sources(
    graph: ComputeGraph, inputs: Mapping[str, Any], parameters: Mapping[str, Any]
) -> dict[str, Array]:
    faults: list[str] = []
    values: dict[str, Array] = {}
    for word, given, wanted in (
        ("input", inputs, (*graph.inputs, *graph.host_inputs)),
        ("parameter", parameters, graph.parameters),
    ):
        by_name = {source.name: source for source in wanted}
        for name in given:
            if name not in by_name:
                faults.append(f"the graph has no {word} {quoted(str(name))}")
        for name, source in by_name.items():
            if name not in given:
                faults.append(f"{word} {quoted(name)} is missing ({source.value.type})")
                continue
            array, fault = _read(source, given[name])
            values[name] = array
            if fault:
                faults.append(f"{word} {quoted(name)} {fault}")
    if faults:
        raise evaluation_error(f"graph {quoted(graph.name)} cannot be evaluated:", faults)
    return values


def _read(source: Source, given: Any) -> tuple[Array, str]:
    """The array, and what is wrong with it."""
    type = source.value.type
    try:
        array = np.asarray(given)
        if np.iscomplexobj(array):
            return array, "holds complex numbers"
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        return np.empty(0), "is not an array of numbers"
    if array.shape != type.shape:
        return array, f"has the shape {show_shape(array.shape)}, expected {type}"
    if type.dtype.is_float:
        return numbers, ""
    whole = numbers == np.floor(numbers)
    if not np.all(whole & (numbers >= -INDEX_LIMIT) & (numbers < INDEX_LIMIT)):
        return array, f"holds numbers that are no I32, expected {type}"
    return array, ""


def _watch_nothing(value: Value, iterations: tuple[int, ...], array: Array) -> None:
    pass
