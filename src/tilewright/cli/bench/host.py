"""Exchange with the host: bytes per cycle, phases, and what loading and calls cost beside it."""

from collections.abc import Mapping
from functools import partial
from time import perf_counter
from types import MappingProxyType

import numpy as np

from tilewright.cli.bench.figure import Figure, best_seconds
from tilewright.codegen.build import PackageConfig, build_package
from tilewright.codegen.host import HostCall, plan_exchange
from tilewright.codegen.mid import PipelineConfig
from tilewright.driver import CallTimes
from tilewright.graph import ComputeGraph
from tilewright.package import Shards
from tilewright.runtime import open_device
from tilewright.target.geometry import TILES

_TENSORS: Mapping[str, tuple[int, tuple[int, int]]] = MappingProxyType(
    {"small": (1, (128, 384)), "many": (8, (128, 384)), "large": (1, (4096, 2048))}
)
"""Inputs of a program that gives back the positive values of each, and their shape."""
_HALF = 2
_PLANNED_BYTES, _FIRST, _SECOND = 14_000, 0x60000, 0x70000
_RUNS = 3


def host_figures() -> list[Figure]:
    """Of each program on all tiles, and of a plan alone."""
    figures = [each for name in _TENSORS for each in _figures_of(name)]
    tiles = np.arange(TILES)
    sizes = np.full(TILES, _PLANNED_BYTES)
    first, second = (
        Shards(np.full(TILES, tensor), tiles, np.full(TILES, address), sizes * tiles, sizes)
        for tensor, address in enumerate((_FIRST, _SECOND))
    )
    seconds = best_seconds(partial(plan_exchange, [HostCall("run", 1, first, second)]))
    return [*figures, Figure("host.plan_seconds", seconds, "s")]


def _figures_of(name: str) -> list[Figure]:
    count, shape = _TENSORS[name]
    graph = ComputeGraph(name)
    for number in range(count):
        graph.output(f"y{number}", graph.relu(graph.input(f"x{number}", shape)))
    application = build_package(graph, PackageConfig(PipelineConfig()))
    arrays = {f"x{number}": np.ones(shape, np.float16) for number in range(count)}
    start = perf_counter()
    with open_device() as device, device.load(application) as session:
        loaded = perf_counter()
        (times,) = session.run(arrays).times
        seconds = best_seconds(partial(session.run, arrays), _RUNS)
    carried = _HALF * count * shape[0] * shape[1]
    inward, outward = _cycles(times)
    phases = 2 * len(times.is_input)
    prefix = f"host.{name}"
    return [
        Figure(f"{prefix}.bytes", carried, "bytes"),
        Figure(f"{prefix}.in_bytes_per_cycle", carried / inward, "bytes/cycle"),
        Figure(f"{prefix}.out_bytes_per_cycle", carried / outward, "bytes/cycle"),
        Figure(f"{prefix}.phases", phases, "count"),
        Figure(f"{prefix}.phases_per_tensor", phases / (2 * count), "count"),
        Figure(f"{prefix}.load_seconds", loaded - start, "s"),
        Figure(f"{prefix}.run_seconds", seconds, "s"),
    ]


def _cycles(times: CallTimes) -> tuple[int, int]:
    """From the command to the end of the last batch to tiles, and from the first from them on."""
    batches = len(times.is_input)
    first_out = times.is_input.index(False)
    inward = times.cycles[2 * first_out - 1] - times.cycles[1]
    return inward, times.cycles[2 * batches - 1] - times.cycles[2 * first_out]
