"""AMP, SLIC and multiply-accumulate in both engines: ordinary, extreme and special numbers."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tilewright.target.flags import amp_flag, slic_flag

if TYPE_CHECKING:
    from tests.emulator.llvm.conftest import Lockstep

AMP = {
    "f16v4hihoamp": ("$a2, $a4:5, $a6", 1),
    "f16v4sihoamp": ("$a2, $a4:5, $a6:7", 1),
    "f16v4sisoamp": ("$a2:3, $a4:5, $a6:7", 1),
    "f16v4hihov4amp": ("$a2:3, $a4:5, $a6:7", 1),
    "f8v8hihov4amp": ("$a2:3, $a4:5, $a6:7", 1),
    "f32sisoamp": ("$a2:3, $a4, $a6:7", 2),
    "f32sisov2amp": ("$a2:3, $a4, $a6:7", 2),
}
"""Instruction → operands and phases for each engine."""
SLIC = {name.replace("amp", "slic"): operands for name, (operands, _) in AMP.items()}


def _run(lockstep: "Lockstep", code: str, seed: int, formats: int = 0) -> None:
    generator = np.random.default_rng(seed)
    for run in range(8):
        state = lockstep.random_state(generator, plain=run % 4 != 3)
        state["workers"][2]["number_format"] = formats
        state["workers"][2]["number_scale"] = 0x3E
        if run % 4 == 1:
            _spread_exponents(generator, state)
        if run % 4 == 2:
            state["weights"][generator.integers(0, 64, 40)] = 0
        lockstep.run(code + "\nexitz $m15", state)


def _spread_exponents(generator: np.random.Generator, state: Any) -> None:
    """Halves and singles of all sizes, so that sums are far from exact in a double."""

    def halves(count: int) -> Any:
        sizes = generator.normal(0, 1, count) * 2.0 ** generator.integers(-20, 14, count)
        return sizes.astype(np.float16)

    state["weights"] = halves(256).view(np.uint64)
    state["workers"][2]["a"] = halves(16).view(np.uint32)
    sums = generator.normal(0, 1, 32) * 2.0 ** generator.integers(-60, 40, 32)
    state["workers"][2]["accumulators"] = sums.astype(np.float32).view(np.uint32)


@pytest.mark.parametrize("engines", [1, 2, 4])
@pytest.mark.parametrize(
    ("name", "formats"), [*((name, 3) for name in AMP), ("f8v8hihov4amp", 0), ("f8v8hihov4amp", 1)]
)
def test_amp(lockstep_on: "Lockstep", name: str, engines: int, formats: int) -> None:
    """`formats` matter to quarters only."""
    operands, per_engine = AMP[name]
    phases = range(engines * per_engine)
    lines = [f"{name} {operands}, {amp_flag(engines, phase)}" for phase in (*phases, 0)]
    _run(lockstep_on, "\n".join(lines), engines, formats)


@pytest.mark.parametrize("width", [3, 4])
@pytest.mark.parametrize("name", SLIC)
def test_slic(lockstep_on: "Lockstep", name: str, width: int) -> None:
    flags = [slic_flag(width, 0), slic_flag(width, 1)]
    if name.startswith("f32"):
        flags += [slic_flag(width, column, upper=True) for column in (0, 1)]
    _run(lockstep_on, "\n".join(f"{name} {SLIC[name]}, {flag}" for flag in flags), width)


@pytest.mark.parametrize(
    "line",
    [
        "f16v2cmac $a0, $a1",
        "f16v4cmac $a0:1, $a2:3",
        "f32mac $a0, $a1",
        "f32v2mac $a0:1, $a2:3",
        "f16v4acc $a0:1",
        "f16v8acc $a0:3",
        "f16v8absacc $a0:3",
        "f16v8sqacc $a0:3",
        "f32v4acc $a0:3",
        "f32v4absacc $a0:3",
        "f32v4sqacc $a0:3",
        "f32v2axpy $a0:1, $a2:3, $a4:5",
        "f16v4mix $a0:1, $a2:3, $a4:5",
        "f32v2aop $a0:1, $a2:3, 0",
        "f32v2gina $a0:1, $a2:3, 1",
        "f16v2gina $a0, $a1, 2",
        "f16v4gacc $a0:1",
        "f16v4stacc $a0:1, 0",
        "f16v4istacc $a0:1, $a2:3, $a4:5, 1",
    ],
)
def test_accumulators(lockstep_on: "Lockstep", line: str) -> None:
    _run(lockstep_on, f"{line}\n{line}", len(line))
