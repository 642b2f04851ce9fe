"""Packages for commands: built with progress, or taken from the cache; and what is said of them."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.cli.build_cache import BuildCache, build_key, default_build_cache
from tilewright.cli.passes import Pass
from tilewright.cli.progress import passes_text, progress
from tilewright.codegen.build import PackageConfig, build_package
from tilewright.codegen.mid import KernelPolicy, PipelineConfig, Profiling
from tilewright.graph import ComputeGraph
from tilewright.package import Application
from tilewright.target.geometry import MEMORY_SIZE
from tilewright.target.timing import CLOCK

PLAN = "codegen.mid.plan"
"""The pass whose attributes are the plan's figures."""
_PARTS = ("compute", "exchange", "sync", "reduction", "conversion")


@dataclass(frozen=True, slots=True)
class Built:
    """A package, and the passes that made it, in this process or before."""

    application: Application
    passes: list[Pass]
    is_cached: bool

    @property
    def seconds(self) -> float:
        """That the passes took."""
        return sum(each.seconds or 0.0 for each in self.passes if each.depth == 0)

    @property
    def plan(self) -> dict[str, Any]:
        """What planning says of the plan that was built."""
        plans = [each.attributes for each in self.passes if each.name == PLAN]
        return plans[-1] if plans else {}


def package_config(tiles: int, *, profile: bool = False) -> PackageConfig:
    """How commands build: with kernels that exist."""
    profiling = Profiling.STEPS if profile else Profiling.NONE
    return PackageConfig(
        PipelineConfig(tiles=tiles, policy=KernelPolicy.BUILD, profiling=profiling)
    )


def built(
    graph: ComputeGraph,
    config: PackageConfig,
    parameters: Mapping[str, npt.ArrayLike] | None,
    cache: BuildCache | None = None,
) -> Built:
    """The package of a graph. Progress is shown where there is something to build."""
    cache = cache or default_build_cache()
    key = build_key(graph, config, parameters)
    found = cache.find(key)
    if found is not None:
        application, notes = found
        return Built(application, [Pass(**each) for each in notes["passes"]], is_cached=True)
    with progress() as passes:
        application = build_package(graph, config, parameters)
    cache.keep(key, application, {"passes": [asdict(each) for each in passes]})
    return Built(application, passes, is_cached=False)


def summary_lines(made: Built) -> Iterator[str]:
    """What was planned, and what memory it takes, in words."""
    plan, segments = made.plan, made.application.segments
    if plan:
        parts = ", ".join(f"{part} {plan[part]:,}" for part in _PARTS if plan.get(part))
        yield f"plan       {plan['operations']} operators on {plan['tiles']:,} tiles"
        yield (
            f"predicted  {plan['cycles']:,} cycles ({parts}), "
            f"{plan['cycles'] / CLOCK.value * 1e6:,.1f} µs"
        )
    used = np.bincount(segments.tile, segments.size)
    yield (
        f"memory     {int(used.max(initial=0)) / 1024:,.0f} of {MEMORY_SIZE / 1024:,.0f} KiB on "
        f"the fullest tile, {used.sum() / 2**20:,.1f} MiB in all"
    )


def passes_lines(made: Built) -> Iterator[str]:
    """How long building took, in all and by pass; or that it was built before."""
    yield built_line(made)
    if not made.is_cached:
        yield from (f"  {line}" for line in passes_text(made.passes))


def built_line(made: Built) -> str:
    """How long building took, or that it was built before."""
    if made.is_cached:
        return f"built      before, in {made.seconds:.1f} s; taken from the cache"
    return f"built      in {made.seconds:.1f} s"
