"""What the host computes before and after the encoder: look-up of embeddings, pooling."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tilewright.frontend.checkpoint import Checkpoint
from tilewright.frontend.encoder import COUNTS, EMBEDDED
from tilewright.frontend.faults import TextError
from tilewright.frontend.inventory import POSITIONS, TYPES, WORDS
from tilewright.frontend.modules import Pooling
from tilewright.frontend.tokenising import TokenBatch

Floats = NDArray[np.float32]

LEAST_NORM = 1e-12
"""A vector shorter than this is divided by it; as in sentence-transformers."""


def encoder_inputs(
    checkpoint: Checkpoint, texts: TokenBatch, batch: int | None = None
) -> dict[str, NDArray[Any]]:
    """The inputs of `encoder_graph` for `texts`, filled up to `batch` rows, by default none.

    `embedded` is float16: sums of the embeddings of word, position and type, and zero past a text's
    count. A row without a text has count 1; what the encoder gives for it means nothing.

    Raises `TextError` for more texts than `batch`, and for numbers that the tables do not have.
    """
    rows = texts.texts if batch is None else batch
    if texts.texts > rows:
        raise TextError(f"{texts.texts} texts do not fit a batch of {rows}")
    embedded = np.zeros((rows, texts.tokens, checkpoint.config.width), np.float16)
    embedded[: texts.texts] = look_up(checkpoint, texts)
    counts = np.ones(rows, np.int32)
    counts[: texts.texts] = texts.counts
    return {EMBEDDED: embedded, COUNTS: counts}


def look_up(checkpoint: Checkpoint, texts: TokenBatch) -> Floats:
    """Sums of embeddings, texts × tokens × width; zero past a text's count. Raises `TextError`."""
    config, tables = checkpoint.config, checkpoint.tensors
    own = np.arange(texts.tokens) < texts.counts[:, None]
    _check_range(texts.ids[own], config.words, "word")
    _check_range(texts.types[own], config.types, "type")
    _check_range(texts.counts + config.first_position - 1, config.positions, "position")
    sums = np.zeros((*texts.ids.shape, config.width), np.float32)
    sums[own] = tables[WORDS][texts.ids[own]] + tables[TYPES][texts.types[own]]
    positions = config.first_position + np.nonzero(own)[1]
    sums[own] += tables[POSITIONS][positions]
    return sums


def pool(checkpoint: Checkpoint, hidden: ArrayLike, counts: ArrayLike) -> Floats:
    """A vector for each text, as the checkpoint's files say: pooled, then maybe normalised.

    `hidden` is texts × tokens × width, `counts` says how many tokens of each text are its own. The
    result has a row for each text, of length width × kinds of pooling.
    """
    states = np.asarray(hidden, np.float32)
    lengths = np.asarray(counts)
    own = (np.arange(states.shape[1]) < lengths[:, None])[..., None]
    length = lengths[:, None].astype(np.float32)
    parts = [_pooled(each, states, own, length) for each in checkpoint.sentence.pooling]
    vectors = np.concatenate(parts, axis=-1)
    return normalised(vectors) if checkpoint.sentence.normalise else vectors


def _pooled(pooling: Pooling, states: Floats, own: NDArray[np.bool_], length: Floats) -> Floats:
    if pooling is Pooling.FIRST:
        return states[:, 0]
    if pooling is Pooling.MAX:
        return np.asarray(np.where(own, states, -np.float32(np.inf)).max(axis=1))
    sums = np.where(own, states, np.float32(0)).sum(axis=1)
    return np.asarray(sums / (length if pooling is Pooling.MEAN else np.sqrt(length)))


def normalised(vectors: Floats) -> Floats:
    """Each row with length 1."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, LEAST_NORM), np.float32)


def _check_range(numbers: NDArray[np.integer[Any]], rows: int, what: str) -> None:
    wrong = numbers[(numbers < 0) | (numbers >= rows)]
    if wrong.size:
        raise TextError(f"there is no {what} {wrong[0]}; the checkpoint has {rows}")
