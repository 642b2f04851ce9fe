"""Predicted cycles of well-known shapes on a whole chip, and the time that planning takes."""

from time import perf_counter

from tilewright.cli.bench.figure import Figure
from tilewright.cli.examples import EXAMPLES
from tilewright.codegen.mid import (
    CONSERVATIVE,
    EMULATED,
    CostModel,
    PipelineConfig,
    forget,
    plan,
    report,
)

_CAPPED = {"gemm-up": (1, 3, 0), "gemm-down": (1, 3, 0)}
"""Most copies of the weight; 0 for no cap."""


def plan_figures() -> list[Figure]:
    """Cycles and utilisation under both cost models; seconds of a first plan in this process."""
    plan(EXAMPLES["gemm-up"]())  # imports, and what NumPy does once
    figures = []
    for name in EXAMPLES:
        for copies in _CAPPED.get(name, (0,)):
            suffix = "" if name not in _CAPPED else f".{copies or 'all'}_copies"
            figures += _figures(f"plan.{name}{suffix}", name, copies, EMULATED, "")
            figures += _figures(f"plan.{name}{suffix}", name, copies, CONSERVATIVE, "_conservative")
    return figures


def _figures(prefix: str, name: str, copies: int, model: CostModel, mark: str) -> list[Figure]:
    config = PipelineConfig(model=model, most_copies=copies)
    graph = EXAMPLES[name]()
    forget()
    start = perf_counter()
    planned = plan(graph, config)
    seconds = perf_counter() - start
    made = report(planned, config)
    figures = [Figure(f"{prefix}.cycles{mark}", round(made.total), "cycles")]
    if model is EMULATED:
        figures.append(Figure(f"{prefix}.utilisation", made.utilisation, "ratio"))
        figures.append(Figure(f"{prefix}.seconds", seconds, "s"))
    return figures
