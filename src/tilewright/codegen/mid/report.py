"""What a plan predicts, as rows and totals: for `tilewright plan`, benchmarks and tests."""

from dataclasses import asdict, dataclass
from typing import Any

from tilewright.codegen.mid.config import PipelineConfig
from tilewright.codegen.mid.ideal import ideal_cycles
from tilewright.codegen.mid.kernels import KernelStatus
from tilewright.codegen.mid.midgraph import MidOperation, walk_steps
from tilewright.codegen.mid.planner import Planned
from tilewright.target.timing import CLOCK

PARTS = ("compute", "exchange", "sync", "reduction", "conversion")
"""Of an operator's cost."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One planned operation. Cycles are of one run; bytes on the fullest tile."""

    operation: str
    kind: str
    runs: int
    """How often it runs."""
    plan: str
    operands: tuple[str, ...]
    """Formats of the operands."""
    result: str
    """Format of the result."""
    cycles: dict[str, float]
    resident: int
    working: int
    result_bytes: int
    utilisation: float | None
    """Multiply-adds against the tiles' peak, for products; else None."""

    @property
    def total(self) -> float:
        return sum(self.cycles.values())


@dataclass(frozen=True, slots=True)
class PlanReport:
    """A plan's rows and totals. Cycles of the whole run, bytes on the fullest tile."""

    graph: str
    tiles: int
    model: str
    rows: tuple[ReportRow, ...]
    cycles: dict[str, float]
    phases: int
    utilisation: float
    resident: int
    live: int
    working: int
    exchange_rows: int
    """Estimated; what overflows the exchange window counts as memory."""
    memory: int
    available: int
    required_kernels: tuple[str, ...]
    """Kernels that the plan calls and that do not exist yet."""

    @property
    def total(self) -> float:
        return sum(self.cycles.values())

    @property
    def microseconds(self) -> float:
        return self.total / CLOCK.value * 1e6

    def limits(self) -> str:
        """What takes most of the time, and where; and how full the fullest tile is."""
        part = max(PARTS, key=lambda name: self.cycles[name])
        share = self.cycles[part] / self.total if self.total else 0.0
        slowest = max(self.rows, key=lambda row: row.total * row.runs, default=None)
        where = ""
        if slowest is not None and self.total:
            fraction = slowest.total * slowest.runs / self.total
            where = f"; {slowest.operation} takes {fraction:.0%}"
        return (
            f"{part} {share:.0%} of the cycles{where}; the fullest tile holds "
            f"{self.memory / 1024:,.0f} of {self.available / 1024:,.0f} KiB"
        )

    def as_json(self) -> dict[str, Any]:
        fields = asdict(self)
        fields["total_cycles"] = self.total
        fields["microseconds"] = self.microseconds
        fields["limits"] = self.limits()
        for row, made in zip(fields["rows"], self.rows, strict=True):
            row["total_cycles"] = made.total
        return fields


def report(planned: Planned, config: PipelineConfig) -> PlanReport:
    """Rows and totals of a plan made with `config`."""
    rows, kernels, phases, work = [], {}, 0, 0.0
    for step, runs in walk_steps(planned.graph.steps):
        if not isinstance(step, MidOperation) or step.plan is None:
            continue
        rows.append(_row(step, runs, config.tiles))
        kernels.update(dict.fromkeys(step.plan.kernels))
        phases += runs * step.plan.dispatch.phases()
        work += runs * ideal_cycles(step, config.tiles)
    cost = planned.graph.cost
    missing = [name for name in kernels if _is_missing(name, config)]
    return PlanReport(
        planned.graph.name,
        config.tiles,
        config.model.name,
        tuple(rows),
        {part: getattr(cost, part) for part in PARTS},
        phases,
        work / cost.total if cost.total else 0.0,
        planned.memory.resident,
        planned.memory.live,
        planned.memory.working,
        planned.memory.rows,
        planned.memory.total,
        config.tile_bytes,
        tuple(sorted(missing)),
    )


def _is_missing(name: str, config: PipelineConfig) -> bool:
    spec = config.kernels.get(name)
    return spec is None or spec.status is not KernelStatus.IMPLEMENTED


def _row(step: MidOperation, runs: int, tiles: int) -> ReportRow:
    assert step.plan is not None
    cost, size = step.plan.cost, step.plan.bytes
    ideal = ideal_cycles(step, tiles)
    kind = step.kind
    for epilogue in step.epilogues:
        kind += f"+{epilogue.operator.mnemonic}"
    return ReportRow(
        step.provenance.operation,
        kind,
        runs,
        step.plan.candidate,
        tuple(str(operand.storage.format) for operand in step.operands),
        str(step.result.storage.format),
        {part: getattr(cost, part) for part in PARTS},
        size.resident,
        size.transient,
        step.result.storage.layout.shard_bytes,
        ideal / cost.total if ideal and cost.total else None,
    )
