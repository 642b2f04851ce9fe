"""Starting workers, what they find, how they end, and what the supervisor learns of it."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tilewright.emulator.faults import OperandFault
from tilewright.emulator.reference.tile import Stop

if TYPE_CHECKING:
    from tests.emulator.conftest import MakeProgram

BASE = 0x4C000
RUN_ALL = "runall $m0, $m1, {stride}\n sync 2\n trap 0"
ALONE = "run $m0, $m1, {offset}\n sync 2\n trap 0"


def test_runall_gives_each_worker_its_vertex(program: "MakeProgram") -> None:
    """The base is an absolute address; the stride counts in words."""
    made = program(
        RUN_ALL.format(stride=3),
        "add $m5, $mvertex_base, 0\n get $m6, $WSR\n exitz $mzero",
        registers={"m1": 0x60000},
    )
    made.finish()
    assert [made.worker_m(n)[5] for n in range(6)] == [0x60000 + 12 * n for n in range(6)]
    assert [made.worker_m(n)[6] for n in range(6)] == list(range(6))


def test_run_gives_a_vertex_from_the_start_of_memory(program: "MakeProgram") -> None:
    made = program(
        ALONE.format(offset=7),
        "add $m5, $mvertex_base, 0\n exitz $mzero",
        registers={"m1": 0x100},
    )
    made.finish()
    assert made.worker_m(0)[5] == BASE + 0x100 + 28
    assert [made.worker_m(n)[5] for n in range(1, 6)] == [0] * 5


def test_run_takes_the_lowest_idle_worker(program: "MakeProgram") -> None:
    """A worker ends when the word at its vertex is not zero: the second one before the fourth
    `run`, so that this starts it again."""
    made = program(
        "run $m0, $m1, 0\n run $m0, $m1, 1\n run $m0, $m1, 2\n st32 $m3, $m2, $mzero, 1\n"
        + "nop\n" * 60
        + "run $m0, $m1, 3\n st32 $m3, $m2, $mzero, 0\n st32 $m3, $m2, $mzero, 2\n"
        "st32 $m3, $m2, $mzero, 3\n sync 2\n trap 0",
        "ld32 $m1, $mvertex_base, $mzero, 0\n brz $m1, 0x4d000\n"
        "add $m2, $mvertex_base, 0\n exitz $mzero",
        registers={"m1": 0x60000 - BASE, "m2": 0x60000, "m3": 1},
    )
    made.load(0x60000, bytes(16))
    made.finish()
    assert [made.worker_m(n)[2] for n in range(4)] == [0x60000, 0x6000C, 0x60008, 0]


def test_what_a_worker_finds(program: "MakeProgram") -> None:
    """Copies of the supervisor's registers, and no flags."""
    made = program(
        "put $FP_ICTL, $m2\n put $FP_INFMT, $m3\n put $FP_ISCL, $m4\n put $WORKER0_BASE, $m5\n"
        + ALONE.format(offset=0),
        "uget $a0, $FP_CTL\n uget $a1, $FP_NFMT\n uget $a2, $FP_SCL\n uget $a3, $FP_STS\n"
        "get $m0, $WORKER_BASE\n add $m1, $mworker_base, 0\n exitz $mzero",
        registers={"m1": 0, "m2": 1 << 19 | 1 << 20, "m3": 2, "m4": 0x3E, "m5": 0x5BA00},
    )
    made.workers["float_status"] = 7
    made.workers["float_control"] = 1
    made.finish()
    assert made.worker_a()[:4] == [1 << 19 | 1 << 20, 2, 0x3E, 0]
    assert made.worker_m()[:2] == [0x5BA00, 0x5BA00]


def test_each_worker_has_its_scratch_memory(program: "MakeProgram") -> None:
    puts = "".join(f"put $WORKER{n}_BASE, $m{n + 2}\n" for n in range(6))
    made = program(
        puts + RUN_ALL.format(stride=0),
        "get $m0, $WORKER_BASE\n exitz $mzero",
        registers={f"m{n + 2}": 0x58000 + 0x100 * n for n in range(6)},
    )
    made.finish()
    assert [made.worker_m(n)[0] for n in range(6)] == [0x58000 + 0x100 * n for n in range(6)]


def test_what_a_worker_keeps_from_one_launch_to_the_next(program: "MakeProgram") -> None:
    """Registers, accumulators, random numbers and the special CSRs."""
    launch = "runall $m0, $m1, 0\n sync 2\n"
    made = program(
        launch + "setzi $m0, 0x4d100\n" + launch + "trap 0",
        "setzi $m3, 33\n setzi $a3, 44\n uput $TAS, $a3\n uput $PRNG_SEED, $a3\n exitz $mzero",
        registers={"m1": 0},
    )
    made.load(0x4D100, made.memory.read(0, 0x4D010, 4))
    made.workers["accumulators"] = 9
    made.finish()
    assert [int(word) for word in made.workers["pc"]] == [0x4D104] * 6
    for number in range(6):
        assert made.worker_m(number)[3] == 33
        assert made.worker_a(number)[3] == 44
        state = made.workers[number]
        assert int(state["tas"]) == 44
        assert int(state["random"][0]) == (2**32 - 1 - 44) << 32 | 44
        assert np.all(state["accumulators"] == 9)


CONSENSUS = "put $CR, $m2\n runall $m0, $m1, 4\n sync 2\n get $m3, $SSR\n trap 0"
"""Sets or clears local consensus, and reads it when all workers have ended."""


@pytest.mark.parametrize(
    ("statuses", "preset", "consensus"),
    [
        ((1, 1, 1, 1, 1, 1), 0b10, 1),
        ((1, 1, 1, 0, 1, 1), 0b10, 0),
        ((0, 1, 1, 1, 1, 1), 0b10, 0),
        ((1, 1, 1, 1, 1, 0), 0b10, 0),
        ((0, 0, 0, 0, 0, 0), 0b10, 0),
        ((1, 1, 1, 1, 1, 1), 0b01, 0),
    ],
)
def test_local_consensus_is_that_of_all_exits(
    program: "MakeProgram", statuses: tuple[int, ...], preset: int, consensus: int
) -> None:
    made = program(
        CONSENSUS,
        "ld32 $m0, $mvertex_base, $mzero, 0\n exitnz $m0",
        registers={"m1": 0x60000, "m2": preset},
    )
    for number, status in enumerate(statuses):
        made.load(0x60000 + 16 * number, status.to_bytes(4, "little"))
    made.finish()
    assert made.m[3] == consensus


def test_consensus_gathers_over_several_launches(program: "MakeProgram") -> None:
    launch = "runall $m0, $m1, 0\n sync 2\n"
    made = program(
        "put $CR, $m2\n"
        + launch
        + "st32 $m4, $m1, $mzero, 0\n"
        + launch
        + "get $m3, $SSR\n trap 0",
        "ld32 $m0, $mvertex_base, $mzero, 0\n exitnz $m0",
        registers={"m1": 0x60000, "m2": 0b10, "m4": 1},
    )
    made.load(0x60000, bytes(4))
    made.finish()
    assert made.m[3] == 0


def test_an_exited_worker_is_idle(program: "MakeProgram") -> None:
    made = program(RUN_ALL.format(stride=0), registers={"m1": 0})
    made.finish()
    assert not np.any(made.workers["is_active"])


SPIN = "bri 0x4d000"


def test_runall_while_a_worker_is_active(program: "MakeProgram") -> None:
    """The supervisor stops at the instruction, and no worker has been started or restarted."""
    made = program(
        "run $m0, $m1, 0\n runall $m0, $m1, 1\n trap 0", SPIN, registers={"m1": 0x60000 - BASE}
    )
    stopped = made.run()
    assert stopped.reason is Stop.FAULT
    assert type(stopped.fault) is OperandFault
    assert (stopped.context, stopped.pc) == (0, 0x4C104)
    assert int(made.supervisor["exception"]) == OperandFault.number
    assert [int(word) for word in made.workers["is_active"]] == [1, 0, 0, 0, 0, 0]
    assert [int(word) for word in made.workers["vertex_base"]] == [0x60000, 0, 0, 0, 0, 0]


def test_a_bad_entry_stops_the_supervisor_at_the_launch(program: "MakeProgram") -> None:
    made = program("runall $m0, $m1, 1\n trap 0", registers={"m0": 0x80000, "m1": 0x60000})
    stopped = made.run()
    assert stopped.fault is not None
    assert (stopped.fault.name, stopped.context, stopped.pc) == ("INVALID_PC", 0, 0x4C100)
    assert not np.any(made.workers["is_active"])


def test_a_fault_of_a_worker_names_it(program: "MakeProgram") -> None:
    made = program(RUN_ALL.format(stride=0), "nop\n trap 1", registers={"m1": 0})
    stopped = made.run()
    assert (stopped.reason, stopped.context, stopped.pc) == (Stop.FAULT, 1, 0x4D004)
    assert str(stopped.fault) == "worker 0 at pc 0x4d004: PBRK1: trap 1"
    assert [int(word) for word in made.workers["exception"]] == [3, 0, 0, 0, 0, 0]
    assert int(made.workers[0]["pc"]) == 0x4D004


def test_workers_and_supervisor_share_the_memory(program: "MakeProgram") -> None:
    """Each worker adds 1 to a word of its own, then the supervisor adds them up."""
    total = "".join(f"ld32 $m3, $m1, $mzero, {n}\n add $m2, $m2, $m3\n" for n in range(6))
    made = program(
        "runall $m0, $m1, 1\n sync 2\n" + total + "trap 0",
        "ld32 $m0, $mvertex_base, $mzero, 0\n add $m0, $m0, 1\n"
        " st32 $m0, $mvertex_base, $mzero, 0\n exitz $mzero",
        registers={"m1": 0x60000},
    )
    made.load(0x60000, np.arange(10, 16, dtype=np.uint32).tobytes())
    made.finish()
    assert made.m[2] == sum(range(11, 17))
