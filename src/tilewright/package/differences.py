"""How two packages differ, in words: by what they hold, not by how blobs are numbered."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.package.application import Application, SegmentKind
from tilewright.package.tables import NONE, Table

_SHOWN = 8
"""Tiles that a line lists."""
_MISSING = bytes(32)


def differences(old: Application, new: Application) -> list[str]:
    """One line per difference; none if both do the same."""
    return [
        *_values("producer", old.producer, new.producer),
        *_values("tiles", old.tiles, new.tiles),
        *_entries(old, new),
        *_segments(old, new),
        *_tensors(old, new),
        *_host(old, new),
        *_table("configuration", old.configuration, new.configuration),
        *_values("completion", old.completion, new.completion),
        *_blob("profile plan", old, new, "profile_plan_blob"),
        *_blob("debug tables", old, new, "debug_blob"),
    ]


def _values(name: str, old: Any, new: Any) -> Iterator[str]:
    if old != new:
        yield f"{name}: {old!r} → {new!r}"


def _table(name: str, old: Table, new: Table) -> Iterator[str]:
    if len(old) != len(new):
        yield f"{name}: {len(old):,} → {len(new):,} rows"
    elif old != new:
        is_other = np.zeros(len(old), bool)
        for each in old.columns():
            is_other |= getattr(old, each) != getattr(new, each)
        rows = np.flatnonzero(is_other)
        yield f"{name}: {rows.size:,} of {len(old):,} rows differ, the first is {rows[0]}"


def _entries(old: Application, new: Application) -> Iterator[str]:
    shared = min(old.tiles, new.tiles)
    tiles = np.flatnonzero(old.entries[:shared] != new.entries[:shared]).tolist()
    if tiles:
        yield f"entries: of {_tile_list(tiles)}"


def _segments(old: Application, new: Application) -> Iterator[str]:
    """By kind of segment, the tiles where those differ in place or content."""
    for kind in SegmentKind:
        before, after = _by_tile(old, kind), _by_tile(new, kind)
        tiles = sorted(
            tile for tile in before.keys() | after.keys() if before.get(tile) != after.get(tile)
        )
        if tiles:
            yield f"{kind.name.lower()}: of {_tile_list(tiles)}"


def _by_tile(application: Application, kind: SegmentKind) -> dict[int, bytes]:
    """For each tile its segments of one kind: their ranges, and hashes for their contents."""
    segments = application.segments[application.segments.kind == kind]
    digests = np.concatenate([application.blobs.digests, np.zeros((1, 32), np.uint8)])
    blob = np.where(segments.blob == NONE, len(digests) - 1, segments.blob)
    ranges = np.stack([segments.address, segments.size, segments.offset, segments.data_size], 1)
    rows = np.concatenate([np.ascontiguousarray(ranges).view(np.uint8), digests[blob]], 1)
    tiles, first = np.unique(segments.tile, return_index=True)
    last = np.append(first, len(segments))
    return {
        int(tile): rows[last[index] : last[index + 1]].tobytes() for index, tile in enumerate(tiles)
    }


def _tensors(old: Application, new: Application) -> Iterator[str]:
    before = {tensor.name: number for number, tensor in enumerate(old.tensors)}
    after = {tensor.name: number for number, tensor in enumerate(new.tensors)}
    for name in before:
        if name not in after:
            yield f"tensor '{name}': gone"
    for name, number in after.items():
        if name not in before:
            yield f"tensor '{name}': new"
        else:
            changed = _tensor_changes(old, before[name], new, number)
            if changed:
                yield f"tensor '{name}': {', '.join(changed)}"


def _tensor_changes(old: Application, before: int, new: Application, after: int) -> list[str]:
    first, second = old.tensors[before], new.tensors[after]
    found = [
        f"{name} {getattr(first, name)} → {getattr(second, name)}"
        for name in ("shape", "order", "scale", "source_name")
        if getattr(first, name) != getattr(second, name)
    ]
    found += [
        f"{name} {getattr(first, name).name.lower()} → {getattr(second, name).name.lower()}"
        for name in ("role", "element", "source")
        if getattr(first, name) != getattr(second, name)
    ]
    if _digest(old, first.blob) != _digest(new, second.blob):
        found.append("content")
    places = ("tile", "address", "offset", "size")
    shards, others = old.shards_of(before), new.shards_of(after)
    if any(not np.array_equal(getattr(shards, name), getattr(others, name)) for name in places):
        found.append("places")
    return found


def _host(old: Application, new: Application) -> Iterator[str]:
    before, after = old.host, new.host
    for name in ("pages", "batches", "slices"):
        yield from _table(f"host {name}", getattr(before, name), getattr(after, name))
    for name in ("calls", "entry_points", "command_word", "startup_mark"):
        label = f"host {name.replace('_', ' ')}"
        yield from _values(label, getattr(before, name), getattr(after, name))


def _blob(name: str, old: Application, new: Application, field: str) -> Iterator[str]:
    before, after = (_digest(each, getattr(each, field)) for each in (old, new))
    if before != after:
        change = "gone" if after == _MISSING else "new" if before == _MISSING else "differ"
        yield f"{name}: {change}"


def _digest(application: Application, blob: int) -> bytes:
    """The hash of a blob's content; zeros for none."""
    return _MISSING if blob == NONE else application.blobs.digests[blob].tobytes()


def _tile_list(tiles: list[int]) -> str:
    shown = ", ".join(map(str, tiles[:_SHOWN]))
    more = f" and {len(tiles) - _SHOWN:,} more" if len(tiles) > _SHOWN else ""
    return f"{'tile' if len(tiles) == 1 else 'tiles'} {shown}{more}"
