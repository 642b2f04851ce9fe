"""The whole model in NumPy and float32, from BERT's equations: what results are held against.

It shares nothing with the graph: one text at a time, without padding or masks, query, key and value
apart, tensors by the names of the checkpoint.
"""

import math

import numpy as np
from numpy.typing import NDArray

from tilewright.frontend.checkpoint import Checkpoint
from tilewright.frontend.config import Activation, EncoderConfig
from tilewright.frontend.modules import Pooling
from tilewright.frontend.tokenising import TokenBatch

Floats = NDArray[np.float32]

_erf = np.frompyfunc(math.erf, 1, 1)


def reference_hidden(checkpoint: Checkpoint, texts: TokenBatch) -> list[Floats]:
    """The last hidden state of each text, tokens × width."""
    return [
        _encode(checkpoint, texts.ids[text, :count], texts.types[text, :count])
        for text, count in enumerate(texts.counts)
    ]


def reference_vectors(checkpoint: Checkpoint, texts: TokenBatch) -> Floats:
    """The vector of each text: pooled, and normalised if the checkpoint asks for it."""
    return np.stack([_pool(checkpoint, each) for each in reference_hidden(checkpoint, texts)])


def _encode(checkpoint: Checkpoint, ids: NDArray[np.int32], types: NDArray[np.int32]) -> Floats:
    t, config = checkpoint.tensors, checkpoint.config
    positions = _positions(config, ids)
    x = t["embeddings.word_embeddings.weight"][ids]
    x = x + t["embeddings.position_embeddings.weight"][positions]
    if config.types:
        x = x + t["embeddings.token_type_embeddings.weight"][types]
    x = _norm(checkpoint, "embeddings.LayerNorm", x)
    for layer in range(config.layers):
        at = f"encoder.layer.{layer}"
        a = _attention(checkpoint, at, x)
        a = _linear(checkpoint, f"{at}.attention.output.dense", a)
        x = _norm(checkpoint, f"{at}.attention.output.LayerNorm", x + a)
        f = _activate(config.activation, _linear(checkpoint, f"{at}.intermediate.dense", x))
        f = _linear(checkpoint, f"{at}.output.dense", f)
        x = _norm(checkpoint, f"{at}.output.LayerNorm", x + f)
    return x


def _positions(config: EncoderConfig, ids: NDArray[np.int32]) -> list[int]:
    """One after the other; in RoBERTa behind the number of padding, which itself has no place."""
    if not config.family.positions_after_padding:
        return list(range(len(ids)))
    padding, positions, last = config.padding_token, [], config.padding_token
    for token in ids:
        last += token != padding
        positions.append(padding if token == padding else last)
    return positions


def _attention(checkpoint: Checkpoint, at: str, x: Floats) -> Floats:
    query = _linear(checkpoint, f"{at}.attention.self.query", x)
    key = _linear(checkpoint, f"{at}.attention.self.key", x)
    value = _linear(checkpoint, f"{at}.attention.self.value", x)
    size = checkpoint.config.head_size
    heads = []
    for head in range(checkpoint.config.heads):
        part = slice(head * size, (head + 1) * size)
        scores = query[:, part] @ key[:, part].T / np.float32(math.sqrt(size))
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        heads.append(weights / weights.sum(axis=1, keepdims=True) @ value[:, part])
    return np.concatenate(heads, axis=1)


def _linear(checkpoint: Checkpoint, name: str, x: Floats) -> Floats:
    weight, bias = checkpoint.tensors[f"{name}.weight"], checkpoint.tensors[f"{name}.bias"]
    return np.asarray(x @ weight.T + bias)


def _norm(checkpoint: Checkpoint, name: str, x: Floats) -> Floats:
    scale, bias = checkpoint.tensors[f"{name}.weight"], checkpoint.tensors[f"{name}.bias"]
    mean = x.mean(axis=1, keepdims=True)
    variance = x.var(axis=1, keepdims=True)
    return np.asarray(
        (x - mean) / np.sqrt(variance + np.float32(checkpoint.config.epsilon)) * scale + bias
    )


def _activate(activation: Activation, x: Floats) -> Floats:
    half, one = np.float32(0.5), np.float32(1)
    if activation is Activation.RELU:
        return np.maximum(x, 0)
    if activation is Activation.SILU:
        return np.asarray(x * half * (one + np.tanh(half * x)))  # x · sigmoid(x)
    if activation is Activation.GELU_TANH:
        inner = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x**3)
        return np.asarray(half * x * (one + np.tanh(inner)))
    return np.asarray(half * x * (one + _erf(x / math.sqrt(2)).astype(np.float32)))


def _pool(checkpoint: Checkpoint, states: Floats) -> Floats:
    vector = np.concatenate([_pooled(each, states) for each in checkpoint.sentence.pooling])
    if checkpoint.sentence.normalise:
        vector = vector / np.sqrt(np.sum(vector**2))
    return np.asarray(vector)


def _pooled(pooling: Pooling, states: Floats) -> Floats:
    places = np.arange(1, len(states) + 1, dtype=np.float32)
    match pooling:
        case Pooling.FIRST:
            return np.asarray(states[0])
        case Pooling.LAST:
            return np.asarray(states[-1])
        case Pooling.MAX:
            return np.asarray(states.max(axis=0))
        case Pooling.MEAN:
            return np.asarray(states.sum(axis=0) / places[-1])
        case Pooling.MEAN_SQRT:
            return np.asarray(states.sum(axis=0) / np.sqrt(places[-1]))
        case Pooling.WEIGHTED_MEAN:
            return np.asarray(places @ states / places.sum())
