"""From the choices of a search to a mid graph: conversions become operations, values get ids."""

from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias

from tilewright.codegen.mid.config import PipelineConfig
from tilewright.codegen.mid.conversions import Conversion, Conversions, copied
from tilewright.codegen.mid.cost import OperatorBytes
from tilewright.codegen.mid.dispatch import OperatorDispatch
from tilewright.codegen.mid.formats import MemoryClass
from tilewright.codegen.mid.groups import Group
from tilewright.codegen.mid.kernels import CATALOGUE
from tilewright.codegen.mid.midgraph import (
    VIEW,
    Carried,
    Iterated,
    MidGraph,
    MidOperation,
    MidRepeat,
    MidSource,
    MidStep,
    MidValue,
    OperatorPlan,
    WorkProvenance,
)
from tilewright.codegen.mid.rows import row_bytes
from tilewright.codegen.mid.search import Choice, Open, RegionPlan
from tilewright.codegen.mid.storage import Storage
from tilewright.graph import ComputeGraph, Formula, SourceKind, Value

_Key: TypeAlias = tuple[int, tuple[Formula, ...]]


@dataclass(slots=True)
class _Scope:
    """Values of a region that have been made: by graph value, and open ones by root and views."""

    values: dict[int, MidValue] = field(default_factory=dict)
    opened: dict[_Key, MidValue] = field(default_factory=dict)


class Assembler:
    """Builds the mid graph of one plan."""

    def __init__(self, graph: ComputeGraph, plan: RegionPlan, config: PipelineConfig) -> None:
        self._graph, self._plan, self._config = graph, plan, config
        self._ids = count()
        self._sources: list[MidSource] = []
        self._names = {source.value.id: source for source in graph.sources}
        self._constants = {
            choice.group.results[0].id: choice.group
            for choice in _all_choices(plan)
            if choice.group.is_constant
        }
        self._top = _Scope()

    def graph(self) -> MidGraph:
        for source in self._graph.sources:
            place = self._plan.places[source.value.id]
            if isinstance(place, Storage):  # its format was given
                value = self._value(source.value, place)
                self._top.values[source.value.id] = value
                self._sources.append(MidSource(source.kind, source.name, value))
        steps, results = self._region(self._plan, self._top, self._graph.region.results)
        outputs = tuple(
            (output.name, value) for output, value in zip(self._graph.outputs, results, strict=True)
        )
        order = {source.name: index for index, source in enumerate(self._graph.sources)}
        self._sources.sort(key=lambda each: order.get(each.name, len(order)))
        return MidGraph(self._graph.name, self._config.tiles, tuple(self._sources), steps, outputs)

    def _value(self, value: Value, storage: Storage) -> MidValue:
        return MidValue(next(self._ids), value.name, storage, value.id)

    def _region(
        self, plan: RegionPlan, scope: _Scope, results: tuple[Value, ...]
    ) -> tuple[tuple[MidStep, ...], tuple[MidValue, ...]]:
        steps: list[MidStep] = []
        for choice in plan.choices:
            self._choice(plan, choice, scope, steps)
        ends = []
        for value, conversions in zip(results, plan.exits, strict=True):
            mid = self._read(plan, scope, value)
            ends.append(self._converted(mid, value, conversions, "result of the region", steps))
        return tuple(steps), tuple(ends)

    def _read(self, plan: RegionPlan, scope: _Scope, value: Value) -> MidValue:
        """A value that is known, or an open source in the format that was chosen."""
        if value.id in scope.values:
            return scope.values[value.id]
        place = plan.places[value.id]
        assert isinstance(place, Open)
        return self._opened(plan, scope, (place.root, place.views), value)

    def _opened(self, plan: RegionPlan, scope: _Scope, key: _Key, value: Value) -> MidValue:
        if key in scope.opened:
            return scope.opened[key]
        root, views = key
        storage = plan.homes[key]
        source = self._names.get(root)
        name = source.name if source is not None else value.name
        mid = MidValue(next(self._ids), name or f"constant %{root}", storage, root)
        scope.opened[key] = mid
        if source is not None:
            self._sources.append(MidSource(source.kind, source.name, mid, views))
        elif root in self._constants:
            formula = self._constants[root].formula
            self._sources.append(MidSource(None, mid.name, mid, views, formula))
        return mid

    def _converted(
        self,
        value: MidValue,
        origin: Value,
        conversions: Conversions,
        reason: str,
        steps: list[MidStep],
        group: str = "",
    ) -> MidValue:
        for conversion in conversions:
            made = MidValue(next(self._ids), value.name, conversion.target, origin.id)
            provenance = WorkProvenance(group or value.name or str(value), origin.id, reason)
            plan = conversion_plan(conversion)
            steps.append(MidOperation(conversion.kind, None, (value,), made, provenance, plan))
            value = made
        return value

    def _choice(
        self, plan: RegionPlan, choice: Choice, scope: _Scope, steps: list[MidStep]
    ) -> None:
        group = choice.group
        if group.is_constant:
            return
        if choice.body is not None:
            self._repeat(plan, choice, scope, steps)
            return
        result = group.results[0]
        place = plan.places[result.id]
        if group.is_view:
            if isinstance(place, Open):
                return
            operand = self._read(plan, scope, group.operands[0])
            made = self._value(result, place)
            scope.values[result.id] = made
            provenance = WorkProvenance(group.label, result.id, "view")
            steps.append(MidOperation(VIEW, group.formula, (operand,), made, provenance))
            return
        assert choice.candidate is not None
        operands = []
        for index, (value, conversions) in enumerate(
            zip(group.operands, choice.conversions, strict=True)
        ):
            mid = self._read(plan, scope, value)
            reason = f"operand {index} of {group.label}"
            operands.append(self._converted(mid, value, conversions, reason, steps, group.label))
        made = self._value(result, choice.candidate.result)
        scope.values[result.id] = made
        provenance = WorkProvenance(group.label, result.id, "compute")
        steps.append(
            MidOperation(
                group.formula.mnemonic,
                group.formula,
                tuple(operands),
                made,
                provenance,
                _operator_plan(choice, tuple(operands), made),
                group.epilogues,
            )
        )

    # repeats

    def _repeat(
        self, plan: RegionPlan, choice: Choice, scope: _Scope, steps: list[MidStep]
    ) -> None:
        group, body = choice.group, choice.body
        repeat = group.repeat
        assert repeat is not None
        assert body is not None
        entering = repeat.parts(tuple(zip(group.operands, choice.conversions, strict=True)))
        arguments = repeat.arguments
        inner = _Scope()
        initials = []
        for (value, conversions), argument in zip(entering.carried, arguments.carried, strict=True):
            initials.append(self._initial(plan, scope, value, conversions, group, steps))
            inner.values[argument.id] = self._value(argument, initials[-1].storage)
        invariants = []
        for (value, _), argument in zip(entering.invariants, arguments.invariants, strict=True):
            invariants += self._invariant(plan, scope, body, inner, value, argument)
        sequences = []
        for entries, (argument,) in zip(entering.sequences, arguments.sequences, strict=True):
            sequences += self._sequence(plan, scope, body, inner, entries, argument, group, steps)
        invariants += self._constants_of(plan, scope, body, inner)
        inner_steps, yielded = self._region(body, inner, repeat.body.results)
        carried = []
        for value, initial, argument, end in zip(
            group.results, initials, arguments.carried, yielded, strict=True
        ):
            scope.values[value.id] = self._value(value, initial.storage)
            carried.append(Carried(initial, inner.values[argument.id], end, scope.values[value.id]))
        provenance = WorkProvenance(group.label, group.results[0].id, "repeat")
        steps.append(
            MidRepeat(
                repeat.count,
                tuple(carried),
                tuple(invariants),
                tuple(sequences),
                inner_steps,
                provenance,
            )
        )

    def _initial(
        self,
        plan: RegionPlan,
        scope: _Scope,
        value: Value,
        conversions: Conversions,
        group: Group,
        steps: list[MidStep],
    ) -> MidValue:
        """A carried value before the first iteration, in memory that the loop may write over."""
        mid = self._entered(plan, scope, value, conversions, group, steps)
        if not self._is_kept(mid):
            return mid
        again = copied(mid.storage)
        return self._converted(mid, value, (again,), "copy to be changed", steps)

    def _is_kept(self, mid: MidValue) -> bool:
        """Whether a value must outlive the run, so that a loop may not write over it."""
        return any(
            source.value is mid and source.kind in (None, SourceKind.PARAMETER)
            for source in self._sources
        )

    def _entered(
        self,
        plan: RegionPlan,
        scope: _Scope,
        value: Value,
        conversions: Conversions,
        group: Group,
        steps: list[MidStep],
    ) -> MidValue:
        mid = self._read(plan, scope, value)
        return self._converted(mid, value, conversions, f"into {group.label}", steps)

    def _invariant(
        self,
        plan: RegionPlan,
        scope: _Scope,
        body: RegionPlan,
        inner: _Scope,
        value: Value,
        argument: Value,
    ) -> list[tuple[MidValue, MidValue]]:
        """One pair, or for an open source one per format that the body chose for it."""
        place = body.places[argument.id]
        if isinstance(place, Storage):
            outer = self._read(plan, scope, value)
            inner.values[argument.id] = self._value(argument, place)
            return [(outer, inner.values[argument.id])]
        pairs = []
        for key, storage in body.homes.items():
            root, views = key
            if root != place.root or views[: len(place.views)] != place.views:
                continue
            if key in inner.opened:
                continue
            outer = self._opened(plan, scope, key, value)
            inner.opened[key] = self._value(argument, storage)
            pairs.append((outer, inner.opened[key]))
        return pairs

    def _constants_of(
        self, plan: RegionPlan, scope: _Scope, body: RegionPlan, inner: _Scope
    ) -> list[tuple[MidValue, MidValue]]:
        """Constants made in a body are loaded once, outside, and given to it."""
        pairs = []
        for key, storage in body.homes.items():
            if key[0] in self._constants and key not in inner.opened:
                value = self._constants[key[0]].results[0]
                outer = self._opened(plan, scope, key, value)
                inner.opened[key] = self._value(value, storage)
                pairs.append((outer, inner.opened[key]))
        return pairs

    def _sequence(
        self,
        plan: RegionPlan,
        scope: _Scope,
        body: RegionPlan,
        inner: _Scope,
        entries: tuple[tuple[Value, Conversions], ...],
        argument: Value,
        group: Group,
        steps: list[MidStep],
    ) -> list[Iterated]:
        place = body.places[argument.id]
        if isinstance(place, Storage):
            values = tuple(
                self._entered(plan, scope, value, conversions, group, steps)
                for value, conversions in entries
            )
            inner.values[argument.id] = self._value(argument, place)
            return [Iterated(values, inner.values[argument.id])]
        found = []
        for key, storage in body.homes.items():
            if key[0] != argument.id:
                continue
            outer = []
            for value, _ in entries:
                own = plan.places[value.id]
                assert isinstance(own, Open)
                outer.append(self._opened(plan, scope, (own.root, (*own.views, *key[1])), value))
            inner.opened[key] = self._value(argument, storage)
            found.append(Iterated(tuple(outer), inner.opened[key]))
        return found


def _all_choices(plan: RegionPlan) -> list[Choice]:
    found = []
    for choice in plan.choices:
        found.append(choice)
        if choice.body is not None:
            found += _all_choices(choice.body)
    return found


def conversion_plan(conversion: Conversion) -> OperatorPlan:
    """The plan of the operation that a conversion becomes."""
    return OperatorPlan(
        conversion.kind,
        conversion.target.format.precision,
        conversion.cost,
        _measured(conversion.bytes, conversion.dispatch),
        conversion.dispatch,
        conversion.dispatch.kernels(),
    )


def _operator_plan(
    choice: Choice, operands: tuple[MidValue, ...], result: MidValue
) -> OperatorPlan:
    candidate = choice.candidate
    assert candidate is not None
    storages = tuple(operand.storage for operand in operands)
    dispatch = candidate.recipe.dispatch(storages, result.storage)
    return OperatorPlan(
        candidate.name,
        candidate.compute,
        candidate.cost + choice.adjustment,
        _measured(candidate.bytes, dispatch),
        dispatch,
        dispatch.kernels(),
        candidate.aliases,
        _apart(dispatch),
        tuple(spec.alignment for spec in candidate.operands),
        tuple(spec.access_tail for spec in candidate.operands),
        candidate.facts,
    )


def _measured(size: OperatorBytes, dispatch: OperatorDispatch) -> OperatorBytes:
    """With what only the dispatch tells: rows, and working memory that must be interleaved."""
    interleaved = sum(
        slot.tile_bytes
        for slot in dispatch.work_slots()
        if slot.storage.format.memory is MemoryClass.INTERLEAVED
    )
    return replace(size, rows=row_bytes(dispatch), interleaved=min(interleaved, size.transient))


def _apart(dispatch: OperatorDispatch) -> tuple[tuple[str, str], ...]:
    """Slots that a kernel wants in different memory elements."""
    pairs = {
        (call.operands[0], call.result)
        for call in dispatch.calls()
        if CATALOGUE[call.kernel].first_apart_from_result
    }
    return tuple(sorted(pairs))


def assemble(graph: ComputeGraph, plan: RegionPlan, config: PipelineConfig) -> MidGraph:
    """The mid graph of a plan."""
    return Assembler(graph, plan, config).graph()
