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


Benchmark = Callable[[], list[Figure]]


def best_seconds(action: Callable[[], object], repeats: int = 3) -> float:
    """The shortest wall time of `repeats` calls, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)
