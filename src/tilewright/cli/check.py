"""`tilewright check GRAPH`: the stages of a build held against each other."""

from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from tilewright.cli.examples import EXAMPLES
from tilewright.cli.graphs import read_graph
from tilewright.codegen.mid import KernelPolicy, PipelineConfig
from tilewright.codegen.stages import Stage, Tolerance, find_deviation
from tilewright.graph import ComputeGraph, DType, Source
from tilewright.target.geometry import TILES


def check(
    graph: Annotated[
        str, typer.Argument(help=f"A graph's text file, or an example: {', '.join(EXAMPLES)}.")
    ],
    tiles: Annotated[int, typer.Option(min=1, max=TILES, help="Tiles to plan for.")] = TILES,
    seed: Annotated[int, typer.Option(help="Of the numbers that sources are given.")] = 0,
    tolerance: Annotated[
        float, typer.Option(help="Of results: this much, and this share of what is expected.")
    ] = 1e-2,
) -> None:
    """Find the first stage of a build that goes wrong, and the operation."""
    read = read_graph(graph)
    deviation = find_deviation(
        read,
        _numbers(read, seed),
        PipelineConfig(tiles=tiles, policy=KernelPolicy.BUILD),
        tolerance=Tolerance(tolerance, tolerance),
    )
    if deviation is not None:
        print(deviation)
        raise typer.Exit(1)
    print(f"{', '.join(stage.value for stage in Stage)} agree")


def _numbers(graph: ComputeGraph, seed: int) -> dict[str, NDArray[np.float64]]:
    """For all sources, of a size that suits products; counts are 1."""
    random = np.random.default_rng(seed)
    return {source.name: _of_source(source, random) for source in graph.sources}


def _of_source(source: Source, random: np.random.Generator) -> NDArray[np.float64]:
    type = source.value.type
    if type.dtype is DType.I32:
        return np.ones(type.shape)
    inner = type.shape[-1] if type.shape else 1
    scale = inner**-0.5 if len(type.shape) > 1 else 1.0
    return random.normal(scale=scale, size=type.shape)
