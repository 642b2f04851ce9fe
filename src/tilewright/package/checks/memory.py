"""Checks of what tiles hold: segments, entries and blobs."""

import numpy as np
import numpy.typing as npt

from tilewright.package.application import Application, SegmentKind, Segments
from tilewright.package.checks.rows import (
    check_number,
    check_ordered,
    check_references,
    check_text,
    report,
)
from tilewright.package.faults import Fault, FaultList
from tilewright.package.spans import containing, ends_past, keys, overlapping
from tilewright.package.tables import NONE, rows_of
from tilewright.package.tensors import Source
from tilewright.target.geometry import (
    EXECUTABLE_END,
    LOADABLE_END,
    LOADER_FRAME_END,
    MEMORY_END,
    TILES,
)
from tilewright.target.host import LOADER_BATCH_TILES

_INSTRUCTION = 4
EXECUTED = (SegmentKind.CODE, SegmentKind.ROW)


def check_shape(application: Application, faults: FaultList) -> None:
    """Whether tiles, and what segments name, exist, so that other checks can rely on it."""
    check_text(faults, "producer", application.producer)
    if application.completion is not None:
        check_number(faults, "completion.address", application.completion.address)
        check_number(faults, "completion.value", application.completion.value)
    tiles = application.tiles
    if not tiles or tiles % LOADER_BATCH_TILES or tiles > TILES:
        faults.add(
            "entries",
            f"the package is for {tiles} tiles; the loader fills whole rows of "
            f"{LOADER_BATCH_TILES}, up to {TILES} tiles",
        )
    segments = application.segments
    if not len(segments):
        faults.add("segments", "there are none")
    check_ordered(faults, "segments", segments, "tile", "address", is_strict=True)
    check_references(faults, "segments", segments, "tile", tiles)
    check_references(faults, "segments", segments, "kind", len(SegmentKind))
    check_references(faults, "segments", segments, "blob", len(application.blobs.sizes), True)
    for name in ("profile_plan_blob", "debug_blob"):
        blob = getattr(application, name)
        if blob != NONE and not 0 <= blob < len(application.blobs.sizes):
            faults.add(name, f"there is no blob {blob}")


def check_memory(application: Application, faults: FaultList) -> None:
    """Whether segments lie where the loader can put them, apart from each other."""
    _check_blobs(application, faults)
    _check_ranges(application, faults)
    _check_data(application, faults)
    _check_overlaps(application, faults)
    _check_entries(application, faults)
    _check_completion(application, faults)


def segment_path(application: Application, row: int, name: str = "") -> str:
    """Where a segment is, counted within its tile."""
    tile = int(application.segments.tile[row])
    index = row - rows_of(application.segments.tile, tile).start
    return f"tiles[{tile}].segments[{index}]" + (f".{name}" if name else "")


def _check_blobs(application: Application, faults: FaultList) -> None:
    blobs, segments = application.blobs, application.segments
    report(
        faults, blobs.sizes == 0, "blobs", lambda row: Fault(f"blobs[{row}]", "the blob is empty")
    )
    digests = np.ascontiguousarray(blobs.digests).view("V32").reshape(-1)
    _, first = np.unique(digests, return_index=True)
    is_again = np.ones(len(digests), bool)
    is_again[first] = False
    report(
        faults,
        is_again,
        "blobs",
        lambda row: Fault(f"blobs[{row}]", "an earlier blob has the same content"),
    )
    is_used = np.zeros(len(blobs.sizes), bool)
    is_used[segments.blob[segments.blob != NONE]] = True
    others = [application.profile_plan_blob, application.debug_blob]
    others += [each.blob for each in application.tensors if each.source is Source.BLOB]
    is_used[[each for each in others if 0 <= each < len(is_used)]] = True
    report(faults, ~is_used, "blobs", lambda row: Fault(f"blobs[{row}]", "nothing uses the blob"))


def _check_ranges(application: Application, faults: FaultList) -> None:
    segments = application.segments
    address, size = segments.address, segments.size
    limit = np.full(len(SegmentKind), LOADABLE_END, np.uint32)
    limit[SegmentKind.SCRATCH] = MEMORY_END
    limit = limit[segments.kind]

    def wrong_range(row: int) -> Fault:
        return Fault(
            segment_path(application, row, "address"),
            f"{_range(row)} is not within what can be "
            f"{'loaded' if limit[row] == LOADABLE_END else 'used'}, "
            f"{LOADER_FRAME_END:#x} to {limit[row]:#x}",
        )

    def wrong_place(row: int) -> Fault:
        return Fault(
            segment_path(application, row, "address"),
            f"code at {_range(row)} has to lie below {EXECUTABLE_END:#x}, "
            f"at a multiple of {_INSTRUCTION}",
        )

    def _range(row: int) -> str:
        return f"{address[row]:#x} to {int(address[row]) + int(size[row]):#x}"

    is_wrong = (address < LOADER_FRAME_END) | ends_past(address, size, limit)
    report(faults, is_wrong, "segments", wrong_range)
    is_misplaced = ends_past(address, size, np.uint32(EXECUTABLE_END))
    is_misplaced |= address % _INSTRUCTION != 0
    report(faults, is_misplaced & of_kinds(segments, EXECUTED), "segments", wrong_place)


def of_kinds(segments: Segments, kinds: tuple[SegmentKind, ...]) -> npt.NDArray[np.bool_]:
    """Which segments are of one of these kinds."""
    is_chosen = np.zeros(len(SegmentKind), bool)
    is_chosen[list(kinds)] = True
    return is_chosen[segments.kind]


def _check_data(application: Application, faults: FaultList) -> None:
    segments = application.segments
    has_blob, has_data = segments.blob != NONE, segments.data_size > 0
    sizes = np.append(application.blobs.sizes, 0).astype(np.int64)
    room = sizes[np.minimum(segments.blob, len(sizes) - 1)]
    end = segments.offset.astype(np.int64) + segments.data_size

    def say(name: str, message: str, is_wrong: npt.NDArray[np.bool_]) -> None:
        report(
            faults,
            is_wrong,
            "segments",
            lambda row: Fault(segment_path(application, row, name), message),
        )

    say("size", "the segment is empty", segments.size == 0)
    say("data_size", "the segment has more data than room", segments.data_size > segments.size)
    say("blob", "a segment names a blob if and only if it has data", has_blob != has_data)
    say("offset", "the data do not lie within the blob", has_blob & has_data & (end > room))
    say("data_size", "scratch has no data", has_data & (segments.kind == SegmentKind.SCRATCH))


def _check_overlaps(application: Application, faults: FaultList) -> None:
    segments = application.segments
    rows = overlapping(segments.tile, segments.address, segments.size)
    is_wrong = np.zeros(len(segments), bool)
    is_wrong[rows] = True

    def describe(row: int) -> Fault:
        before = segment_path(application, row - 1).rpartition(".")[2]
        return Fault(
            segment_path(application, row, "address"),
            f"{segments.address[row]:#x} lies within {before} or one before it",
        )

    report(faults, is_wrong, "segments", describe)


def _check_entries(application: Application, faults: FaultList) -> None:
    segments, entries = application.segments, application.entries
    tiles = np.arange(len(entries))
    address, end = _ranges(application)
    first = np.searchsorted(segments.tile, tiles)
    row = np.minimum(first, len(segments) - 1)  # the last one stands in where there is none
    starts = (
        (segments.tile[row] == tiles)
        & (address[row] == LOADER_FRAME_END)
        & (segments.kind[row] == SegmentKind.CODE)
    )
    report(
        faults,
        ~starts,
        "tiles",
        lambda tile: Fault(
            f"tiles[{tile}].segments",
            f"the first segment has to be code at {LOADER_FRAME_END:#x}, where execution begins",
        ),
    )
    at = containing(keys(segments.tile, segments.address), keys(tiles, entries.astype(np.int64)))
    row = np.maximum(at, 0)
    is_inside = (
        (at >= 0)
        & (segments.tile[row] == tiles)
        & (entries < end[row])
        & (segments.kind[row] == SegmentKind.CODE)
        & (entries % _INSTRUCTION == 0)
    )
    report(
        faults,
        ~is_inside,
        "entries",
        lambda tile: Fault(f"entries[{tile}]", f"{entries[tile]:#x} is no instruction in code"),
    )


def _check_completion(application: Application, faults: FaultList) -> None:
    completion, segments = application.completion, application.segments
    if completion is None:
        return
    tiles = np.arange(application.tiles)
    end = _ranges(application)[1]
    at = containing(
        keys(segments.tile, segments.address),
        keys(tiles, np.full(len(tiles), completion.address, np.int64)),
    )
    row = np.maximum(at, 0)
    is_state = of_kinds(segments, (SegmentKind.STATE, SegmentKind.DATA))[row]
    is_inside = (at >= 0) & (segments.tile[row] == tiles) & (completion.address + 4 <= end[row])
    if completion.address % 4:
        faults.add("completion.address", f"{completion.address:#x} is no multiple of 4")
    report(
        faults,
        ~(is_state & is_inside),
        "completion.address",
        lambda tile: Fault(
            f"tiles[{tile}]", f"no state or data at the completion word {completion.address:#x}"
        ),
    )


def _ranges(application: Application) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    address = application.segments.address.astype(np.int64)
    return address, address + application.segments.size
