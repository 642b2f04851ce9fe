"""Faults told with the instruction and the symbol."""

from typing import TYPE_CHECKING

import pytest

from tilewright.emulator.disassembly import describe_fault, text_at
from tilewright.emulator.images import TileImage
from tilewright.isa import Mode

if TYPE_CHECKING:
    from tests.emulator.conftest import MakeProgram

SUPERVISOR_CODE, WORKER_CODE = 0x4C100, 0x4D000
NAMED = TileImage((), SUPERVISOR_CODE, {"kernel": SUPERVISOR_CODE, "loop": WORKER_CODE})
NAMELESS = TileImage((), SUPERVISOR_CODE)
WITH_LINES = TileImage((), SUPERVISOR_CODE, source_line=lambda address: f"a.S:{address % 256}")


@pytest.mark.parametrize(
    ("image", "symbol"), [(NAMED, ", in kernel+0x4"), (NAMELESS, ""), (WITH_LINES, " (a.S:4)")]
)
def test_a_fault_of_the_supervisor(program: "MakeProgram", image: TileImage, symbol: str) -> None:
    made = program("nop\n ld32 $m3, $m2, $mzero, 1", registers={"m2": 2})
    text = describe_fault(made.run(), made.memory, 0, image)
    assert text.startswith("supervisor at pc 0x4c104: INVALID_ADDR: ")
    assert text.endswith(f", at 'ld32 $m3, $m2, $m15, 1'{symbol}")


def test_a_fault_in_a_bundle_of_a_worker(program: "MakeProgram") -> None:
    made = program(
        "run $m0, $mzero, 0\n sync 2\n trap 0",
        "nop\n nop\n { ld32 $m3, $m2, $mzero, 0 ; fnop }",
        worker={"m2": 0x60001},
    )
    text = describe_fault(made.run(), made.memory, 0, NAMED)
    assert text.startswith("worker 0 at pc 0x4d008: ")
    assert text.endswith(", at '{ ld32 $m3, $m2, $m15, 0; fnop }', in loop+0x8")


def test_what_is_no_instruction_has_no_text(program: "MakeProgram") -> None:
    made = program("br $m1", registers={"m1": 0x4E000})
    stopped = made.run()
    assert describe_fault(stopped, made.memory, 0, NAMELESS) == str(stopped.fault)


@pytest.mark.parametrize("address", [0, 0x4C102, 0xE7FFC, 1 << 31])
def test_where_no_code_can_be(program: "MakeProgram", address: int) -> None:
    assert text_at(program("nop").memory, 0, address, Mode.SUPERVISOR) == ""


def test_the_mode_counts(program: "MakeProgram") -> None:
    memory = program("sync 3").memory
    assert text_at(memory, 0, SUPERVISOR_CODE, Mode.SUPERVISOR) == "sync 3"
    assert text_at(memory, 0, SUPERVISOR_CODE, Mode.WORKER) == ""
