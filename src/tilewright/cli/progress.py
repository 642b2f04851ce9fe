"""Progress by pass, drawn from spans: a live line on a terminal, else one plain line per pass."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from tilewright.cli.passes import Pass, recording

LEAST_SECONDS = 0.1
"""A pass inside another that took less is not worth a line."""
_SHOWN = 4
"""Attributes on a line."""


@contextmanager
def progress(console: Console | None = None) -> Iterator[list[Pass]]:
    """Show the passes of the block on standard error; gives them, to be summed up afterwards."""
    console = console or Console(stderr=True, highlight=False)
    if not console.is_terminal:
        with recording(lambda this: _plain(console, this)) as made:
            yield made
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as drawn:
        live = _Live(drawn, console)
        with recording(live.hear) as made:
            yield made


def passes_text(passes: list[Pass]) -> Iterator[str]:
    """One line per pass that is worth it, indented by depth."""
    for this in passes:
        if _is_told(this):
            yield _text(this)


class _Live:
    """A spinner for each pass that runs; those that ended stay above."""

    def __init__(self, drawn: Progress, console: Console) -> None:
        self._drawn = drawn
        self._console = console
        self._tasks: dict[int, TaskID] = {}

    def hear(self, this: Pass) -> None:
        if this.seconds is None:
            indented = "  " * this.depth + this.name
            self._tasks[id(this)] = self._drawn.add_task(indented, total=None)
            return
        self._drawn.remove_task(self._tasks.pop(id(this)))
        if _is_told(this):
            self._console.print(_text(this), markup=False, highlight=False)


def _plain(console: Console, this: Pass) -> None:
    if _is_told(this):
        console.print(_text(this), markup=False, highlight=False, soft_wrap=True)


def _is_told(this: Pass) -> bool:
    return this.seconds is not None and (this.depth == 0 or this.seconds >= LEAST_SECONDS)


def _text(this: Pass) -> str:
    attributes = list(this.attributes.items())[:_SHOWN]
    said = ", ".join(f"{key} {_value(value)}" for key, value in attributes)
    name = "  " * this.depth + this.name
    return f"{name:<32} {this.seconds or 0:7.2f} s" + (f"   {said}" if said else "")


def _value(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
