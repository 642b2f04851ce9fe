"""Spans: one per pass, with what it took and made, for whoever wants to see where time goes.

They are those of OpenTelemetry's API, which cost next to nothing until an application installs
something that records them: its SDK, or what the commands install to draw their progress.

    with span("codegen.mid.plan", operators=42) as this:
        planned = …
        this.set(cycles=231_000)
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from opentelemetry import trace

PREFIX = "tilewright."
"""Of the names of all our spans."""

Value: TypeAlias = str | bool | int | float

_tracer = trace.get_tracer("tilewright")


@dataclass(frozen=True, slots=True)
class Span:
    """A pass that is running."""

    _recorded: trace.Span

    def set(self, **attributes: Value) -> None:
        """Say what the pass made: attributes beside those that it began with."""
        self._recorded.set_attributes(attributes)


@contextmanager
def span(name: str, **attributes: Value) -> Iterator[Span]:
    """A span around a pass, which is named `room.pass`; an exception that leaves it is recorded."""
    with _tracer.start_as_current_span(PREFIX + name, attributes=attributes) as recorded:
        yield Span(recorded)
