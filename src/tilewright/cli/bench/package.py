"""Writing, opening and verifying a package of the size of a whole vision model.

Every tile has code that all share, a program and rows of its own, and 162 parts of parameters
(449 MB in all), which lie in one segment of the tile and are listed one by one.
"""

import multiprocessing
import resource
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from tilewright.cli.bench.figure import Figure, best_seconds
from tilewright.package import (
    NONE,
    Application,
    BlobBuilder,
    ElementType,
    Role,
    SegmentKind,
    Segments,
    Shards,
    Source,
    Tensor,
    open_package,
    validate,
    write_package,
)
from tilewright.package.tables import U8
from tilewright.target.geometry import LOADER_FRAME_END, REGION1_BASE, RUNTIME_STATE, TILES

_TENSORS, _PART = 162, 1884
_PROGRAM = 24 << 10
_ROWS, _ROW = 20, 512
_KIB = 1024


def package_figures() -> list[Figure]:
    """Each measured in a process of its own, so that its peak of memory counts alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.ipuexe"
        figures = _alone(_write, path)
        figures += _alone(_open, path)
        return figures + _alone(_verify, path)


def _alone(action: Callable[[Path], list[Figure]], path: Path) -> list[Figure]:
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


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB


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
