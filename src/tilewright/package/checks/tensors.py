"""Checks of tensors and of the places of their parts."""

from collections import Counter
from math import prod

import numpy as np
import numpy.typing as npt

from tilewright.package.application import Application, SegmentKind
from tilewright.package.checks.memory import of_kinds
from tilewright.package.checks.rows import (
    check_number,
    check_ordered,
    check_references,
    check_text,
    report,
)
from tilewright.package.faults import Fault, FaultList
from tilewright.package.host_plan import Direction
from tilewright.package.spans import containing, covered, ends_past, keys, overlapping
from tilewright.package.tables import NONE, rows_of
from tilewright.package.tensors import ElementType, Role, Source, Tensor
from tilewright.target.geometry import LOADABLE_END, LOADER_FRAME_END, MEMORY_BASE, MEMORY_END

MAX_TENSORS = 1 << 13
MAX_RANK = 16
MAX_LOOPS = 64
MAX_STREAM = 0xFFFFFFFF
_SCALES = range(-128, 128)
_QUARTERS = (ElementType.F8F143, ElementType.F8F152)
_PROTECTED = (
    SegmentKind.CODE,
    SegmentKind.ROW,
    SegmentKind.PACKETS,
    SegmentKind.CONSTANT,
)
"""Nothing that the host writes or reads as a value may lie there."""

Mask = npt.NDArray[np.bool_]


def check_tensors(application: Application, faults: FaultList) -> None:
    """Whether each tensor makes sense by itself, and what shards name exists."""
    if len(application.tensors) > MAX_TENSORS:
        count = len(application.tensors)
        faults.add("tensors", f"{count:,} entries; the limit is {MAX_TENSORS:,}")
    for number, tensor in enumerate(application.tensors):
        _check_tensor(application, tensor, f"tensors[{number}]", faults)
    counts = Counter(tensor.name for tensor in application.tensors)
    for number, tensor in enumerate(application.tensors):
        if counts[tensor.name] > 1:
            faults.add(
                f"tensors[{number}].name", f"{counts[tensor.name]} are named '{tensor.name}'"
            )
    shards = application.shards
    check_ordered(faults, "shards", shards, "tensor", "offset")
    check_references(faults, "shards", shards, "tensor", len(application.tensors))
    check_references(faults, "shards", shards, "tile", application.tiles)


def check_shards(application: Application, faults: FaultList) -> None:
    """Whether shards lie in memory and in their streams, cover those, and spare the program."""
    streams = stream_sizes(application)
    if _check_places(application, streams, faults):
        _check_coverage(application, streams, faults)
        _check_neighbours(application, faults)


def stream_sizes(application: Application) -> npt.NDArray[np.int64]:
    """The length of each tensor's stream."""
    return np.array([tensor.stream_bytes for tensor in application.tensors], np.int64)


def loaded_shards(application: Application) -> Mask:
    """The shards that are loaded with the tiles' images: of parameters that no call sends."""
    tensors = application.tensors
    is_given = np.array([each.source in (Source.BLOB, Source.FILE) for each in tensors], bool)
    is_given[sent_tensors(application)] = False
    return is_given[application.shards.tensor]


def sent_tensors(application: Application) -> Mask:
    """Which tensors calls send to the device."""
    host = application.host
    is_to_device = host.batches.direction[host.slices.batch] == Direction.TO_DEVICE
    is_sent = np.zeros(len(application.tensors), bool)
    is_sent[host.slices.tensor[is_to_device]] = True
    return is_sent


def unread_inputs(application: Application) -> Mask:
    """Inputs that the host has to give, and that no tile holds."""
    is_input = np.array([each.role is Role.INPUT for each in application.tensors], bool)
    is_input[application.shards.tensor] = False
    return is_input


def shard_path(application: Application, row: int) -> str:
    """Where a shard is, counted within its tensor."""
    tensor = int(application.shards.tensor[row])
    index = row - rows_of(application.shards.tensor, tensor).start
    return f"tensors[{tensor}].shards[{index}]"


def _check_tensor(application: Application, tensor: Tensor, path: str, faults: FaultList) -> None:
    rank = len(tensor.shape)
    check_text(faults, f"{path}.name", tensor.name)
    check_text(faults, f"{path}.source_name", tensor.source_name)
    check_number(faults, f"{path}.blob", tensor.blob)
    if not tensor.name:
        faults.add(f"{path}.name", "the tensor has no name")
    if rank > MAX_RANK or len(tensor.loops) > MAX_LOOPS:
        faults.add(f"{path}.shape", f"at most {MAX_RANK} axes and {MAX_LOOPS} loops are possible")
        return
    if any(size < 1 for size in tensor.shape):
        faults.add(f"{path}.shape", "an axis is empty")
    if any(not 0 <= axis < rank or extent < 1 for axis, extent in tensor.loops):
        faults.add(f"{path}.loops", f"a loop has no extent, or no axis of the {rank}")
    elif any(full < size for full, size in zip(tensor.padded_shape, tensor.shape, strict=True)):
        faults.add(f"{path}.loops", f"they span {tensor.padded_shape}, less than the shape")
    if prod(extent for _, extent in tensor.order) * tensor.element.dtype.itemsize > MAX_STREAM - 3:
        faults.add(f"{path}.shape", f"the stream is longer than {MAX_STREAM:,} bytes")
    if tensor.scale not in _SCALES or (tensor.scale and tensor.element not in _QUARTERS):
        faults.add(f"{path}.scale", f"{tensor.scale} is no scale of {tensor.element.name}")
    _check_source(application, tensor, path, faults)


def _check_source(application: Application, tensor: Tensor, path: str, faults: FaultList) -> None:
    if (tensor.role is Role.PARAMETER) != (tensor.source is not Source.NONE):
        faults.add(f"{path}.source", "parameters have a source, and nothing else has")
    if bool(tensor.source_name) != (tensor.source is Source.FILE):
        faults.add(f"{path}.source_name", "there is one if and only if the source is a file")
    sizes = application.blobs.sizes
    if tensor.source is not Source.BLOB:
        if tensor.blob != NONE:
            faults.add(f"{path}.blob", "there is one if and only if the source is a blob")
        return
    if not 0 <= tensor.blob < len(sizes):
        faults.add(f"{path}.blob", f"there is no blob {tensor.blob}")
    elif sizes[tensor.blob] != tensor.stream_bytes:
        faults.add(
            f"{path}.blob",
            f"the blob has {sizes[tensor.blob]} bytes, the stream {tensor.stream_bytes}",
        )


def _check_places(
    application: Application, streams: npt.NDArray[np.int64], faults: FaultList
) -> bool:
    """Whether each shard by itself lies in memory and in its stream."""
    shards = application.shards
    is_loaded = loaded_shards(application)
    low = np.where(is_loaded, np.uint32(LOADER_FRAME_END), np.uint32(MEMORY_BASE))
    high = np.where(is_loaded, np.uint32(LOADABLE_END), np.uint32(MEMORY_END))
    is_outside = (shards.address < low) | ends_past(shards.address, shards.size, high)
    limits = streams.astype(np.uint32)[shards.tensor]
    wrong = [
        (shards.size == 0, "the shard is empty"),
        (ends_past(shards.offset, shards.size, limits), "it is not within the tensor's stream"),
        (is_outside, "its addresses are not in memory, or cannot be loaded"),
    ]
    found = [_report_shards(application, faults, *each) for each in wrong]
    return not any(found)


def _check_coverage(
    application: Application, streams: npt.NDArray[np.int64], faults: FaultList
) -> None:
    shards = application.shards
    reached = covered(shards.tensor, shards.offset, shards.size, len(streams))
    report(
        faults,
        (reached < streams) & ~unread_inputs(application),
        "tensors",
        lambda row: Fault(
            f"tensors[{row}].shards",
            f"no shard holds byte {reached[row]} of '{application.tensors[row].name}', "
            f"whose stream has {streams[row]}",
        ),
    )


def _check_neighbours(application: Application, faults: FaultList) -> None:
    """What is loaded lies apart from everything; no value lies in what has to stay as it is."""
    shards, segments, tensors = application.shards, application.segments, application.tensors
    is_loaded = loaded_shards(application)
    is_internal = np.array([each.role is Role.INTERNAL for each in tensors], bool)
    is_held = np.array([each.source is Source.SEGMENTS for each in tensors], bool)
    is_value = ~(is_internal | is_held)[shards.tensor] & ~is_loaded
    is_protected = of_kinds(segments, _PROTECTED)
    touches = _touches(application, np.ones(len(segments), bool))
    _report_shards(application, faults, is_loaded & touches, "it overlaps a segment")
    touches = _touches(application, is_protected)
    _report_shards(
        application, faults, is_value & touches, "it overlaps code, rows, packets or constants"
    )
    if is_held.any():
        is_missing = is_held[shards.tensor] & ~_is_held_by_data(application)
        _report_shards(application, faults, is_missing, "no segment's data hold it")
    rows = np.flatnonzero(is_loaded)
    again = overlapping(shards.tile[rows], shards.address[rows], shards.size[rows])
    is_wrong = np.zeros(len(shards), bool)
    is_wrong[rows[again]] = True
    _report_shards(application, faults, is_wrong, "it overlaps another shard that is loaded")


def _report_shards(
    application: Application, faults: FaultList, is_wrong: Mask, message: str
) -> bool:
    return report(
        faults, is_wrong, "shards", lambda row: Fault(shard_path(application, row), message)
    )


def _touches(application: Application, is_chosen: Mask) -> Mask:
    """Whether each shard overlaps one of the chosen segments, which lie apart from each other."""
    shards, segments = application.shards, application.segments[is_chosen]
    if not len(segments):
        return np.zeros(len(shards), bool)
    start = keys(segments.tile, segments.address)
    end = start + segments.size
    place = keys(shards.tile, shards.address)
    place += shards.size
    place -= 1
    # The last segment that starts before the shard ends is the only one that can reach into it.
    before = containing(start, place)
    place -= shards.size
    is_any = before >= 0
    np.maximum(before, 0, out=before)
    return is_any & (end[before] > place + 1)


def _is_held_by_data(application: Application) -> Mask:
    shards, segments = application.shards, application.segments
    start = keys(segments.tile, segments.address)
    first = keys(shards.tile, shards.address)
    at = containing(start, first)
    end = start[at] + segments.data_size[at]
    return (at >= 0) & (first + shards.size <= end)
