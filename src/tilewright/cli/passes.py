"""What the commands record of spans: which passes run, how long they took, what they say.

It stands in for OpenTelemetry's SDK, which would be a large dependency for so little. Where an
application, or the environment, has installed the SDK (or anything else), that gets the spans, and
commands do not see them.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from opentelemetry import context as contexts
from opentelemetry import trace

from tilewright.tracing import PREFIX


@dataclass(slots=True)
class Pass:
    """A span, running until it has `seconds`. `name` lacks our prefix; `depth` 0 has no parent."""

    name: str
    depth: int
    attributes: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    began: float = field(default_factory=time.perf_counter)


Listener = Callable[[Pass], None]
"""Is told of a pass when it begins (it has no seconds then) and when it ends."""


@contextmanager
def recording(listener: Listener | None = None) -> Iterator[list[Pass]]:
    """The passes of the block, in the order in which they begin, and what `listener` hears of."""
    made: list[Pass] = []
    provider = _installed()

    def hear(this: Pass) -> None:
        if this.seconds is None:
            made.append(this)
        if listener is not None:
            listener(this)

    provider.listeners.append(hear)
    try:
        yield made
    finally:
        provider.listeners.remove(hear)


def seconds_by_pass(passes: Iterable[Pass]) -> dict[str, float]:
    """Seconds of what runs directly within the outermost passes; what runs again adds up.

    Names lack the compiler's room, as in `mid.plan`.
    """
    seconds: dict[str, float] = {}
    for each in passes:
        if each.depth == 1 and each.seconds is not None:
            name = each.name.removeprefix("codegen.")
            seconds[name] = seconds.get(name, 0.0) + each.seconds
    return seconds


@lru_cache
def _installed() -> "_Provider":
    """The process's provider of ours; a process can install one only."""
    provider = _Provider()
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):  # nobody has
        trace.set_tracer_provider(provider)
    return provider


class _Provider(trace.TracerProvider):
    def __init__(self) -> None:
        self.listeners: list[Listener] = []

    def get_tracer(self, *arguments: Any, **named: Any) -> trace.Tracer:
        return _Tracer(self.listeners)


class _Tracer(trace.Tracer):
    def __init__(self, listeners: list[Listener]) -> None:
        self._listeners = listeners

    def start_span(
        self,
        name: str,
        context: contexts.Context | None = None,
        kind: trace.SpanKind = trace.SpanKind.INTERNAL,
        attributes: Any = None,
        *arguments: Any,
        **named: Any,
    ) -> trace.Span:
        parent = trace.get_current_span(context)
        depth = parent.made.depth + 1 if isinstance(parent, _Span) else 0
        made = Pass(name.removeprefix(PREFIX), depth, dict(attributes or {}))
        return _Span(made, self._listeners)

    @contextmanager
    def _current(self, *arguments: Any, **named: Any) -> Iterator[trace.Span]:
        with trace.use_span(self.start_span(*arguments, **named), end_on_exit=True) as span:
            yield span

    def start_as_current_span(self, *arguments: Any, **named: Any) -> Any:
        return self._current(*arguments, **named)


class _Span(trace.NonRecordingSpan):
    """Keeps attributes and time; links, events and statuses are nothing to commands."""

    def __init__(self, made: Pass, listeners: list[Listener]) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self.made = made
        self._listeners = listeners
        self._tell()

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener(self.made)

    def set_attributes(self, attributes: Any) -> None:
        self.made.attributes.update(attributes)

    def set_attribute(self, key: str, value: Any) -> None:
        self.made.attributes[key] = value

    def end(self, end_time: int | None = None) -> None:
        if self.made.seconds is None:
            self.made.seconds = time.perf_counter() - self.made.began
            self._tell()
