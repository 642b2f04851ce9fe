"""Inputs, outputs, parameters and constants as tensors of a package, each with its pieces."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tilewright.codegen.build.axes import Inexpressible, relate
from tilewright.codegen.build.faults import BuildError
from tilewright.codegen.build.streams import (
    Pieces,
    are_whole_words,
    element_pieces,
    filled_up,
    host_loops,
    stream_nest,
    stream_pieces,
)
from tilewright.codegen.low import TileSchedule, lifetimes
from tilewright.codegen.mid import MidGraph, MidSource, Precision, Storage
from tilewright.codegen.mid.evaluate import rounded
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.operators.choosing import PRECISIONS
from tilewright.codegen.mid.orders import ElementOrder
from tilewright.graph import ComputeGraph, Formula, SourceKind, operators
from tilewright.graph import Source as GraphSource
from tilewright.package import ElementType, Role, SegmentKind, Source, Tensor

_ELEMENTS = {
    Precision.F8F143: ElementType.F8F143,
    Precision.F16: ElementType.F16,
    Precision.F32: ElementType.F32,
    Precision.I32: ElementType.I32,
}
_AGAIN = " as stored for use "


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """A tensor, and the pieces of it that tiles have in a buffer of the schedule.

    What tiles hold before a run has its stream in `content`, and the kind of its `segments`.
    Constants of the graph are no tensors of the package.
    """

    tensor: Tensor
    pieces: Pieces
    buffer: int | None = None
    """None for cycle samples, and for inputs that nothing reads: those have no pieces."""
    content: npt.NDArray[np.uint8] | None = None
    segments: SegmentKind = SegmentKind.PARAMETER

    @property
    def is_tensor(self) -> bool:
        """Whether the package has the tensor."""
        return self.segments is SegmentKind.PARAMETER


def bindings(
    graph: ComputeGraph,
    planned: MidGraph,
    schedule: TileSchedule,
    parameters: Mapping[str, npt.ArrayLike] | None,
) -> list[Binding]:
    """All that passes into the program of a planned graph, and out of it.

    `planned` has been made `passable`. Parameters that no operation reads are left out; inputs have
    no pieces then. Without `parameters`, packages take them from a file. Raises `BuildError` that
    names all parameters that are missing or of another shape, and outputs that have a source's
    name.
    """
    if parameters is not None:
        _check_parameters(graph, parameters)
    twice = sorted({each.name for each in graph.sources} & {each.name for each in graph.outputs})
    if twice:
        raise BuildError(
            "outputs need other names than inputs and parameters in a package: "
            + ", ".join(f'"{name}"' for name in twice)
        )
    life = lifetimes(schedule)
    is_used = life.last >= life.first
    shapes = {source.name: source.value.type.shape for source in graph.sources}
    found: list[Binding] = []
    for source, (_, buffer) in zip(planned.sources, schedule.sources, strict=True):
        if not is_used[buffer]:
            continue
        binding = _source(source, buffer, shapes.get(source.name), parameters)
        found.append(_renamed(binding, found))
    for (name, value), (_, buffer) in zip(planned.outputs, schedule.outputs, strict=True):
        found.append(Binding(*output_tensor(name, value.storage), buffer))
    known = {each.tensor.name for each in found}
    found += [
        _unread(source)
        for source in graph.sources
        if source.kind is not SourceKind.PARAMETER and source.name not in known
    ]
    fetched = {each.buffer for each in found if each.tensor.role is Role.OUTPUT}
    return [_as_data(each) if each.buffer in fetched else each for each in found]


def _unread(source: GraphSource) -> Binding:
    """An input that the host gives, and no tile gets."""
    format, nothing = source.value.type.format, np.zeros(0, np.int64)
    element = _ELEMENTS[PRECISIONS[format.dtype]]
    shape = source.value.type.shape
    tensor = Tensor(source.name, Role.INPUT, element, shape, scale=format.scale)
    return Binding(tensor, Pieces(nothing, nothing, nothing, nothing))


def _as_data(binding: Binding) -> Binding:
    """Constants that are outputs, too: the host fetches no constants."""
    if binding.segments is not SegmentKind.CONSTANT:
        return binding
    return replace(binding, segments=SegmentKind.DATA)


def tensors_of(bound: Iterable[Binding]) -> list[Tensor]:
    """The tensors of the package, of which several buffers may hold one."""
    return list(dict.fromkeys(each.tensor for each in bound if each.is_tensor))


def _check_parameters(graph: ComputeGraph, parameters: Mapping[str, npt.ArrayLike]) -> None:
    faults = []
    for source in graph.parameters:
        if source.name not in parameters:
            faults.append(f'"{source.name}" is missing')
            continue
        shape = np.shape(parameters[source.name])
        if shape != source.value.type.shape:
            faults.append(
                f'"{source.name}" has shape {list(shape)}, not {list(source.value.type.shape)}'
            )
    if faults:
        raise BuildError("parameters that do not suit the graph: " + "; ".join(faults))


def _renamed(binding: Binding, others: Sequence[Binding]) -> Binding:
    """Parameters that are stored in several ways are several tensors."""
    name = binding.tensor.name
    same = [each for each in others if each.tensor.name.partition(_AGAIN)[0] == name]
    if not same or all(binding.tensor == each.tensor for each in same):
        return binding
    again = f"{name}{_AGAIN}{len(same) + 1}"
    return replace(binding, tensor=replace(binding.tensor, name=again))


def _source(
    source: MidSource,
    buffer: int,
    shape: Shape | None,
    parameters: Mapping[str, npt.ArrayLike] | None,
) -> Binding:
    storage, prepared = _as_stored(source)
    if source.constant is not None:
        array = _prepared(source.constant.evaluate([]), prepared)
        tensor = _stored_tensor(source.name, storage)
        content = _stream(tensor, storage, array)
        return Binding(tensor, _pieces(tensor, storage), buffer, content, SegmentKind.CONSTANT)
    assert shape is not None, "sources that are no constants are the graph's"
    role = Role.PARAMETER if source.kind is SourceKind.PARAMETER else Role.INPUT
    if role is Role.INPUT:
        return Binding(*input_tensor(source, shape), buffer)
    try:
        tensor, pieces = source_tensor(source, shape)
    except Inexpressible:
        return _prepared_parameter(source, buffer, parameters)
    if parameters is None:
        tensor = replace(tensor, source=Source.FILE, source_name=source.name)
        return Binding(tensor, pieces, buffer)
    tensor = replace(tensor, source=Source.SEGMENTS)
    return Binding(tensor, pieces, buffer, _stream(tensor, storage, parameters[source.name]))


def _as_stored(source: MidSource) -> tuple[Storage, tuple[Formula, ...]]:
    """What is stored, and the views that make it of what the host, or a constant, gives."""
    storage, prepared = source.value.storage, source.prepared
    if storage.view is None or not (prepared or source.constant is not None):
        return storage, prepared
    if not storage.view.keeps_numbers:
        raise BuildError(f'"{source.name}" is a view of something larger')
    return Storage(storage.format, storage.base), (*prepared, operators.Reshape(storage.base))


def source_tensor(source: MidSource, shape: Shape) -> tuple[Tensor, Pieces]:
    """What the host gives for a source of `shape`. Raises `Inexpressible`."""
    role = Role.PARAMETER if source.kind is SourceKind.PARAMETER else Role.INPUT
    storage, prepared = _as_stored(source)
    is_flat = not prepared and _is_flat(storage)
    loops = () if is_flat else _source_loops(storage, shape, prepared)
    tensor = _tensor(source.name, role, storage, shape, loops)
    return tensor, _pieces(tensor, storage)


def input_tensor(source: MidSource, shape: Shape) -> tuple[Tensor, Pieces]:
    """The same, in whole words. Raises `Inexpressible`."""
    tensor, pieces = source_tensor(source, shape)
    if not are_whole_words(pieces):
        raise Inexpressible
    return tensor, pieces


def _is_flat(storage: Storage) -> bool:
    """Whether elements lie row by row, as the host has them."""
    views = () if storage.view is None else storage.view.operators
    is_plain = all(isinstance(each, operators.Reshape) for each in views)
    return is_plain and len(storage.base) == 1 and storage.format.order is ElementOrder.ROW_MAJOR


def _source_loops(
    storage: Storage, shape: Shape, prepared: Sequence[Formula]
) -> tuple[tuple[int, int], ...]:
    """Over the axes of a source, of what is stored of it. Raises `Inexpressible`."""
    nest = stream_nest(storage.layout)
    if storage.view is None:
        if any(isinstance(each, operators.Slice) for each in prepared):
            raise Inexpressible  # the host has more than is stored
        axes = relate(shape, prepared)
        return host_loops(nest, axes, axes.last, axes.first)
    axes = relate(storage.base, storage.view.operators)
    return host_loops(nest, axes, axes.first, axes.last)


def _prepared_parameter(
    source: MidSource,
    buffer: int,
    parameters: Mapping[str, npt.ArrayLike] | None,
) -> Binding:
    """A parameter that is more than reordered: the tensor is what is stored of it."""
    assert parameters is not None, "what a file gives is expressible"
    storage, prepared = _as_stored(source)
    tensor = _stored_tensor(source.name, storage, Role.PARAMETER)
    array = _prepared(np.asarray(parameters[source.name]), prepared)
    tensor = replace(tensor, source=Source.SEGMENTS)
    return Binding(tensor, _pieces(tensor, storage), buffer, _stream(tensor, storage, array))


def output_tensor(name: str, storage: Storage) -> tuple[Tensor, Pieces]:
    """An output in the order in which it is stored, or else in that of its axes.

    Raises `Inexpressible` if tiles do not hold whole words of it.
    """
    views = () if storage.view is None else storage.view.operators
    try:
        axes = relate(storage.base, views)
        loops = host_loops(stream_nest(storage.layout), axes, axes.first, axes.last)
        tensor = _tensor(name, Role.OUTPUT, storage, storage.shape, loops)
        pieces = _pieces(tensor, storage)
    except Inexpressible:
        tensor = _tensor(name, Role.OUTPUT, storage, storage.shape, ())
        pieces = filled_up(element_pieces(storage), tensor.stream_bytes)
    if not are_whole_words(pieces):
        raise Inexpressible
    return tensor, pieces


def _pieces(tensor: Tensor, storage: Storage) -> Pieces:
    """Of a tensor that is all that a layout stores."""
    return filled_up(stream_pieces(storage.layout), tensor.stream_bytes)


def _stored_tensor(name: str, storage: Storage, role: Role = Role.INTERNAL) -> Tensor:
    """What is stored, with its own axes."""
    axes = relate(storage.base, ())
    return _tensor(
        name,
        role,
        storage,
        storage.base,
        host_loops(stream_nest(storage.layout), axes, axes.last, axes.first),
    )


def _tensor(
    name: str, role: Role, storage: Storage, shape: Shape, loops: tuple[tuple[int, int], ...]
) -> Tensor:
    element = _ELEMENTS[storage.format.precision]
    return Tensor(name, role, element, shape, loops, storage.format.scale)


def _prepared(array: npt.NDArray[Any], views: Sequence[Formula]) -> npt.NDArray[Any]:
    for view in views:
        array = view.evaluate([array])
    return array


def _stream(tensor: Tensor, storage: Storage, array: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """The stream of numbers as a format stores them."""
    values = rounded(storage.format, np.asarray(array))
    if storage.format.precision is Precision.F8F143:
        codes = np.ldexp(values, -storage.format.scale).astype(ml_dtypes.float8_e4m3fnuz)
        return tensor.to_stream(codes.view(np.uint8))
    return tensor.to_stream(values.astype(tensor.element.dtype))
