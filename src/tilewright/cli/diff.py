"""`tilewright diff A B`: how two packages differ."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli.terminal import print_lines


def diff(
    old: Annotated[Path, typer.Argument(metavar="A", help="A package (.ipuexe).")],
    new: Annotated[Path, typer.Argument(metavar="B", help="Another one.")],
) -> None:
    """Print how two packages differ, one line per difference; exit with 1 if they do."""
    from tilewright.package import differences, open_package

    with open_package(old) as first, open_package(new) as second:
        found = differences(first, second)
    if found:
        print_lines(found)
        raise typer.Exit(1)
