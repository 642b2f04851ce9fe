"""What the host cannot pass as it is stored, brought to another form on the chip.

The host sends and fetches whole words, in orders that are loops over the axes it sees, and each
input once. An input that operators want in several orders is stored in one of them, and the others
are made of it; one that no order suits, and an output that none suits, passes *flat*: row-major, in
runs of whole words that tiles share out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from math import prod

from tilewright.codegen.build.axes import Inexpressible
from tilewright.codegen.build.bindings import input_tensor, output_tensor, source_tensor
from tilewright.codegen.mid import (
    AxisTiling,
    CostModel,
    Digit,
    ElementOrder,
    MidGraph,
    MidOperation,
    MidRepeat,
    MidSource,
    MidStep,
    MidValue,
    Precision,
    Storage,
    TensorFormat,
    View,
    WorkProvenance,
)
from tilewright.codegen.mid.assembly import conversion_plan
from tilewright.codegen.mid.conversions import rearranged
from tilewright.codegen.mid.formats import padded
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.midgraph import VIEW
from tilewright.codegen.mid.storage import WORD
from tilewright.codegen.mid.verify import verify
from tilewright.graph import ComputeGraph, DType, Formula, NumberFormat, SourceKind, ValueType
from tilewright.graph.operators import Reshape
from tilewright.package import Tensor

_LEAST = 1024
"""Bytes of a flat tensor on a tile, before another tile is used."""
_DTYPES = {
    Precision.F8F143: DType.F8F143,
    Precision.F16: DType.F16,
    Precision.F32: DType.F32,
    Precision.I32: DType.I32,
}


def passable(
    graph: ComputeGraph, planned: MidGraph, model: CostModel, are_parameters_given: bool
) -> MidGraph:
    """The planned graph with inputs and outputs that the host can send and fetch.

    Parameters that are not given pass as inputs do, once.
    """
    shapes = {source.name: source.value.type.shape for source in graph.sources}
    rewriting = _Rewriting(planned, model)
    for kind, same in _by_name(planned.sources):
        shape = shapes[same[0].name]
        if kind is not SourceKind.PARAMETER:
            rewriting.source(same, shape)
        elif not are_parameters_given:
            rewriting.source([each for each in same if not _is_expressible(each, shape)], shape)
    for number, (name, value) in enumerate(planned.outputs):
        rewriting.output(number, name, value)
    made = rewriting.graph()
    if made is not planned:
        verify(made)
    return made


def flat(format: TensorFormat, shape: Shape, tiles: int) -> Storage:
    """A tensor of `shape` in row-major order, on up to so many tiles, in numbers of `format`."""
    precision = format.precision
    elements, group = prod(shape), WORD // precision.bytes
    parts = max(1, min(tiles, elements * precision.bytes // _LEAST))
    form = TensorFormat(
        precision,
        ElementOrder.ROW_MAJOR,
        (padded(group) if group > 1 else AxisTiling(),),
        (Digit(0, parts),) if parts > 1 else (),
        scale=format.scale,
    )
    base = (elements,)
    view = None if shape == base else View(base, (Reshape(shape),), shape)
    return Storage(form, base, view)


def _by_name(sources: Iterable[MidSource]) -> Iterator[tuple[SourceKind, list[MidSource]]]:
    """What comes from the host, by name, each in all ways in which operators want it."""
    found: dict[str, list[MidSource]] = {}
    for source in sources:
        if source.kind is not None:
            found.setdefault(source.name, []).append(source)
    for same in found.values():
        kind = same[0].kind
        assert kind is not None
        yield kind, same


class _Rewriting:
    def __init__(self, planned: MidGraph, model: CostModel) -> None:
        self._planned, self._model = planned, model
        self._ids = count(1 + max(_ids(planned), default=0))
        self._before: dict[int, list[MidOperation]] = {}
        """What makes a value that was a source's."""
        self._new: list[MidSource] = []
        self._behind: list[MidOperation] = []
        self._outputs = list(planned.outputs)

    def graph(self) -> MidGraph:
        if not self._before and not self._behind:
            return self._planned
        kept = [source for source in self._planned.sources if source.value.id not in self._before]
        return replace(
            self._planned,
            sources=(*kept, *self._new),
            steps=(*self._steps(), *self._behind),
            outputs=tuple(self._outputs),
        )

    def _steps(self) -> Iterator[MidStep]:
        """Each value is made before the first step that reads it."""
        waiting = dict(self._before)
        for step in self._planned.steps:
            for value in _reads(step):
                yield from waiting.pop(value.id, ())
            yield step
        for _, value in self._planned.outputs:
            yield from waiting.pop(value.id, ())

    def source(self, same: list[MidSource], shape: Shape) -> None:
        """Keep what passes in the order of one of several sources of a name, or in a flat one."""
        if not same:
            return
        tensors = [_tensor_of(each, shape) for each in same]
        if None not in tensors and len(set(tensors)) == 1:
            return
        # What others are made of is the source itself, not a view of it.
        whole = [
            number
            for number, each in enumerate(same)
            if tensors[number] is not None and not each.prepared and each.value.storage.view is None
        ]
        if whole:
            stored, tensor = same[whole[0]].value, tensors[whole[0]]
        else:
            first = same[0]
            storage = flat(first.value.storage.format, shape, self._planned.tiles)
            stored, tensor = replace(first.value, id=next(self._ids), storage=storage), None
            self._new.append(MidSource(first.kind, first.name, stored))
        for each, own in zip(same, tensors, strict=True):
            if own is None or own != tensor:
                steps = list(self._viewed(stored, each.prepared, each.name))
                last = steps[-1].result if steps else stored
                steps.append(self._rearranged(last, each.value, "as it is wanted"))
                self._before[each.value.id] = steps

    def output(self, number: int, name: str, value: MidValue) -> None:
        """Keep an output, or make a flat one of it."""
        try:
            output_tensor(name, value.storage)
        except Inexpressible:
            storage = flat(value.storage.format, value.storage.shape, self._planned.tiles)
            made = replace(value, id=next(self._ids), storage=storage)
            self._behind.append(self._rearranged(value, made, "for the host"))
            self._outputs[number] = (name, made)

    def _viewed(
        self, value: MidValue, views: Iterable[Formula], name: str
    ) -> Iterator[MidOperation]:
        why = WorkProvenance(name, value.origin, "view")
        for view in views:
            format = value.storage.format
            number = NumberFormat(_DTYPES[format.precision], format.scale)
            shape = view.infer([ValueType(number, value.storage.shape)]).shape
            seen = replace(value, id=next(self._ids), storage=value.storage.viewed(view, shape))
            yield MidOperation(VIEW, view, (value,), seen, why)
            value = seen

    def _rearranged(self, value: MidValue, made: MidValue, reason: str) -> MidOperation:
        conversion = rearranged(value.storage, made.storage, self._model)
        why = WorkProvenance(value.name or str(value), made.origin, reason)
        plan = conversion_plan(conversion)
        return MidOperation(conversion.kind, None, (value,), made, why, plan)


def _tensor_of(source: MidSource, shape: Shape) -> Tensor | None:
    """What the host gives for a source, if it can pass it."""
    try:
        return input_tensor(source, shape)[0]
    except Inexpressible:
        return None


def _is_expressible(source: MidSource, shape: Shape) -> bool:
    try:
        source_tensor(source, shape)
    except Inexpressible:
        return False
    return True


def _ids(graph: MidGraph) -> Iterator[int]:
    """Of all values, bodies included."""
    for source in graph.sources:
        yield source.value.id
    yield from _ids_of(graph.steps)


def _ids_of(steps: Iterable[MidStep]) -> Iterator[int]:
    for step in steps:
        if isinstance(step, MidOperation):
            yield step.result.id
            continue
        yield from (each.id for each in _arguments(step))
        yield from (carried.result.id for carried in step.carried)
        yield from _ids_of(step.body)


def _arguments(repeat: MidRepeat) -> Iterator[MidValue]:
    yield from (carried.argument for carried in repeat.carried)
    yield from (argument for _, argument in repeat.invariants)
    yield from (iterated.argument for iterated in repeat.sequences)


def _reads(step: MidStep) -> Iterator[MidValue]:
    """What a step takes of the region that it stands in."""
    if isinstance(step, MidOperation):
        yield from step.operands
        return
    yield from (carried.initial for carried in step.carried)
    yield from (outer for outer, _ in step.invariants)
    yield from (value for iterated in step.sequences for value in iterated.values)
