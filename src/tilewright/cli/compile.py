"""`tilewright compile CHECKPOINT -o FILE`: an encoder as a package for a whole device."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli.building import built, package_config, passes_lines, summary_lines
from tilewright.cli.checkpoints import named_checkpoint, weights_format
from tilewright.files import check_writable
from tilewright.frontend import encoder_graph
from tilewright.package import write_package
from tilewright.target.geometry import TILES


def compile(
    checkpoint: Annotated[
        str, typer.Argument(help="A folder with a checkpoint, or the name of a package with one.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The package to write.")],
    tiles: Annotated[int, typer.Option(help="Tiles to use.")] = TILES,
    batch: Annotated[int, typer.Option(help="Texts of a run.")] = 1,
    tokens: Annotated[int, typer.Option(help="The most tokens of a text.")] = 128,
    weights: Annotated[str, typer.Option(help="How matrices are stored: f16 or f8.")] = "f16",
    profile: Annotated[
        bool, typer.Option("--profile", help="Sample the cycle counters after each step.")
    ] = False,
) -> None:
    """Compile the encoder of a checkpoint into a package."""
    check_writable(output)
    graph, parameters = encoder_graph(
        named_checkpoint(checkpoint), batch, tokens, weights_format(weights)
    )
    made = built(graph, package_config(tiles, profile=profile), parameters)
    with made.application as application:
        write_package(application, output)
    size = output.stat().st_size / 2**20
    for line in (
        *summary_lines(made),
        f"package    {output}, {size:,.1f} MiB",
        *passes_lines(made),
    ):
        print(line)
