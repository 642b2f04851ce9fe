"""Random graphs: every operator, broadcasts, views, mixed formats, repeats inside repeats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import prod

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tilewright.graph import ComputeGraph, DType, NumberFormat, SourceKind, Tensor, walk
from tilewright.graph.operators import Attention
from tilewright.graph.types import Shape

Arrays = dict[str, NDArray[np.float64]]

names = st.sampled_from(["", "x", "ffn up", 'layer.0 "w"']) | st.text(max_size=8)
float_formats = st.one_of(
    st.sampled_from([NumberFormat(DType.F16), NumberFormat(DType.F32)]),
    st.integers(-4, 4).map(DType.F8F143.scaled),
)
formats = st.one_of(float_formats, st.just(NumberFormat(DType.I32)))
epsilons = st.floats(1e-12, 1e-2)


@dataclass(frozen=True, slots=True)
class Reach:
    """How large drawn graphs are."""

    extents: st.SearchStrategy[int]
    most_elements: int
    """Of a tensor that others are made of."""

    @property
    def shapes(self) -> st.SearchStrategy[Shape]:
        fits = st.lists(self.extents, max_size=4).map(tuple)
        return fits.filter(lambda shape: prod(shape) <= self.most_elements)


SMALL = Reach(st.integers(1, 4), 2_000)
AROUND_BLOCKS = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 100, 129, 200, 300)
LARGE = Reach(st.sampled_from(AROUND_BLOCKS), 40_000)
"""Extents that fill blocks of the matrix engine, words and atoms, or just do not."""


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
    reach: Reach = SMALL

    def extent(self) -> int:
        return self.draw(self.reach.extents)

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
        shape = self.draw(self.reach.shapes.filter(lambda shape: len(shape) >= least_rank))
        return self.source(shape, self.draw(float_formats))

    def of_shape(self, shape: Shape) -> Tensor:
        """A tensor of the pool with just this shape, or a fresh source."""
        fit = [each for each in self.pool if each.dtype.is_float and each.shape == shape]
        if fit and self.flag():
            return self.draw(st.sampled_from(fit))
        return self.source(shape, self.draw(float_formats))

    def carriable(self) -> Tensor:
        """A tensor that a repeat may carry: most often one of arithmetic."""
        return self.floating() if self.draw(st.integers(0, 4)) else self.some()

    def some(self) -> Tensor:
        return self.draw(st.sampled_from(self.pool))

    def name(self) -> str:
        return self.draw(names)

    def flag(self) -> bool:
        return self.draw(st.booleans())


def broadcastable(m: Making, shape: Shape, longer: bool = True) -> Shape:
    """A shape that broadcasts with `shape`, perhaps to a greater one (`longer`: of more axes)."""
    kept = m.draw(st.integers(0, len(shape)))
    tail = [_meeting(m, extent) for extent in shape[len(shape) - kept :]]
    if not longer or kept < len(shape) or len(shape) == 4 or m.flag():
        return tuple(tail)
    return (m.extent(), *tail)


def _meeting(m: Making, extent: int) -> int:
    """An extent that broadcasts with another."""
    if extent > 1:
        return m.draw(st.sampled_from([1, extent]))
    return m.extent() if m.flag() else 1


def _unary(mnemonic: str, m: Making) -> Tensor:
    made: Tensor = getattr(m.graph, mnemonic)(m.floating(), name=m.name())
    return made


def _binary(mnemonic: str, m: Making) -> Tensor:
    a = m.floating()
    b: Tensor | float = m.of_shape(broadcastable(m, a.shape))
    if m.draw(st.integers(0, 3)) == 0:
        b = m.draw(st.integers(-8, 8)) / 4
    pair = (a, b) if m.flag() else (b, a)
    made: Tensor = getattr(m.graph, mnemonic)(*pair, name=m.name())
    return made


def _gemm(m: Making) -> Tensor:
    a = m.floating(2)
    flag_a, flag_b = m.flag(), m.flag()
    inner = a.shape[-2] if flag_a else a.shape[-1]
    columns = m.extent()
    matrix = (columns, inner) if flag_b else (inner, columns)
    batch = broadcastable(m, a.shape[:-2], longer=a.rank < 4)
    b = m.of_shape((*batch, *matrix))
    return m.graph.gemm(a, b, transpose_a=flag_a, transpose_b=flag_b, name=m.name())


def _attention(m: Making) -> Tensor:
    q = m.floating(3)
    causal = m.flag()
    keys = q.shape[-2] if causal else m.draw(st.just(q.shape[-2]) | m.reach.extents)
    k = m.of_shape((*q.shape[:-2], keys, q.shape[-1]))
    size = m.draw(st.just(q.shape[-1]) | m.reach.extents)
    v = m.of_shape((*q.shape[:-2], keys, size))
    counts = m.source(q.shape[:-3], NumberFormat(DType.I32)) if m.flag() else None
    scale = m.draw(st.none() | st.floats(-2, 2))
    return m.graph.attention(q, k, v, causal=causal, scale=scale, key_counts=counts, name=m.name())


def _softmax(m: Making) -> Tensor:
    return m.graph.softmax(m.floating(1), name=m.name())


def _norm(mnemonic: str, m: Making) -> Tensor:
    x = m.floating(1)
    scale, bias = (m.of_shape(x.shape[-1:]) if m.flag() else None for _ in range(2))
    epsilon = m.draw(epsilons)
    made: Tensor = getattr(m.graph, mnemonic)(x, scale, bias, epsilon=epsilon, name=m.name())
    return made


def _reduce(m: Making) -> Tensor:
    x = m.floating(1)
    function = m.draw(
        st.sampled_from([m.graph.reduce_sum, m.graph.reduce_mean, m.graph.reduce_max])
    )
    return function(x, m.draw(st.integers(1, x.rank)), keep=m.flag(), name=m.name())


def _reshape(m: Making) -> Tensor:
    x = m.some()
    known = m.draw(st.sampled_from([n for n in (1, 2, 3, 4, 15, 16) if x.type.elements % n == 0]))
    ones = m.draw(st.lists(st.just(1), max_size=2))
    shape = m.draw(st.permutations([known, -1, *ones]))
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
        fit = [each for each in m.pool if _lies_beside(x, each, axis)]
        if fit and m.flag():
            parts.append(m.draw(st.sampled_from(fit)))
        else:
            shape = (*x.shape[:axis], m.extent(), *x.shape[axis + 1 :])
            parts.append(m.source(shape, x.format))
    return m.graph.concat(m.draw(st.permutations(parts)), axis, name=m.name())


def _lies_beside(x: Tensor, other: Tensor, axis: int) -> bool:
    """Whether both can be parts of one tensor along an axis."""
    others = (*other.shape[:axis], x.shape[axis], *other.shape[axis + 1 :])
    return x.format == other.format and x.rank == other.rank and others == x.shape


def _broadcast(m: Making) -> Tensor:
    x = m.some()
    shape = [m.extent() if extent == 1 else extent for extent in x.shape]
    leading = m.draw(st.lists(st.integers(1, 4), max_size=max(0, 4 - x.rank)))
    return m.graph.broadcast(x, (*leading, *shape), name=m.name())


def _cast(m: Making) -> Tensor:
    x = m.some()
    return m.graph.cast(x, m.draw(float_formats if x.dtype.is_float else formats), name=m.name())


def _constant(m: Making) -> Tensor:
    shape = m.draw(st.lists(st.integers(1, 4), max_size=2))
    format = m.draw(formats)
    whole = st.integers(-3, 3)
    size = int(np.prod(shape))
    numbers = m.draw(st.lists(whole, min_size=size, max_size=size))
    values = np.array(numbers, np.float64).reshape(shape)
    return m.graph.constant(values if format.dtype is DType.I32 else values / 8, format)


def _repeat(m: Making) -> Tensor:
    count = m.draw(st.integers(1, 3))
    initial = [m.carriable() for _ in range(m.draw(st.integers(1, 3)))]
    elements = [_sequence(m, count) for _ in range(m.draw(st.integers(0, 2)))]
    repeat = m.graph.repeat(count, m.name())
    with repeat as body:
        carried = [body.carry(each, m.name()) for each in initial]
        own = [*carried, *(body.each(values, m.name()) for values in elements)]
        inside = replace(m, pool=[*own, *m.pool], depth=m.depth + 1)
        steps(inside, m.draw(st.integers(1, 3)))
        made = inside.pool[: -len(own) - len(m.pool)]
        body.yields(*(_next(inside, each, made) for each in carried))
    m.pool[:0] = repeat.results
    return m.draw(st.sampled_from(repeat.results))


def _sequence(m: Making, count: int) -> list[Tensor]:
    """A value for each iteration: fresh ones, or what the pool has, perhaps the same again."""
    first = m.some() if m.flag() else m.source(m.draw(m.reach.shapes), m.draw(formats))
    fit = [each for each in m.pool if each.type == first.type]
    others = [
        m.draw(st.sampled_from(fit)) if fit and m.flag() else m.source(first.shape, first.format)
        for _ in range(count - 1)
    ]
    return m.draw(st.permutations([first, *others]))


def _next(m: Making, carried: Tensor, made: list[Tensor]) -> Tensor:
    """What to yield for `carried`: mostly something that the body made."""
    fit = [each for each in made if each.type == carried.type]
    if fit and m.draw(st.integers(0, 3)) > 0:
        return m.draw(st.sampled_from(fit))
    if carried.dtype.is_float and m.flag():
        return m.graph.cast(m.graph.tanh(carried), carried.format)
    return m.draw(st.sampled_from([each for each in m.pool if each.type == carried.type]))


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


_PLAIN = [each for each in STEPS if each != "repeat"]
_KINDS = {False: _PLAIN, True: ["repeat", "repeat", *_PLAIN, "repeat"]}
"""What to draw from, without repeats and with; they are worth more than one draw in thirty."""


def steps(m: Making, count: int) -> None:
    """Add operations of `count` random kinds to the open region, and their results to the pool."""
    for _ in range(count):
        made = STEPS[m.draw(st.sampled_from(_KINDS[m.depth < DEEPEST]))](m)
        if made.type.elements <= m.reach.most_elements and made.rank <= 4:
            m.pool.insert(0, made)


@st.composite
def graphs(draw: st.DrawFn, most_operations: int = 6, reach: Reach = SMALL) -> ComputeGraph:
    """A valid graph with one to three outputs."""
    m = Making(draw, ComputeGraph(draw(names)), [], 0, reach)
    for _ in range(draw(st.integers(1, 3))):
        m.pool.append(m.source(draw(reach.shapes), draw(formats)))
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
