"""What code costs: the figures of vendor estimators and comments, reached by code of our own."""

from typing import TYPE_CHECKING

import pytest

from tilewright.emulator.reference.tile import Stop
from tilewright.target import timing

if TYPE_CHECKING:
    from tests.emulator.conftest import MakeProgram

# -- workers ----------------------------------------------------------------------------------


def worker_cycles(program: "MakeProgram", code: str, **registers: int) -> int:
    """Cycles from the first instruction of `code` to what follows it."""
    made = program(
        "run $m0, $m15, 0\n sync 2\n trap 0",
        f"get $m10, $COUNT_L\n{code}\n get $m11, $COUNT_L\n exitz $mzero",
        worker=registers,
    )
    made.load(0x60000, bytes(64))
    made.finish()
    m = made.worker_m()
    return m[11] - m[10] - 6  # less the first `get`


@pytest.mark.parametrize("steps", [0, 1, 2, 7, 50])
def test_a_step_is_six_cycles(program: "MakeProgram", steps: int) -> None:
    assert worker_cycles(program, "nop\n" * steps) == 6 * steps


@pytest.mark.parametrize(
    ("code", "steps"),
    [
        ("add $m0, $m0, 1\n add $m0, $m0, $m0\n mul $m0, $m0, $m0", 3),
        ("{ add $m0, $m0, 1 ; fnop }\n { nop ; or $a0, $a1, $a2 }", 2),
        ("ld32 $m0, $m1, $mzero, 0\n add $m0, $m0, 1\n st32 $m0, $m1, $mzero, 0", 3),
        ("ld64step $a0:1, $mzero, $m1+=, 1\n or $a2, $a0, $a1", 2),
        ("uput $FP_CLR, $a0\n uget $a1, $FP_STS", 2),
        # Branches, taken or not. The code starts at 0x4d004.
        ("bri 0x4d008", 1),
        ("brz $m2, 0x4d008\n brnz $m2, 0x4d000", 2),
        ("call $m9, 0x4d008", 1),
        ("brnzdec $m3, 0x4d004", 4),
        ("brnzdec $m2, 0x4d004", 1),
        # Repeats cost their body, and one step themselves.
        ("nop\n { rpt 5, 0 ; fnop }\n { nop ; fnop }", 7),
        ("nop\n { rpt 5, 1 ; fnop }\n { nop ; fnop }\n { nop ; fnop }", 12),
        ("nop\n { rpt 0, 0 ; fnop }\n { nop ; fnop }", 2),
        ("rpt 3, 0\n { nop ; fnop }", 4),
        # Some floating-point instructions take several, with half of a bundle beside them.
        ("f32exp $a0, $a1", 3),
        ("f32exp2 $a0, $a1", 3),
        ("f32ln $a0, $a1", 6),
        ("f32log2 $a0, $a1", 6),
        ("f32tanh $a0, $a1", 5),
        ("f32sigm $a0, $a1", 5),
        ("f32sqrt $a0, $a1", 5),
        ("f32oorx $a0, $a1", 4),
        ("f32oox $a0, $a1", 3),
        ("f16v2exp $a0, $a1", 2),
        ("f16v2exp2 $a0, $a1", 2),
        ("f16v2ln $a0, $a1", 2),
        ("f16v2log2 $a0, $a1", 2),
        ("f16v2sigm $a0, $a1", 2),
        ("f16v2tanh $a0, $a1", 1),
        ("f32add $a0, $a1, $a1\n f16v4add $a2:3, $a0:1, $a0:1\n f32mac $a0, $a1", 3),
        ("f32div $a0, $a1, $a1", 3),
        ("f32div $a0, $a7, $a1", 1),
        ("f32div $a0, $a1, $a7", 1),
        ("{ nop ; f32ln $a0, $a1 }\n nop", 7),
    ],
)
def test_steps_of_a_worker(program: "MakeProgram", code: str, steps: int) -> None:
    one = 0x3F80_0000
    registers = {"m1": 0x60000, "m2": 0, "m3": 3, "a1": one}
    assert worker_cycles(program, code, **registers) == 6 * steps


def test_infinity_and_nan_shorten_a_division(program: "MakeProgram") -> None:
    for special in (0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0x8000_0000):
        for code in ("f32div $a0, $a1, $a2", "f32div $a0, $a2, $a1"):
            assert worker_cycles(program, code, a1=0x4000_0000, a2=special) == 6


def test_workers_do_not_slow_each_other_down(program: "MakeProgram") -> None:
    made = program(
        "runall $m0, $m15, 0\n sync 2\n trap 0",
        "get $m10, $COUNT_L\n" + "nop\n" * 10 + "get $m11, $COUNT_L\n exitz $mzero",
    )
    made.finish()
    spans = [(m := made.worker_m(n))[11] - m[10] for n in range(6)]
    assert spans == [66] * 6


def test_a_long_instruction_holds_up_only_its_worker(program: "MakeProgram") -> None:
    """Worker 0 takes four logarithms; the others leave them out."""
    made = program(
        "runall $m0, $m15, 0\n sync 2\n trap 0",
        "get $m10, $COUNT_L\n get $m0, $WSR\n and $m0, $m0, 7\n brnz $m0, 0x4d020\n"
        + "f32ln $a0, $a1\n" * 4
        + "get $m11, $COUNT_L\n exitz $mzero",
    )
    made.finish()
    spans = [(m := made.worker_m(n))[11] - m[10] for n in range(6)]
    assert spans == [6 * (4 + 4 * 6), *[6 * 4] * 5]


# -- the supervisor ---------------------------------------------------------------------------


def supervisor_cycles(program: "MakeProgram", code: str, **registers: int) -> int:
    """Cycles from the first instruction of `code` to what follows it; weights are at 0x90000."""
    made = program(
        f"get $m10, $SCOUNT_L\n{code}\n get $m11, $SCOUNT_L\n trap 0", registers=registers
    )
    made.load(0x60000, bytes(64))
    made.supervisor["csr"][0x50] = 0x90000
    made.finish()
    return made.m[11] - made.m[10] - 1


@pytest.mark.parametrize(
    ("code", "cycles"),
    [
        ("", 0),
        ("add $m2, $m3, 1\n add $m4, $m3, 1\n add $m5, $m3, 1", 3),
        # What consumes a result waits until six cycles after its producer.
        ("add $m2, $m3, 1\n add $m4, $m2, 1", 7),
        ("add $m2, $m3, 1\n nop\n nop\n add $m4, $m2, 1", 7),
        ("add $m2, $m3, 1\n nop\n nop\n nop\n nop\n nop\n add $m4, $m2, 1", 7),
        ("add $m2, $m3, 1\n nop\n nop\n nop\n nop\n nop\n nop\n add $m4, $m2, 1", 8),
        ("ld32 $m2, $m1, $mzero, 0\n add $m4, $m2, 1", 7),
        ("mul $m2, $m3, $m3\n add $m4, $m2, $m2\n add $m5, $m4, 1", 13),
        ("ld32step $m2, $m1, $m4+=, 1\n ld32step $m5, $m1, $m4+=, 1", 7),
        # Overwriting a result does not wait for it; nor does a store's address wait for data.
        ("add $m2, $m3, 1\n setzi $m2, 5", 2),
        ("st32 $m3, $m1, $mzero, 0\n ld32 $m2, $m1, $mzero, 0", 2),
        # Branches: the code starts at 0x4c104.
        ("bri 0x4c108", 6),
        ("brz $m3, 0x4c108", 6),
        ("brnz $m3, 0x4c108", 1),
        ("br $m6", 6),
        ("call $m9, 0x4c108", 6),
        ("brnzdec $m3, 0x4c104", 1),
        # Weights, back to back once the address has been written.
        ("ld64putcs 0\n ld64putcs 1\n ld64putcs 2", 3),
        ("put $CCCSLOAD, $m8\n ld64putcs 0", 7),
        ("put $CCCSLOAD, $m8\n ld128putcs 0\n ld128putcs 2", 8),
        ("".join(f"ld64putcs {n}\n" for n in range(64)), 64),
        ("".join(f"ld128putcs {n}\n" for n in range(0, 64, 2)), 32),
        ("put $FP_ICTL, $m3\n get $m2, $FP_ICTL", 7),
        ("put $FP_ICTL, $m3\n get $m2, $FP_ISCL", 2),
        # Nobody to wait for.
        ("sync 2", 6),
        ("sync 2\n sync 2", 12),
    ],
)
def test_cycles_of_the_supervisor(program: "MakeProgram", code: str, cycles: int) -> None:
    registers = {"m1": 0x60000, "m3": 0, "m4": 0, "m6": 0x4C108, "m8": 0x90000}
    assert supervisor_cycles(program, code, **registers) == cycles


@pytest.mark.parametrize("rounds", [1, 2, 3, 10])
def test_loop_of_the_supervisor(program: "MakeProgram", rounds: int) -> None:
    """6(n - 1) + 1 cycles for the branches alone."""
    assert supervisor_cycles(program, "brnzdec $m3, 0x4c104", m3=rounds - 1) == 6 * (rounds - 1) + 1


def test_call_and_return_are_two_taken_branches(program: "MakeProgram") -> None:
    """The return address is ready when the function starts."""
    made = program("get $m1, $SCOUNT_L\n call $lr, 0x4c110\n get $m2, $SCOUNT_L\n trap 0\n br $lr")
    made.finish()
    assert made.m[2] - made.m[1] - 1 == 12


# -- launches and waits -----------------------------------------------------------------------


@pytest.mark.parametrize("idle", range(13))
def test_first_issue_of_each_worker(program: "MakeProgram", idle: int) -> None:
    """In its slot, cycle mod 6, six cycles after the launch or as soon as possible then."""
    made = program(
        "nop\n" * idle + "runall $m0, $m15, 0\n sync 2\n trap 0",
        "get $m1, $COUNT_L\n exitz $mzero",
    )
    made.finish()
    first = [made.worker_m(n)[1] for n in range(6)]
    assert [cycle % 6 for cycle in first] == list(range(6))
    assert all(idle + 6 <= cycle < idle + 12 for cycle in first)
    assert first == [timing.first_worker_issue(idle, n) for n in range(6)]


@pytest.mark.parametrize("steps", [0, 1, 5, 20])
def test_a_local_sync_ends_six_cycles_after_the_last_exit(
    program: "MakeProgram", steps: int
) -> None:
    """One worker in slot 0, from cycle 6 on: the supervisor waits in slots of its own."""
    made = program(
        "run $m0, $m15, 0\n sync 2\n get $m2, $SCOUNT_L\n trap 0",
        "nop\n" * steps + "exitz $mzero",
    )
    made.finish()
    last_exit = 6 + 6 * steps
    assert made.m[2] == max(last_exit + timing.WORKER_EXIT.value, 7 + timing.SYNC.value)


@pytest.mark.parametrize("steps", [0, 1, 5, 20])
def test_a_local_sync_after_runall_starts_in_the_first_slot_set_free(
    program: "MakeProgram", steps: int
) -> None:
    """Worker 0 exits first; its slot comes round six cycles later, when the last one has exited."""
    made = program(
        "runall $m0, $m15, 0\n sync 2\n get $m2, $SCOUNT_L\n trap 0",
        "nop\n" * steps + "exitz $mzero",
    )
    made.finish()
    first_exit = 6 + 6 * steps
    assert made.m[2] == first_exit + 6 + timing.SYNC.value


def test_launches_take_six_cycles(program: "MakeProgram") -> None:
    """With one worker running, its slot is missing: cycle 6 is worker 0's, cycle 13 is free."""
    made = program(
        "run $m0, $m15, 0\n get $m1, $SCOUNT_L\n run $m0, $m15, 0\n get $m2, $SCOUNT_L\n trap 0",
        "bri 0x4d000",
    )
    made.finish()
    assert made.m[1] == 7
    # The second launch is in cycle 8; six later, in 14, slot 2 is free.
    assert made.m[2] == 14


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_running_workers_take_slots_from_the_supervisor(program: "MakeProgram", count: int) -> None:
    """Six minus k independent instructions in every six cycles."""
    made = program(
        "run $m0, $m15, 0\n" * count
        + "get $m1, $SCOUNT_L\n"
        + "nop\n" * (10 * (6 - count) - 1)
        + "get $m2, $SCOUNT_L\n trap 0",
        "bri 0x4d000",
    )
    made.finish()
    assert made.m[2] - made.m[1] == 60
    assert made.m[1] % 6 >= count


def test_dependencies_count_in_cycles_whatever_runs(program: "MakeProgram") -> None:
    """Three of six slots are free, and a result is ready six cycles later all the same."""
    made = program(
        "run $m0, $m15, 0\n" * 3
        + "add $m3, $m4, 1\n get $m1, $SCOUNT_L\n add $m5, $m3, 1\n get $m2, $SCOUNT_L\n trap 0",
        "bri 0x4d000",
    )
    made.finish()
    # Each `get` issues in the free slot after an addition.
    assert made.m[2] - made.m[1] == 6
    assert made.m[5] == 2


def test_the_supervisor_stands_still_while_all_six_workers_run(program: "MakeProgram") -> None:
    """What follows `runall` starts once the first worker has ended and freed its slot."""
    steps = 10
    made = program(
        "runall $m0, $m15, 0\n get $m1, $SCOUNT_L\n sync 2\n trap 0",
        "nop\n" * steps + "exitz $mzero",
    )
    made.finish()
    first_exit = 6 + 6 * steps
    assert made.m[1] == first_exit + timing.WORKER_EXIT.value


def test_code_beside_the_workers_costs_nothing(program: "MakeProgram") -> None:
    ends = []
    for beside in ("", "add $m3, $m4, 1\n add $m3, $m4, 2\n"):
        made = program(
            f"runall $m0, $m15, 0\n{beside} sync 2\n get $m1, $SCOUNT_L\n trap 0",
            "get $m1, $WSR\n and $m1, $m1, 7\n mul $m1, $m1, 20\n brnzdec $m1, 0x4d00c\n"
            " exitz $mzero",
        )
        made.finish()
        ends.append(made.m[1])
    assert ends[0] == ends[1]


def test_time_never_goes_back(program: "MakeProgram") -> None:
    made = program(
        "runall $m0, $m15, 0\n get $m1, $SCOUNT_L\n get $m2, $SCOUNT_L\n sync 2\n"
        " get $m3, $SCOUNT_L\n trap 0",
        "nop\n nop\n nop\n get $m1, $COUNT_L\n exitz $mzero",
    )
    stopped = made.finish()
    assert made.worker_m(0)[1] < made.m[1] < made.m[2] < made.m[3] < stopped.cycle


@pytest.mark.parametrize("slice_of_time", [1, 7, 50])
def test_a_run_in_slices_is_the_same_run(program: "MakeProgram", slice_of_time: int) -> None:
    code = (
        "setzi $m2, 20\n runall $m0, $m15, 0\n add $m2, $m2, 1\n sync 2\n get $m1, $SCOUNT_L\n"
        "brnzdec $m2, 0x4c110\n trap 0"
    )
    workers = "get $m0, $WSR\n and $m0, $m0, 7\n brnzdec $m0, 0x4d008\n exitz $mzero"
    whole, sliced = program(code, workers), program(code, workers)
    ended = whole.finish()
    limit = slice_of_time
    while (stopped := sliced.run(limit)).reason is Stop.LIMIT:
        assert stopped.cycle == limit
        limit += slice_of_time
    assert (stopped.cycle, stopped.pc) == (ended.cycle, ended.pc)
    assert sliced.tile.state == whole.tile.state
