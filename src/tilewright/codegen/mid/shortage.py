"""What is said of a graph that does not fit: what is missing, where, and what would help."""

from collections.abc import Iterator

from tilewright.codegen.mid.budget import MemoryUse
from tilewright.codegen.mid.config import PipelineConfig
from tilewright.codegen.mid.faults import DoesNotFit
from tilewright.target.geometry import TILES

_MOST_LISTED = 5
"""Results."""


def share_taken(use: MemoryUse, config: PipelineConfig) -> float:
    """Of the memory of which least is left; above 1 there is too little."""
    return max(use.total / config.tile_bytes, use.interleaved / config.interleaved_bytes)


def of_plan(graph: str, use: MemoryUse, config: PipelineConfig) -> DoesNotFit:
    """What the plan that came nearest needs too much."""
    where = f"at {use.peak.operation}" if use.peak is not None else "for the graph's sources"
    needed, available = use.total, config.tile_bytes
    said, remedy = f"needs {_kib(needed)} of {_kib(available)}", _remedy(use, available, config)
    if use.total <= config.tile_bytes and use.interleaved > config.interleaved_bytes:
        needed, available = use.interleaved, config.interleaved_bytes
        said = (
            f"needs {_kib(needed)} of interleaved memory, for weights and for results of products, "
            f"of which it has {_kib(available)}"
        )
        remedy = _more_tiles(needed, available, config)
    elif use.total <= config.tile_bytes:
        said += ", but not in pieces that fit its two regions of memory"
        remedy = _more_tiles(available + 1, available, config)
    lines = [
        f'graph "{graph}" does not fit {_counted(config.tiles)}: {where}, the fullest tile {said}',
        *_parts(use),
        f"  {remedy}",
    ]
    operation = use.peak.operation if use.peak is not None else ""
    return DoesNotFit("\n".join(lines), operation, needed, available)


def of_operation(
    graph: str, nearest: DoesNotFit, parameters: int, config: PipelineConfig
) -> DoesNotFit:
    """What a single operation needs too much, beside bytes of `parameters` on each tile."""
    available = config.tile_bytes
    beside = min(parameters, available)
    needed = nearest.needed + beside
    message = (
        f'graph "{graph}" does not fit {_counted(config.tiles)}: '
        f"{nearest.operation} needs at least {_kib(nearest.needed)} of a tile beside "
        f"{_kib(beside)} of parameters; a tile has {_kib(available)}\n"
        f"  {_more_tiles(needed, available, config)}"
    )
    return DoesNotFit(message, nearest.operation, needed, available)


def of_results(graph: str, found: list[tuple[str, int]], config: PipelineConfig) -> DoesNotFit:
    """What operations make that is larger than all memory: by label, bytes for each tile."""
    available = config.tile_bytes
    lines = [
        f"{label} needs at least {_kib(size)} of a tile for its result; "
        f"a tile has {_kib(available)}"
        for label, size in found[:_MOST_LISTED]
    ]
    if len(found) > _MOST_LISTED:
        lines.append(f"and {len(found) - _MOST_LISTED} others")
    largest, needed = max(found, key=lambda each: each[1])
    lines.append(_more_tiles(needed, available, config))
    message = f'graph "{graph}" does not fit {_counted(config.tiles)}:'
    return DoesNotFit("\n  ".join([message, *lines]), largest, needed, available)


def _parts(use: MemoryUse) -> Iterator[str]:
    yield (
        f"  parameters {_kib(use.resident)}, live values {_kib(use.live)}, working memory "
        f"{_kib(use.working)}, exchange rows {_kib(use.rows)}"
    )
    if use.largest:
        yield "  the largest: " + ", ".join(f"{name} {_kib(size)}" for name, size in use.largest)


def _remedy(use: MemoryUse, available: int, config: PipelineConfig) -> str:
    """The nearest change that would fit, by the bytes that it frees."""
    missing = use.total - available
    if use.resident // 2 >= missing and use.resident > use.live + use.working:
        return "storing the parameters in 8 bits would free the half of their memory, which fits"
    if (use.live + use.working) // 2 >= missing:
        return "halving the batch or the tokens would free enough"
    return _more_tiles(use.total, available, config)


def _more_tiles(needed: int, available: int, config: PipelineConfig) -> str:
    tiles = -(-config.tiles * needed // available)
    if tiles <= TILES:
        return f"about {_counted(tiles)} would hold it"
    return (
        f"it needs about {needed / available:.1f} times the memory: store parameters in 8 bits, "
        "make the batch smaller, or split the model"
    )


def _counted(tiles: int) -> str:
    return f"{tiles} tile{'' if tiles == 1 else 's'}"


def _kib(size: int) -> str:
    return f"{size} bytes" if 1 < size < 1024 else f"{size / 1024:,.1f} KiB"
