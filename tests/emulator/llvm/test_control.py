"""Control flow of workers in both engines: branches, loops, repeats, exits, limits."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tilewright.emulator.faults import AddressFault, InstructionFault, ProgramCounterFault

if TYPE_CHECKING:
    from tests.emulator.llvm.conftest import Lockstep

CODE = 0x50000


def _state(lockstep: "Lockstep") -> object:
    return lockstep.random_state(np.random.default_rng(1))


def test_a_loop_counts_down(lockstep: "Lockstep") -> None:
    result = lockstep.run(
        """
        setzi $m0, 5
        setzi $m1, 0
        loop: add $m1, $m1, 3
        brnzdec $m0, loop
        exitz $m0
        """,
        _state(lockstep),
    )
    assert result.exit_status is True
    assert result.steps == 2 + 6 * 2 + 1


@pytest.mark.parametrize("branch", ["brz", "brnz", "brneg", "brpos", "brnzdec"])
@pytest.mark.parametrize("value", [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_conditional_branches(lockstep: "Lockstep", branch: str, value: int) -> None:
    state = lockstep.random_state(np.random.default_rng(2))
    state["workers"][2]["m"][7] = value
    code = f"{branch} $m7, away\nexitnz $m7\naway: setzi $m1, 1\nexitneg $m7"
    lockstep.run(code, state)


@pytest.mark.parametrize("exit_", ["exitz", "exitnz", "exitneg", "exitpos"])
@pytest.mark.parametrize("value", [0, 1, 0x80000000])
def test_exits(lockstep: "Lockstep", exit_: str, value: int) -> None:
    state = lockstep.random_state(np.random.default_rng(3))
    state["workers"][2]["m"][7] = value
    assert lockstep.run(f"{exit_} $m7", state).exit_status is not None


def test_calls_return_to_where_they_came_from(lockstep: "Lockstep") -> None:
    result = lockstep.run(
        """
        setzi $m0, 2
        again: call $m10, twice
        call $m10, twice
        brnzdec $m0, again
        exitz $m15
        twice: add $m1, $m1, $m1
        br $m10
        """,
        _state(lockstep),
    )
    assert result.steps == 1 + 3 * (2 * 3 + 1) + 1


def test_a_branch_to_a_register_may_go_anywhere(lockstep: "Lockstep") -> None:
    code = "setzi $m5, 0x5000c\nbr $m5\nexitz $m15\nadd $m1, $m1, 1\nexitnz $m15"
    assert lockstep.run(code, _state(lockstep)).exit_status is False


@pytest.mark.parametrize("target", [0x50002, 0x80000, 0x4BFFC, 0])
def test_a_branch_to_where_there_is_no_code_faults_there(lockstep: "Lockstep", target: int) -> None:
    state = lockstep.random_state(np.random.default_rng(4))
    state["workers"][2]["m"][7] = target
    assert lockstep.run("br $m7", state).fault is ProgramCounterFault
    assert int(state["workers"][2]["pc"]) == target


def test_running_off_the_end_of_code_faults(lockstep: "Lockstep") -> None:
    assert lockstep.run([0x00000000], _state(lockstep)).fault is InstructionFault


@pytest.mark.parametrize("count", [0, 1, 7, 0x10000, 0x10002])
def test_a_repeat_by_register(lockstep: "Lockstep", count: int) -> None:
    state = lockstep.random_state(np.random.default_rng(5))
    state["workers"][2]["m"][7] = count
    code = """
        {rpt $m7, 1; f32add $a0, $a1, $a2}
        {add $m0, $m0, 1; f32add $a0, $a0, $a1}
        {add $m1, $m1, $m0; f16v2add $a3, $a3, $a4}
        exitz $m15
    """
    result = lockstep.run(code, state)
    assert result.steps == 2 + 2 * (count & 0xFFFF)


def test_a_fault_in_a_repeat_shows_how_far_it_got(lockstep: "Lockstep") -> None:
    state = lockstep.random_state(np.random.default_rng(6))
    state["workers"][2]["m"][1] = 0xE8000 - 3 * 8
    code = "rpt 100, 0\n{ld64step $a0:1, $m15, $m1+=, 1; fnop}\nexitz $m15"
    code = "setzi $m0, 0\n" + code
    assert lockstep.run(code, state).fault is AddressFault
    assert int(state["workers"][2]["repeat_count"]) == 97


def test_what_may_not_be_repeated(lockstep: "Lockstep") -> None:
    state = _state(lockstep)
    words = list(np.frombuffer(lockstep.content("nop\nrpt 2, 0\n{nop; fnop}"), np.uint32))
    words[2:] = [int(words[0])]
    result = lockstep.run([int(word) for word in words], state)
    assert result.fault is InstructionFault


def test_a_run_may_begin_inside_a_repeat(lockstep: "Lockstep") -> None:
    state = lockstep.random_state(np.random.default_rng(7))
    worker = state["workers"][2]
    worker["repeat_count"], worker["repeat_first"], worker["repeat_end"] = 3, CODE, CODE + 8
    result = lockstep.run("{add $m0, $m0, 1; fnop}\nexitz $m15", state)
    assert result.steps == 4


def test_an_endless_loop_comes_back(lockstep: "Lockstep") -> None:
    state = _state(lockstep)
    result = lockstep.run("loop: add $m0, $m0, 1\nbri loop", state, limit=1000)
    assert result.at_limit
    assert result.steps == 1000


@pytest.mark.parametrize("register", ["COUNT_L", "COUNT_U", "WSR", "PC", "VERTEX_BASE"])
def test_registers_that_tell_where_the_worker_is(lockstep: "Lockstep", register: str) -> None:
    code = f"""
        f32exp $a0, $a1
        f32div $a2, $a0, $a3
        {{get $m0, ${register}; f32add $a4, $a3, $a2}}
        get $m1, ${register}
        put ${register}, $m1
        exitz $m15
    """
    lockstep.run(code, _state(lockstep))


def test_control_registers_take_effect(lockstep: "Lockstep") -> None:
    """Overflow to NaN, stochastic rounding, exceptions, formats: set while running."""
    for control in (0, 1 << 20, 1 << 19, 7):
        state = lockstep.random_state(np.random.default_rng(8))
        state["workers"][2]["a"][0] = control
        state["workers"][2]["a"][1] = 0x7BFF7BFF
        code = """
            f16v2add $a2, $a1, $a1
            uput $FP_CTL, $a0
            f16v2add $a3, $a1, $a1
            f32v2tof16 $a4, $a6:7
            uput $FP_CLR, $a15
            uget $a5, $FP_STS
            exitz $m15
        """
        lockstep.run(code, state)


def test_formats_and_scale_take_effect(lockstep: "Lockstep") -> None:
    for format_bits in range(4):
        state = lockstep.random_state(np.random.default_rng(9))
        state["workers"][2]["a"][0] = format_bits
        state["workers"][2]["a"][1] = 0x3E
        code = """
            uput $FP_NFMT, $a0
            f8v4tof16 $a2:3, $a4
            uput $FP_SCL, $a1
            f16v2tof8 $a5, $a6
            exitz $m15
        """
        lockstep.run(code, state)


def test_seeds_and_draws(lockstep: "Lockstep") -> None:
    code = """
        urand64 $a2:3
        uput $PRNG_SEED, $a0
        urand32 $a1
        {get $m0, $WSR; f32v2grand $a4:5}
        uput $PRNG_1_0, $a1
        uget $a7, $PRNG_0_1
        f16v2grand $a6
        exitz $m15
    """
    lockstep.run(code, _state(lockstep))


def test_accumulators_are_cleared(lockstep: "Lockstep") -> None:
    code = "setzi $a0, 8\nuput $FP_CLR, $a0\nf16v4gacc $a2:3\nexitz $m15"
    lockstep.run(code, _state(lockstep))
