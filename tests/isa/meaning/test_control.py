"""Branches, calls, traps and exits, one instruction at a time. Repeats: `test_engine.py`."""

from typing import TYPE_CHECKING

import pytest

from tilewright.emulator.faults import Break0Fault, Break1Fault, OperandFault, ProgramCounterFault
from tilewright.emulator.reference.effects import Launch

if TYPE_CHECKING:
    from tests.isa.meaning.conftest import Bench

CODE = 0x4C100
TARGET = 0x4D004
WORD = 1 << 32
SIGN = 1 << 31

VALUES = (0, 1, SIGN - 1, SIGN, WORD - 1)
TAKEN = {
    "brz": (0,),
    "brnz": (1, SIGN - 1, SIGN, WORD - 1),
    "brneg": (SIGN, WORD - 1),
    "brpos": (0, 1, SIGN - 1),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("mnemonic", TAKEN)
def test_conditional_branch(either: "Bench", mnemonic: str, value: int) -> None:
    either.issue(f"{mnemonic} $m0, {TARGET}", m0=value)
    assert either.pc == (TARGET if value in TAKEN[mnemonic] else CODE + 4)
    assert either.m[0] == value


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("mnemonic", TAKEN)
def test_the_other_half_of_a_branch_executes_anyway(
    worker: "Bench", mnemonic: str, value: int
) -> None:
    worker.issue(f"{{ {mnemonic} $m0, {TARGET} ; setzi $a0, 77 }}", m0=value)
    assert worker.pc == (TARGET if value in TAKEN[mnemonic] else CODE + 8)
    assert worker.a[0] == 77


@pytest.mark.parametrize("target", [0x4C000, TARGET, CODE, 0x7FFFC])
def test_unconditional_branches(either: "Bench", target: int) -> None:
    either.issue(f"bri {target}")
    assert either.pc == target
    either.issue("br $m0", m0=target)
    assert either.pc == target


@pytest.mark.parametrize("target", [0, 0x4BFFC, 0x4C002, 0x80000, 0xE8000, WORD - 4])
def test_a_branch_to_what_is_not_executable(either: "Bench", target: int) -> None:
    """Nothing can be fetched there."""
    either.issue("br $m0", m0=target)
    with pytest.raises(ProgramCounterFault):
        either.context.issue()
    assert int(either.state["exception"]) == 10


def test_branch_that_counts_down(either: "Bench") -> None:
    """Three branches for 3; then it falls through and the register stays 0."""
    text = f"brnzdec $m0, {TARGET}"
    either.set(m0=3)
    trace = []
    for _ in range(5):
        either.issue(text)
        trace.append((either.pc, either.m[0]))
    falls = (CODE + 4, 0)
    assert trace == [(TARGET, 2), (TARGET, 1), (TARGET, 0), falls, falls]


def test_branch_that_counts_down_from_the_most(either: "Bench") -> None:
    either.issue(f"brnzdec $m0, {TARGET}", m0=-1)
    assert (either.pc, either.m[0]) == (TARGET, WORD - 2)
    either.issue(f"brnzdec $m15, {TARGET}")
    assert either.pc == CODE + 4


def test_call_links_to_what_follows(either: "Bench") -> None:
    either.issue(f"call $m10, {TARGET}", m10=0)
    assert (either.pc, either.m[10]) == (TARGET, CODE + 4)


def test_call_in_a_bundle_links_to_what_follows_the_bundle(worker: "Bench") -> None:
    worker.issue(f"{{ call $m5, {TARGET} ; setzi $a0, 1 }}")
    assert (worker.pc, worker.m[5], worker.a[0]) == (TARGET, CODE + 8, 1)


def test_call_ignores_the_highest_bit_of_its_field(either: "Bench") -> None:
    either.issue_form("call m,t20", [10, (1 << 21) + TARGET])
    assert either.pc == TARGET


def test_return_to_the_link_of_a_call(either: "Bench") -> None:
    either.issue(f"call $m0, {TARGET}", m0=5)
    either.issue("br $m0")
    assert either.pc == CODE + 4


@pytest.mark.parametrize("number", range(16))
def test_trap(either: "Bench", number: int) -> None:
    kind = Break1Fault if number % 2 else Break0Fault
    fault = either.check_fault(kind, f"trap {number}", f"trap {number}")
    assert fault.is_debug


@pytest.mark.parametrize("text", ["nop", "{ nop ; fnop }"])
def test_nothing(worker: "Bench", text: str) -> None:
    registers = {f"m{number}": number + 1 for number in range(12)}
    registers |= {f"a{number}": number + 50 for number in range(8)}
    worker.issue(text, **registers)
    assert worker.m == list(range(1, 13))
    assert worker.a == list(range(50, 58))
    assert worker.pc == CODE + (8 if "{" in text else 4)


EXITS = {
    "exitz": (0,),
    "exitnz": (1, SIGN - 1, SIGN, WORD - 1),
    "exitneg": (SIGN, WORD - 1),
    "exitpos": (0, 1, SIGN - 1),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("mnemonic", EXITS)
def test_exit_status(worker: "Bench", mnemonic: str, value: int) -> None:
    """-0.0, the sign alone, is not zero."""
    status = worker.issue(f"{mnemonic} $m0", m0=value).effects.exit_status
    assert status is (value in EXITS[mnemonic])


def test_run_counts_from_the_start_of_memory(supervisor: "Bench") -> None:
    issued = supervisor.issue("run $m0, $m1, 5", m0=TARGET, m1=0x100)
    assert issued.effects.launches == [Launch(None, TARGET, 0x4C000 + 0x100 + 20)]


def test_runall_counts_from_zero_in_words_per_worker(supervisor: "Bench") -> None:
    issued = supervisor.issue("runall $m0, $m1, 5", m0=TARGET, m1=0x90000)
    assert issued.effects.launches == [
        Launch(worker, TARGET, 0x90000 + 20 * worker) for worker in range(6)
    ]


LAUNCHES = ("run $m0, $m1, 0", "runall $m0, $m1, 0")


@pytest.mark.parametrize("text", LAUNCHES)
@pytest.mark.parametrize("entry", [0, 0x4BFFC, 0x4D002, 0x80000, 0xE8000])
def test_entry_of_a_worker(supervisor: "Bench", text: str, entry: int) -> None:
    supervisor.check_fault(ProgramCounterFault, f"{entry:#x}", text, m0=entry, m1=0x10000)


@pytest.mark.parametrize("text", LAUNCHES)
@pytest.mark.parametrize("base", [1, 2, 0x60003])
def test_vertex_base_is_aligned(supervisor: "Bench", text: str, base: int) -> None:
    supervisor.check_fault(OperandFault, "vertex base", text, m0=TARGET, m1=base)


def test_run_needs_an_idle_worker(supervisor: "Bench") -> None:
    for worker in range(6):
        supervisor.issue("run $m0, $m1, 0", m0=TARGET, m1=0)
        supervisor.tile["workers"][worker]["is_active"] = 1
    supervisor.check_fault(OperandFault, "all six workers are active", "run $m0, $m1, 0")


@pytest.mark.parametrize("active", range(6))
def test_runall_needs_all_workers_idle(supervisor: "Bench", active: int) -> None:
    """The status register tells that it was this."""
    supervisor.tile["workers"][active]["is_active"] = 1
    supervisor.set(m0=TARGET, m1=0)
    with pytest.raises(OperandFault, match=f"worker {active} is active"):
        supervisor.issue("runall $m0, $m1, 0")
    assert supervisor.pc == CODE
    supervisor.issue("get $m2, $SSR")
    assert supervisor.m[2] == 9 << 4 | 1 << 3
