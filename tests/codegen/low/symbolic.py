"""Planned graphs and schedules, followed symbolically: what is made of what, by which kernel."""

from collections.abc import Mapping

from tilewright.codegen.low import KernelStep, LowStep, RepeatStep, TileSchedule, uses
from tilewright.codegen.mid import (
    Gather,
    KernelCall,
    Loop,
    MidGraph,
    MidOperation,
    MidRepeat,
    MidStep,
    Scatter,
    Step,
)

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
    """Places hold terms, while the steps of a schedule run; repeats really repeat.

    `places` says which buffers share memory; without it each has its own.
    """

    def __init__(
        self, schedule: TileSchedule, terms: Terms, places: Mapping[int, int] | None = None
    ) -> None:
        self._schedule, self._terms = schedule, terms
        self._places = places or {buffer.id: buffer.id for buffer in schedule.buffers}
        self._held = {
            self._places[buffer]: terms("source", name)
            for name, buffer in schedule.sources
            if buffer in self._places
        }
        self._iterations: dict[int, int] = {}
        self._run(schedule.steps)

    def outputs(self) -> dict[str, int]:
        return {name: self._held[self._place(buffer)] for name, buffer in self._schedule.outputs}

    def _place(self, buffer: int) -> int:
        """Of the block of the current iteration, that of the block proper."""
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
            made = [self._held[self._place(buffer)] for buffer in uses(step).reads]
            if isinstance(step, KernelStep):
                count = len(step.operands)
                term = (step.kernel, step.mode, tuple(made[:count]), tuple(made[count:]))
                made = [self._terms(*term, step.fused)]
            for target, held in zip(uses(step).writes, made, strict=True):
                self._held[self._place(target)] = held
