"""Spans as an application sees them, and as commands draw them."""

import io
import subprocess
import sys

import pytest
from opentelemetry import trace
from rich.console import Console

from tilewright.cli.passes import recording, seconds_by_pass
from tilewright.cli.progress import passes_text, progress
from tilewright.tracing import span


def test_passes_nest_and_keep_what_they_say() -> None:
    with recording() as passes, span("outer", operators=3) as outer:
        with span("inner"):
            pass
        outer.set(cycles=7)
    assert [(each.name, each.depth) for each in passes] == [("outer", 0), ("inner", 1)]
    assert passes[0].attributes == {"operators": 3, "cycles": 7}
    outer_seconds, inner_seconds = (each.seconds for each in passes)
    assert outer_seconds is not None
    assert inner_seconds is not None
    assert outer_seconds >= inner_seconds >= 0


def test_a_pass_that_fails_ends() -> None:
    with recording() as passes, pytest.raises(KeyError), span("failing"):
        raise KeyError("x")
    assert passes[0].seconds is not None


def test_nothing_is_kept_outside_of_a_recording() -> None:
    with recording() as passes:
        pass
    with span("later"):
        pass
    assert passes == []


def test_other_spans_are_recorded_by_their_own_names() -> None:
    with recording() as passes, trace.get_tracer("other").start_as_current_span("own"):
        pass
    assert passes[0].name == "own"


def test_plain_lines_where_there_is_no_terminal() -> None:
    text = io.StringIO()
    with progress(Console(file=text)), span("outer"), span("inner", number=1), span("deep"):
        assert text.getvalue() == "outer …\n  inner …\n"


def test_a_terminal_shows_what_runs_and_forgets_it() -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=60)
    with progress(console), span("codegen.mid.plan"):
        pass
    assert "codegen.mid.plan" in text.getvalue()


def test_passes_in_words() -> None:
    with recording() as passes, span("codegen.mid.plan", operators=1234, share=0.5), span("quick"):
        pass
    (line,) = passes_text(passes)
    assert line.split() == "codegen.mid.plan 0.00 s operators 1,234, share 0.5".split()


def test_spans_go_to_what_an_application_has_installed() -> None:
    code = """
from opentelemetry import trace
class Provider(trace.NoOpTracerProvider): pass
trace.set_tracer_provider(Provider())
from tilewright.cli.passes import recording
from tilewright.tracing import span
with recording() as passes, span("x"): pass
print(passes, type(trace.get_tracer_provider()).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] Provider\n"
    assert done.stderr == ""


def test_what_runs_again_adds_up() -> None:
    with recording() as passes, span("codegen.build.package"):
        for _ in range(2):
            with span("codegen.place.place"), span("codegen.place.pack"):
                pass
    placed = sum(each.seconds or 0.0 for each in passes if each.name == "codegen.place.place")
    assert seconds_by_pass(passes) == {"place.place": placed}
