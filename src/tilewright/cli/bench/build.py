"""Whole graphs as packages on the emulated chip: what builds take, and where cycles go.

Each graph is built and run in a process of its own, so that its memory is its own and no cache of
another build helps.
"""

import resource
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from time import perf_counter
from typing import Any

import numpy as np

from tilewright.cli.bench.figure import Figure
from tilewright.cli.examples import EXAMPLES
from tilewright.cli.passes import Pass, recording, seconds_by_pass
from tilewright.codegen.build import PackageConfig, build_package
from tilewright.codegen.mid import PipelineConfig, PlanReport, Profiling, forget, plan, report
from tilewright.device.runtime import SAMPLE_CYCLES
from tilewright.graph import ComputeGraph, Precision, evaluate
from tilewright.package import StepKind
from tilewright.profile import Analysis, By, analyse, grouped
from tilewright.runtime import open_device
from tilewright.target.geometry import TILES
from tilewright.target.timing import INTERNAL_SYNC

GRAPHS = {
    "mlp": "mlp-729",
    "gemm": "gemm-4096",
    "siglip_layer": "siglip-layer",
    "minilm": "minilm",
}
"""Names in figures, and of examples."""
_PARTS = ("compute", "exchange", "sync")
_INPUTS = "inputs"
"""The operation of the profile that is the host's."""
_KIB = 1024


def build_figures() -> list[Figure]:
    """Of all graphs, on all tiles, with seeded numbers."""
    found: list[Figure] = []
    for name in GRAPHS:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            found += process.submit(graph_figures, name, TILES).result()
    return found


def graph_figures(name: str, tiles: int) -> list[Figure]:
    """Of one of `GRAPHS`, on so many tiles."""
    graph = EXAMPLES[GRAPHS[name]]()
    config = PackageConfig(PipelineConfig(tiles=tiles, profiling=Profiling.STEPS))
    arrays = _arrays(graph)
    inputs = {each.name: arrays[each.name] for each in graph.inputs}
    parameters = {each.name: arrays[each.name] for each in graph.parameters}
    forget()
    start = perf_counter()
    with recording() as passes:
        application = build_package(graph, config, parameters)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB
    build = _Build(perf_counter() - start, memory, passes)
    with open_device() as device, device.load(application) as session:
        start = perf_counter()
        result = session.run(inputs)
        seconds = perf_counter() - start
        analysis = analyse(session.profile())
    planned = report(plan(graph, config.pipeline), config.pipeline)
    expected = evaluate(graph, inputs, parameters, Precision.F32)
    prefix = f"build.{name}"
    cosines = [_least_cosine(result.outputs[each], expected[each]) for each in expected]
    return [
        *build.figures(prefix),
        Figure(f"{prefix}.run_seconds", seconds, "s"),
        *_cycle_figures(prefix, analysis, planned, graph, tiles),
        Figure(f"{prefix}.cosine", min(cosines), "ratio"),
    ]


@dataclass(frozen=True, slots=True)
class _Build:
    """How long building took, the most memory that the process had by then, and the passes."""

    seconds: float
    memory: int
    passes: list[Pass]

    def figures(self, prefix: str) -> Iterator[Figure]:
        yield Figure(f"{prefix}.seconds", self.seconds, "s")
        yield Figure(f"{prefix}.memory_bytes", self.memory, "bytes")
        for name, seconds in seconds_by_pass(self.passes).items():
            yield Figure(f"{prefix}.{name}.seconds", seconds, "s")
        placing = [each for each in self.passes if each.name == "codegen.place.place"][-1]
        yield Figure(f"{prefix}.sram_peak_bytes", placing.attributes["bytes"], "bytes")
        yield Figure(f"{prefix}.sram_bound_bytes", placing.attributes["bound"], "bytes")


def _cycle_figures(
    prefix: str, analysis: Analysis, planned: PlanReport, graph: ComputeGraph, tiles: int
) -> Iterator[Figure]:
    """Of the graph, without the host's transfers: all, by part, and of each operation.

    What samples take is a figure of its own, and in no other one but those of parts.
    """
    groups = [each for each in grouped(analysis, By.OPERATION) if each.name != _INPUTS]
    sampling = sum(each.steps for each in groups) * SAMPLE_CYCLES
    cycles = sum(each.cycles for each in groups) - sampling
    yield Figure(f"{prefix}.cycles", cycles, "cycles")
    yield Figure(f"{prefix}.predicted", round(planned.total), "cycles")
    yield Figure(f"{prefix}.sampling_cycles", sampling, "cycles")
    yield from _horizons(prefix, analysis)
    for part in _PARTS:
        yield Figure(f"{prefix}.{part}_cycles", sum(each.parts[part] for each in groups), "cycles")
    yield Figure(f"{prefix}.utilisation", planned.utilisation * planned.total / cycles, "ratio")
    predicted: dict[str, float] = {}
    for row in planned.rows:
        predicted[row.operation] = predicted.get(row.operation, 0.0) + row.runs * row.total
    for each in groups:
        label = each.name.replace(" ", "_")
        own = each.cycles - each.steps * SAMPLE_CYCLES
        yield Figure(f"{prefix}.operation.{label}.cycles", own, "cycles")
        if each.name in predicted:
            expected = round(predicted[each.name])
            yield Figure(f"{prefix}.operation.{label}.predicted", expected, "cycles")


def _horizons(prefix: str, analysis: Analysis) -> Iterator[Figure]:
    """Of phases on the critical path: from the barrier to the end of the row, all together."""
    taken, kind = analysis.taken, analysis.steps.table.kind
    phases = analysis.critical & (kind[taken.row] == StepKind.EXCHANGE)
    beside = int(INTERNAL_SYNC.value) + SAMPLE_CYCLES
    yield Figure(f"{prefix}.horizons", int((taken.busy[phases] - beside).sum()), "cycles")
    yield Figure(f"{prefix}.horizons_planned", int(taken.planned[phases].sum()), "cycles")


def _arrays(graph: ComputeGraph) -> dict[str, np.ndarray[Any, Any]]:
    """Normally distributed numbers, matrices scaled so that products keep their size."""
    random = np.random.default_rng(0)
    arrays = {}
    for source in (*graph.inputs, *graph.parameters):
        shape = source.value.type.shape
        is_weight = source in graph.parameters and len(shape) > 1
        scale = shape[-2] ** -0.5 if is_weight else 1.0
        arrays[source.name] = (random.normal(size=shape) * scale).astype(np.float16)
    return arrays


def _least_cosine(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> float:
    """Of the rows of an output and what they should be, the least."""
    one, other = (np.asarray(each, np.float64) for each in (found, expected))
    products = (one * other).sum(-1)
    return float(np.min(products / np.linalg.norm(one, axis=-1) / np.linalg.norm(other, axis=-1)))
