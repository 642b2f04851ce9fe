"""A small program for one row of tiles, with something of everything that packages hold."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tilewright.package import (
    Activities,
    Application,
    Batches,
    BlobBuilder,
    Call,
    CodeOfTiles,
    CommandWord,
    Completion,
    Configuration,
    Debug,
    Direction,
    ElementType,
    EntryPoint,
    Group,
    HostPlan,
    Lines,
    ListOfTiles,
    Notes,
    Origins,
    Pages,
    ProfilePlan,
    Ranges,
    Role,
    SegmentKind,
    Segments,
    Shards,
    Slices,
    Source,
    Steps,
    StepTable,
    Symbols,
    Tensor,
    write_debug,
    write_profile_plan,
)
from tilewright.package.tables import NONE

TILES = 64
START, STATE, INPUTS, WEIGHTS, FACTORS, RESULTS = (
    0x4C010,
    0x58000,
    0x60000,
    0x84000,
    0x88000,
    0x90000,
)
SAMPLES = 0x5A000


def steps() -> Steps:
    """Even tiles take two steps, odd ones take three."""
    tiles = np.arange(TILES)
    return Steps(
        strings=("copy", "add", "add_f16", "shape", "8"),
        tiles=ListOfTiles(tiles, tiles % 2),
        table=StepTable(
            list=[0, 0, 1, 1, 1],
            phase=[0, 1, 0, 1, 1],
            epoch=[0] * 5,
            kind=[1, 0, 1, 0, 2],
            operation=[0, 1, 0, 1, 1],
            kernel=[NONE, 2, NONE, 2, NONE],
            planned=[40, NONE, 40, NONE, NONE],
        ),
        activities=Activities([0, 2], [0, 1], [1, 5], [9, 13]),
        notes=Notes([1], [3], [4]),
    )


def debug() -> Debug:
    """All tiles run one code image."""
    return Debug(
        strings=("_start", "add_f16", "add.S", "add", "y", "kernel", "model:3"),
        tiles=CodeOfTiles(np.arange(TILES), [0] * TILES, [0] * TILES),
        symbols=Symbols([0, 0], [START, START + 16], [16, 0], [0, 1]),
        lines=Lines([0, 0, 0], [START, START + 8, START + 16], [2, 2, 2], [10, 11, 0]),
        ranges=Ranges([0], [START + 16], [8], [0]),
        origins=Origins([3], [4], [5], [6]),
    )


def application(parameters: Source = Source.FILE, plan: ProfilePlan | None = None) -> Application:
    """Weights come as `parameters`; factors are loaded with images from a blob."""
    blobs = BlobBuilder()
    code = blobs.add(np.arange(16, dtype="<u4"))
    own = blobs.add_all(np.arange(TILES * 4, dtype="<u4").reshape(TILES, 4))
    plan_blob = blobs.add(write_profile_plan(plan or ProfilePlan(steps())))
    tables = blobs.add(write_debug(debug()))
    weights = np.arange(TILES * 8, dtype="<f2")
    factors = blobs.add(np.arange(TILES, dtype="<f4"))
    tiles = np.arange(TILES)
    rows: list[tuple[int, ...]] = []
    for tile in tiles.tolist():
        rows += [
            (tile, START, 64, SegmentKind.CODE, code, 0, 64),
            (tile, START + 64, 32, SegmentKind.CONSTANT, own[tile], 0, 16),
            (tile, STATE, 64, SegmentKind.STATE, NONE, 0, 0),
            (tile, SAMPLES, 64, SegmentKind.SCRATCH, NONE, 0, 0),
        ]
    tensors = [
        Tensor("x", Role.INPUT, ElementType.F16, (TILES, 8)),
        Tensor("y", Role.OUTPUT, ElementType.F16, (TILES, 8)),
        Tensor("w", Role.PARAMETER, ElementType.F16, (TILES, 8)),
        Tensor("k", Role.PARAMETER, ElementType.F32, (TILES,), source=Source.BLOB, blob=factors),
        Tensor("profile.cycles", Role.OUTPUT, ElementType.U32, (TILES // 2 * 7,)),
    ]
    tensors[2] = _weights(tensors[2], parameters, blobs, weights)
    counts = np.where(tiles % 2, 4, 3) * 4
    starts = np.cumsum(counts) - counts
    return Application(
        entries=[START + 4] * TILES,
        segments=_table(Segments, rows),
        blobs=blobs.build(),
        tensors=tuple(tensors),
        shards=Shards(
            tensor=np.repeat(np.arange(5), TILES),
            tile=np.tile(tiles, 5),
            address=np.repeat([INPUTS, RESULTS, WEIGHTS, FACTORS, SAMPLES], TILES),
            offset=np.concatenate([tiles * 16, tiles * 16, tiles * 16, tiles * 4, starts]),
            size=np.concatenate([np.repeat([16, 16, 16, 4], TILES), counts]),
        ),
        host=_host(int(counts.sum())),
        configuration=Configuration([0x2000, 0x2010], [5, 6], [0, 1]),
        completion=Completion(STATE, 1),
        profile_plan_blob=plan_blob,
        debug_blob=tables,
        producer="tilewright test",
    )


def _weights(
    tensor: Tensor, source: Source, blobs: BlobBuilder, values: npt.NDArray[np.float16]
) -> Tensor:
    if source is Source.FILE:
        return replace(tensor, source=source, source_name="encoder.w")
    return replace(tensor, source=source, blob=blobs.add(values))


def _host(samples: int) -> HostPlan:
    """Weights in two batches of a load call; a run with one batch in and one out."""
    size = TILES * 16
    half = size // 2
    return HostPlan(
        pages=Pages([0, 1], [4096, 8192]),
        calls=(Call("initialise", Group.LOAD), Call("run", Group.RUN, ends_open=True)),
        batches=Batches(
            call=[0, 0, 1, 1],
            direction=[Direction.TO_DEVICE] * 3 + [Direction.FROM_DEVICE],
        ),
        slices=Slices(
            batch=[0, 1, 2, 3, 3],
            tensor=[2, 2, 0, 1, 4],
            offset=[0, half, 0, 0, 0],
            page=[1, 1, 1, 1, 1],
            page_offset=[0, 0, 0, size, 2 * size],
            size=[half, half, size, size, samples],
        ),
        entry_points=(EntryPoint("run", (1,), 7), EntryPoint("initialise", (0,), 8)),
        command_word=CommandWord(0, 16),
        startup_mark=1,
    )


def _table(kind: type[Segments], rows: list[tuple[int, ...]]) -> Segments:
    return kind(*np.array(rows, np.int64).T)
