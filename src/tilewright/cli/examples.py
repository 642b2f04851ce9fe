"""Graphs of known shapes, by name: products, perceptrons and encoders of common models."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from tilewright.graph import ComputeGraph, Tensor


def product(rows: int, inner: int, columns: int) -> ComputeGraph:
    """One matrix product with a weight."""
    graph = ComputeGraph(f"gemm {rows}×{inner}×{columns}")
    x = graph.input("x", (rows, inner))
    graph.output("y", graph.gemm(x, graph.parameter("w", (inner, columns)), name="gemm"))
    return graph


def perceptron(rows: int, width: int, hidden: int) -> ComputeGraph:
    """Up, tanh GeLU, down."""
    graph = ComputeGraph(f"mlp {rows}×{width}×{hidden}")
    x = graph.input("x", (rows, width))
    up = graph.parameter("up", (width, hidden))
    down = graph.parameter("down", (hidden, width))
    graph.output("y", graph.gemm(graph.gelu_tanh(x @ up, name="up"), down, name="down"))
    return graph


def deep_perceptron(rows: int, width: int, layers: int) -> ComputeGraph:
    """`layers` square layers, each with tanh GeLU."""
    graph = ComputeGraph(f"mlp {layers} layers {rows}×{width}")
    x = graph.input("x", (rows, width))
    weights = [graph.parameter(f"w.{layer}", (width, width)) for layer in range(layers)]
    with graph.repeat(layers, "layers") as layer:
        h = layer.carry(x)
        layer.yields(graph.gelu_tanh(h @ layer.each(weights, "w"), name="layer"))
    graph.output("y", layer.result)
    return graph


def encoder(
    name: str,
    layers: int,
    width: int,
    heads: int,
    hidden: int,
    tokens: int,
    batch: int,
    *,
    norm_first: bool,
    exact_gelu: bool,
) -> ComputeGraph:
    """The layers of a transformer encoder: one product for q, k and v, the batch in the rows."""
    graph = ComputeGraph(f"{name} batch {batch}")
    x = graph.input("x", (batch * tokens, width))
    shapes = {
        "qkv": (width, 3 * width),
        "qkv bias": (3 * width,),
        "out": (width, width),
        "out bias": (width,),
        "up": (width, hidden),
        "up bias": (hidden,),
        "down": (hidden, width),
        "down bias": (width,),
        "norm 1 scale": (width,),
        "norm 1 bias": (width,),
        "norm 2 scale": (width,),
        "norm 2 bias": (width,),
    }
    parameters = {
        key: [graph.parameter(f"{key}.{layer}", shape) for layer in range(layers)]
        for key, shape in shapes.items()
    }
    gelu = graph.gelu if exact_gelu else graph.gelu_tanh
    with graph.repeat(layers, "layers") as layer:
        h = layer.carry(x, "h")
        p = {key: layer.each(values, key) for key, values in parameters.items()}

        def normed(value: Tensor, which: str) -> Tensor:
            scale, bias = p[f"{which} scale"], p[f"{which} bias"]
            return graph.layer_norm(value, scale, bias, name=which)

        def dense(value: Tensor, which: str) -> Tensor:
            return graph.add(value @ p[which], p[f"{which} bias"], name=which)

        read = normed(h, "norm 1") if norm_first else h
        packed = dense(read, "qkv")
        q, k, v = (
            graph.split_heads(
                packed[:, part * width : (part + 1) * width].reshape(batch, tokens, width), heads
            )
            for part in range(3)
        )
        mixed = graph.merge_heads(graph.attention(q, k, v, name="attention"))
        h = graph.add(dense(mixed.reshape(batch * tokens, width), "out"), h, name="out")
        h = h if norm_first else normed(h, "norm 1")
        read = normed(h, "norm 2") if norm_first else h
        h = graph.add(dense(gelu(dense(read, "up"), name="up"), "down"), h, name="down")
        layer.yields(h if norm_first else normed(h, "norm 2"))
    graph.output("y", layer.result)
    return graph


_minilm = partial(encoder, "MiniLM-L6", 6, 384, 12, 1536, 128, norm_first=False, exact_gelu=True)
_siglip = partial(encoder, "SigLIP-B/16", 12, 768, 12, 3072, 196, norm_first=True, exact_gelu=False)

EXAMPLES: Mapping[str, Callable[[], ComputeGraph]] = MappingProxyType(
    {
        "gemm-up": partial(product, 196, 768, 3072),
        "gemm-down": partial(product, 196, 3072, 768),
        "gemm-4096": partial(product, 4096, 4096, 4096),
        "mlp-729": partial(perceptron, 729, 1152, 4304),
        "mlp-8x2048": partial(deep_perceptron, 512, 2048, 8),
        "minilm": partial(_minilm, 1),
        "minilm-8": partial(_minilm, 8),
        "siglip": partial(_siglip, 1),
        "siglip-layer": partial(
            encoder,
            "SigLIP-B/16 layer",
            1,
            768,
            12,
            3072,
            196,
            1,
            norm_first=True,
            exact_gelu=False,
        ),
        "siglip-8": partial(_siglip, 8),
    }
)
"""By name, for `tilewright plan` and the benchmark."""
