"""`tilewright bench NAME [--json]`: measured figures, as a table or as JSON.

A benchmark is a function that returns its figures; its module registers it in `BENCHMARKS`.
Names of figures are stable and explained in docs/bench.md.
"""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tilewright.cli.bench.asm import asm_figures
from tilewright.cli.bench.emulator import emulator_figures
from tilewright.cli.bench.exchange import exchange_figures
from tilewright.cli.bench.figure import Benchmark, Figure
from tilewright.cli.bench.isa import isa_figures
from tilewright.cli.bench.link import link_figures
from tilewright.cli.bench.package import package_figures
from tilewright.cli.bench.phases import phase_figures
from tilewright.errors import TilewrightError

BENCHMARKS: dict[str, Benchmark] = {
    "isa": isa_figures,
    "asm": asm_figures,
    "link": link_figures,
    "emulator": emulator_figures,
    "exchange": lambda: [*phase_figures(), *exchange_figures()],
    "package": package_figures,
}


def bench(
    name: Annotated[
        str | None, typer.Argument(help="Which benchmark; all of them if left out.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a list of figures as JSON.")
    ] = False,
) -> None:
    """Run benchmarks and print their figures (docs/bench.md explains each)."""
    if name is not None and name not in BENCHMARKS:
        raise TilewrightError(f"no benchmark '{name}'; there are: {', '.join(BENCHMARKS)}")
    chosen = [name] if name is not None else list(BENCHMARKS)
    figures = [figure for each in chosen for figure in BENCHMARKS[each]()]
    if as_json:
        print(json.dumps([figure.as_json() for figure in figures], indent=2))
        return
    _print_table(figures)


def _print_table(figures: list[Figure]) -> None:
    table = Table("figure", "value", "unit")
    table.columns[1].justify = "right"
    for figure in figures:
        table.add_row(figure.name, f"{figure.value:,.4g}", figure.unit)
    Console().print(table)
