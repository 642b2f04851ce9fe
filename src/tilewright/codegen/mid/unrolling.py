"""A planned graph with the iterations of its repeats one after the other, to look into them."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from tilewright.codegen.mid.midgraph import (
    MidGraph,
    MidOperation,
    MidRepeat,
    MidStep,
    MidValue,
    WorkProvenance,
)


def unrolled(graph: MidGraph) -> MidGraph:
    """The same without repeats. Operations of bodies are named with their iteration, from 1."""
    unrolling = _Unrolling()
    for source in graph.sources:
        unrolling.keep(source.value)
    steps = tuple(unrolling.steps(graph.steps, ""))
    outputs = tuple((name, unrolling.now[value.id]) for name, value in graph.outputs)
    sources = tuple(
        replace(source, value=unrolling.now[source.value.id]) for source in graph.sources
    )
    return replace(graph, sources=sources, steps=steps, outputs=outputs)


@dataclass(slots=True)
class _Unrolling:
    now: dict[int, MidValue] = field(default_factory=dict)
    """What stands for values, by their numbers."""
    _ids: Iterator[int] = field(default_factory=count)

    def keep(self, value: MidValue) -> MidValue:
        """A value under a new number, as each iteration makes its own."""
        self.now[value.id] = replace(value, id=next(self._ids))
        return self.now[value.id]

    def steps(self, steps: tuple[MidStep, ...], within: str) -> Iterator[MidOperation]:
        for step in steps:
            if isinstance(step, MidRepeat):
                yield from self._iterations(step, within)
                continue
            yield replace(
                step,
                operands=tuple(self.now[each.id] for each in step.operands),
                result=self.keep(step.result),
                provenance=_named(step.provenance, within),
            )

    def _iterations(self, repeat: MidRepeat, within: str) -> Iterator[MidOperation]:
        for carried in repeat.carried:
            self.now[carried.argument.id] = self.now[carried.initial.id]
        for outer, argument in repeat.invariants:
            self.now[argument.id] = self.now[outer.id]
        for iteration in range(repeat.count):
            for sequence in repeat.sequences:
                value = sequence.values[iteration]
                self.now[sequence.argument.id] = self.now[value.id]
            yield from self.steps(repeat.body, f"{within} in iteration {iteration + 1}")
            yielded = [self.now[carried.yielded.id] for carried in repeat.carried]
            for carried, value in zip(repeat.carried, yielded, strict=True):
                self.now[carried.argument.id] = value
        for carried in repeat.carried:
            self.now[carried.result.id] = self.now[carried.argument.id]


def _named(provenance: WorkProvenance, within: str) -> WorkProvenance:
    return replace(provenance, operation=provenance.operation + within)
