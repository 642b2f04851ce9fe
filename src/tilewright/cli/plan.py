"""`tilewright plan GRAPH`: how a graph would run, and what it is predicted to cost."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tilewright.cli.examples import EXAMPLES
from tilewright.cli.graphs import read_graph
from tilewright.codegen import mid
from tilewright.codegen.mid import KernelPolicy, PipelineConfig, PlanReport, ReportRow
from tilewright.target.geometry import TILES

_ABBREVIATIONS = {
    "compute": "compute",
    "exchange": "exchange",
    "sync": "sync",
    "reduction": "reduce",
    "conversion": "convert",
}


def plan(
    graph: Annotated[
        str, typer.Argument(help=f"A graph's text file, or an example: {', '.join(EXAMPLES)}.")
    ],
    tiles: Annotated[int, typer.Option(min=1, max=TILES, help="Tiles to plan for.")] = TILES,
    copies: Annotated[
        int, typer.Option(help="Most copies of each weight; 0 leaves it to the memory.")
    ] = 0,
    model: Annotated[
        str, typer.Option(help="Constants of the cost model: emulated, measured or conservative.")
    ] = "emulated",
    policy: Annotated[
        KernelPolicy, typer.Option(help="Whether kernels that do not exist may be planned.")
    ] = KernelPolicy.PREDICT,
    show_graph: Annotated[
        bool, typer.Option("--graph", help="Print the planned graph with all formats instead.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the same as JSON.")] = False,
) -> None:
    """Plan a graph: formats, grids, predicted cycles and memory."""
    config = PipelineConfig(
        tiles=tiles, model=mid.cost_model(model), most_copies=copies, policy=policy
    )
    planned = mid.plan(read_graph(graph), config)
    if show_graph:
        print(planned.graph, end="")
        return
    made = mid.report(planned, config)
    if as_json:
        print(json.dumps(made.as_json(), indent=2))
        return
    _print(made)


def _print(made: PlanReport) -> None:
    table = Table(title=f"{made.graph} on {made.tiles} tiles, {made.model} costs")
    table.add_column("operation", overflow="fold")
    table.add_column("kind", overflow="fold")
    table.add_column("×", justify="right")
    table.add_column("plan", overflow="fold")
    table.add_column("formats", overflow="fold")
    for name in ("cycles", *_ABBREVIATIONS.values(), "resident", "working", "result", "use"):
        table.add_column(name, justify="right")
    for row in made.rows:
        table.add_row(*_cells(row))
    console = Console(width=None if Console().is_terminal else 200)
    console.print(table)
    for line in _totals(made):
        print(line)


def _cells(row: ReportRow) -> list[str]:
    return [
        row.operation,
        row.kind,
        str(row.runs),
        row.plan,
        _formats(row),
        f"{row.total:,.0f}",
        *[f"{row.cycles[part]:,.0f}" for part in _ABBREVIATIONS],
        f"{row.resident:,}",
        f"{row.working:,}",
        f"{row.result_bytes:,}",
        "" if row.utilisation is None else f"{row.utilisation:.1%}",
    ]


def _formats(row: ReportRow) -> str:
    """Precision and order of the first two operands, and of the result."""
    short = [" ".join(format.split()[:2]) for format in (*row.operands[:2], row.result)]
    return f"{', '.join(short[:-1])} → {short[-1]}"


def _totals(made: PlanReport) -> list[str]:
    parts = ", ".join(f"{part} {made.cycles[part]:,.0f}" for part in _ABBREVIATIONS)
    lines = [
        f"total      {made.total:,.0f} cycles ({parts}), {made.microseconds:,.1f} µs, "
        f"{made.phases:,} exchange phases, utilisation {made.utilisation:.1%}",
        f"memory     {made.memory:,} of {made.available:,} bytes on the fullest tile: resident "
        f"{made.resident:,}, live {made.live:,}, working {made.working:,}; exchange rows "
        f"{made.exchange_rows:,}",
        f"limited by {made.limits()}",
    ]
    if made.required_kernels:
        lines.append(
            f"cannot be built yet: {len(made.required_kernels)} kernels do not exist "
            f"({', '.join(made.required_kernels)}); cycles are estimates"
        )
    return lines
