"""Schedules compute what their planned graphs do: both are followed symbolically, step by step."""

import pytest
from hypothesis import given, settings

from tests.codegen.low.test_moves import GRAPHS
from tests.graph.strategies import graphs
from tilewright.cli.examples import encoder
from tilewright.codegen.low import (
    CopyStep,
    ExchangeStep,
    KernelStep,
    LowStep,
    RepeatStep,
    TileSchedule,
    lower,
    uses,
)
from tilewright.codegen.mid import (
    Gather,
    KernelCall,
    Loop,
    MidGraph,
    MidOperation,
    MidRepeat,
    MidStep,
    PipelineConfig,
    Scatter,
    Step,
    plan,
)
from tilewright.graph import ComputeGraph

Term = tuple[object, ...]
"""What a buffer or a value holds: how it was made. Terms are shared, and compared by number."""


class Terms:
    """Numbers for terms, so that long histories stay small."""

    def __init__(self) -> None:
        self._known: dict[Term, int] = {}

    def __call__(self, *term: object) -> int:
        return self._known.setdefault(term, len(self._known))


def of_graph(graph: MidGraph, terms: Terms) -> dict[str, int]:
    """The outputs of a planned graph."""
    values = {each.value.id: terms("source", each.name) for each in graph.sources}
    _graph_steps(graph.steps, values, terms)
    return {name: values[value.id] for name, value in graph.outputs}


def _graph_steps(steps: tuple[MidStep, ...], values: dict[int, int], terms: Terms) -> None:
    for step in steps:
        if isinstance(step, MidRepeat):
            _graph_repeat(step, values, terms)
        elif step.plan is None:
            values[step.result.id] = values[step.operands[0].id]
        else:
            values[step.result.id] = _operation(step, values, terms)


def _graph_repeat(step: MidRepeat, values: dict[int, int], terms: Terms) -> None:
    now = [values[each.initial.id] for each in step.carried]
    for iteration in range(step.count):
        inside = dict(values)
        for each, value in zip(step.carried, now, strict=True):
            inside[each.argument.id] = value
        for outer, argument in step.invariants:
            inside[argument.id] = values[outer.id]
        for iterated in step.sequences:
            inside[iterated.argument.id] = values[iterated.values[iteration].id]
        _graph_steps(step.body, inside, terms)
        now = [inside[each.yielded.id] for each in step.carried]
    for each, value in zip(step.carried, now, strict=True):
        values[each.result.id] = value


def _operation(step: MidOperation, values: dict[int, int], terms: Terms) -> int:
    assert step.plan is not None
    slots = {f"operand {i}": values[value.id] for i, value in enumerate(step.operands)}
    _dispatch(step.plan.dispatch.steps, slots, 0, terms)
    return slots["result"]


def _dispatch(steps: tuple[Step, ...], slots: dict[str, int], window: int, terms: Terms) -> None:
    for step in steps:
        match step:
            case Loop():
                for number in range(step.count):
                    _dispatch(step.body, slots, number, terms)
            case Gather():
                slots |= {target: slots[source] for source, target in step.moves}
            case Scatter():
                slots |= {target: slots[source] for source, target in step.extra}
                slots[step.arriving] = slots[step.source]
            case KernelCall():
                mode = step.modes[0] if window == 0 else step.modes[-1]
                before = (slots[step.result],) if mode == "accumulate" else ()
                operands = tuple(slots[name] for name in step.operands)
                slots[step.result] = terms(step.kernel, mode, operands, before, step.fused)


class Run:
    """Buffers, while the steps of a schedule run; repeats really repeat."""

    def __init__(self, schedule: TileSchedule, terms: Terms) -> None:
        self._schedule, self._terms = schedule, terms
        self._held = {buffer: terms("source", name) for name, buffer in schedule.sources}
        self._iterations: dict[int, int] = {}
        self._run(schedule.steps)

    def outputs(self) -> dict[str, int]:
        return {name: self._held[self._memory(b)] for name, b in self._schedule.outputs}

    def _memory(self, buffer: int) -> int:
        """The buffer whose memory it is, now."""
        block = self._schedule.buffers[buffer].block
        if block is None or block.number is not None:
            return buffer
        sequence = self._schedule.sequences[block.sequence]
        return sequence.blocks[self._iterations[sequence.id]]

    def _run(self, steps: tuple[LowStep, ...]) -> None:
        for step in steps:
            self._step(step)

    def _step(self, step: LowStep) -> None:
        reads = [self._held[self._memory(buffer)] for buffer in uses(step).reads]
        match step:
            case RepeatStep():
                for iteration in range(step.count):
                    self._iterations |= dict.fromkeys(step.sequences, iteration)
                    self._run(step.body)
            case ExchangeStep() | CopyStep():
                for target, held in zip(uses(step).writes, reads, strict=True):
                    self._held[self._memory(target)] = held
            case KernelStep():
                count = len(step.operands)
                term = (step.kernel, step.mode, tuple(reads[:count]), tuple(reads[count:]))
                self._held[self._memory(step.result)] = self._terms(*term, step.fused)


def assert_same(graph: ComputeGraph, tiles: int) -> TileSchedule:
    planned = plan(graph, PipelineConfig(tiles=tiles)).graph
    terms = Terms()
    schedule = lower(planned)
    assert Run(schedule, terms).outputs() == of_graph(planned, terms)
    return schedule


@pytest.mark.parametrize("tiles", [1, 8, 40])
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name: str, tiles: int) -> None:
    assert_same(GRAPHS[name], tiles)


@pytest.mark.parametrize("norm_first", [False, True])
def test_layers_stay_one_body(norm_first: bool) -> None:
    graph = encoder("layers", 5, 32, 2, 64, 12, 1, norm_first=norm_first, exact_gelu=True)
    schedule = assert_same(graph, 24)
    (repeat,) = (step for step in schedule.steps if isinstance(step, RepeatStep))
    assert repeat.count == 5
    assert len(repeat.sequences) == 12
    for number in repeat.sequences:
        sequence = schedule.sequences[number]
        blocks = [schedule.buffers[each] for each in sequence.blocks]
        assert sequence.count == 5
        assert len({(block.bytes, block.tiles, block.memory) for block in blocks}) == 1
        assert [block.block.number for block in blocks if block.block] == [0, 1, 2, 3, 4, None]


def test_carried_values_that_change_places() -> None:
    graph = ComputeGraph("swap")
    a, b = graph.input("a", (8, 8)), graph.input("b", (8, 8))
    with graph.repeat(3) as body:
        first, second = body.carry(a), body.carry(b)
        body.yields(second, graph.relu(first))
    one, other = body.results
    graph.output("one", one)
    graph.output("other", other + a)
    assert_same(graph, 4)


def test_a_carried_value_that_is_needed_afterwards_is_copied() -> None:
    graph = ComputeGraph("kept")
    start = graph.relu(graph.input("x", (8, 8)))
    flat = graph.reshape(start, (64,))
    with graph.repeat(2) as body:
        body.yields(graph.exp(body.carry(flat)))
    graph.output("y", graph.reshape(body.results[0], (8, 8)) + start)
    assert_same(graph, 4)


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_random_graphs(graph: ComputeGraph) -> None:
    assert_same(graph, 8)


def test_work_tells_what_it_is_for() -> None:
    schedule = assert_same(GRAPHS["perceptron"], 8)
    text = str(schedule)
    assert "gemm_f16[initialise]" in text
    for step in schedule.steps:
        assert step.provenance.operation
        assert step.provenance.reason
