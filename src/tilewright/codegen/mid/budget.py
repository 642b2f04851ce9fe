"""Memory of a plan on the fullest tile: residents, and the peak of what lives for a while.

Groups of tiles all start at tile 0 of the chip, so the sizes of the largest shards add up there. A
view keeps its base alive. A result takes the memory of an operand that nobody needs any more, where
the plan allows it. The body of a repeat counts once: what it is given stays until its end.
"""

from collections import Counter
from dataclasses import dataclass, field

from tilewright.codegen.mid.formats import MemoryClass
from tilewright.codegen.mid.midgraph import (
    MidGraph,
    MidOperation,
    MidRepeat,
    MidSource,
    MidStep,
    MidValue,
    WorkProvenance,
    walk_steps,
)
from tilewright.graph import SourceKind
from tilewright.target.geometry import (
    EXCHANGE_WINDOW,
    MEMORY_END,
    REGION1_BASE,
    RUNTIME_STATE,
)

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes on the fullest tile."""

    resident: int
    """Parameters and constants, all copies, all layers."""
    live: int
    """Values that are alive at the peak, the result of the operation there included."""
    working: int
    """Working memory of the operation at the peak."""
    peak: WorkProvenance | None
    """The operation at the peak; None for a graph without one."""
    largest: tuple[tuple[str, int], ...]
    """The largest things on the tile at the peak: name and bytes, largest first."""
    rows: int
    """Instruction rows of all exchange phases, estimated."""
    interleaved: int
    """The most that lies in interleaved memory at once."""

    @property
    def total(self) -> int:
        """Rows count as far as they overflow the exchange window, which is set aside anyway."""
        window = EXCHANGE_WINDOW[1] - EXCHANGE_WINDOW[0]
        return self.resident + self.live + self.working + max(0, self.rows - window)


def memory_use(graph: MidGraph) -> MemoryUse:
    """What the plan takes of the fullest tile, code apart."""
    things: Counter[str] = Counter()
    resident = interleaved = 0
    timeline = _Timeline()
    names = _family_names(graph.steps)
    for source in graph.sources:
        size = source.value.storage.layout.shard_bytes
        if _is_resident(source):
            resident += size
            interleaved += size if is_interleaved(source.value) else 0
            things[names.get(source.value.id, source.name)] += size
        else:
            timeline.values[source.value.id] = source.value
    timeline.add(graph.steps)
    timeline.use([value for _, value in graph.outputs])
    peak = timeline.peak()
    for name, size in peak.held:
        things[name] += size
    if peak.work is not None and peak.working:
        things[f"working memory of {peak.work.operation}"] += peak.working
    largest = tuple(sorted(things.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN])
    rows = sum(
        step.plan.bytes.rows
        for step, _ in walk_steps(graph.steps)
        if isinstance(step, MidOperation) and step.plan is not None
    )
    return MemoryUse(
        resident,
        peak.live,
        peak.working,
        peak.work,
        largest,
        rows,
        interleaved + peak.interleaved,
    )


def residents_pack(graph: MidGraph, use: MemoryUse) -> bool:
    """Whether what stays finds room in pieces: each in one of the two regions of memory.

    Values that a repeat goes along are one piece, and so is what comes and goes. What needs
    interleaved memory is in its region, before all else chooses.
    """
    pieces = _resident_pieces(graph)
    passing = use.interleaved - sum(size for is_bound, size in pieces if is_bound)
    pieces += [(True, passing), (False, max(0, use.live + use.working - passing))]
    free = [REGION1_BASE - RUNTIME_STATE[1], MEMORY_END - REGION1_BASE]
    for is_bound, size in sorted(pieces, reverse=True):
        place = 1 if is_bound else free.index(max(free))
        if size > free[place]:
            return False
        free[place] -= size
    return True


def _resident_pieces(graph: MidGraph) -> list[tuple[bool, int]]:
    """Of each piece, whether it needs interleaved memory, and its bytes."""
    residents = {source.value.id: source.value for source in graph.sources if _is_resident(source)}
    pieces = {
        id: (is_interleaved(value), value.storage.layout.shard_bytes)
        for id, value in residents.items()
    }
    for step, _ in walk_steps(graph.steps):
        for sequence in step.sequences if isinstance(step, MidRepeat) else ():
            along = dict.fromkeys(each.id for each in sequence.values if each.id in pieces)
            if along:
                is_bound = pieces[min(along)][0]
                pieces[min(along)] = (is_bound, sum(pieces.pop(each)[1] for each in along))
    return list(pieces.values())


def is_interleaved(value: MidValue) -> bool:
    """Whether a value lies in interleaved memory."""
    return value.storage.format.memory is MemoryClass.INTERLEAVED


def _family_names(steps: tuple[MidStep, ...]) -> dict[int, str]:
    """For values of sequences, what to call all of them together."""
    names: dict[int, str] = {}
    for step, _ in walk_steps(steps):
        for sequence in step.sequences if isinstance(step, MidRepeat) else ():
            name = sequence.argument.name or sequence.values[0].name
            for value in sequence.values:
                names[value.id] = f"{name} of {len(sequence.values)} iterations"
    return names


def _is_resident(source: MidSource) -> bool:
    return source.kind in (None, SourceKind.PARAMETER)


@dataclass(slots=True)
class _Peak:
    live: int = 0
    working: int = 0
    work: WorkProvenance | None = None
    held: tuple[tuple[str, int], ...] = ()
    interleaved: int = 0
    """At another time perhaps."""


@dataclass(slots=True)
class _Timeline:
    """Operations one after another, and when each value is used last."""

    events: list[MidOperation] = field(default_factory=list)
    values: dict[int, MidValue] = field(default_factory=dict)
    """Those with memory of their own."""
    shares: dict[int, int] = field(default_factory=dict)
    """For a value without, another that lies in the same memory."""
    last: dict[int, int] = field(default_factory=dict)
    """The last event that uses a value."""

    def add(self, steps: tuple[MidStep, ...]) -> None:
        for step in steps:
            if isinstance(step, MidRepeat):
                self._add_repeat(step)
                continue
            self.use(step.operands)
            if step.plan is None:
                if step.operands:
                    self.shares[step.result.id] = step.operands[0].id
            else:
                self.events.append(step)
                self.values[step.result.id] = step.result
                self.use([step.result], -1)

    def _add_repeat(self, repeat: MidRepeat) -> None:
        given = [outer for outer, _ in repeat.invariants]
        given += [carried.initial for carried in repeat.carried]
        self.shares.update({inner.id: outer.id for outer, inner in repeat.invariants})
        for sequence in repeat.sequences:
            self.shares[sequence.argument.id] = sequence.values[0].id
            given += sequence.values
        for carried in repeat.carried:
            self.shares[carried.argument.id] = carried.initial.id
            self.shares[carried.result.id] = carried.initial.id
        self.use(given)
        self.add(repeat.body)
        yielded = [carried.yielded for carried in repeat.carried]
        self.use(given + yielded, -1)

    def use(self, values: list[MidValue] | tuple[MidValue, ...], shift: int = 0) -> None:
        """Used by the next event, or by the one before it with `shift` -1."""
        for value in values:
            self.last[value.id] = max(self.last.get(value.id, -1), len(self.events) + shift)

    def owner(self, value: int) -> int:
        while value in self.shares:
            value = self.shares[value]
        return value

    def peak(self) -> _Peak:
        ends: dict[int, int] = {}
        for value, event in self.last.items():
            owner = self.owner(value)
            ends[owner] = max(ends.get(owner, -1), event)
        sizes = {id: value.storage.layout.shard_bytes for id, value in self.values.items()}
        made = {step.result.id for step in self.events}
        live = {id for id in self.values if id not in made}
        peak = _Peak(sum(sizes[id] for id in live))
        interleaved = 0
        for event, step in enumerate(self.events):
            self._place_result(step, event, live, ends)
            total = sum(sizes[id] for id in live)
            assert step.plan is not None
            working = step.plan.bytes.transient
            there = sum(sizes[id] for id in live if is_interleaved(self.values[id]))
            interleaved = max(interleaved, there + step.plan.bytes.interleaved)
            if total + working > peak.live + peak.working:
                names = sorted((self.values[id].name or f"%{id}", sizes[id]) for id in live)
                peak = _Peak(total, working, step.provenance, tuple(names))
            live = {id for id in live if ends.get(id, -1) > event}
        peak.interleaved = interleaved
        return peak

    def _place_result(
        self,
        step: MidOperation,
        event: int,
        live: set[int],
        ends: dict[int, int],
    ) -> None:
        """In memory of its own, or of an operand that lies alike and ends here."""
        assert step.plan is not None
        result = step.result.id
        for index in step.plan.aliases:
            operand = step.operands[index]
            owner = self.owner(operand.id)
            if operand.id not in self.values or owner not in live or ends[owner] != event:
                continue
            if operand.storage == self.values[owner].storage == step.result.storage:
                self.shares[result] = owner
                ends[owner] = max(event, ends.get(result, event))
                return
        live.add(result)
