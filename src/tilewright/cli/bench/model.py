"""Whole models from graph to answer: building, packages, cycles by part, emulation, accuracy."""

import multiprocessing
import resource
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.cli.bench.figure import Figure
from tilewright.cli.building import PLAN, package_config
from tilewright.cli.demo import SENTENCES
from tilewright.cli.embedding import cosines
from tilewright.cli.examples import EXAMPLES
from tilewright.cli.passes import Pass, recording, seconds_by_pass
from tilewright.codegen.build import build_package
from tilewright.frontend import (
    Checkpoint,
    CheckpointError,
    SeededModel,
    encoder_graph,
    encoder_inputs,
    find_installed_checkpoint,
    load_checkpoint,
    reference_vectors,
    sentence_vectors,
    write_seeded_checkpoint,
)
from tilewright.graph import ComputeGraph, Precision, evaluate
from tilewright.package import write_package
from tilewright.profile import analyse
from tilewright.runtime import RunResult, open_device
from tilewright.target.geometry import TILES

Arrays = dict[str, NDArray[Any]]
_TOKENS = 128
_MINILM = SeededModel(layers=6, width=384, heads=12, inner=1536)
"""The sizes of all-MiniLM-L6-v2, where that is not installed."""
_KIB = 1024


@dataclass(frozen=True, slots=True)
class Job:
    """A model with inputs; `rows` makes vectors of its outputs, which should be `expected`."""

    graph: ComputeGraph
    parameters: Arrays
    inputs: Arrays
    rows: Callable[[Mapping[str, NDArray[Any]]], NDArray[np.float32]]
    expected: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Ran:
    """What building and running a model gave; `seconds` are those of the run."""

    passes: list[Pass]
    package_bytes: int
    seconds: float
    result: RunResult


def model_figures() -> list[Figure]:
    """Each model in a process of its own, so that its peak of memory counts alone."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1, maxtasksperchild=1) as pool:
        return [each for name in JOBS for each in pool.apply(_measured, (name,))]


def _measured(name: str) -> list[Figure]:
    job = JOBS[name]()
    ran = _ran(job, profile=False, runs=2)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB
    plan = [each.attributes for each in ran.passes if each.name == PLAN][-1]
    agreement = np.diag(cosines(job.rows(ran.result.outputs), job.expected))
    cycles = ran.result.cycles
    build = sum(each.seconds or 0.0 for each in ran.passes if each.depth == 0)
    prefix = f"model.{name}"
    return [
        Figure(f"{prefix}.build_seconds", build, "s"),
        *(
            Figure(f"{prefix}.{name}_seconds", seconds, "s")
            for name, seconds in seconds_by_pass(ran.passes).items()
        ),
        Figure(f"{prefix}.package_bytes", ran.package_bytes, "bytes"),
        Figure(f"{prefix}.cycles", cycles, "cycles"),
        Figure(f"{prefix}.host_cycles", ran.result.host_cycles, "cycles"),
        Figure(f"{prefix}.predicted", plan["cycles"], "cycles"),
        *_parts(prefix, job),
        Figure(f"{prefix}.utilisation", plan["ideal"] / cycles, "ratio"),
        Figure(f"{prefix}.run_seconds", ran.seconds, "s"),
        Figure(f"{prefix}.cycles_per_second", cycles / ran.seconds, "cycles/s"),
        Figure(f"{prefix}.peak_bytes", peak, "bytes"),
        Figure(f"{prefix}.cosine", float(agreement.min()), "ratio"),
    ]


def _parts(prefix: str, job: Job) -> list[Figure]:
    """Cycles by part, of a program that samples its counters, which takes a few cycles itself."""
    profile = _ran(job, profile=True, runs=1).result.profile
    assert profile is not None
    parts = analyse(profile).parts
    return [Figure(f"{prefix}.path_{part}", cycles, "cycles") for part, cycles in parts.items()]


def _ran(job: Job, *, profile: bool, runs: int) -> Ran:
    """The last of some runs: the first also compiles, if nothing was kept, what is emulated."""
    with recording() as passes:
        application = build_package(
            job.graph, package_config(TILES, profile=profile), job.parameters
        )
    with tempfile.TemporaryDirectory(prefix="tilewright-bench-") as folder:
        path = Path(folder, "model.ipuexe")
        write_package(application, path)
        size = path.stat().st_size
        with open_device() as device, device.load(path) as session:
            for _ in range(runs):
                start = perf_counter()
                result = session.run(job.inputs)
                seconds = perf_counter() - start
    return Ran(passes, size, seconds, result)


def _minilm(batch: int) -> Job:
    checkpoint = _checkpoint()
    texts = checkpoint.tokenise([_text(each) for each in range(batch)], _TOKENS)
    graph, parameters = encoder_graph(checkpoint, batch, _TOKENS)
    return Job(
        graph,
        parameters,
        encoder_inputs(checkpoint, texts, batch, _TOKENS),
        lambda outputs: sentence_vectors(checkpoint, outputs, texts.counts),
        reference_vectors(checkpoint, texts),
    )


def _checkpoint() -> Checkpoint:
    try:
        return load_checkpoint(find_installed_checkpoint())
    except CheckpointError:
        with tempfile.TemporaryDirectory(prefix="tilewright-bench-") as folder:
            return load_checkpoint(write_seeded_checkpoint(Path(folder), _MINILM))


def _text(number: int) -> str:
    """A text of about 110 to 30 tokens, longer ones first."""
    rotated = SENTENCES[number % len(SENTENCES) :] + SENTENCES[: number % len(SENTENCES)]
    return " ".join((rotated * 2)[: 11 - number])


def _siglip() -> Job:
    """Seeded weights of the sizes that trained layers have, so that values keep theirs."""
    graph, random = EXAMPLES["siglip"](), np.random.default_rng(0)
    arrays: Arrays = {}
    for source in graph.sources:
        shape = source.value.type.shape
        scale = shape[-2] ** -0.5 if len(shape) > 1 and source.name != "x" else 1.0
        if len(shape) == 1:
            scale = 0.1
        centre = 1.0 if "scale" in source.name else 0.0
        arrays[source.name] = random.normal(centre, scale, shape).astype(np.float16)
    inputs = {"x": arrays.pop("x")}
    expected = evaluate(graph, inputs, arrays, Precision.F32)
    return Job(
        graph,
        arrays,
        inputs,
        lambda outputs: np.asarray(outputs["y"], np.float32),
        np.asarray(expected["y"], np.float32),
    )


JOBS: Mapping[str, Callable[[], Job]] = MappingProxyType(
    {"minilm-1": lambda: _minilm(1), "minilm-8": lambda: _minilm(8), "siglip-1": _siglip}
)
"""By the names of figures."""
