"""A program for rows of tiles, written by hand, and its package: y = x + w on every tile.

All tiles take part in all host phases. Command 1 runs: each tile reads its 16 words of x, adds its
w, and writes y with two samples of its cycle counter. Command 2 reads w. Anything else stops. An x
that starts with one of the words below makes the tile fault.
"""

from dataclasses import replace
from functools import cache

import numpy as np

from tilewright.elf.arenas import Arena
from tilewright.elf.assembler import assemble
from tilewright.elf.linker import Linker
from tilewright.package import (
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

WORDS = 16
"""Of x, w and y on each tile."""
BAD_ADDRESS, WORKER_FAULT, ENDLESS = 0x7BAD0001, 0x7BAD0002, 0x7BAD0003
"""First words of x: a load from a misaligned address, the same by worker 2, an endless loop."""

START, COMMAND, TABLE, X, W, STATE, Y, SAMPLES = (
    0x4C010,
    0x50000,
    0x50080,
    0x50200,
    0x50240,
    0x58000,
    0x60000,
    0x60040,
)
DUMMY = 0x50040
SAMPLE_BYTES = 8
RUN, LOAD = 1, 2

_REQUEST, _READ_COMMAND, _READ_X, _READ_W, _WRITE_Y, _WRITE_SAMPLES, _READ_NOTHING = range(7)
"""Entries of the table of packets, two words each."""


LABELS = (
    "_start",
    "next_command",
    "run",
    "add_words",
    "send_results",
    "misaligned",
    "endless",
    "in_worker",
)
"""Those that the debug tables name."""


def _item(entry: int) -> str:
    return f"{TABLE // 4 + 2 * entry:#x}"


def _phase(is_owner: bool, count: int, *sends: str) -> str:
    """A host phase: so many words are expected."""
    request = f"send 1, {_item(_REQUEST)}, 3" if is_owner else ""
    return "\n".join(
        [
            "put $INCOMING_MUX, $m7",
            f"sync {15 if is_owner else 7}",
            f"setzi $m8, {count}",
            "put $INCOMING_DCOUNT, $m8",
            request,
            *sends,
            "sync 0",
            "sync 7",
            "put $INCOMING_MUX, $m6",
        ]
    )


def source(tile: int) -> str:
    """The program of a tile; the labels are in the debug tables."""
    is_owner = tile < 64 and not tile & 2
    return f"""
.section .text._start, "ax"
{chr(10).join(f".globl {label}" for label in LABELS)}
.supervisor
_start:
  setzi $m6, 0x640
  setzi $m7, {0x600 | tile & 0x3D:#x}
  put $INCOMING_MUX, $m6
  sync 7
next_command:
{_phase(is_owner, 1, f"send 1, {_item(_READ_COMMAND)}, 3")}
  setzi $m0, {COMMAND:#x}
  ld32 $m0, $m0, $mzero, 0
  cmpeq $m1, $m0, {RUN}
  brnz $m1, run
  cmpeq $m1, $m0, {LOAD}
  brnz $m1, load
  setzi $m0, {STATE:#x}
  setzi $m1, 1
  st32 $m1, $m0, $mzero, 0
  trap 0
load:
{_phase(is_owner, WORDS, f"send 1, {_item(_READ_W)}, 3")}
  bri next_command
run:
{_phase(is_owner, WORDS, f"send 1, {_item(_READ_X)}, 3")}
  get $m9, $SCOUNT_L
  setzi $m10, {SAMPLES:#x}
  st32 $m9, $m10, $mzero, 0
add_words:
  setzi $m0, {X:#x}
  setzi $m1, {W:#x}
  setzi $m2, {Y:#x}
  ld32 $m4, $m0, $mzero, 0
  setzi $m3, {BAD_ADDRESS & 0xFFFFF:#x}
  or $m3, $m3, {BAD_ADDRESS & 0xFFF00000:#x}
  cmpeq $m5, $m3, $m4
  brnz $m5, misaligned
  add $m3, $m3, 1
  cmpeq $m5, $m3, $m4
  brnz $m5, by_worker
  add $m3, $m3, 1
  cmpeq $m5, $m3, $m4
  brnz $m5, endless
  setzi $m3, {WORDS - 1}
add_word:
  ld32step $m4, $mzero, $m0+=, 1
  ld32step $m5, $mzero, $m1+=, 1
  add $m4, $m4, $m5
  st32step $m4, $mzero, $m2+=, 1
  brnzdec $m3, add_word
  get $m9, $SCOUNT_L
  st32 $m9, $m10, $mzero, 1
send_results:
{
        _phase(
            is_owner,
            1,
            f"send 1, {_item(_WRITE_Y)}, 3",
            f"send {WORDS - 1}, {Y // 4:#x}, 3",
            "delay 1",
            f"send 1, {_item(_WRITE_SAMPLES)}, 3",
            f"send 1, {SAMPLES // 4:#x}, 3",
            "delay 15",
            f"send 1, {_item(_READ_NOTHING)}, 3",
        )
    }
  bri next_command
misaligned:
  ld32 $m4, $m3, $mzero, 0
by_worker:
  setzi $m4, in_worker
  runall $m4, $m0, 0
  sync 2
endless:
  bri endless
.worker
in_worker:
  setzi $m4, 2
  ld32 $m4, $m4, $mzero, 0
  exitz $mzero
"""


_ARENA = Arena("code", START, COMMAND, is_executable=True)


@cache
def code(tile: int) -> tuple[bytes, dict[str, int]]:
    """The code of a tile, from `START` on, and the addresses of its labels."""
    image = Linker(arenas=[_ARENA]).link([assemble(source(tile))])
    [segment] = image.segments
    assert segment.address == image.entries["_start"] == START
    return bytes(segment.data), {name: image.symbols[name] for name in LABELS}


def application(
    rows: int = 1, parameters: Source = Source.FILE, shares_pages: bool = False
) -> Application:
    """The package of a device with so many rows of tiles; w is bound when it is loaded.

    x, w and y lie one behind the other on page 1, or all in one place.
    """
    tiles = 64 * rows
    blobs = BlobBuilder()
    numbers = np.arange(tiles)
    columns = []
    for tile in range(tiles):
        content, _ = code(tile)
        table = _packets(tile, rows, shares_pages).tobytes()
        columns += [
            (tile, START, len(content), SegmentKind.CODE, blobs.add(content), 0, len(content)),
            (tile, TABLE, len(table), SegmentKind.PACKETS, blobs.add(table), 0, len(table)),
            (tile, X, 128, SegmentKind.SCRATCH, NONE, 0, 0),
            (tile, STATE, 64, SegmentKind.STATE, NONE, 0, 0),
            (tile, Y, 4 * WORDS + SAMPLE_BYTES, SegmentKind.SCRATCH, NONE, 0, 0),
        ]
    size = 4 * WORDS
    shards = [(X, size), (Y, size), (W, size), (SAMPLES, SAMPLE_BYTES)]
    w = Tensor("w", Role.PARAMETER, ElementType.I32, (tiles, WORDS))
    if parameters is Source.FILE:
        w = replace(w, source=parameters, source_name="layer.w")
    else:
        w = replace(w, source=parameters, blob=blobs.add(np.arange(tiles * WORDS, dtype="<i4")))
    plan, debug = blobs.add(write_profile_plan(_plan(tiles))), blobs.add(write_debug(_debug(tiles)))
    return Application(
        entries=[START] * tiles,
        segments=Segments(*np.array(columns, np.int64).T),
        blobs=blobs.build(),
        tensors=(
            Tensor("x", Role.INPUT, ElementType.I32, (tiles, WORDS)),
            Tensor("y", Role.OUTPUT, ElementType.I32, (tiles, WORDS)),
            w,
            Tensor("profile.cycles", Role.OUTPUT, ElementType.U32, (tiles, 2)),
        ),
        shards=Shards(
            tensor=np.repeat(np.arange(len(shards)), tiles),
            tile=np.tile(numbers, len(shards)),
            address=np.repeat([address for address, _ in shards], tiles),
            offset=np.concatenate([numbers * part for _, part in shards]),
            size=np.repeat([part for _, part in shards], tiles),
        ),
        host=_host(tiles, shares_pages),
        configuration=Configuration([0x2010, 0x4018], [5, 6], [0, 1]),
        completion=Completion(STATE, 1),
        profile_plan_blob=plan,
        debug_blob=debug,
        producer="tilewright test",
    )


def _places(tiles: int, shares_pages: bool) -> list[int]:
    """Where x, w, y and the samples of all tiles are on page 1."""
    size = 4 * WORDS * tiles
    return [0, 0, 0, size] if shares_pages else [0, size, 2 * size, 3 * size]


def _packets(
    tile: int, rows: int, shares_pages: bool
) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """The table of packets of a tile."""
    tiles, size = 64 * rows, 4 * WORDS
    request = 4**rows - 1
    places = _places(tiles, shares_pages)
    of_x, of_w, of_y, of_samples = (0x1000 + place for place in places)
    of_x, of_w, of_y = (each + size * tile for each in (of_x, of_w, of_y))
    of_samples += SAMPLE_BYTES * tile

    def header(form: int, offset: int, count: int, unit: int, destination: int = 0) -> list[int]:
        first = form << 29 | tile << 15
        if destination:
            first |= 0b11 << 26 | (destination - 0x4C000) // 32
        return [first, (tile & 1) << 31 | offset // unit << 4 | count // unit]

    words = [
        [request & 0xFFFFFF, request >> 24],
        header(6, 0, 4, 4, COMMAND),
        header(7, of_x, size, 64, X),
        header(7, of_w, size, 64, W),
        header(5, of_y, size, 64),
        header(4, of_samples, SAMPLE_BYTES, 4),
        header(6, 0, 0, 4, DUMMY),
    ]
    return np.array(words, "<u4").reshape(-1)


def _host(tiles: int, shares_pages: bool) -> HostPlan:
    size = 4 * WORDS * tiles
    of_x, of_w, of_y, of_samples = _places(tiles, shares_pages)
    page = -(-(of_samples + SAMPLE_BYTES * tiles) // 4096) * 4096
    to, back = Direction.TO_DEVICE, Direction.FROM_DEVICE
    return HostPlan(
        pages=Pages([0, 1], [4096, page]),
        calls=(
            Call("initialise", Group.LOAD),
            Call("run", Group.RUN),
            Call("stop", Group.SAVE, ends_open=True),
        ),
        batches=Batches(call=[0, 0, 1, 1, 1, 2], direction=[to, to, to, to, back, to]),
        slices=Slices(
            batch=[1, 3, 4, 4],
            tensor=[2, 0, 1, 3],
            offset=[0, 0, 0, 0],
            page=[1, 1, 1, 1],
            page_offset=[of_w, of_x, of_y, of_samples],
            size=[size, size, size, SAMPLE_BYTES * tiles],
        ),
        entry_points=(
            EntryPoint("initialise", (0,), LOAD),
            EntryPoint("run", (1,), RUN),
            EntryPoint("stop", (2,), 0),
        ),
        command_word=CommandWord(0, 0),
        startup_mark=tiles // 64,
    )


def _plan(tiles: int) -> ProfilePlan:
    """One step, which adds."""
    return ProfilePlan(
        Steps(
            strings=("add", "add_words"),
            tiles=ListOfTiles(np.arange(tiles), [0] * tiles),
            table=StepTable([0], [0], [0], [0], [0], [1], [NONE]),
        )
    )


def _debug(tiles: int) -> Debug:
    """Two code images: of owners, and of others; from `add_words` on, code is of an operation."""
    images = [0, 2]
    strings = [*LABELS, "add.S", "sum", "y", "kernel", "model:7"]
    labels = [code(tile)[1] for tile in images]
    order = [sorted(range(len(LABELS)), key=lambda n: each[LABELS[n]]) for each in labels]
    count = len(LABELS)
    addresses = [
        [each[LABELS[n]] for n in ordered] for each, ordered in zip(labels, order, strict=True)
    ]
    is_other = [tile >= 64 or tile & 2 > 0 for tile in range(tiles)]
    end = [START + len(code(tile)[0]) for tile in images]
    return Debug(
        strings=tuple(strings),
        tiles=CodeOfTiles(np.arange(tiles), is_other, is_other),
        symbols=Symbols(
            np.repeat([0, 1], count),
            np.concatenate(addresses),
            [0] * 2 * count,
            np.concatenate(order),
        ),
        lines=Lines([0, 1], [START, START], [count, count], [1, 1]),
        ranges=Ranges(
            [0, 1],
            [each["add_words"] for each in labels],
            [stop - each["add_words"] for stop, each in zip(end, labels, strict=True)],
            [0, 0],
        ),
        origins=Origins([count + 1], [count + 2], [count + 3], [count + 4]),
    )
