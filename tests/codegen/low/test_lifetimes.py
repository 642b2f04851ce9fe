"""Buffers that share memory when their lifetimes are disjoint never spoil each other.

Memory is dealt out by lifetimes alone, as tightly as they allow; then the schedule runs, repeats
unrolled, and whoever writes wipes out all others at that place.
"""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.codegen.low.test_lower import Terms, of_graph
from tests.codegen.low.test_moves import GRAPHS
from tests.graph.strategies import graphs
from tilewright.cli.examples import encoder
from tilewright.codegen.low import (
    BufferKind,
    KernelStep,
    LowStep,
    RepeatStep,
    TileSchedule,
    lifetimes,
    lower,
    uses,
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


class Run:
    """Places hold terms, whoever put them there."""

    def __init__(self, schedule: TileSchedule, terms: Terms) -> None:
        self._schedule, self._terms = schedule, terms
        self._places = places(schedule)
        self._held = {
            self._places[buffer]: terms("source", name)
            for name, buffer in schedule.sources
            if buffer in self._places
        }
        self._iterations: dict[int, int] = {}
        self._run(schedule.steps)

    def outputs(self) -> dict[str, int]:
        return {name: self._held[self._place(b)] for name, b in self._schedule.outputs}

    def _place(self, buffer: int) -> int:
        block = self._schedule.buffers[buffer].block
        if block is not None and block.number is None:
            sequence = self._schedule.sequences[block.sequence]
            return self._places[sequence.blocks[self._iterations[sequence.id]]]
        return self._places[buffer]

    def _run(self, steps: tuple[LowStep, ...]) -> None:
        for step in steps:
            if isinstance(step, RepeatStep):
                for iteration in range(step.count):
                    self._iterations |= dict.fromkeys(step.sequences, iteration)
                    self._run(step.body)
                continue
            reads = [self._held[self._place(buffer)] for buffer in uses(step).reads]
            if isinstance(step, KernelStep):
                count = len(step.operands)
                term = (step.kernel, step.mode, tuple(reads[:count]), tuple(reads[count:]))
                reads = [self._terms(*term, step.fused)]
            for target, held in zip(uses(step).writes, reads, strict=True):
                self._held[self._place(target)] = held


def assert_unspoilt(graph: MidGraph) -> TileSchedule:
    terms = Terms()
    schedule = lower(graph)
    assert Run(schedule, terms).outputs() == of_graph(graph, terms)
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


@settings(max_examples=60, deadline=None)
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
