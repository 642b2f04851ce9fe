"""What a planned graph computes, by NumPy: values as their formats hold them, on their tiles.

Every value is kept as shards in its storage; reading it takes them apart again. Operators compute
in float64 and their results are rounded to the stored precision; products also round what the plan
rounds: partial sums between tiles, and attention's scores and probabilities.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tilewright.codegen.mid.faults import PlanError
from tilewright.codegen.mid.formats import TensorFormat
from tilewright.codegen.mid.midgraph import (
    CAST,
    REARRANGE,
    VIEW,
    MidGraph,
    MidOperation,
    MidRepeat,
    MidStep,
    MidValue,
    OperatorPlan,
)
from tilewright.codegen.mid.operators.attention import softmax_scales
from tilewright.codegen.mid.operators.epilogues import Epilogue
from tilewright.codegen.mid.orders import Indices, Precision
from tilewright.codegen.mid.storage import Storage, view_indices
from tilewright.graph import DType, NumberFormat, operators, round_to

Array: TypeAlias = NDArray[Any]
Watch: TypeAlias = Callable[[MidOperation, tuple[int, ...], Array], None]

_DTYPES = {
    Precision.F8F143: DType.F8F143,
    Precision.F16: DType.F16,
    Precision.F32: DType.F32,
    Precision.I32: DType.I32,
}


def evaluate_mid(
    graph: MidGraph,
    inputs: Mapping[str, ArrayLike],
    parameters: Mapping[str, ArrayLike],
    *,
    rounding: bool = True,
    watch: Watch | None = None,
) -> dict[str, Array]:
    """The outputs by name, in float64 (I32 in int64), as the plan would give them.

    Without `rounding`, formats and partial sums round nothing: only the plan's structure counts.
    `watch` is told what each operation makes, with the iterations of the repeats around it,
    outermost first.
    Raises PlanError for a missing source or one of the wrong shape.
    """
    evaluator = _Evaluator(rounding, watch or _watch_nothing)
    given = {**inputs, **parameters}
    with np.errstate(all="ignore"):  # infinities and NaN are results like others
        for source in graph.sources:
            if source.constant is not None:
                array = source.constant.evaluate([])
            elif source.name in given:
                array = np.asarray(given[source.name])
            else:
                raise PlanError(f'the source "{source.name}" of the graph is missing')
            for view in source.prepared:
                array = view.evaluate([array])
            evaluator.write(source.value, array)
        evaluator.run(graph.steps)
        return {name: evaluator.read(value) for name, value in graph.outputs}


def rounded(format: TensorFormat, array: Array) -> Array:
    """Numbers as a format stores them."""
    precision = format.precision
    if precision is Precision.I32:
        return np.asarray(array).astype(np.int64)
    return round_to(
        NumberFormat(_DTYPES[precision], format.scale), np.asarray(array).astype(np.float64)
    )


def _watch_nothing(step: MidOperation, iterations: tuple[int, ...], array: Array) -> None:
    pass


class _Evaluator:
    def __init__(self, rounding: bool, watch: Watch) -> None:
        self._rounding = rounding
        self._watch = watch
        self._iterations: tuple[int, ...] = ()
        self._shards: dict[int, Array] = {}
        self._known_places: dict[Storage, Indices] = {}

    # values

    def _places(self, storage: Storage) -> Indices:
        """Of the base's elements; layers share them."""
        if storage not in self._known_places:
            self._known_places[storage] = storage.layout.places()
        return self._known_places[storage]

    def write(self, value: MidValue, array: Array) -> None:
        """Store a value's elements on its tiles."""
        storage = value.storage
        if array.shape != storage.shape:
            raise PlanError(
                f"{value.name or value}: an array of shape {array.shape} for {list(storage.shape)}"
            )
        if self._rounding:
            array = rounded(storage.format, array)
        self._shards[value.id] = storage.layout.pack(
            _to_base(storage, array), self._places(storage)
        )

    def read(self, value: MidValue) -> Array:
        """The elements again, seen through the value's views."""
        storage = value.storage
        array = storage.layout.unpack(self._shards[value.id], self._places(storage))
        for operator in storage.view.operators if storage.view is not None else ():
            array = operator.evaluate([array])
        return np.asarray(array)

    def share(self, value: MidValue, other: MidValue) -> None:
        """Let a value be what another is."""
        self._shards[value.id] = self._shards[other.id]

    # steps

    def run(self, steps: tuple[MidStep, ...]) -> None:
        for step in steps:
            if isinstance(step, MidRepeat):
                self._repeat(step)
            elif step.kind == VIEW:
                self.share(step.result, step.operands[0])
            else:
                operands = [self.read(operand) for operand in step.operands]
                self.write(step.result, self._operation(step, operands))
                self._watch(step, self._iterations, self.read(step.result))

    def _repeat(self, repeat: MidRepeat) -> None:
        for carried in repeat.carried:
            self.share(carried.argument, carried.initial)
        for outer, argument in repeat.invariants:
            self.share(argument, outer)
        outside = self._iterations
        for iteration in range(repeat.count):
            self._iterations = (*outside, iteration)
            for sequence in repeat.sequences:
                self.share(sequence.argument, sequence.values[iteration])
            self.run(repeat.body)
            ends = [self._shards[carried.yielded.id] for carried in repeat.carried]
            for carried, shards in zip(repeat.carried, ends, strict=True):
                self._shards[carried.argument.id] = shards
        self._iterations = outside
        for carried in repeat.carried:
            self.share(carried.result, carried.argument)

    # operators

    def _operation(self, step: MidOperation, operands: list[Array]) -> Array:
        if step.kind in (CAST, REARRANGE):
            return operands[0]
        assert step.operator is not None
        assert step.plan is not None
        if isinstance(step.operator, operators.Gemm):
            array = self._gemm(step.operator, step.plan, operands)
        elif isinstance(step.operator, operators.Attention):
            precision = step.result.storage.format.precision
            array = self._attention(step.operator, step.plan, operands, precision)
        else:
            array = step.operator.evaluate(operands)
        for epilogue in step.epilogues:
            array = _epilogue(epilogue, array, operands)
        return np.asarray(array)

    def _gemm(self, operator: operators.Gemm, plan: OperatorPlan, operands: list[Array]) -> Array:
        a, b = operands[:2]
        left = np.swapaxes(a, -1, -2) if operator.transpose_a else a
        right = np.swapaxes(b, -1, -2) if operator.transpose_b else b
        return self._split_product(
            left, right, plan.compute, int(plan.fact("inner_parts") or 1), plan.fact("partial")
        )

    def _split_product(
        self, left: Array, right: Array, compute: Precision, parts: int, partial: int | str | None
    ) -> Array:
        """A product whose inner axis is divided over tiles, with terms rounded as they are sent."""
        if parts == 1:
            return np.asarray(left @ right)
        group = compute.inner_group
        inner = left.shape[-1]
        blocks = -(-inner // group)
        cuts = [min(part * blocks // parts * group, inner) for part in range(parts + 1)]
        total: Array = np.zeros((*left.shape[:-1], right.shape[-1]))
        for start, stop in itertools.pairwise(cuts):
            term = left[..., start:stop] @ right[..., start:stop, :]
            total = total + self._stored(Precision(partial), term)
        return total

    def _attention(
        self,
        operator: operators.Attention,
        plan: OperatorPlan,
        operands: list[Array],
        stored: Precision,
    ) -> Array:
        """Scores, softmax on whole rows, context; what softmax scales is stored before."""
        q, k, v, *counts = operands
        in_softmax = softmax_scales(operator.scale)
        scores = self._split_product(
            q,
            np.swapaxes(k, -1, -2),
            plan.compute,
            int(plan.fact("scores_parts") or 1),
            plan.fact("scores_partial"),
        )
        if in_softmax:
            scores = self._stored(stored, scores) * operator.scale
        else:
            scores = self._stored(stored, scores * operator.scale)
        visible: Array = np.ones(scores.shape[-2:], bool)
        if operator.causal:
            visible = np.tri(*scores.shape[-2:], dtype=bool)
        if counts:
            within = np.arange(scores.shape[-1]) < counts[0][..., None, None, None]
            visible = visible & within
            v = np.where(np.swapaxes(within, -1, -2), v, 0.0)
        scores = np.where(visible, scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        probabilities = self._stored(stored, weights / weights.sum(axis=-1, keepdims=True))
        return self._split_product(
            probabilities,
            v,
            plan.compute,
            int(plan.fact("context_parts") or 1),
            plan.fact("context_partial"),
        )

    def _stored(self, precision: Precision, array: Array) -> Array:
        """Numbers as they are in between, on their way from tile to tile."""
        return round_to(NumberFormat(_DTYPES[precision]), array) if self._rounding else array


def _to_base(storage: Storage, array: Array) -> Array:
    if storage.view is None:
        return array
    base = np.zeros(storage.base, array.dtype)
    base.reshape(-1)[view_indices(storage.view).reshape(-1)] = array.reshape(-1)
    return base


def _epilogue(epilogue: Epilogue, array: Array, operands: list[Array]) -> Array:
    if epilogue.operand is None:
        return np.asarray(epilogue.operator.evaluate([array]))
    other = operands[epilogue.operand]
    pair = [array, other] if epilogue.product_first else [other, array]
    return np.asarray(epilogue.operator.evaluate(pair))
