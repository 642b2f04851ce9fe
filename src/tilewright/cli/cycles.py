"""Cycles of runs, in words."""

from collections.abc import Sequence

from tilewright.runtime import RunResult
from tilewright.target.timing import CLOCK


def cycles_text(runs: Sequence[RunResult]) -> str:
    """How long runs took together, what the host had of it, and how long that is on the card."""
    total, host = sum(run.cycles for run in runs), sum(run.host_cycles for run in runs)
    return (
        f"{total:,} cycles (graph {total - host:,}, host {host:,}), "
        f"{total / CLOCK.value * 1e6:,.1f} µs at the card's {CLOCK.value / 1e9:g} GHz"
    )
