"""`tilewright profile FILE`: where the cycles of a run go, measured beside planned."""

import json
import re
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tilewright.cli.terminal import printable
from tilewright.errors import TilewrightError
from tilewright.files import FileError, check_writable, open_at_once
from tilewright.package import Application, Profile, Role, open_package, read_profile
from tilewright.package.message import MAGIC_AT, MAGIC_BYTES, magic_bytes
from tilewright.profile import (
    PARTS,
    Analysis,
    By,
    Group,
    analyse,
    grouped,
    planned_profile,
    write_trace,
)


def profile(
    file: Annotated[
        Path, typer.Argument(help="A profile (.ipuprof), or a package (.ipuexe) for its plan.")
    ],
    group_by: Annotated[
        By, typer.Option(help="What rows of the table have in common.")
    ] = By.OPERATION,
    is_run: Annotated[
        bool,
        typer.Option("--run", help="Run the package, with made-up inputs, for measured cycles."),
    ] = False,
    perfetto: Annotated[
        Path | None,
        typer.Option(help="Write a trace for ui.perfetto.dev; compressed if it ends with .gz."),
    ] = None,
    tiles: Annotated[
        str | None,
        typer.Option(
            help="Tiles of the trace, by physical ids: 0,5,64-127, or all; else those that "
            "the chip waits for most."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the same as JSON.")] = False,
) -> None:
    """Print where the cycles of a run go."""
    if tiles is not None and perfetto is None:
        raise TilewrightError("--tiles chooses tiles of a trace; give --perfetto OUT with it")
    if perfetto is not None:
        check_writable(perfetto)
    found, is_plan = _read(file, is_run)
    analysis = analyse(found)
    groups = grouped(analysis, group_by)
    if perfetto is not None:
        write_trace(analysis, perfetto, None if tiles is None else _chosen(tiles, analysis))
    if as_json:
        print(json.dumps(_as_json(analysis, groups, group_by, is_plan), indent=2))
        return
    for line in totals(analysis, is_plan):
        print(line)
    Console(width=None if Console().is_terminal else 160).print(
        cycles_table(groups, group_by.value, is_plan)
    )


def totals(analysis: Analysis, is_plan: bool = False) -> list[str]:
    """The cycles of a run in words."""
    parts = ", ".join(f"{name} {cycles:,}" for name, cycles in analysis.parts.items() if cycles)
    what = "planned" if is_plan else "took"
    return [
        f"{what} {analysis.cycles:,} cycles ({parts or 'nothing'}), {analysis.microseconds:,.1f} "
        f"µs at {analysis.clock / 1e9:g} GHz",
        f"{analysis.tiles:,} tiles, which compute in {analysis.utilisation:.1%} of their cycles",
    ]


def cycles_table(groups: list[Group], what: str, is_plan: bool = False) -> Table:
    """One row per group: cycles on the critical path by part, and how tiles share the work."""
    parts = [part for part in PARTS if any(group.parts[part] for group in groups)]
    table = Table()
    table.add_column(what, overflow="fold")
    numbers = ["steps", "cycles", "share", *parts]
    numbers += [] if is_plan else ["planned", "of plan"]
    for name in (*numbers, "tiles", "balance", "waiting", "busiest"):
        table.add_column(name, justify="right")
    for group in groups:
        table.add_row(*_cells(group, parts, is_plan))
    return table


def _cells(group: Group, parts: list[str], is_plan: bool) -> list[str]:
    planned = "" if group.planned is None else f"{group.planned:,}"
    ratio = f"{group.cycles / group.planned:.0%}" if group.planned else ""
    return [
        escape(printable(group.name, "")),
        f"{group.steps:,}",
        f"{group.cycles:,}",
        f"{group.share:.1%}",
        *(f"{group.parts[part]:,}" for part in parts),
        *([] if is_plan else [planned, ratio]),
        f"{group.tiles:,}",
        f"{group.balance:.0%}",
        f"{group.waiting:.0%}",
        str(group.critical),
    ]


def _read(file: Path, is_run: bool) -> tuple[Profile, bool]:
    """The profile of a file, and whether it is a plan's."""
    if _head(file)[MAGIC_AT:] == magic_bytes("steps"):
        return read_profile(file), False
    with open_package(file) as application:
        plan = application.profile_plan
        if plan is None:
            raise TilewrightError(
                f"{file} has no profile plan; compile it with --profile, and run it with "
                "--profile OUT.ipuprof for measured cycles"
            )
        if is_run:
            return _measured(application), False
        return planned_profile(plan, application.producer), True


def _measured(application: Application) -> Profile:
    """Of a run with random numbers and ones; programs take the same cycles with others."""
    from tilewright.runtime import open_device

    random = np.random.default_rng(0)
    inputs = {
        tensor.name: random.normal(size=tensor.shape).astype(tensor.element.dtype)
        if tensor.element.dtype.kind == "f"
        else np.ones(tensor.shape, tensor.element.dtype)
        for tensor in application.tensors
        if tensor.role is Role.INPUT
    }
    with open_device() as device, device.load(application) as session:
        session.run(inputs)
        return session.profile()


def _head(file: Path) -> bytes:
    try:
        with open(file, "rb", opener=open_at_once) as opened:
            return opened.read(MAGIC_AT + MAGIC_BYTES)
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror}") from error


def _chosen(text: str, analysis: Analysis) -> list[int]:
    if text == "all":
        return [int(tile) for tile in analysis.steps.tiles.tile]
    tiles: list[int] = []
    for part in text.split(","):
        ids = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", part)
        if ids is None or int(ids[2] or ids[1]) < int(ids[1]):
            raise TilewrightError(f"--tiles has '{part}'; expected ids like 0,5,64-127, or all")
        tiles += range(int(ids[1]), int(ids[2] or ids[1]) + 1)
    return tiles


def _as_json(analysis: Analysis, groups: list[Group], by: By, is_plan: bool) -> dict[str, Any]:
    return {
        "measured": not is_plan,
        "cycles": analysis.cycles,
        "parts": analysis.parts,
        "microseconds": analysis.microseconds,
        "clock": analysis.clock,
        "tiles": analysis.tiles,
        "utilisation": analysis.utilisation,
        "by": by.value,
        "groups": [group.as_json() for group in groups],
    }
