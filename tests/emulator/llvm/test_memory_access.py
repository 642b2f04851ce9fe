"""Loads and stores of workers in both engines, with their faults."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tilewright.emulator.faults import AddressFault, ConflictFault, OperandFault
from tilewright.isa import FORMS, Form, Mode

if TYPE_CHECKING:
    from tests.emulator.llvm.conftest import Lockstep

EXIT = 0x43F04000
MEMORY_FORMS = [
    form
    for form in FORMS
    if form.mode is not Mode.SUPERVISOR and form.mnemonic.startswith(("ld", "st"))
]


@pytest.mark.parametrize("form", MEMORY_FORMS, ids=lambda form: form.name.replace(" ", "-"))
def test_every_form_with_random_operands(lockstep: "Lockstep", form: Form) -> None:
    generator = np.random.default_rng(form.index)
    word = lockstep.random_word(generator, form)
    for _ in range(12):
        data = lockstep.random_words(generator, 256).tobytes()
        lockstep.run([word, EXIT], lockstep.random_state(generator), data)


@pytest.mark.parametrize(
    ("address", "faults"),
    [
        (0x4C000, False),
        (0x4BFF8, True),
        (0x4C004, True),
        (0xE7FF8, False),
        (0xE8000, True),
        (0xFFFFFFF8, True),
        (0, True),
    ],
)
@pytest.mark.parametrize("access", ["ld64", "st64"])
def test_the_bounds_of_memory(
    lockstep: "Lockstep", access: str, address: int, faults: bool
) -> None:
    state = lockstep.random_state(np.random.default_rng(0))
    state["workers"][2]["m"][7] = address
    result = lockstep.run(f"{access} $a0:1, $m7, $m15, 0\nexitz $m15", state)
    assert result.fault is (AddressFault if faults else None)


@pytest.mark.parametrize(("address", "faults"), [(0x7FFF0, True), (0x80000, False)])
def test_sixteen_bytes_come_from_region_1(lockstep: "Lockstep", address: int, faults: bool) -> None:
    state = lockstep.random_state(np.random.default_rng(0))
    state["workers"][2]["m"][7] = address
    result = lockstep.run("ld128 $a0:3, $m7, $m15, 0\nexitz $m15", state)
    assert result.fault is (AddressFault if faults else None)


@pytest.mark.parametrize(
    ("second", "faults"),
    [(0x60010, True), (0x64000, False), (0x90008, False), (0x63FF8, True)],
)
def test_two_accesses_of_one_element_conflict(
    lockstep: "Lockstep", second: int, faults: bool
) -> None:
    state = lockstep.random_state(np.random.default_rng(0))
    state["workers"][2]["m"][8:11] = 0x60000, second, 0x90000
    code = "tapack $m0:1, $m8, $m9, $m10\nld2x64pace $a0:1, $a2:3, $m0:1+=, $m15, 0\nexitz $m15"
    result = lockstep.run(code, state)
    assert result.fault is (ConflictFault if faults else None)


def test_a_fault_undoes_the_other_half(lockstep: "Lockstep") -> None:
    state = lockstep.random_state(np.random.default_rng(0))
    state["workers"][2]["m"][7] = 0x60001
    result = lockstep.run("{ld32 $a0, $m7, $m15, 0; f16v2add $a2, $a1, $a1}\nexitz $m15", state)
    assert (result.fault, result.steps) == (AddressFault, 0)


def test_a_store_half_stores_what_was_there_before(lockstep: "Lockstep") -> None:
    state = lockstep.random_state(np.random.default_rng(0))
    state["workers"][2]["m"][7] = 0x60000
    code = "{st64 $a0:1, $m7, $m15, 0; f32v2add $a0:1, $a2:3, $a4:5}\nld64 $a6:7, $m7, $m15, 0"
    lockstep.run(f"{code}\nexitz $m15", state)


def test_operands_that_no_values_make_right(lockstep: "Lockstep") -> None:
    code = [0x41080034, EXIT]  # get $m8 of a CSR that workers do not have
    state = lockstep.random_state(np.random.default_rng(0))
    assert lockstep.run(code, state).fault is OperandFault
