"""From a compute graph to its plan: the price of memory is raised until everything fits.

At price 0 every weight is copied as often as that saves cycles. A price in cycles per resident
byte lets a copy be bought only where it saves more; the planner looks for the lowest price at which
the fullest tile holds everything, and spends what memory is then left on single operators. Where
even the dearest plan does not fit, operators get less working memory; at last the error says what
is missing.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from tilewright.codegen.mid.assembly import assemble
from tilewright.codegen.mid.budget import MemoryUse, memory_use, residents_pack
from tilewright.codegen.mid.config import PipelineConfig
from tilewright.codegen.mid.faults import DoesNotFit, FormatError, PlanError
from tilewright.codegen.mid.groups import VIEWS
from tilewright.codegen.mid.ideal import ideal_cycles
from tilewright.codegen.mid.kernels import KernelPolicy
from tilewright.codegen.mid.layout import resolve
from tilewright.codegen.mid.midgraph import MidGraph, MidOperation, walk_steps
from tilewright.codegen.mid.operators.choosing import PRECISIONS
from tilewright.codegen.mid.search import Open, Place, Prices, RegionPlan, Searcher
from tilewright.codegen.mid.shortage import of_operation, of_plan, of_results, share_taken
from tilewright.codegen.mid.storage import Storage
from tilewright.codegen.mid.verify import verify
from tilewright.graph import ComputeGraph, SourceKind, operators, walk
from tilewright.tracing import Span, span

PRICES = (0.0, 1 / 64, 1 / 16, 1 / 4, 1.0, 8.0, 64.0)
"""In cycles per resident byte, tried first: from a copy wherever it helps to one of everything."""
CHEAPEST = 1 / 256
PRICE_ROUNDS = 3
"""Halvings, on a logarithmic scale, of the range between two prices of which one is too low."""
MOST_GROUPS = 5
"""Operators for which more copies are tried one by one."""
WORKING_SHARES = (0.75, 0.6, 0.45, 0.3, 0.2, 0.1, 1.0)
"""Of the memory that residents leave, what one operator may work in; tried in this order. All of it
is for a single operator that has no use for less."""


@dataclass(frozen=True, slots=True)
class Weighing:
    """Resident bytes that an operator claimed on the fullest tile, per layer, and layers."""

    group: int
    """Id of its first operation."""
    resident: int
    times: int


@dataclass(frozen=True, slots=True)
class Planned:
    """A mid graph, the memory it takes, and the prices of memory at which it was found."""

    graph: MidGraph
    memory: MemoryUse
    prices: Prices
    weighing: "tuple[Weighing, ...]" = ()
    """Operators with resident operands, the heaviest first."""


def plan(graph: ComputeGraph, config: PipelineConfig | None = None) -> Planned:
    """Plan a graph for the tiles and the policy of `config`.

    Raises VerificationError for a graph that is not valid, PlanError for one that has no plan under
    the policy, DoesNotFit (with the operator, the memory needed and available, and the nearest
    change that would help) where the memory of a tile does not suffice.
    """
    config = config or PipelineConfig()
    with span("codegen.mid.plan", graph=graph.name, tiles=config.tiles) as this:
        graph.verify()
        try:
            planned = _Planner(graph, config).planned()
        except PlanError as fault:
            if config.policy is KernelPolicy.BUILD and not isinstance(fault, DoesNotFit):
                raise _missing_kernels(graph, config, fault) from fault
            raise
        _say(this, planned.graph)
    return planned


def _say(this: Span, graph: MidGraph) -> None:
    """What a plan amounts to: cycles of a run by part, phases, and the products' ideal cycles."""
    planned = [
        (step, step.plan, runs)
        for step, runs in walk_steps(graph.steps)
        if isinstance(step, MidOperation) and step.plan is not None
    ]
    this.set(
        operations=len(planned),
        cycles=round(graph.cost.total),
        **{part: round(cycles) for part, cycles in asdict(graph.cost).items()},
        phases=sum(runs * plan.dispatch.phases() for _, plan, runs in planned),
        ideal=round(sum(runs * ideal_cycles(step, graph.tiles) for step, _, runs in planned)),
    )


def _missing_kernels(graph: ComputeGraph, config: PipelineConfig, fault: PlanError) -> PlanError:
    """All kernels that the plan would call and that do not exist, and what for."""
    predicted = _Planner(graph, replace(config, policy=KernelPolicy.PREDICT)).planned()
    users: dict[str, list[str]] = {}
    for step, _ in walk_steps(predicted.graph.steps):
        for kernel in step.plan.kernels if isinstance(step, MidOperation) and step.plan else ():
            if not config.allows(kernel):
                users.setdefault(kernel, []).append(step.provenance.operation)
    lines = [str(fault), "  the fastest plan would call these kernels, which do not exist yet:"]
    for kernel, operations in sorted(users.items()):
        lines.append(f"    {kernel} for {', '.join(dict.fromkeys(operations))}")
    return PlanError("\n".join(lines))


class _Planner:
    def __init__(self, graph: ComputeGraph, config: PipelineConfig) -> None:
        self._graph, self._config = graph, config
        self._searcher = Searcher(config)

    def planned(self) -> Planned:
        self._check_inputs()
        self._check_sizes()
        misses: list[Planned | DoesNotFit] = []
        for limit in self._limits():
            found, missed = self._within(limit, hopeful=not misses)
            if found is not None:
                verify(found.graph)
                return found
            misses.append(missed)
        raise self._does_not_fit(misses)

    def _check_inputs(self) -> None:
        """The formats given for sources suit them. Raises PlanError that lists all that do not."""
        sources = {source.name: source.value.type for source in self._graph.sources}
        faults = []
        for name, format in self._config.inputs.items():
            if name not in sources:
                faults.append(f'there is no source "{name}"')
                continue
            type = sources[name]
            wanted = (PRECISIONS[type.dtype], type.format.scale)
            if (format.precision, format.scale) != wanted:
                found = format.precision.value
                faults.append(f'"{name}" is {type.format}, its given format {found}')
            try:
                resolve(format, type.shape)
            except FormatError as fault:
                faults.append(f'"{name}": {fault}')
            if format.tiles > self._config.tiles:
                faults.append(f'"{name}" lies on {format.tiles} tiles of {self._config.tiles}')
        if faults:
            raise PlanError("formats of sources: " + "; ".join(faults))

    def _check_sizes(self) -> None:
        """Raises DoesNotFit that lists all results that the chip cannot hold, were it empty."""
        memory = self._config.tiles * self._config.tile_bytes
        found = []
        for operation in walk(self._graph):
            if isinstance(operation.operator, (*VIEWS, operators.Constant, operators.Repeat)):
                continue
            type = operation.result.type
            size = type.elements * PRECISIONS[type.dtype].bytes
            if size > memory:
                label = operation.label or f"{operation.operator.mnemonic} %{operation.result.id}"
                found.append((label, -(-size // self._config.tiles)))
        if found:
            raise of_results(self._graph.name, found, self._config)

    def _limits(self) -> Iterator[int]:
        """Working memory for one operator, less and less."""
        left = max(self._config.tile_bytes - self._least_resident(), self._config.tile_bytes // 8)
        for share in WORKING_SHARES:
            yield int(left * share)

    def _least_resident(self) -> int:
        """Bytes of all parameters on a tile, if they could be spread evenly."""
        total = sum(
            source.value.type.elements * PRECISIONS[source.value.type.dtype].bytes
            for source in self._graph.parameters
        )
        return total // self._config.tiles

    def _within(self, limit: int, hopeful: bool) -> tuple[Planned | None, "Planned | DoesNotFit"]:
        """The fastest plan that fits, if any; and the one that came nearest.

        Unless `hopeful`, the dearest prices are tried first, and alone if not even they fit.
        """
        try:
            dearest = [] if hopeful else [self._at(Prices(price), limit) for price in PRICES[-2:]]
            if dearest and not any(map(self._fits, dearest)):
                return None, self._nearest(dearest)
            tried = [self._at(Prices(price), limit) for price in PRICES]
        except DoesNotFit as fault:
            return None, fault
        fitting = [each for each in tried if self._fits(each)]
        if not fitting:
            return None, self._nearest(tried)
        best = self._refined(
            min(fitting, key=_cycles), [each for each in tried if not self._fits(each)], limit
        )
        return best, best

    def _refined(self, best: Planned, missing: list[Planned], limit: int) -> Planned:
        """A price between those tried, if the next lower one is too low; then what memory is left
        is spent where that saves most."""
        low = max((each.prices.general for each in missing), default=0.0)
        low = min(low, best.prices.general)
        high = best.prices.general
        for _ in range(PRICE_ROUNDS if missing else 0):
            price = (max(low, CHEAPEST) * high) ** 0.5
            tried = self._at(Prices(price), limit)
            if self._fits(tried):
                high, best = price, min(best, tried, key=_cycles)
            else:
                low = price
        for weighing in best.weighing[:MOST_GROUPS]:
            left = self._config.tile_bytes - best.memory.total
            allowance = weighing.resident + left // weighing.times
            tried = self._at(best.prices.with_allowance(weighing.group, allowance), limit)
            if self._fits(tried):
                best = min(best, tried, key=_cycles)
        return best

    def _at(self, prices: Prices, limit: int) -> Planned:
        places: dict[int, Place] = {}
        for source in self._graph.sources:
            given = self._config.inputs.get(source.name)
            if given is not None:
                places[source.value.id] = Storage(given, source.value.type.shape)
            else:
                weight = source.kind is SourceKind.PARAMETER
                places[source.value.id] = Open(source.value.id, (), weight)
        found = self._searcher.search(self._graph.region, places, prices, limit)
        mid = assemble(self._graph, found, self._config)
        return Planned(mid, memory_use(mid), prices, tuple(_weighing(found)))

    def _fits(self, planned: Planned) -> bool:
        use = planned.memory
        return (
            use.total <= self._config.tile_bytes
            and use.interleaved <= self._config.interleaved_bytes
            and residents_pack(planned.graph, use)
        )

    def _nearest(self, plans: list[Planned]) -> Planned:
        return min(plans, key=lambda each: share_taken(each.memory, self._config))

    def _does_not_fit(self, misses: "list[Planned | DoesNotFit]") -> DoesNotFit:
        plans = [miss for miss in misses if isinstance(miss, Planned)]
        if plans:
            return of_plan(self._graph.name, self._nearest(plans).memory, self._config)
        faults = [miss for miss in misses if isinstance(miss, DoesNotFit)]
        nearest = min(faults, key=lambda each: each.needed - each.available)
        return of_operation(self._graph.name, nearest, self._least_resident(), self._config)


def _weighing(plan: RegionPlan, times: int = 1) -> list[Weighing]:
    found: list[Weighing] = []
    for choice in plan.choices:
        group = choice.group
        if choice.body is not None:
            assert group.repeat is not None
            found += _weighing(choice.body, times * group.repeat.count)
        elif choice.candidate is not None and choice.candidate.bytes.resident:
            found.append(Weighing(group.first.id, choice.candidate.bytes.resident, times))
    return sorted(found, key=lambda each: (-each.resident * each.times, each.group))


def _cycles(planned: Planned) -> float:
    return planned.graph.cost.total
