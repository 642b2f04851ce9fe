"""Buffers that share memory when their lifetimes allow it never spoil each other.

Memory is dealt out by lifetimes alone, as tightly as they allow, and results get that of operands
that they may take over; then the schedule runs, repeats
unrolled, and whoever writes wipes out all others at that place.
"""

import numpy as np
import pytest
from hypothesis import given

from tests.codegen.low.symbolic import Run, Terms, of_graph
from tests.codegen.low.test_moves import GRAPHS
from tests.examples import examples
from tests.graph.strategies import graphs
from tilewright.cli.examples import encoder
from tilewright.codegen.low import (
    BufferKind,
    TileSchedule,
    lifetimes,
    lower,
    taken_over,
)
from tilewright.codegen.mid import MidGraph, PipelineConfig, plan
from tilewright.graph import ComputeGraph


def places(schedule: TileSchedule) -> dict[int, int]:
    """For each buffer with memory of its own, the first place free throughout its life.

    Results that may take over an operand's memory share its place.
    """
    life = lifetimes(schedule)
    members: dict[int, list[int]] = {}
    for buffer in schedule.buffers:
        is_current = buffer.block is not None and buffer.block.number is None
        if life.first[buffer.id] <= life.last[buffer.id] and not is_current:
            members[buffer.id] = [buffer.id]
    for result, operand in taken_over(schedule, life):
        members[operand] += members[result]
        members |= dict.fromkeys(members[operand], members[operand])
    taken: list[list[tuple[int, int]]] = []
    found: dict[int, int] = {}
    for together in members.values():
        if together[0] in found:
            continue
        lives = [(int(life.first[each]), int(life.last[each])) for each in together]
        place = next((n for n, used in enumerate(taken) if _are_disjoint(used, lives)), len(taken))
        if place == len(taken):
            taken.append([])
        taken[place] += lives
        found |= dict.fromkeys(together, place)
    return found


def _are_disjoint(some: list[tuple[int, int]], others: list[tuple[int, int]]) -> bool:
    return all(b < first or a > last for a, b in some for first, last in others)


def assert_unspoilt(graph: MidGraph) -> TileSchedule:
    terms = Terms()
    schedule = lower(graph)
    assert Run(schedule, terms, places(schedule)).outputs() == of_graph(graph, terms)
    return schedule


def planned(graph: ComputeGraph, tiles: int) -> MidGraph:
    return plan(graph, PipelineConfig(tiles=tiles)).graph


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name: str) -> None:
    assert_unspoilt(planned(GRAPHS[name], 8))


def test_layers() -> None:
    graph = encoder("layers", 4, 32, 2, 64, 12, 1, norm_first=True, exact_gelu=True)
    schedule = assert_unspoilt(planned(graph, 24))
    values = [each.id for each in schedule.buffers if each.kind is not BufferKind.SOURCE]
    shared = places(schedule)
    kept = [shared[each] for each in values if each in shared]
    assert len(set(kept)) < len(kept) / 2


@examples(60)
@given(graphs())
def test_random_graphs(graph: ComputeGraph) -> None:
    assert_unspoilt(planned(graph, 8))


def test_results_lie_where_operands_did_that_nobody_wants_any_more() -> None:
    graph = ComputeGraph("chain")
    first = graph.gelu(graph.input("x", (64,)), name="first")
    second = graph.gelu(first, name="second")
    third = graph.add(second, first, name="third")
    graph.output("second", second)
    graph.output("last", graph.gelu(graph.add(third, third, name="twice"), name="last"))
    schedule = assert_unspoilt(planned(graph, 2))
    names = {each.id: each.name for each in schedule.buffers}
    pairs = taken_over(schedule, lifetimes(schedule))
    assert [(names[result], names[operand]) for result, operand in pairs] == [
        ("first", "x"),
        ("third", "first"),
        ("last", "twice"),
    ]


def test_blocks_of_a_sequence_live_together() -> None:
    graph = encoder("layers", 4, 32, 2, 64, 12, 1, norm_first=True, exact_gelu=True)
    schedule = lower(planned(graph, 24))
    life = lifetimes(schedule)
    for sequence in schedule.sequences:
        blocks = np.array(sequence.blocks[:-1])
        assert len(set(life.last[blocks].tolist())) == 1
