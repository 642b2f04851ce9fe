"""Buffers that share memory when their lifetimes are disjoint never spoil each other.

Memory is dealt out by lifetimes alone, as tightly as they allow; then the schedule runs, repeats
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
)
from tilewright.codegen.mid import MidGraph, PipelineConfig, plan
from tilewright.graph import ComputeGraph


def places(schedule: TileSchedule) -> dict[int, int]:
    """For each buffer with memory of its own, the first place free throughout its life."""
    life = lifetimes(schedule)
    taken: list[list[tuple[int, int]]] = []
    found = {}
    for buffer in schedule.buffers:
        first, last = int(life.first[buffer.id]), int(life.last[buffer.id])
        is_current = buffer.block is not None and buffer.block.number is None
        if last < first or is_current:
            continue
        place = next(
            (n for n, used in enumerate(taken) if all(b < first or a > last for a, b in used)),
            len(taken),
        )
        if place == len(taken):
            taken.append([])
        taken[place].append((first, last))
        found[buffer.id] = place
    return found


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


def test_blocks_of_a_sequence_live_together() -> None:
    graph = encoder("layers", 4, 32, 2, 64, 12, 1, norm_first=True, exact_gelu=True)
    schedule = lower(planned(graph, 24))
    life = lifetimes(schedule)
    for sequence in schedule.sequences:
        blocks = np.array(sequence.blocks[:-1])
        assert len(set(life.last[blocks].tolist())) == 1
