"""Issuing: bundles, repeats, and faults that leave everything as it was."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tilewright.emulator.faults import (
    AddressFault,
    ConflictFault,
    FloatFault,
    InstructionFault,
    TileFault,
)
from tilewright.isa import Mode

if TYPE_CHECKING:
    from tests.emulator.conftest import MakeProgram, Program
    from tilewright.emulator.reference.engine import Context

CODE = 0x4D000
DATA = 0x60000


def words(context: "Context", file: str) -> list[int]:
    return [int(word) for word in context.registers.state[file]]


def check_unchanged(made: "Program", context: "Context", kind: type[TileFault]) -> TileFault:
    """The next issue must fault so, and change nothing but ETYPE."""
    state, memory = made.tile.state.copy(), made.memory.bytes.copy()
    with pytest.raises(TileFault) as caught:
        context.issue()
    assert type(caught.value) is kind
    assert int(context.registers.state["exception"]) == kind.number
    context.registers.state["exception"] = 0
    assert made.tile.state == state
    assert np.array_equal(made.memory.bytes, memory)
    return caught.value


# -- bundles ----------------------------------------------------------------------------------


def test_a_store_takes_what_the_other_half_overwrites(program: "MakeProgram") -> None:
    made = program(
        "trap 0",
        "{ st64step $a0:1, $mzero, $m0+=, 1 ; or64 $a0:1, $a2:3, $a2:3 }",
        worker={"m0": DATA, "a0": 1, "a1": 2, "a2": 3, "a3": 4},
    )
    context = made.context()
    context.issue()
    assert (made.read(DATA), made.read(DATA + 4)) == (1, 2)
    assert words(context, "a")[:4] == [3, 4, 3, 4]
    assert words(context, "m")[0] == DATA + 8


def test_a_load_may_overwrite_what_the_other_half_takes(program: "MakeProgram") -> None:
    made = program(
        "trap 0",
        "{ ld32 $a0, $m0, $mzero, 0 ; or $a1, $a0, $a0 }",
        worker={"m0": DATA, "a0": 5},
    )
    made.load(DATA, (77).to_bytes(4, "little"))
    context = made.context()
    context.issue()
    assert words(context, "a")[:2] == [77, 5]


def test_a_bundle_copies_across_register_files(program: "MakeProgram") -> None:
    made = program("trap 0", "{ atom $m0, $a0 ; setzi $a0, 9 }", worker={"a0": 5})
    context = made.context()
    context.issue()
    assert (words(context, "m")[0], words(context, "a")[0]) == (5, 9)


@pytest.mark.parametrize("padding", [0, 1])
def test_bundles_start_at_any_word(program: "MakeProgram", padding: int) -> None:
    made = program("trap 0", "nop\n" * padding + "{ setzi $m1, 7 ; setzi $a1, 8 }")
    context = made.context()
    for _ in range(padding + 1):
        context.issue()
    assert (words(context, "m")[1], words(context, "a")[1]) == (7, 8)
    assert context.pc == CODE + 4 * padding + 8


def test_a_fault_in_one_half_suppresses_both(program: "MakeProgram") -> None:
    made = program(
        "trap 0", "{ ld32step $m2, $m0, $m1+=, 1 ; setzi $a0, 9 }", worker={"m0": DATA, "m1": 2}
    )
    check_unchanged(made, made.context(), AddressFault)


def test_a_float_fault_suppresses_the_main_half(program: "MakeProgram") -> None:
    """Only the sticky flag remains, as the number of the exception."""
    made = program(
        "trap 0",
        "{ st32step $a1, $mzero, $m0+=, 1 ; f32div $a2, $a1, $a0 }",
        worker={"m0": DATA, "a1": 0x3F800000, "a2": 1234},
    )
    made.workers[0]["float_control"] = 0b010
    context = made.context()
    memory = made.memory.bytes.copy()
    with pytest.raises(FloatFault, match="DIV0"):
        context.issue()
    assert np.array_equal(made.memory.bytes, memory)
    assert (words(context, "m")[0], words(context, "a")[2], context.pc) == (DATA, 1234, CODE)
    assert int(made.workers[0]["float_status"]) == 0b010
    assert int(made.workers[0]["exception"]) == 5


def test_the_main_half_reports_if_both_fault(program: "MakeProgram") -> None:
    made = program(
        "trap 0",
        "{ ld32 $m2, $m0, $mzero, 0 ; f32div $a2, $a1, $a0 }",
        worker={"m0": DATA + 2, "a1": 0x3F800000},
    )
    made.workers[0]["float_control"] = 0b010
    check_unchanged(made, made.context(), AddressFault)


def test_flags_without_an_enabled_exception(program: "MakeProgram") -> None:
    made = program("trap 0", "f32div $a2, $a1, $a0\n nop", worker={"a1": 0x3F800000})
    made.workers[0]["float_control"] = 0b101
    context = made.context()
    context.issue()
    assert int(made.workers[0]["float_status"]) == 0b010
    context.issue()
    assert int(made.workers[0]["float_status"]) == 0b010
    assert words(context, "a")[2] == 0x7F800000


def test_a_fault_can_be_mended_and_the_instruction_repeated(program: "MakeProgram") -> None:
    made = program("trap 0", "ld32 $m2, $m0, $mzero, 0", worker={"m0": DATA + 1})
    made.load(DATA, (5).to_bytes(4, "little"))
    context = made.context()
    check_unchanged(made, context, AddressFault)
    made.workers[0]["m"][0] = DATA
    context.issue()
    assert words(context, "m")[2] == 5


def test_one_worker_does_not_change_another(program: "MakeProgram") -> None:
    made = program("trap 0", "setzi $m1, 7\n setzi $a1, 8\n exitz $mzero")
    context = made.context()
    others, supervisor = made.workers[1:].copy(), made.supervisor.copy()
    for _ in range(2):
        context.issue()
    assert np.array_equal(made.workers[1:], others)
    assert made.supervisor == supervisor


# -- repeats ----------------------------------------------------------------------------------

BODY = "{ add $m0, $m0, 1 ; fnop }\n"
TWO = BODY + "{ add $m1, $m1, $m0 ; or $a0, $a1, $a1 }\n"
END = "add $m2, $m2, 1\n"
"""Bodies of a repeat, and what follows."""


def run_through(context: "Context", end: int) -> int:
    """Issue until the PC is `end`; how many issues that took."""
    for count in range(2000):
        if context.pc == end:
            return count
        context.issue()
    raise AssertionError(f"still at {context.pc:#x}")


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100, 255])
@pytest.mark.parametrize("from_register", [False, True])
def test_count_of_a_repeat(program: "MakeProgram", count: int, from_register: bool) -> None:
    operand = "$m5" if from_register else str(count)
    made = program("trap 0", f"nop\n rpt {operand}, 1\n {TWO} {END}", worker={"m5": count, "a1": 6})
    context = made.context()
    assert run_through(context, CODE + 24) == 2 + 2 * count
    m = words(context, "m")
    assert (m[0], m[1], m[2]) == (count, count * (count + 1) // 2, 0)
    assert words(context, "a")[0] == (6 if count else 0)
    context.issue()
    assert words(context, "m")[2] == 1


def test_largest_immediate_count(program: "MakeProgram") -> None:
    made = program("trap 0", f"nop\n rpt 4095, 0\n {BODY} {END}")
    context = made.context()
    while context.pc != CODE + 16:
        context.issue()
    assert words(context, "m")[0] == 4095


@pytest.mark.parametrize("count", [0x10000, 0x10003, 0xFFFF0002])
def test_register_counts_have_16_bits(program: "MakeProgram", count: int) -> None:
    made = program("trap 0", f"nop\n rpt $m5, 0\n {BODY} {END}", worker={"m5": count})
    context = made.context()
    run_through(context, CODE + 16)
    assert words(context, "m")[0] == count % 0x10000


def test_changing_the_count_register_in_the_body_changes_nothing(program: "MakeProgram") -> None:
    made = program(
        "trap 0", "nop\n rpt $m5, 0\n { add $m5, $m5, 10 ; fnop }\n" + END, worker={"m5": 3}
    )
    context = made.context()
    run_through(context, CODE + 16)
    assert words(context, "m")[5] == 33


def test_longest_body(program: "MakeProgram") -> None:
    made = program("trap 0", "nop\n rpt 2, 255\n" + BODY * 256 + END)
    context = made.context()
    assert run_through(context, CODE + 8 + 8 * 256) == 2 + 512
    assert words(context, "m")[0] == 512


@pytest.mark.parametrize("count", [0, 1, 4])
def test_the_other_half_of_rpt_executes_once(program: "MakeProgram", count: int) -> None:
    made = program(
        "trap 0",
        f"{{ rpt {count}, 0 ; uput $TAS, $a1 }}\n {{ add $m0, $m0, 1 ; setzi $a1, 5 }}\n {END}",
        worker={"a1": 11},
    )
    context = made.context()
    context.issue()
    assert int(made.workers[0]["tas"]) == 11
    run_through(context, CODE + 16)
    assert int(made.workers[0]["tas"]) == 11
    assert words(context, "m")[0] == count


def test_registers_of_a_repeat(program: "MakeProgram") -> None:
    """First and last address, and how many rounds are left, this one included."""
    made = program(
        "trap 0",
        f"nop\n rpt 3, 1\n {TWO} get $m3, $REPEAT_COUNT\n"
        "get $m4, $REPEAT_FIRST\n get $m5, $REPEAT_END",
    )
    context = made.context()
    context.issue()
    context.issue()
    state: Any = made.workers[0]
    assert (int(state["repeat_first"]), int(state["repeat_end"])) == (CODE + 8, CODE + 24)
    seen = []
    for _ in range(6):
        seen.append((context.pc - CODE, int(state["repeat_count"])))
        context.issue()
    assert seen == [(8, 3), (16, 3), (8, 2), (16, 2), (8, 1), (16, 1)]
    for _ in range(3):
        context.issue()
    assert words(context, "m")[3:6] == [0, CODE + 8, CODE + 24]


def test_a_body_is_plain_code_when_it_is_entered_otherwise(program: "MakeProgram") -> None:
    made = program("trap 0", f"bri {CODE + 8}\n nop\n {BODY} {END}")
    context = made.context()
    made.workers[0]["repeat_first"], made.workers[0]["repeat_end"] = CODE + 8, CODE + 16
    assert run_through(context, CODE + 16) == 2
    assert words(context, "m")[0] == 1


def test_one_repeat_after_another(program: "MakeProgram") -> None:
    made = program(
        "trap 0",
        f"nop\n rpt 2, 0\n {BODY} nop\n rpt 3, 0\n {{ add $m1, $m1, 1 ; fnop }}\n {END}",
    )
    context = made.context()
    assert run_through(context, CODE + 32) == 2 + 2 + 2 + 3
    assert words(context, "m")[:2] == [2, 3]


BARRED = [
    "add $m0, $m0, 1\n nop\n",
    "{ bri 0x4d000 ; fnop }\n",
    "{ brz $m0, 0x4d000 ; fnop }\n",
    "{ brnzdec $m0, 0x4d000 ; fnop }\n",
    "{ br $m0 ; fnop }\n",
    "{ call $m0, 0x4d000 ; fnop }\n",
    "{ rpt 1, 0 ; fnop }\n",
    "{ trap 0 ; fnop }\n",
    "{ get $m0, $WSR ; fnop }\n",
    "{ put $REPEAT_COUNT, $m0 ; fnop }\n",
    "{ nop ; uget $a0, $TAS }\n",
    "{ nop ; uput $TAS, $a0 }\n",
    "exitz $m0\n nop\n",
]


def unchecked(program: "MakeProgram", head: str, body: str) -> "Program":
    """A repeat with a body that the assembler would refuse: assembled apart, put together here."""
    made = program("trap 0", head)
    other = program("trap 0", body)
    made.load(CODE + 8, other.memory.read(0, CODE, 8))
    return made


@pytest.mark.parametrize("body", BARRED)
def test_what_cannot_be_in_a_body(program: "MakeProgram", body: str) -> None:
    made = unchecked(program, "nop\n rpt 2, 0\n" + BODY, body)
    context = made.context()
    context.issue()
    context.issue()
    fault = check_unchanged(made, context, InstructionFault)
    assert "repeat body" in fault.cause


@pytest.mark.parametrize("body", BARRED)
def test_a_body_that_is_skipped_may_be_anything(program: "MakeProgram", body: str) -> None:
    made = unchecked(program, "nop\n rpt 0, 0\n" + BODY + END, body)
    context = made.context()
    assert run_through(context, CODE + 16) == 2


def test_bundles_of_a_body_are_aligned(program: "MakeProgram") -> None:
    made = program("trap 0", "nop\n rpt 2, 0\n" + BODY + END)
    made.load(CODE, made.memory.read(0, CODE + 4, 12))
    context = made.context()
    context.issue()
    fault = check_unchanged(made, context, InstructionFault)
    assert "aligned" in fault.cause


def test_a_fault_in_a_repeat_keeps_the_round(program: "MakeProgram") -> None:
    made = program(
        "trap 0",
        "nop\n rpt 3, 0\n { ld32step $a0, $m0, $m1+=, $m2 ; fnop }\n",
        worker={"m0": DATA, "m2": 1 << 20},
    )
    context = made.context()
    for _ in range(3):
        context.issue()
    check_unchanged(made, context, AddressFault)
    assert int(made.workers[0]["repeat_count"]) == 2
    assert context.pc == CODE + 8


def test_repeat_with_conflicting_accesses(program: "MakeProgram") -> None:
    """The first round is fine, the second faults."""
    made = program(
        "trap 0",
        "tapack $m0:1, $m4, $m5, $m6\n rpt 2, 0\n"
        "{ ld2x64pace $a0:1, $a2:3, $m0:1+=, $mzero, 0b0100 ; fnop }\n",
        worker={"m4": 0x90000, "m5": 0x90008, "m6": 0},
    )
    context = made.context()
    for _ in range(3):
        context.issue()
    check_unchanged(made, context, ConflictFault)


# -- code that changes ------------------------------------------------------------------------


def test_written_code_is_executed_at_once(program: "MakeProgram") -> None:
    """The store replaces the very next instruction."""
    made = program("trap 0", "st32 $m0, $m1, $mzero, 0\n setzi $m2, 5", worker={"m1": CODE + 4})
    replacement = program("trap 0", "setzi $m2, 6").memory.read(0, CODE, 4)
    made.workers[0]["m"][0] = int.from_bytes(replacement, "little")
    context = made.context()
    context.issue()
    context.issue()
    assert words(context, "m")[2] == 6


def test_supervisors_run_alone(program: "MakeProgram") -> None:
    made = program("setzi $m3, 7\n trap 0")
    context = made.context(Mode.SUPERVISOR)
    context.issue()
    assert words(context, "m")[3] == 7
    assert context.pc == 0x4C104
