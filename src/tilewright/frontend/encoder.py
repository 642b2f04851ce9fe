"""A checkpoint's encoder as a `ComputeGraph`, with the numbers of its parameters."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.frontend import inventory
from tilewright.frontend.checkpoint import Checkpoint, check_tokens
from tilewright.frontend.config import Activation, EncoderConfig
from tilewright.frontend.faults import TextError
from tilewright.frontend.modules import Pooling
from tilewright.frontend.quantising import as_eights, as_halves, best_scale
from tilewright.graph import ComputeGraph, DType, NumberFormat, Tensor

EMBEDDED = "embedded"
COUNTS = "counts"
POOLING = "pooling"
HIDDEN = "hidden"
POOLED = "pooled"

QKV = "attention.self.qkv"
"""Query, key and value in one product: their rows one after the other."""

Numbers = NDArray[Any]

_ACTIVATIONS: MappingProxyType[Activation, Callable[..., Tensor]] = MappingProxyType(
    {
        Activation.GELU: ComputeGraph.gelu,
        Activation.GELU_TANH: ComputeGraph.gelu_tanh,
        Activation.RELU: ComputeGraph.relu,
        Activation.SILU: ComputeGraph.silu,
    }
)

_FUSED = MappingProxyType({QKV: (inventory.QUERY, inventory.KEY, inventory.VALUE)})
_PRODUCTS = (QKV, inventory.OUT, inventory.UP, inventory.DOWN)
_NORMS = (inventory.FIRST_NORM, inventory.SECOND_NORM)


def encoder_graph(
    checkpoint: Checkpoint,
    batch: int,
    tokens: int,
    weights: DType = DType.F16,
    *,
    hidden: bool = False,
) -> tuple[ComputeGraph, dict[str, Numbers]]:
    """The encoder for `batch` texts of up to `tokens` tokens, and its parameters by name.

    | host input | | |
    |---|---|---|
    | `embedded` | F16, batch × tokens × width | sums of embeddings, before their norm |
    | `counts` | I32, batch | how many tokens of each text are its own, at least 1 |
    | `pooling` | F16, batch × kinds × tokens | how much each token counts in each kind of pooling |

    The output is `pooled`, F16, batch × kinds × width. With `hidden`, and for a checkpoint that
    pools maxima, there is no `pooling`, and the output is `hidden`, F16, batch × tokens × width:
    the last hidden state, whose rows past a text's count mean nothing.

    `weights` is F16 or F8F143: how the matrices of products are stored; biases and norms are F16
    always. Parameters are given as the numbers meant, rounded to their format: float16 arrays, or
    float32 for F8F143. A matrix has outputs × inputs, as in the checkpoint.

    Raises `TextError` for sizes that the encoder does not take.
    """
    if batch < 1:
        raise TextError(f"a batch has 1 text or more, not {batch}")
    check_tokens(checkpoint, tokens)
    if weights not in (DType.F16, DType.F8F143):
        raise TextError(f"weights are stored as F16 or F8F143, not {weights.name}")
    graph = ComputeGraph(f"{checkpoint.name} {batch}×{tokens}")
    embedded = graph.host_input(EMBEDDED, (batch, tokens, checkpoint.config.width))
    counts = graph.host_input(COUNTS, (batch,), DType.I32)
    made = _Parameters(checkpoint, graph, weights)
    rows = _layers(made, _embedding_norm(made, embedded), counts)
    states = rows.reshape(embedded.shape)
    if hidden or not pools_on_chip(checkpoint):
        graph.output(HIDDEN, states)
    else:
        graph.output(POOLED, _pooled(checkpoint, graph, states))
    graph.verify()
    return graph, made.numbers


def pools_on_chip(checkpoint: Checkpoint) -> bool:
    """Whether all kinds of pooling weigh tokens, which is a product; maxima are the host's."""
    return Pooling.MAX not in checkpoint.sentence.pooling


def _pooled(checkpoint: Checkpoint, graph: ComputeGraph, states: Tensor) -> Tensor:
    batch, tokens, _ = states.shape
    kinds = len(checkpoint.sentence.pooling)
    pooling = graph.host_input(POOLING, (batch, kinds, tokens))
    return graph.gemm(pooling, states, name="pooling")


class _Parameters:
    """Parameters of a graph in the making, with their numbers."""

    def __init__(self, checkpoint: Checkpoint, graph: ComputeGraph, weights: DType) -> None:
        self.graph = graph
        self.config: EncoderConfig = checkpoint.config
        self.numbers: dict[str, Numbers] = {}
        self._tensors = checkpoint.tensors
        self._weights = weights

    def of_model(self, name: str) -> Tensor:
        """A parameter that no layer has."""
        return self._add(name, self._tensors[name], DType.F16)

    def of_layers(self, part: str, kind: str) -> list[Tensor]:
        """One parameter of each layer: `kind` is `weight` or `bias`."""
        stored = [self._part(layer, part, kind) for layer in range(self.config.layers)]
        format: DType | NumberFormat = DType.F16
        if self._weights is DType.F8F143 and kind == "weight" and part in _PRODUCTS:
            format = best_scale(stored)
        return [
            self._add(f"{inventory.layer_name(layer, part)}.{kind}", numbers, format)
            for layer, numbers in enumerate(stored)
        ]

    def _part(self, layer: int, part: str, kind: str) -> NDArray[np.float32]:
        parts = [
            self._tensors[f"{inventory.layer_name(layer, each)}.{kind}"]
            for each in _FUSED.get(part, (part,))
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _add(self, name: str, numbers: NDArray[np.float32], format: DType | NumberFormat) -> Tensor:
        self.numbers[name] = (
            as_eights(numbers, format) if isinstance(format, NumberFormat) else as_halves(numbers)
        )
        return self.graph.parameter(name, numbers.shape, format)


def _embedding_norm(made: _Parameters, embedded: Tensor) -> Tensor:
    """The layers' first input, the texts' tokens one after the other as rows."""
    scale = made.of_model(f"{inventory.EMBEDDING_NORM}.weight")
    bias = made.of_model(f"{inventory.EMBEDDING_NORM}.bias")
    return made.graph.layer_norm(
        embedded.reshape(-1, made.config.width),
        scale,
        bias,
        epsilon=made.config.epsilon,
        name="embedding norm",
    )


def _layers(made: _Parameters, embedded: Tensor, counts: Tensor) -> Tensor:
    graph, config = made.graph, made.config
    parts = {
        f"{part}.{kind}": made.of_layers(part, kind)
        for part in (*_PRODUCTS, *_NORMS)
        for kind in ("weight", "bias")
    }
    with graph.repeat(config.layers, "layers") as layer:
        x = layer.carry(embedded, "x")
        each = {name: layer.each(values, name) for name, values in parts.items()}
        body = _Layer(graph, config, each)
        layer.yields(body.feed_forward(body.attended(x, counts)))
    return layer.result


class _Layer:
    """A layer's body: both halves add to what they read, then normalise (post-norm)."""

    def __init__(
        self, graph: ComputeGraph, config: EncoderConfig, parts: dict[str, Tensor]
    ) -> None:
        self._graph = graph
        self._config = config
        self._parts = parts

    def attended(self, x: Tensor, counts: Tensor) -> Tensor:
        q, k, v = self._heads(self._dense(x, QKV, "qkv"), counts.shape[0])
        mixed = self._graph.attention(q, k, v, key_counts=counts, name="attention")
        rows = self._graph.merge_heads(mixed).reshape(x.shape)
        out = self._dense(rows, inventory.OUT, "out")
        return self._norm(out + x, inventory.FIRST_NORM, "first norm")

    def feed_forward(self, x: Tensor) -> Tensor:
        activation = _ACTIVATIONS[self._config.activation]
        inner = activation(self._graph, self._dense(x, inventory.UP, "up"), name="up")
        down = self._dense(inner, inventory.DOWN, "down")
        return self._norm(down + x, inventory.SECOND_NORM, "second norm")

    def _heads(self, packed: Tensor, batch: int) -> list[Tensor]:
        """Query, key and value as batch × heads × tokens × size."""
        width = self._config.width
        columns = (packed[:, part * width : (part + 1) * width] for part in range(3))
        return [
            self._graph.split_heads(each.reshape(batch, -1, width), self._config.heads)
            for each in columns
        ]

    def _dense(self, x: Tensor, part: str, name: str) -> Tensor:
        product = self._graph.gemm(x, self._parts[f"{part}.weight"], transpose_b=True, name=name)
        return self._graph.add(product, self._parts[f"{part}.bias"], name=name)

    def _norm(self, x: Tensor, part: str, name: str) -> Tensor:
        return self._graph.layer_norm(
            x,
            self._parts[f"{part}.weight"],
            self._parts[f"{part}.bias"],
            epsilon=self._config.epsilon,
            name=name,
        )
