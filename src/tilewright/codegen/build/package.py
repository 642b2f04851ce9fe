"""`build_package`: from a graph to a package that drivers load."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tilewright import __version__
from tilewright.codegen.build.bindings import Binding, bindings, tensors_of
from tilewright.codegen.build.config import PackageConfig
from tilewright.codegen.build.debugging import debug_tables
from tilewright.codegen.build.passing import passable
from tilewright.codegen.build.profiling import PlannedSamples, planned_samples
from tilewright.codegen.build.session import RUN, RUN_COMMAND, SessionFrame
from tilewright.codegen.build.tiles import shards, tile_segments
from tilewright.codegen.emit import DataMemory, Program, emit
from tilewright.codegen.host import HostCall, HostExchange, plan_exchange
from tilewright.codegen.low import lower
from tilewright.codegen.mid import Profiling, plan
from tilewright.device.runtime import COMPLETED, COMPLETION_WORD
from tilewright.graph import ComputeGraph
from tilewright.package import (
    NONE,
    Application,
    BlobBuilder,
    Completion,
    Role,
    Shards,
    Tensor,
    write_debug,
    write_profile_plan,
)
from tilewright.target.geometry import LOADER_FRAME_END, TILES
from tilewright.tracing import span


def build_package(
    graph: ComputeGraph,
    config: PackageConfig | None = None,
    parameters: Mapping[str, npt.ArrayLike] | None = None,
) -> Application:
    """The package of a graph: it runs the graph as often as the host says, with new inputs.

    `parameters` are numbers for all of the graph's parameters, by name, in its shapes; they become
    part of the package. Without them, the package takes them from a file when it is loaded. Equal
    arguments give equal packages, to the byte.

    Raises `TilewrightError` of the pass that fails: `PlanError` for a graph that has no plan or no
    room, `EmissionError` for what has no kernel, `BuildError` for parameters, inputs and outputs.
    """
    with span("codegen.build.package", graph=graph.name) as this:
        application = _built(graph, config or PackageConfig(), parameters)
        this.set(
            segments=len(application.segments),
            blobs=len(application.blobs.sizes),
            bytes=int(application.blobs.sizes.astype(np.int64).sum()),
        )
    return application


def _built(
    graph: ComputeGraph, config: PackageConfig, parameters: Mapping[str, npt.ArrayLike] | None
) -> Application:
    profiling = config.pipeline.profiling
    planned = plan(graph, config.pipeline).graph
    with span("codegen.build.pass"):
        planned = passable(graph, planned, config.pipeline.model, parameters is not None)
    schedule = lower(planned)
    with span("codegen.build.bind") as this:
        bound = bindings(graph, planned, schedule, parameters)
        this.set(tensors=len(bound))
    samples = planned_samples(schedule, profiling)
    if samples is not None:
        bound.append(samples.binding)
    frames = _Frames(bound, profiling)
    program = emit(
        schedule,
        frame=frames,
        environment=config.environment(),
        inputs=[each.buffer for each in bound if _is_input(each) and each.buffer is not None],
        samples=0 if samples is None else samples.count,
        seed=config.pipeline.placement_seed,
        samples_steps=profiling is Profiling.STEPS,
    )
    with span("codegen.build.assemble"):
        return _application(program, frames.exchange, bound, samples)


class _Frames:
    """Plans the exchange with the host once it is known where data lie, and keeps it."""

    exchange: HostExchange

    def __init__(self, bound: Sequence[Binding], profiling: Profiling) -> None:
        self._bound = bound
        self._profiling = profiling

    def __call__(self, memory: DataMemory) -> SessionFrame:
        found = shards(memory, self._bound)
        tensors = tensors_of(self._bound)
        with span("codegen.build.host") as this:
            sent, fetched = (_chosen(found, tensors, role) for role in (Role.INPUT, Role.OUTPUT))
            self.exchange = plan_exchange([HostCall(RUN, RUN_COMMAND, sent, fetched)])
            this.set(batches=len(self.exchange.plan.batches))
        return SessionFrame(self.exchange, memory, self._profiling)


def _chosen(found: Shards, tensors: Sequence[Tensor], role: Role) -> Shards:
    """The shards of tensors of a role."""
    is_chosen = np.array([each.role is role for each in tensors], np.bool_)
    return found[is_chosen[found.tensor]]


def _is_input(binding: Binding) -> bool:
    return binding.tensor.role is Role.INPUT


def _application(
    program: Program,
    exchange: HostExchange,
    bound: Sequence[Binding],
    samples: PlannedSamples | None,
) -> Application:
    blobs = BlobBuilder()
    segments = tile_segments(program, exchange, bound, blobs)
    plan_blob = NONE
    if samples is not None:
        plan_blob = blobs.add(write_profile_plan(samples.plan(program)))
    debug_blob = blobs.add(write_debug(debug_tables(program)))
    return Application(
        entries=np.full(TILES, LOADER_FRAME_END),
        segments=segments,
        blobs=blobs.build(),
        tensors=tuple(tensors_of(bound)),
        shards=shards(program.memory, bound),
        host=exchange.plan,
        completion=Completion(COMPLETION_WORD, COMPLETED),
        profile_plan_blob=plan_blob,
        debug_blob=debug_blob,
        producer=f"tilewright {__version__}",
    )
