"""Writing, opening, verifying and refusing packages of the size of a whole vision model.

Every tile has code that all share, a program and rows of its own, and 162 parts of parameters
(449 MB in all), which lie in one segment of the tile and are listed one by one.
"""

import multiprocessing
import resource
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TypeVar

import numpy as np

from tilewright.cli.bench.figure import Figure, best_seconds
from tilewright.package import (
    NONE,
    Application,
    Batches,
    BlobBuilder,
    Call,
    Direction,
    ElementType,
    Group,
    HostPlan,
    PackageError,
    Pages,
    Role,
    SegmentKind,
    Segments,
    Shards,
    Slices,
    Source,
    Tensor,
    open_package,
    validate,
    write_package,
)
from tilewright.package.blobs import blob_end
from tilewright.package.checks.tensors import MAX_LOOPS, MAX_RANK, MAX_TENSORS
from tilewright.package.layout import MAX_MANIFEST, blobs_start
from tilewright.package.manifest import encode_manifest
from tilewright.package.sealing import sealed
from tilewright.package.tables import U8, Table
from tilewright.target.geometry import LOADER_FRAME_END, REGION1_BASE, RUNTIME_STATE, TILES
from tilewright.target.host import HOST_PAGE, HOST_WORD

_TENSORS, _PART = 162, 1884
_PROGRAM = 24 << 10
_ROWS, _ROW = 20, 512
_KIB = 1024

ResultT = TypeVar("ResultT")


def package_figures() -> list[Figure]:
    """Each measured in a process of its own, so that its peak of memory counts alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.ipuexe"
        figures = _alone(_write, path)
        figures += _alone(_open, path)
        figures += _alone(_verify, path)
        refused = []
        for hostile in (_hostile_segments, _hostile_shards, _hostile_slices, _hostile_tensors):
            _write_unchecked(hostile(), path)
            refused.append(_alone(_refuse, path))
    worst = [max(seconds for seconds, _ in refused), max(more for _, more in refused)]
    return [
        *figures,
        Figure("package.refuse_seconds", worst[0], "s"),
        Figure("package.refuse_more_bytes", worst[1], "bytes"),
    ]


def _alone(action: Callable[[Path], ResultT], path: Path) -> ResultT:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(action, (path,))


def _write(path: Path) -> list[Figure]:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 256, (TILES, _PROGRAM + _ROWS * _ROW), np.uint8)
    parameters = rng.integers(0, 256, (TILES, _TENSORS * _PART), np.uint8)
    start = perf_counter()
    application = _application(rows, parameters)
    gathered = perf_counter() - start
    seconds = best_seconds(partial(write_package, application, path))
    blobs = int(application.blobs.sizes.sum(dtype=np.int64))
    size = path.stat().st_size
    return [
        Figure("package.bytes", size, "bytes"),
        Figure("package.overhead_bytes", size - blobs, "bytes"),
        Figure("package.gather_seconds", gathered, "s"),
        Figure("package.write_seconds", seconds, "s"),
        Figure("package.write_bytes_per_second", size / seconds, "bytes/s"),
    ]


def _open(path: Path) -> list[Figure]:
    before = _peak()

    def opened() -> None:
        open_package(path).close()

    seconds = best_seconds(opened)
    peak = _peak()
    with open_package(path) as application:
        checked = best_seconds(partial(validate, application))
    return [
        Figure("package.open_seconds", seconds, "s"),
        Figure("package.open_peak_bytes", peak, "bytes"),
        Figure("package.open_more_bytes", peak - before, "bytes"),
        Figure("package.validate_seconds", checked, "s"),
    ]


def _verify(path: Path) -> list[Figure]:
    with open_package(path) as application:
        seconds = best_seconds(partial(validate, application, hashes=True), 1)
    return [
        Figure("package.verify_seconds", seconds, "s"),
        Figure("package.verify_peak_bytes", _peak(), "bytes"),
    ]


def _refuse(path: Path) -> tuple[float, int]:
    """Seconds that it takes to refuse a file, and the bytes that this needs more than before."""
    before = _peak()
    start = perf_counter()
    try:
        open_package(path)
    except PackageError:
        return perf_counter() - start, _peak() - before
    raise AssertionError("a hostile package was opened")


def _write_unchecked(application: Application, path: Path) -> None:
    """As whoever means harm would: with a right hash, whatever the content."""
    manifest = encode_manifest(application)
    start = blobs_start(len(manifest))
    data = sealed(manifest)
    path.write_bytes(data + bytes(start + blob_end(application.blobs.sizes) - len(data)))


def _hostile_segments() -> Application:
    """As many segments as a manifest can hold, in order and apart, all without a blob."""
    row = np.arange(_rows_of(Segments))
    return Application(
        entries=np.full(TILES, LOADER_FRAME_END),
        segments=Segments(
            tile=row * TILES // len(row),
            address=LOADER_FRAME_END + row,
            size=np.ones(len(row), int),
            kind=np.full(len(row), SegmentKind.DATA),
            blob=np.full(len(row), NONE),
            offset=np.zeros(len(row), int),
            data_size=np.zeros(len(row), int),
        ),
    )


def _hostile_shards() -> Application:
    """As many shards, which cover their tensor but for its last byte."""
    row = np.arange(_rows_of(Shards))
    return Application(
        entries=np.full(TILES, LOADER_FRAME_END),
        segments=_segment(),
        tensors=(Tensor("x", Role.INPUT, ElementType.U8, (len(row) + 4,)),),
        shards=Shards(
            tensor=np.zeros(len(row), int),
            tile=row % TILES,
            address=REGION1_BASE + row // TILES,
            offset=row,
            size=np.ones(len(row), int),
        ),
    )


def _hostile_slices() -> Application:
    """As many slices, which overlap on the page."""
    row = np.arange(_rows_of(Slices))
    zero = np.zeros(len(row), int)
    return replace(
        _hostile_shards(),
        shards=Shards([0], [0], [REGION1_BASE], [0], [4]),
        tensors=(Tensor("x", Role.INPUT, ElementType.U8, (4,)),),
        host=HostPlan(
            pages=Pages([0], [HOST_PAGE]),
            calls=(Call("run", Group.RUN),),
            batches=Batches([0], [Direction.TO_DEVICE]),
            slices=Slices(zero, zero, zero, zero, row * HOST_WORD % HOST_PAGE, zero + HOST_WORD),
        ),
    )


def _hostile_tensors() -> Application:
    """As many tensors, of as many loops, which no tile holds."""
    loops = tuple((number % MAX_RANK, 1) for number in range(MAX_LOOPS))
    tensor = Tensor("n", Role.OUTPUT, ElementType.U8, (1,) * MAX_RANK, loops)
    return Application(
        entries=np.full(TILES, LOADER_FRAME_END),
        segments=_segment(),
        tensors=tuple(replace(tensor, name=f"{number:04}") for number in range(MAX_TENSORS)),
    )


def _segment() -> Segments:
    return Segments([0], [LOADER_FRAME_END], [4], [SegmentKind.CODE], [NONE], [0], [0])


def _rows_of(kind: type[Table]) -> int:
    """How many rows of a table fit into a manifest that holds little else."""
    return (MAX_MANIFEST - 16 * _KIB) // sum(each.itemsize for each in kind.columns().values())


def _peak() -> int:
    """The most memory that this process has had resident.

    Where the system tells it: what `getrusage` says counts that of the parent as well.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB
    line = next(each for each in status.splitlines() if each.startswith("VmHWM:"))
    return int(line.split()[1]) * _KIB


def _application(own: U8, parameters: U8) -> Application:
    blobs = BlobBuilder()
    shared = blobs.add(np.arange(4096, dtype="<u4"))
    programs = blobs.add_all(own[:, :_PROGRAM])
    rows = blobs.add_all(own[:, _PROGRAM:].reshape(-1, _ROW))
    held = blobs.add_all(parameters)
    return Application(
        entries=np.full(TILES, LOADER_FRAME_END),
        segments=_segments(shared, programs, rows, held),
        blobs=blobs.build(),
        tensors=tuple(
            Tensor(
                f"encoder.{number}.weight",
                Role.PARAMETER,
                ElementType.F16,
                (TILES, _PART // 2),
                source=Source.SEGMENTS,
            )
            for number in range(_TENSORS)
        ),
        shards=Shards(
            tensor=np.repeat(np.arange(_TENSORS), TILES),
            tile=np.tile(np.arange(TILES), _TENSORS),
            address=np.repeat(REGION1_BASE + _PART * np.arange(_TENSORS), TILES),
            offset=np.tile(np.arange(TILES) * _PART, _TENSORS),
            size=np.full(TILES * _TENSORS, _PART),
        ),
    )


def _segments(shared: int, programs: list[int], rows: list[int], held: list[int]) -> Segments:
    """By tile: shared code, the program, state, rows, parameters."""
    code, state = LOADER_FRAME_END, RUNTIME_STATE[0]
    first_row = state + 0x4000
    kinds = [SegmentKind.CODE, SegmentKind.STATE, SegmentKind.CODE]
    kinds += [SegmentKind.ROW] * _ROWS + [SegmentKind.PARAMETER]
    address = [code, state, first_row]
    address += [first_row + _PROGRAM + _ROW * row for row in range(_ROWS)] + [REGION1_BASE]
    size = [16384, 64, _PROGRAM] + [_ROW] * _ROWS + [_TENSORS * _PART]
    blob = np.empty((TILES, len(kinds)), np.int64)
    blob[:, 0], blob[:, 1], blob[:, 2], blob[:, -1] = shared, NONE, programs, held
    blob[:, 3:-1] = np.reshape(rows, (TILES, _ROWS))
    return Segments(
        tile=np.repeat(np.arange(TILES), len(kinds)),
        address=np.tile(address, TILES),
        size=np.tile(size, TILES),
        kind=np.tile(kinds, TILES),
        blob=blob.reshape(-1),
        offset=np.zeros(blob.size, np.int64),
        data_size=np.where(blob.reshape(-1) == NONE, 0, np.tile(size, TILES)),
    )
