"""Random graphs: every operator, broadcasts, views, mixed formats, repeats inside repeats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tilewright.graph import ComputeGraph, DType, NumberFormat, SourceKind, Tensor, walk
from tilewright.graph.operators import Attention
from tilewright.graph.types import Shape

Arrays = dict[str, NDArray[np.float64]]

names = st.sampled_from(["", "x", "ffn up", 'layer.0 "w"']) | st.text(max_size=8)
extents = st.integers(1, 4)
shapes = st.lists(extents, max_size=4).map(tuple)
float_formats = st.one_of(
    st.sampled_from([NumberFormat(DType.F16), NumberFormat(DType.F32)]),
    st.integers(-4, 4).map(DType.F8F143.scaled),
)
formats = st.one_of(float_formats, st.just(NumberFormat(DType.I32)))
epsilons = st.floats(1e-12, 1e-2)


@dataclass(frozen=True, slots=True)
class Making:
    """A graph in the making.

    `pool` holds the tensors that the open region may use, the latest first: hypothesis likes to
    choose what comes first.
    """

    draw: st.DrawFn
    graph: ComputeGraph
    pool: list[Tensor]
    depth: int

    def source(self, shape: Shape, format: NumberFormat) -> Tensor:
        """A fresh input, host input or parameter."""
        name = f"{self.draw(names)}.{len(self.graph.sources)}"
        kind = self.draw(st.sampled_from(SourceKind))
        make: Callable[..., Tensor] = getattr(self.graph, kind.value)
        return make(name, shape, format)

    def floating(self, least_rank: int = 0) -> Tensor:
        """A tensor of the pool that arithmetic takes, or a fresh source."""
        fit = [each for each in self.pool if each.dtype.is_float and each.rank >= least_rank]
        if fit:
            return self.draw(st.sampled_from(fit))
        shape = self.draw(st.lists(extents, min_size=least_rank, max_size=4))
        return self.source(tuple(shape), self.draw(float_formats))

    def of_shape(self, shape: Shape) -> Tensor:
        """A tensor of the pool with just this shape, or a fresh source."""
        fit = [each for each in self.pool if each.dtype.is_float and each.shape == shape]
        if fit and self.flag():
            return self.draw(st.sampled_from(fit))
        return self.source(shape, self.draw(float_formats))

    def some(self) -> Tensor:
        return self.draw(st.sampled_from(self.pool))

    def name(self) -> str:
        return self.draw(names)

    def flag(self) -> bool:
        return self.draw(st.booleans())


def broadcastable(draw: st.DrawFn, shape: Shape) -> Shape:
    """A shape that broadcasts with `shape`, perhaps to a greater one."""
    kept = draw(st.integers(0, len(shape)))
    tail = [draw(st.sampled_from([1, extent])) for extent in shape[len(shape) - kept :]]
    longer = draw(st.lists(extents, max_size=1)) if kept == len(shape) < 4 else []
    return (*longer, *tail)


def _unary(mnemonic: str, m: Making) -> Tensor:
    made: Tensor = getattr(m.graph, mnemonic)(m.floating(), name=m.name())
    return made


def _binary(mnemonic: str, m: Making) -> Tensor:
    a = m.floating()
    b: Tensor | float = m.of_shape(broadcastable(m.draw, a.shape))
    if m.draw(st.integers(0, 3)) == 0:
        b = m.draw(st.integers(-8, 8)) / 4
    pair = (a, b) if m.flag() else (b, a)
    made: Tensor = getattr(m.graph, mnemonic)(*pair, name=m.name())
    return made


def _gemm(m: Making) -> Tensor:
    a = m.floating(2)
    flag_a, flag_b = m.flag(), m.flag()
    inner = a.shape[-2] if flag_a else a.shape[-1]
    columns = m.draw(extents)
    matrix = (columns, inner) if flag_b else (inner, columns)
    b = m.of_shape((*broadcastable(m.draw, a.shape[:-2]), *matrix))
    return m.graph.gemm(a, b, transpose_a=flag_a, transpose_b=flag_b, name=m.name())


def _attention(m: Making) -> Tensor:
    q = m.floating(3)
    causal = m.flag()
    keys = q.shape[-2] if causal else m.draw(extents)
    k = m.of_shape((*q.shape[:-2], keys, q.shape[-1]))
    v = m.of_shape((*q.shape[:-2], keys, m.draw(extents)))
    counts = m.source(q.shape[:-3], NumberFormat(DType.I32)) if m.flag() else None
    scale = m.draw(st.none() | st.floats(-2, 2))
    return m.graph.attention(q, k, v, causal=causal, scale=scale, key_counts=counts, name=m.name())


def _softmax(m: Making) -> Tensor:
    return m.graph.softmax(m.floating(1), name=m.name())


def _norm(mnemonic: str, m: Making) -> Tensor:
    x = m.floating(1)
    affine = [m.of_shape(x.shape[-1:]) for _ in range(m.draw(st.integers(0, 2)))]
    epsilon = m.draw(epsilons)
    made: Tensor = getattr(m.graph, mnemonic)(x, *affine, epsilon=epsilon, name=m.name())
    return made


def _reduce(m: Making) -> Tensor:
    x = m.floating(1)
    function = m.draw(
        st.sampled_from([m.graph.reduce_sum, m.graph.reduce_mean, m.graph.reduce_max])
    )
    return function(x, m.draw(st.integers(1, x.rank)), keep=m.flag(), name=m.name())


def _reshape(m: Making) -> Tensor:
    x = m.some()
    known = m.draw(st.sampled_from([n for n in (1, 2, 3, 4) if x.type.elements % n == 0]))
    shape = m.draw(st.permutations([known, -1]))
    return m.graph.reshape(x, shape, name=m.name())


def _transpose(m: Making) -> Tensor:
    x = m.some()
    return m.graph.transpose(x, m.draw(st.permutations(range(x.rank))), name=m.name())


def _slice(m: Making) -> Tensor:
    x = m.some()
    starts = [m.draw(st.integers(0, extent - 1)) for extent in x.shape]
    stops = [
        m.draw(st.integers(start + 1, extent))
        for start, extent in zip(starts, x.shape, strict=True)
    ]
    return m.graph.slice(x, starts, stops, name=m.name())


def _split_heads(m: Making) -> Tensor:
    x = m.floating(2)
    heads = m.draw(st.sampled_from([n for n in (1, 2, 3, 4) if x.shape[-1] % n == 0]))
    return m.graph.split_heads(x, heads, name=m.name())


def _merge_heads(m: Making) -> Tensor:
    return m.graph.merge_heads(m.floating(3), name=m.name())


def _concat(m: Making) -> Tensor:
    x = m.floating(1)
    axis = m.draw(st.integers(0, x.rank - 1))
    parts = [x]
    for _ in range(m.draw(st.integers(0, 2))):
        shape = (*x.shape[:axis], m.draw(extents), *x.shape[axis + 1 :])
        parts.append(m.source(shape, x.format))
    return m.graph.concat(m.draw(st.permutations(parts)), axis, name=m.name())


def _broadcast(m: Making) -> Tensor:
    x = m.some()
    shape = [m.draw(extents) if extent == 1 else extent for extent in x.shape]
    leading = m.draw(st.lists(extents, max_size=max(0, 4 - x.rank)))
    return m.graph.broadcast(x, (*leading, *shape), name=m.name())


def _cast(m: Making) -> Tensor:
    return m.graph.cast(m.some(), m.draw(float_formats), name=m.name())


def _constant(m: Making) -> Tensor:
    shape = m.draw(st.lists(extents, max_size=2))
    format = m.draw(formats)
    whole = st.integers(-3, 3)
    size = int(np.prod(shape))
    numbers = m.draw(st.lists(whole, min_size=size, max_size=size))
    values = np.array(numbers, np.float64).reshape(shape)
    return m.graph.constant(values if format.dtype is DType.I32 else values / 8, format)


def _repeat(m: Making) -> Tensor:
    count = m.draw(st.integers(1, 3))
    initial = [m.floating() for _ in range(m.draw(st.integers(1, 2)))]
    elements = [
        [m.source(shape, format) for _ in range(count)]
        for shape, format in m.draw(st.lists(st.tuples(shapes, float_formats), max_size=2))
    ]
    repeat = m.graph.repeat(count, m.name())
    with repeat as body:
        carried = [body.carry(each, m.name()) for each in initial]
        own = [*carried, *(body.each(values, m.name()) for values in elements)]
        inside = replace(m, pool=[*own, *m.pool], depth=m.depth + 1)
        steps(inside, m.draw(st.integers(1, 3)))
        made = inside.pool[: -len(own) - len(m.pool)]
        body.yields(*(_next(inside, each, made) for each in carried))
    return m.draw(st.sampled_from(repeat.results))


def _next(m: Making, carried: Tensor, made: list[Tensor]) -> Tensor:
    """What to yield for `carried`: if possible, something that the body made."""
    fit = [each for each in made if each.type == carried.type]
    if fit:
        return m.draw(st.sampled_from(fit))
    return m.graph.cast(m.graph.tanh(carried), carried.format)


UNARY = ("gelu", "gelu_tanh", "relu", "silu", "sigmoid", "tanh", "exp", "sqrt")

STEPS: dict[str, Callable[[Making], Tensor]] = {
    "repeat": _repeat,
    **{mnemonic: partial(_unary, mnemonic) for mnemonic in UNARY},
    **{mnemonic: partial(_binary, mnemonic) for mnemonic in ("add", "sub", "mul", "div")},
    **{mnemonic: partial(_norm, mnemonic) for mnemonic in ("layer_norm", "rms_norm")},
    "gemm": _gemm,
    "attention": _attention,
    "softmax": _softmax,
    "reduce": _reduce,
    "reshape": _reshape,
    "transpose": _transpose,
    "slice": _slice,
    "split_heads": _split_heads,
    "merge_heads": _merge_heads,
    "concat": _concat,
    "broadcast": _broadcast,
    "cast": _cast,
    "constant": _constant,
}
"""By mnemonic, a function that adds such an operation."""

DEEPEST = 2
MOST_ELEMENTS = 2000


_PLAIN = [each for each in STEPS if each != "repeat"]
_KINDS = {False: _PLAIN, True: ["repeat", "repeat", *_PLAIN, "repeat"]}
"""What to draw from, without repeats and with; they are worth more than one draw in thirty."""


def steps(m: Making, count: int) -> None:
    """Add operations of `count` random kinds to the open region, and their results to the pool."""
    for _ in range(count):
        made = STEPS[m.draw(st.sampled_from(_KINDS[m.depth < DEEPEST]))](m)
        if made.type.elements <= MOST_ELEMENTS and made.rank <= 4:
            m.pool.insert(0, made)


@st.composite
def graphs(draw: st.DrawFn, most_operations: int = 6) -> ComputeGraph:
    """A valid graph with one to three outputs."""
    m = Making(draw, ComputeGraph(draw(names)), [], 0)
    for _ in range(draw(st.integers(1, 3))):
        m.pool.append(m.source(draw(shapes), draw(formats)))
    steps(m, draw(st.integers(1, most_operations)))
    leaving = draw(st.lists(st.sampled_from(m.pool), min_size=1, max_size=3))
    for index, tensor in enumerate(leaving):
        m.graph.output(f"{draw(names)}.{index}", tensor)
    return m.graph


def random_arrays(graph: ComputeGraph, seed: int = 0) -> tuple[Arrays, Arrays]:
    """Inputs and parameters for a graph; I32 values serve as key counts of all its attentions."""
    rng = np.random.default_rng(seed)
    keys = [
        operation.operands[1].type.shape[-2]
        for operation in walk(graph)
        if isinstance(operation.operator, Attention)
    ]
    most = min(keys, default=4)
    arrays = {
        source.name: rng.normal(size=source.value.type.shape)
        if source.value.type.dtype.is_float
        else rng.integers(1, most, endpoint=True, size=source.value.type.shape).astype(np.float64)
        for source in graph.sources
    }
    of_runs = {source.name for source in (*graph.inputs, *graph.host_inputs)}
    return (
        {name: array for name, array in arrays.items() if name in of_runs},
        {name: array for name, array in arrays.items() if name not in of_runs},
    )
