"""Moves of planned graphs, word by word: shards that are filled by them are those of the layout."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewright.codegen.low import LoweringError, Moves, gathered, scattered
from tilewright.codegen.mid import (
    Gather,
    Loop,
    MidOperation,
    OperatorDispatch,
    PipelineConfig,
    Precision,
    Scatter,
    Slot,
    Step,
    Storage,
    plan,
    walk_steps,
)
from tilewright.graph import ComputeGraph


def perceptron(rows: int, inner: int, hidden: int, columns: int) -> ComputeGraph:
    graph = ComputeGraph("perceptron")
    x = graph.input("x", (rows, inner))
    up, down = graph.parameter("up", (inner, hidden)), graph.parameter("down", (hidden, columns))
    bias = graph.parameter("bias", (hidden,))
    graph.output("y", graph.gelu(x @ up + bias) @ down + x @ graph.parameter("w", (inner, columns)))
    return graph


def attending(tokens: int, width: int, heads: int) -> ComputeGraph:
    graph = ComputeGraph("attention")
    x = graph.input("x", (tokens, width))
    parts = [x @ graph.parameter(name, (width, width)) for name in "qkv"]
    q, k, v = (graph.split_heads(part, heads) for part in parts)
    graph.output("y", graph.merge_heads(graph.attention(q, k, v)))
    return graph


GRAPHS = {
    "perceptron": perceptron(24, 64, 96, 32),
    "odd perceptron": perceptron(13, 50, 70, 38),
    "attention": attending(20, 32, 2),
}


def moves_of(graph: ComputeGraph, tiles: int) -> Iterator[tuple[OperatorDispatch, Step, int]]:
    """Every phase of a planned graph, with its operator's dispatch, and for each step of a loop."""
    for step, _ in walk_steps(plan(graph, PipelineConfig(tiles=tiles)).graph.steps):
        if isinstance(step, MidOperation) and step.plan is not None:
            yield from _phases(step.plan.dispatch, step.plan.dispatch.steps, 0)


def _phases(
    dispatch: OperatorDispatch, steps: tuple[Step, ...], window: int
) -> Iterator[tuple[OperatorDispatch, Step, int]]:
    for step in steps:
        if isinstance(step, Loop):
            for number in range(step.count):
                yield from _phases(dispatch, step.body, number)
        elif isinstance(step, Gather | Scatter):
            yield dispatch, step, window


def shards(storage: Storage, value: NDArray[np.int64]) -> NDArray[np.int64]:
    """A value's elements on the tiles of its storage; -1 where nothing lies."""
    numbers = np.arange(int(np.prod(storage.base))).reshape(storage.base)
    for operator in storage.view.operators if storage.view is not None else ():
        numbers = operator.evaluate([numbers])
    base = np.full(int(np.prod(storage.base)), -1, np.int64)
    base[numbers.reshape(-1)] = value.reshape(-1)
    return storage.layout.pack(base.reshape(storage.base) + 1) - 1


def carried(
    moves: Moves, source: NDArray[np.int64], elements: int, group: int, tiles: int
) -> NDArray[np.int64]:
    """Elements of the target's shards, `group` to a word, as the moves bring them."""
    width = -(-elements // group) * group
    found = np.full((tiles, width), -1, np.int64)
    padded = np.pad(source, ((0, 0), (0, group)), constant_values=-1)

    def bring(tile: int, at: int, from_tile: int, place: int, words: int) -> None:
        taken = padded[from_tile, place * group : (place + words) * group]
        there = found[tile, at * group : (at + words) * group]
        assert (there == -1).all(), "a word is brought twice"
        there[: len(taken)] = taken[: len(there)]

    for run in range(len(moves.words)):
        low, high = moves.receiver_start[run : run + 2]
        for each in range(low, high):
            assert high - low > 1 or moves.receiver_tile[each] != moves.source_tile[run]
            bring(
                moves.receiver_tile[each],
                moves.receiver[each],
                moves.source_tile[run],
                moves.source[run],
                moves.words[run],
            )
    copies = moves.copies
    for tile, place, at, words in zip(
        copies.tile, copies.source, copies.target, copies.words, strict=True
    ):
        bring(tile, at, tile, place, words)
    return found[:, :elements]


@pytest.mark.parametrize("tiles", [1, 2, 7, 8, 32])
@pytest.mark.parametrize("name", GRAPHS)
def test_gathered_shards_are_those_of_the_layout(name: str, tiles: int) -> None:
    seen = 0
    for dispatch, step, window in moves_of(GRAPHS[name], tiles):
        for source_name, target_name in step.moves if isinstance(step, Gather) else ():
            source, target = dispatch.slot(source_name).storage, dispatch.slot(target_name)
            _check_gathered(source, target, window)
            seen += 1
    assert seen or tiles == 1


def _check_gathered(source: Storage, target: Slot, window: int) -> None:
    value = np.arange(int(np.prod(source.shape))).reshape(source.shape)
    layout = target.storage.layout
    held = shards(source, value)
    wanted = shards(target.storage, value)[window * target.tiles :][: target.tiles]
    moves = gathered(source, target, window)
    group = 4 // target.storage.format.precision.bytes
    if source.format.precision.bytes == target.storage.format.precision.bytes:
        found = carried(moves, held, layout.shard_elements, group, target.tiles)
        assert np.array_equal(np.where(wanted >= 0, found, -1), wanted)
        return
    # Whole words around single elements: each is told apart by its number on all tiles.
    finer = 4 // source.format.precision.bytes
    width = -(-held.shape[1] // finer)
    numbers = np.arange(held.shape[0] * width).reshape(-1, width)
    found = carried(moves, numbers, layout.shard_elements, 1, target.tiles)
    padded = np.pad(held, ((0, 0), (0, finer)), constant_values=-1)
    for tile, place in zip(*np.nonzero(wanted >= 0), strict=True):
        from_tile, word = divmod(int(found[tile, place]), width)
        assert wanted[tile, place] in padded[from_tile, word * finer :][:finer]


@pytest.mark.parametrize("tiles", [7, 32])
def test_scattered_terms_are_those_of_the_other_tiles(tiles: int) -> None:
    seen = 0
    for dispatch, step, _ in moves_of(GRAPHS["perceptron"], tiles):
        if not isinstance(step, Scatter):
            continue
        source, arriving = (dispatch.slot(name).storage for name in (step.source, step.arriving))
        seen += 1
        layout = source.layout
        value = np.arange(int(np.prod(source.shape))).reshape(source.shape)
        # Each tile's term is told apart by its number.
        terms = layout.pack(value + 1) + 1_000_000 * np.arange(layout.format.tiles)[:, None]
        group = 4 // source.format.precision.bytes
        found = carried(
            scattered(source, arriving),
            terms,
            arriving.layout.shard_elements,
            group,
            arriving.format.tiles,
        )
        for tile in range(arriving.format.tiles):
            _check_terms(arriving, layout.replica_tiles, found[tile], tile)
    assert seen


def _check_terms(
    arriving: Storage, replicas: NDArray[np.int64], found: NDArray[np.int64], tile: int
) -> None:
    layout = arriving.layout
    offsets = np.arange(layout.shard_elements)
    coordinates, held = layout.coordinates(np.full(len(offsets), tile), offsets)
    got = found[held]
    numbers = np.ravel_multi_index([each[held] for each in coordinates[1:]], arriving.base[1:])
    assert np.array_equal(got % 1_000_000, numbers + 1)
    senders = got // 1_000_000
    for term in range(arriving.base[0]):
        of_term = np.unique(senders[coordinates[0][held] == term])
        assert len(of_term) <= 1
        assert tile not in of_term
    per_tile = sorted(set(senders.tolist()))
    assert len(per_tile) in (0, len(replicas) - 1)


def test_precisions_are_not_converted_on_the_way() -> None:
    half = next(
        dispatch.slot(step.moves[0][0]).storage
        for dispatch, step, _ in moves_of(GRAPHS["perceptron"], 7)
        if isinstance(step, Gather)
    )
    quarter = Storage(half.format.with_precision(Precision.F8F143), half.base, half.view)
    with pytest.raises(LoweringError, match="does not convert"):
        gathered(half, Slot("target", quarter))
