"""A package in words and as plain data, for people and for other programs."""

from typing import Any

import numpy as np

from tilewright.package.application import Application, SegmentKind
from tilewright.package.host_plan import Direction
from tilewright.package.tables import NONE
from tilewright.package.tensors import Source, Tensor
from tilewright.target.topology import logical_tile


def summary(application: Application) -> str:
    """What a package is for and what it holds, in a few lines."""
    segments, host = application.segments, application.host
    kinds = np.bincount(segments.kind, segments.size, len(SegmentKind)).astype(np.int64)
    lines = [
        f"producer  {application.producer or 'unknown'}",
        f"digest    {application.digest.hex() or 'not written yet'}",
        f"tiles     {application.tiles:,}, with {len(segments):,} segments",
        f"memory    {segments.size.sum(dtype=np.int64):,} bytes: "
        + ", ".join(f"{kind.name.lower()} {kinds[kind]:,}" for kind in SegmentKind if kinds[kind]),
        f"blobs     {len(application.blobs.sizes):,}, "
        f"{application.blobs.sizes.sum(dtype=np.int64):,} bytes",
        f"tensors   {len(application.tensors):,} in {len(application.shards):,} shards",
        f"host      {len(host.pages)} pages of {host.pages.size.sum(dtype=np.int64):,} bytes",
    ]
    lines += [f"  call {_call_text(application, call)}" for call in range(len(host.calls))]
    lines += [
        f"  entry point {each.name}: "
        + ", ".join(host.calls[call].name for call in each.calls)
        + f" (command {each.command})"
        for each in host.entry_points
    ]
    if len(application.configuration):
        lines.append(f"registers {len(application.configuration)} written")
    if application.completion is not None:
        done = application.completion
        lines.append(f"ends with {done.value:#x} at {done.address:#x} of every tile")
    kept = [
        name
        for name, blob in (
            ("profile plan", application.profile_plan_blob),
            ("debug tables", application.debug_blob),
        )
        if blob != NONE
    ]
    return "\n".join(
        [*lines, f"has       {' and '.join(kept) or 'neither profile plan nor debug'}"]
    )


def _call_text(application: Application, call: int) -> str:
    host = application.host
    batches = host.batches_of(call)
    is_in = host.batches.direction[batches.start : batches.stop] == Direction.TO_DEVICE
    count_in = int(np.count_nonzero(is_in))
    return (
        f"{host.calls[call].name} ({host.calls[call].group.name.lower()}): "
        f"{count_in} batches to the device, {len(batches) - count_in} from it, "
        f"{host.phases(call)} phases"
    )


def tiles_data(application: Application) -> list[dict[str, Any]]:
    """One entry per tile: ids, entry, segments, bytes loaded, and the end of what is loaded."""
    segments, tiles = application.segments, application.tiles
    is_loaded = segments.kind != SegmentKind.SCRATCH
    size = np.where(is_loaded, segments.size, 0).astype(np.int64)
    end = np.zeros(tiles, np.int64)
    np.maximum.at(end, segments.tile, np.where(is_loaded, segments.address + size, 0))
    loaded = np.bincount(segments.tile, size, tiles).astype(np.int64)
    count = np.bincount(segments.tile, minlength=tiles)
    return [
        {
            "tile": tile,
            "logical": logical_tile(tile),
            "entry": int(application.entries[tile]),
            "segments": int(count[tile]),
            "bytes": int(loaded[tile]),
            "end": int(end[tile]),
        }
        for tile in range(tiles)
    ]


def bindings_data(application: Application) -> list[dict[str, Any]]:
    """One entry per tensor."""
    counts = np.bincount(application.shards.tensor, minlength=len(application.tensors))
    return [
        {
            "name": tensor.name,
            "role": tensor.role.name.lower(),
            "element": tensor.element.name.lower(),
            "shape": list(tensor.shape),
            "loops": [list(loop) for loop in tensor.order],
            "scale": tensor.scale,
            "bytes": tensor.stream_bytes,
            "shards": int(counts[number]),
            "tiles": len(np.unique(application.shards_of(number).tile)),
            "source": _source(tensor),
        }
        for number, tensor in enumerate(application.tensors)
    ]


def memory_data(application: Application, tile: int) -> list[dict[str, Any]]:
    """Segments and shards of one tile, by address."""
    segments, shards = application.segments_of(tile), application.shards
    rows = [
        {
            "address": int(segments.address[row]),
            "size": int(segments.size[row]),
            "what": SegmentKind(int(segments.kind[row])).name.lower(),
            "data": int(segments.data_size[row]),
        }
        for row in range(len(segments))
    ]
    rows += [
        {
            "address": int(shards.address[row]),
            "size": int(shards.size[row]),
            "what": application.tensors[shards.tensor[row]].name,
            "offset": int(shards.offset[row]),
        }
        for row in np.flatnonzero(shards.tile == tile).tolist()
    ]
    return sorted(rows, key=lambda each: (each["address"], "offset" in each, each["what"]))


def symbols_data(application: Application) -> list[dict[str, Any]]:
    """One entry per symbol of a code image, with the number of tiles that run it."""
    debug = application.debug
    if debug is None:
        return []
    codes, counts = np.unique(debug.tiles.tile_code, return_counts=True)
    tiles = dict(zip(codes.tolist(), counts.tolist(), strict=True))
    symbols = debug.symbols
    return [
        {
            "code": code,
            "tiles": tiles.get(code, 0),
            "address": address,
            "size": size,
            "name": debug.strings[name],
        }
        for code, address, size, name in zip(
            symbols.code.tolist(),
            symbols.address.tolist(),
            symbols.size.tolist(),
            symbols.name.tolist(),
            strict=True,
        )
    ]


def package_data(application: Application) -> dict[str, Any]:
    """The whole package as plain data, but the contents of blobs and the memory of single tiles."""
    host = application.host
    completion = application.completion
    return {
        "producer": application.producer,
        "digest": application.digest.hex(),
        "blobs": {
            "count": len(application.blobs.sizes),
            "bytes": int(application.blobs.sizes.sum(dtype=np.int64)),
        },
        "tiles": tiles_data(application),
        "tensors": bindings_data(application),
        "pages": [
            {"index": index, "size": size}
            for index, size in zip(host.pages.index.tolist(), host.pages.size.tolist(), strict=True)
        ],
        "calls": [
            {
                "name": call.name,
                "group": call.group.name.lower(),
                "batches": [
                    {
                        "direction": Direction(int(host.batches.direction[batch])).name.lower(),
                        "slices": len(host.slices_of(batch)),
                    }
                    for batch in host.batches_of(number)
                ],
                "phases": host.phases(number),
                "reuses_pages": host.reuses_pages(number),
            }
            for number, call in enumerate(host.calls)
        ],
        "entry_points": [
            {"name": each.name, "command": each.command, "calls": list(each.calls)}
            for each in host.entry_points
        ],
        "configuration": [
            {"offset": offset, "value": value, "when": when}
            for offset, value, when in zip(
                application.configuration.offset.tolist(),
                application.configuration.value.tolist(),
                application.configuration.when.tolist(),
                strict=True,
            )
        ],
        "completion": completion and {"address": completion.address, "value": completion.value},
        "has_profile_plan": application.profile_plan_blob != NONE,
        "has_debug": application.debug_blob != NONE,
    }


def _source(tensor: Tensor) -> str | None:
    if tensor.source is Source.NONE:
        return None
    return (
        f"file:{tensor.source_name}" if tensor.source is Source.FILE else tensor.source.name.lower()
    )
