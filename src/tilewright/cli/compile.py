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

_USUAL_TOKENS = 128


def compile(
    checkpoint: Annotated[
        str, typer.Argument(help="A folder with a checkpoint, or the name of a package with one.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The package to write.")],
    tiles: Annotated[int, typer.Option(min=1, max=TILES, help="Tiles to use.")] = TILES,
    batch: Annotated[int, typer.Option(help="Texts of a run.")] = 1,
    tokens: Annotated[
        int | None, typer.Option(help="The most tokens of a text; 128 if the encoder takes them.")
    ] = None,
    weights: Annotated[str, typer.Option(help="How matrices are stored: f16 or f8.")] = "f16",
    profile: Annotated[
        bool, typer.Option("--profile", help="Sample the cycle counters after each step.")
    ] = False,
) -> None:
    """Compile the encoder of a checkpoint into a package."""
    check_writable(output)
    format = weights_format(weights)
    model = named_checkpoint(checkpoint)
    most = min(_USUAL_TOKENS, model.config.most_tokens) if tokens is None else tokens
    graph, parameters = encoder_graph(model, batch, most, format)
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
