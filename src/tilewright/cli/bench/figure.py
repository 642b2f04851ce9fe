"""One measured figure of a benchmark, and how to take the time of a call."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """`value` in `unit`; `name` is stable (docs/bench.md)."""

    name: str
    value: float
    unit: str

    def as_json(self) -> dict[str, str | float]:
        return {"name": self.name, "value": self.value, "unit": self.unit}


def best_seconds(action: Callable[[], object], repeats: int = 3) -> float:
    """The shortest wall time of `repeats` calls, in seconds."""
    return _best(action, repeats, time.perf_counter)


def best_core_seconds(action: Callable[[], object], repeats: int = 10) -> float:
    """The shortest time that `repeats` calls keep one core busy, in seconds: this thread's alone.

    Others who use the machine disturb it less than wall time.
    """
    return _best(action, repeats, time.thread_time)


def _best(action: Callable[[], object], repeats: int, clock: Callable[[], float]) -> float:
    times = []
    for _ in range(repeats):
        start = clock()
        action()
        times.append(clock() - start)
    return min(times)
