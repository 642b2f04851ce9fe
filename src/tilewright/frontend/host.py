"""What the host computes before and after the encoder: look-up of embeddings, vectors of texts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tilewright.frontend.checkpoint import Checkpoint, check_tokens
from tilewright.frontend.config import EncoderConfig
from tilewright.frontend.encoder import COUNTS, EMBEDDED, HIDDEN, POOLED, POOLING, pools_on_chip
from tilewright.frontend.faults import TextError
from tilewright.frontend.inventory import POSITIONS, TYPES, WORDS
from tilewright.frontend.modules import Pooling
from tilewright.frontend.tokenising import TokenBatch

Floats = NDArray[np.float32]

LEAST_NORM = 1e-12
"""A vector shorter than this is divided by it; as in sentence-transformers."""


def encoder_inputs(
    checkpoint: Checkpoint, texts: TokenBatch, batch: int, tokens: int, *, hidden: bool = False
) -> dict[str, NDArray[Any]]:
    """`texts` as inputs of the `encoder_graph` made with the same sizes and `hidden`.

    Both axes are filled up: embeddings past a text's count are zero, and a row without a text has
    count 1; what the encoder gives for it means nothing. Raises `TextError` for texts that do not
    fit, and for numbers that the tables do not have.
    """
    check_tokens(checkpoint, tokens)
    if texts.texts > batch:
        raise TextError(f"{texts.texts} texts do not fit a batch of {batch}")
    if texts.counts.max() > tokens:
        raise TextError(f"a text of {texts.counts.max()} tokens does not fit into {tokens}")
    width = min(texts.tokens, tokens)
    embedded = np.zeros((batch, tokens, checkpoint.config.width), np.float16)
    embedded[: texts.texts, :width] = look_up(checkpoint, texts)[:, :width]
    counts = np.ones(batch, np.int32)
    counts[: texts.texts] = texts.counts
    inputs: dict[str, NDArray[Any]] = {EMBEDDED: embedded, COUNTS: counts}
    if pools_on_chip(checkpoint) and not hidden:
        weights = [_weights(each, counts, tokens) for each in checkpoint.sentence.pooling]
        inputs[POOLING] = np.stack(weights, axis=1).astype(np.float16)
    return inputs


def look_up(checkpoint: Checkpoint, texts: TokenBatch) -> Floats:
    """Sums of embeddings, texts × tokens × width; zero past a text's count. Raises `TextError`."""
    config, tables = checkpoint.config, checkpoint.tensors
    own = _own_tokens(texts.counts, texts.tokens)
    positions = _positions(config, texts.ids, own)[own]
    _check_range(texts.ids[own], config.words, "word")
    _check_range(texts.types[own], max(config.types, 1), "type")
    _check_range(positions, config.positions, "position")
    sums = np.zeros((*texts.ids.shape, config.width), np.float32)
    sums[own] = tables[WORDS][texts.ids[own]] + tables[POSITIONS][positions]
    if config.types:
        sums[own] += tables[TYPES][texts.types[own]]
    return sums


def sentence_vectors(
    checkpoint: Checkpoint, outputs: Mapping[str, ArrayLike], counts: ArrayLike
) -> Floats:
    """The vector of each text, from what an `encoder_graph` gave for a batch that begins with them.

    `counts` says how many tokens of each text are its own. Rows have the length width × kinds of
    pooling, and are normalised if the checkpoint's files say so.
    """
    lengths = np.asarray(counts)
    if POOLED in outputs:
        vectors = np.asarray(outputs[POOLED], np.float32)[: len(lengths)].reshape(len(lengths), -1)
    else:
        states = np.asarray(outputs[HIDDEN], np.float32)[: len(lengths)]
        vectors = pool(states, lengths, checkpoint.sentence.pooling)
    return normalised(vectors) if checkpoint.sentence.normalise else vectors


def pool(states: Floats, counts: NDArray[Any], pooling: tuple[Pooling, ...]) -> Floats:
    """Hidden states, texts × tokens × width, as one row for each text."""
    own = _own_tokens(counts, states.shape[1])[..., None]
    parts = []
    for each in pooling:
        if each is Pooling.MAX:
            parts.append(np.where(own, states, -np.float32(np.inf)).max(axis=1))
        else:
            weights = _weights(each, counts, states.shape[1])[..., None].astype(np.float32)
            parts.append(np.sum(np.where(own, states, 0) * weights, axis=1))
    return np.concatenate(parts, axis=-1)


def normalised(vectors: Floats) -> Floats:
    """Each row with length 1."""
    norms = np.sqrt(np.sum(np.square(vectors), axis=-1, keepdims=True))
    return np.asarray(vectors / np.maximum(norms, np.float32(LEAST_NORM)))


def _weights(pooling: Pooling, counts: NDArray[Any], tokens: int) -> NDArray[np.float64]:
    """How much each token counts in a kind of pooling that is a sum: texts × tokens."""
    places = np.arange(1, tokens + 1)
    length = counts[:, None].astype(np.float64)
    own = (places <= length).astype(np.float64)
    if pooling is Pooling.FIRST:
        return np.where(places == 1, own, 0.0)
    if pooling is Pooling.LAST:
        return np.where(places == length, own, 0.0)
    if pooling is Pooling.WEIGHTED_MEAN:
        return np.asarray(own * places / (length * (length + 1) / 2))
    return np.asarray(own / (length if pooling is Pooling.MEAN else np.sqrt(length)))


def _positions(
    config: EncoderConfig, ids: NDArray[np.int32], own: NDArray[np.bool_]
) -> NDArray[np.integer[Any]]:
    """The position of each token: texts × tokens.

    Families whose positions start behind the padding token's number give that number itself to
    padding tokens, those that a text spells out too, and do not count them.
    """
    if not config.family.positions_after_padding:
        return np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
    counted = own & (ids != config.padding_token)
    return np.asarray(np.where(counted, np.cumsum(counted, axis=1), 0) + config.padding_token)


def _own_tokens(counts: NDArray[Any], tokens: int) -> NDArray[np.bool_]:
    return np.asarray(np.arange(tokens) < counts[:, None])


def _check_range(numbers: NDArray[np.integer[Any]], rows: int, what: str) -> None:
    wrong = numbers[(numbers < 0) | (numbers >= rows)]
    if wrong.size:
        raise TextError(f"there is no {what} {wrong[0]}; the checkpoint has {rows}")
