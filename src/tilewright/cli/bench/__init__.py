"""`tilewright bench NAME [--json]`: measured figures, as a table or as JSON.

A benchmark is one or several functions that return figures; `BENCHMARKS` names them with their
modules, which are loaded when they are used. Names of figures are stable and explained in
docs/bench.md.
"""

import json
import sys
from importlib import import_module
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tilewright.cli.bench.figure import Figure
from tilewright.errors import TilewrightError

BENCHMARKS = {
    "isa": ["isa.isa_figures"],
    "asm": ["asm.asm_figures"],
    "link": ["link.link_figures"],
    "emulator": ["emulator.emulator_figures"],
    "exchange": ["phases.phase_figures", "exchange.exchange_figures"],
    "plan": ["plan.plan_figures"],
    "kernels": ["kernels.kernel_figures"],
    "place": ["place.place_figures"],
    "package": ["package.package_figures"],
    "build": ["build.build_figures"],
    "host": ["host.host_figures"],
    "model": ["model.model_figures"],
}
"""By name: modules of this package, each with the function that makes figures."""


def bench(
    name: Annotated[
        str | None,
        typer.Argument(help=f"One of {', '.join(BENCHMARKS)}; all of them if left out."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a list of figures as JSON.")
    ] = False,
) -> None:
    """Run benchmarks and print their figures (docs/bench.md explains each)."""
    if name is not None and name not in BENCHMARKS:
        raise TilewrightError(f"no benchmark '{name}'; there are: {', '.join(BENCHMARKS)}")
    chosen = [name] if name is not None else list(BENCHMARKS)
    figures = []
    for each in chosen:
        print(f"{each} …", file=sys.stderr)
        figures += figures_of(each)
    if as_json:
        print(json.dumps([figure.as_json() for figure in figures], indent=2))
        return
    _print_table(figures)


def figures_of(name: str) -> list[Figure]:
    """The figures of one benchmark."""
    figures = []
    for function in BENCHMARKS[name]:
        module, _, maker = function.partition(".")
        figures += getattr(import_module(f"tilewright.cli.bench.{module}"), maker)()
    return figures


def _print_table(figures: list[Figure]) -> None:
    table = Table("figure", "value", "unit")
    table.columns[1].justify = "right"
    for figure in figures:
        table.add_row(figure.name, f"{figure.value:,.4g}", figure.unit)
    Console().print(table)
