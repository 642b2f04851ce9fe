"""Profiles for Perfetto (ui.perfetto.dev): its JSON events, one track per tile and one of the chip.

Times are microseconds at the profile's clock, from each tile's first sample on.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from tilewright.errors import TilewrightError
from tilewright.files import writing_atomically
from tilewright.package import StepKind
from tilewright.profile.analysis import Analysis
from tilewright.profile.taken import UNKNOWN, Integers

CHIP, TILES = 1, 2
"""Perfetto's processes: of the chip's track, and of the tiles'."""
USUAL_TILES = 32
"""As many tracks as are drawn if nobody says which."""


def usual_tiles(analysis: Analysis) -> list[int]:
    """Physical ids of the tiles that the chip waits for longest, as many as fit a screen."""
    taken = analysis.taken
    cycles = np.bincount(taken.tile[analysis.critical], taken.busy[analysis.critical])
    longest = np.argsort(-cycles, kind="stable")[:USUAL_TILES]
    return sorted(longest[cycles[longest] > 0].tolist())


def write_trace(analysis: Analysis, path: Path, tiles: Iterable[int] | None = None) -> None:
    """Write the trace of a profile, whole or not at all; compressed if `path` ends with `.gz`.

    `tiles` are physical ids; without them those that matter most are drawn. Raises `FileError`, and
    `TilewrightError` for a tile without samples.
    """
    chosen = usual_tiles(analysis) if tiles is None else sorted(set(tiles))
    missing = np.setdiff1d(chosen, analysis.steps.tiles.tile)
    if missing.size:
        known = analysis.steps.tiles.tile
        others = f"{len(known)} did, from {known.min()} to {known.max()}" if len(known) else ""
        raise TilewrightError(f"tile {missing[0]} took no samples; {others or 'no tile did'}")
    events = chain(_names(chosen), _chip_events(analysis), _tile_events(analysis, chosen))
    with writing_atomically(path) as file:
        if path.suffix != ".gz":
            file.writelines(_text(events))
            return
        with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6, mtime=0) as packed:
            packed.writelines(_text(events))


def _text(events: Iterable[dict[str, object]]) -> Iterator[bytes]:
    yield b'{"displayTimeUnit": "ns", "traceEvents": [\n'
    for number, event in enumerate(events):
        yield (b",\n" if number else b"") + json.dumps(event).encode()
    yield b"\n]}\n"


def _names(tiles: list[int]) -> Iterator[dict[str, object]]:
    for process, name in ((CHIP, "chip"), (TILES, "tiles")):
        yield _metadata("process_name", process, 0, name=name)
        yield _metadata("process_sort_index", process, 0, sort_index=process)
    yield _metadata("thread_name", CHIP, 0, name="critical path")
    for tile in tiles:
        yield _metadata("thread_name", TILES, tile + 1, name=f"tile {tile}")
        yield _metadata("thread_sort_index", TILES, tile + 1, sort_index=tile)


def _metadata(what: str, process: int, thread: int, **values: object) -> dict[str, object]:
    return {"ph": "M", "pid": process, "tid": thread, "name": what, "args": values}


def _chip_events(analysis: Analysis) -> Iterator[dict[str, object]]:
    """The critical path, one step after the other, with the tile that decides."""
    rank = np.empty(len(analysis.chip.order), np.int64)
    rank[analysis.chip.order] = np.arange(len(rank))
    path = np.flatnonzero(analysis.critical)
    path = path[np.argsort(rank[analysis.taken.step[path]], kind="stable")]
    busy = analysis.taken.busy[path]
    start = np.cumsum(busy) - busy
    for entry, begun, cycles in zip(path.tolist(), start.tolist(), busy.tolist(), strict=True):
        tile = int(analysis.taken.tile[entry])
        yield _slice(analysis, entry, CHIP, 0, begun, cycles, tile=tile)


def _tile_events(analysis: Analysis, tiles: list[int]) -> Iterator[dict[str, object]]:
    taken = analysis.taken
    for tile in tiles:
        first, last = np.searchsorted(taken.tile, [tile, tile + 1])
        entries = np.arange(first, last)
        for entry, start, busy, waited in zip(
            entries.tolist(), *_columns(entries, taken.start, taken.busy, taken.waited), strict=True
        ):
            if waited:
                yield _event("waiting", "waiting", analysis, TILES, tile + 1, start, waited)
            yield _slice(analysis, entry, TILES, tile + 1, start + waited, busy)


def _columns(entries: Integers, *columns: Integers) -> Iterator[list[int]]:
    yield from (column[entries].tolist() for column in columns)


def _slice(
    analysis: Analysis,
    entry: int,
    process: int,
    thread: int,
    start: int,
    cycles: int,
    **more: object,
) -> dict[str, object]:
    table, row = analysis.steps.table, int(analysis.taken.row[entry])
    kind = StepKind(int(table.kind[row])).name.lower()
    kernel = analysis.kernel(row)
    event = _event(analysis.operation(row), kind, analysis, process, thread, start, cycles)
    planned = int(analysis.taken.planned[entry])
    event["args"] = {
        "cycles": cycles,
        **({} if planned == UNKNOWN else {"planned": planned}),
        **({} if kernel is None else {"kernel": kernel}),
        "phase": int(table.phase[row]),
        "epoch": int(table.epoch[row]),
        **more,
    }
    return event


def _event(
    name: str,
    category: str,
    analysis: Analysis,
    process: int,
    thread: int,
    start: int,
    cycles: int,
) -> dict[str, object]:
    scale = 1e6 / analysis.clock
    return {
        "ph": "X",
        "pid": process,
        "tid": thread,
        "name": name,
        "cat": category,
        "ts": round(start * scale, 6),
        "dur": round(cycles * scale, 6),
    }
