"""Progress by pass, drawn from spans: live lines on a terminal, else a line when a pass begins."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from tilewright.cli.passes import Pass, recording

LEAST_SECONDS = 0.1
"""A pass inside another that took less is not worth a line."""
_DEEPEST = 1
"""Passes within passes that get a plain line."""
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
        live = _Live(drawn)
        with recording(live.hear) as made:
            yield made


def passes_text(passes: list[Pass]) -> Iterator[str]:
    """One line per pass that ended and is worth it, indented: seconds, and what it says."""
    for this in passes:
        seconds = this.seconds
        if seconds is None or (this.depth and seconds < LEAST_SECONDS):
            continue
        attributes = list(this.attributes.items())[:_SHOWN]
        said = ", ".join(f"{key} {_value(value)}" for key, value in attributes)
        yield f"{_indented(this):<32} {seconds:7.2f} s" + (f"   {said}" if said else "")


class _Live:
    """A spinner for each pass that runs."""

    def __init__(self, drawn: Progress) -> None:
        self._drawn = drawn
        self._tasks: dict[int, TaskID] = {}

    def hear(self, this: Pass) -> None:
        if this.seconds is None:
            self._tasks[id(this)] = self._drawn.add_task(_indented(this), total=None)
        else:
            self._drawn.remove_task(self._tasks.pop(id(this)))


def _plain(console: Console, this: Pass) -> None:
    if this.seconds is None and this.depth <= _DEEPEST:
        console.print(f"{_indented(this)} …", markup=False, highlight=False, soft_wrap=True)


def _indented(this: Pass) -> str:
    return "  " * this.depth + this.name


def _value(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
