"""`tilewright embed CHECKPOINT "sentence" …`: vectors of sentences, and which are the nearest."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from tilewright.cli.checkpoints import named_checkpoint, weights_format
from tilewright.cli.cycles import cycles_text
from tilewright.cli.embedding import (
    Floats,
    Sizes,
    check_sentences,
    cosines,
    embed_texts,
    encoder_package,
    fitting_tokens,
)
from tilewright.files import check_writable, writing_atomically
from tilewright.target.geometry import TILES

_MOST_BATCH = 8
"""Texts of a run, unless it is said how many."""


def embed(
    checkpoint: Annotated[
        str, typer.Argument(help="A folder with a checkpoint, or the name of a package with one.")
    ],
    sentences: Annotated[list[str], typer.Argument(help="What to embed.")],
    tiles: Annotated[int, typer.Option(min=1, max=TILES, help="Tiles to use.")] = TILES,
    batch: Annotated[
        int | None, typer.Option(help="Texts of a run; by default all, up to 8.")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(help="Tokens of a text; by default as many as are needed.")
    ] = None,
    weights: Annotated[str, typer.Option(help="How matrices are stored: f16 or f8.")] = "f16",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the vectors (.npy), too.")
    ] = None,
) -> None:
    """Embed sentences on an emulated chip, and print the nearest of each with its cosine."""
    check_sentences(sentences)
    if output is not None:
        check_writable(output)
    format = weights_format(weights)
    model = named_checkpoint(checkpoint)
    texts = model.tokenise(sentences, tokens)
    sizes = Sizes(
        min(len(sentences), _MOST_BATCH) if batch is None else batch,
        fitting_tokens(model, texts) if tokens is None else tokens,
        tiles,
    )
    made = encoder_package(model, sizes, format)
    with made.application:
        found = embed_texts(model, made, sizes, texts)
    if output is not None:
        with writing_atomically(output) as file:
            np.save(file, found.vectors, allow_pickle=False)
    for line in nearest_lines(sentences, cosines(found.vectors, found.vectors)):
        print(line)
    print(
        f"{len(found.runs)} × {sizes.batch} texts of up to {sizes.tokens} tokens on {tiles:,} "
        f"tiles: {cycles_text(found.runs)}; emulated in {found.run_seconds:.1f} s"
    )
    cut = int(texts.truncated.sum())
    if cut:
        most = min(sizes.tokens, model.most_tokens)
        print(f"{cut} of {len(sentences)} texts were cut to {most} tokens")


def nearest_lines(sentences: list[str], similar: Floats) -> list[str]:
    """Each sentence with the other that is nearest to it."""
    if len(sentences) < 2:
        return [f"{sentences[0]}\n  (give more sentences to see which are near)"]
    others = np.where(np.eye(len(sentences), dtype=bool), -np.inf, similar)
    lines = []
    for sentence, nearest, values in zip(sentences, others.argmax(1).tolist(), others, strict=True):
        lines.append(f"{sentence}\n  {values[nearest]:6.3f}  {sentences[nearest]}")
    return lines
