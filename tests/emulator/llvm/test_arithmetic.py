"""Floating point on special values, all against all, with flags and exceptions."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tilewright.emulator.faults import FloatFault, OperandFault

if TYPE_CHECKING:
    from tests.emulator.llvm.conftest import Lockstep

EXIT = "\nexitz $m15"
_PAIRS = 250


def _state(lockstep: "Lockstep", control: int) -> Any:
    """Without sticky flags."""
    state = lockstep.random_state(np.random.default_rng(0), control=control)
    state["workers"][2]["float_status"] = 0
    return state


def _pairs(lockstep: "Lockstep", code: str, numbers: list[int], control: int = 0) -> None:
    """Some of all pairs of numbers, in $a0 and $a1."""
    pairs = [(one, other) for one in numbers for other in numbers]
    generator = np.random.default_rng(len(code))
    before = _state(lockstep, control)
    for place in generator.choice(len(pairs), _PAIRS, replace=False):
        state = before.copy()
        state["workers"][2]["a"][:2] = pairs[place]
        lockstep.run(code + EXIT, state)


@pytest.mark.parametrize(
    "operation", "add sub mul div absadd max min absmax cmpeq cmpne cmplt cmpge".split()
)
def test_singles(lockstep: "Lockstep", operation: str) -> None:
    _pairs(lockstep, f"f32{operation} $a4, $a0, $a1", lockstep.special_singles)


@pytest.mark.parametrize("control", [0, 1 << 20])
@pytest.mark.parametrize("operation", "add sub mul absadd max min absmax cmpeq cmpne".split())
def test_halves(lockstep: "Lockstep", operation: str, control: int) -> None:
    halves = [half | 0x1234 << 16 for half in lockstep.special_halves]
    _pairs(lockstep, f"f16v2{operation} $a4, $a0, $a1", halves, control)


def _each(lockstep: "Lockstep", code: str, numbers: list[int], control: int = 0) -> None:
    before = _state(lockstep, control)
    for number in numbers:
        state = before.copy()
        state["workers"][2]["a"][0] = number
        lockstep.run(code + EXIT, state)


@pytest.mark.parametrize(
    "function", "exp exp2 ln log2 tanh sigm sqrt oox oorx class sufromui".split()
)
def test_functions_of_singles(lockstep: "Lockstep", function: str) -> None:
    generator = np.random.default_rng(0)
    ordinary = generator.normal(0, 10, 100).astype(np.float32).view(np.uint32)
    numbers = lockstep.special_singles + [int(each) for each in ordinary]
    _each(lockstep, f"f32{function} $a4, $a0", numbers)


@pytest.mark.parametrize("function", "exp exp2 ln log2 tanh sigm".split())
@pytest.mark.parametrize("control", [0, 1 << 20])
def test_functions_of_halves(lockstep: "Lockstep", function: str, control: int) -> None:
    generator = np.random.default_rng(0)
    others = [int(each) for each in generator.integers(0, 1 << 16, 300)]
    _each(lockstep, f"f16v2{function} $a4, $a0", lockstep.special_halves + others, control)


@pytest.mark.parametrize("direction", range(6))
def test_roundings(lockstep: "Lockstep", direction: int) -> None:
    halves = [0x3F000000, 0xBF000000, 0x3FC00000, 0xC0200000, 0x4B000001]
    numbers = lockstep.special_singles + halves
    control = direction << 16
    for conversion in ("f32toi32", "f32toui32"):
        _each(lockstep, f"{conversion} $a4, $a0", numbers, control)


@pytest.mark.parametrize("direction", range(6))
def test_whole_numbers(lockstep: "Lockstep", direction: int) -> None:
    code = [0x51400000 | direction, 0x43F04000]
    state = lockstep.random_state(np.random.default_rng(0))
    result = lockstep.run(code, state)
    assert result.fault is (OperandFault if direction > 4 else None)


@pytest.mark.parametrize("control", [0, 1 << 20, 1 << 19, 3 << 19])
def test_singles_to_halves(lockstep: "Lockstep", control: int) -> None:
    generator = np.random.default_rng(0)
    sizes = generator.normal(0, 1, 200) * 2.0 ** generator.integers(-30, 18, 200)
    ordinary = [int(each) for each in sizes.astype(np.float32).view(np.uint32)]
    _each(lockstep, "f32tof16 $a4, $a0", lockstep.special_singles + ordinary, control)


@pytest.mark.parametrize(
    ("flag", "one", "other"), [(1, 0x7F800001, 0), (4, 0x7F000000, 0x7F000000)]
)
@pytest.mark.parametrize("enabled", [0, 1, 2, 4, 7])
def test_enabled_exceptions(
    lockstep: "Lockstep", flag: int, one: int, other: int, enabled: int
) -> None:
    state = _state(lockstep, enabled)
    state["workers"][2]["a"][:2] = one, other
    result = lockstep.run("{add $m0, $m0, 1; f32add $a4, $a0, $a1}" + EXIT, state)
    assert result.fault is (FloatFault if enabled & flag else None)
    assert int(state["workers"][2]["float_status"]) == flag


def test_a_division_by_nothing_is_short(lockstep: "Lockstep") -> None:
    steps = []
    for divisor in (0, 0x3F800000):
        state = lockstep.random_state(np.random.default_rng(0))
        state["workers"][2]["a"][:2] = 0x40000000, divisor
        steps.append(lockstep.run("f32div $a4, $a0, $a1" + EXIT, state).steps)
    assert steps == [2, 4]
