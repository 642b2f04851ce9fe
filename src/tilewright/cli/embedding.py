"""Texts to vectors on a device: tokens, batches, runs, pooling."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from tilewright.cli.building import Built, built, package_config
from tilewright.cli.progress import progress
from tilewright.errors import TilewrightError
from tilewright.frontend import (
    Checkpoint,
    TokenBatch,
    encoder_graph,
    encoder_inputs,
    sentence_vectors,
)
from tilewright.graph import DType
from tilewright.runtime import RunResult, open_device

Floats = NDArray[np.float32]

TOKEN_STEP = 16
"""Lengths of texts are rounded up to multiples of this, so that packages serve again."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a package is compiled for: texts of a run, tokens of a text, tiles."""

    batch: int
    tokens: int
    tiles: int


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of texts, and what it took: runs with their cycles, wall seconds."""

    vectors: Floats
    runs: tuple[RunResult, ...]
    load_seconds: float
    run_seconds: float


def fitting_tokens(checkpoint: Checkpoint, texts: TokenBatch) -> int:
    """How many tokens a package for these texts needs, in steps."""
    longest = int(texts.counts.max())
    return min(-(-longest // TOKEN_STEP) * TOKEN_STEP, checkpoint.config.most_tokens)


def encoder_package(
    checkpoint: Checkpoint, sizes: Sizes, weights: DType = DType.F16, *, profile: bool = False
) -> Built:
    """The package of a checkpoint's encoder."""
    graph, parameters = encoder_graph(checkpoint, sizes.batch, sizes.tokens, weights)
    return built(graph, package_config(sizes.tiles, profile=profile), parameters)


def embed_texts(
    checkpoint: Checkpoint, made: Built, sizes: Sizes, texts: TokenBatch, device: str = "emulator"
) -> Embedded:
    """The vectors of texts, by a package of `encoder_package` with the same sizes."""
    start = perf_counter()
    vectors: list[Floats] = []
    runs: list[RunResult] = []
    with progress(), open_device(device) as opened, opened.load(made.application) as session:
        loaded = perf_counter()
        for part in _batches(texts, sizes.batch):
            inputs = encoder_inputs(checkpoint, part, sizes.batch, sizes.tokens)
            runs.append(session.run(inputs))
            vectors.append(sentence_vectors(checkpoint, runs[-1].outputs, part.counts))
        ended = perf_counter()
    return Embedded(np.concatenate(vectors), tuple(runs), loaded - start, ended - loaded)


def cosines(one: Floats, other: Floats) -> Floats:
    """Of each row of one with each row of the other."""
    products = one @ other.T
    lengths = np.linalg.norm(one, axis=1)[:, None] * np.linalg.norm(other, axis=1)[None]
    return np.asarray(products / np.maximum(lengths, np.float32(1e-12)))


def check_sentences(sentences: Sequence[str]) -> None:
    """Raises `TilewrightError` for those without text, by their numbers from 1 on."""
    empty = [number for number, text in enumerate(sentences, 1) if not text.strip()]
    if empty:
        which, of = ", ".join(map(str, empty)), f"of {len(sentences)}"
        are = f"sentence {which} {of} is" if len(empty) == 1 else f"sentences {which} {of} are"
        raise TilewrightError(f"{are} empty; give some text")


def _batches(texts: TokenBatch, size: int) -> list[TokenBatch]:
    return [
        TokenBatch(
            texts.ids[first : first + size],
            texts.types[first : first + size],
            texts.counts[first : first + size],
            texts.truncated[first : first + size],
        )
        for first in range(0, texts.texts, size)
    ]
