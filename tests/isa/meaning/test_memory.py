"""Loads, stores and weight loads in all addressing forms, against bytes written by the test."""

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tilewright.emulator.faults import AddressFault, OperandFault
from tilewright.isa import FORMS

if TYPE_CHECKING:
    from tests.isa.meaning.conftest import Bench

REGION_0, REGION_1 = 0x60000, 0x90000
BASE, END = 0x4C000, 0xE8000
WORD = 1 << 32

CONTENT = bytes((37 * place + 128) % 256 for place in range(512))
"""What lies around an address: bytes with and without their highest bit, in no period of 16."""
ORIGIN = 256
"""CONTENT[ORIGIN] is at the address itself."""


def placed(bench: "Bench", address: int) -> None:
    bench.memory.write(0, address - ORIGIN, CONTENT)


def number_at(offset: int, size: int, signed: bool = False) -> int:
    content = CONTENT[ORIGIN + offset : ORIGIN + offset + size]
    return int.from_bytes(content, "little", signed=signed)


# name: (size in bytes, destination, value from offset)
LOADS: dict[str, tuple[int, str, Callable[[int], int]]] = {
    "lds8": (1, "$m0", lambda at: number_at(at, 1, signed=True) % WORD),
    "ldz8": (1, "$m0", lambda at: number_at(at, 1)),
    "lds16": (2, "$m0", lambda at: number_at(at, 2, signed=True) % WORD),
    "ldz16": (2, "$m0", lambda at: number_at(at, 2)),
    "ld32": (4, "$m0", lambda at: number_at(at, 4)),
    "ldb8": (1, "$a0", lambda at: number_at(at, 1) * 0x01010101),
    "ldb16": (2, "$a0", lambda at: number_at(at, 2) * 0x00010001),
    "ld32 to $a": (4, "$a0", lambda at: number_at(at, 4)),
    "ld64": (8, "$a0:1", lambda at: number_at(at, 8)),
    "ld128": (16, "$a0:3", lambda at: number_at(at, 16)),
}


def loaded(bench: "Bench", destination: str) -> int:
    return bench.m[0] if destination == "$m0" else bench.group(0, 4)


def test_every_load_and_store_is_compared() -> None:
    plain = {name.split()[0] for name in LOADS} | {"st32", "st64"}
    stores_of_m = {"stm32", "stm32step"}
    elsewhere = ("pace", "putcs", "ldd16", "ldb16b16", "ld64a32", "ldst", "ld2x")
    found = {
        form.mnemonic
        for form in FORMS
        if form.mnemonic.startswith(("ld", "st"))
        and not any(part in form.mnemonic for part in elsewhere)
    }
    assert found == plain | {f"{name}step" for name in plain} | stores_of_m


@pytest.mark.parametrize("name", LOADS)
@pytest.mark.parametrize("items", [0, 1, 2, 5])
def test_load_with_offset_in_items(worker: "Bench", name: str, items: int) -> None:
    """Base + delta + offset, the offset an immediate or a register, counted in items."""
    size, destination, expected = LOADS[name]
    mnemonic = name.split()[0]
    placed(worker, REGION_1)
    registers = {"m1": REGION_1 - 64, "m2": 64, "m3": items}
    for offset in (str(items), "$m3"):
        worker.set(m0=0x55555555, a0=0, a1=0, a2=0, a3=0)
        worker.issue(f"{mnemonic} {destination}, $m1, $m2, {offset}", **registers)
        assert loaded(worker, destination) == expected(items * size)
        assert worker.m[1:4] == [REGION_1 - 64, 64, items]


@pytest.mark.parametrize("name", LOADS)
def test_load_with_negative_offset(worker: "Bench", name: str) -> None:
    """Registers count in two's complement; immediates do not."""
    size, destination, expected = LOADS[name]
    mnemonic = name.split()[0]
    placed(worker, REGION_1)
    worker.issue(f"{mnemonic} {destination}, $m1, $m2, $m3", m1=REGION_1 + 64, m2=-64, m3=-3)
    assert loaded(worker, destination) == expected(-3 * size)


@pytest.mark.parametrize("name", LOADS)
@pytest.mark.parametrize("step", [1, 3, -1, -7, 127, -128])
def test_load_with_step(worker: "Bench", name: str, step: int) -> None:
    """The access uses the old delta, which then moves by items."""
    size, destination, expected = LOADS[name]
    mnemonic = name.split()[0]
    placed(worker, REGION_1)
    for operand in (str(step), "$m3"):
        worker.set(a0=0, a1=0, a2=0, a3=0)
        registers = {"m0": 0, "m1": REGION_1, "m2": 32, "m3": step}
        worker.issue(f"{mnemonic}step {destination}, $m1, $m2+=, {operand}", **registers)
        assert loaded(worker, destination) == expected(32)
        assert worker.m[2] == (32 + step * size) % WORD
        assert worker.m[1] == REGION_1


@pytest.mark.parametrize("name", ["lds8", "ldz8", "lds16", "ldz16", "ld32"])
def test_supervisors_load(supervisor: "Bench", name: str) -> None:
    size, destination, expected = LOADS[name]
    placed(supervisor, REGION_0)
    supervisor.issue(f"{name} {destination}, $m1, $m2, 3", m1=REGION_0, m2=0)
    assert supervisor.m[0] == expected(3 * size)
    supervisor.issue(f"{name}step {destination}, $m1, $m2+=, -2", m2=16)
    assert supervisor.m[0] == expected(16)
    assert supervisor.m[2] == 16 - 2 * size


def test_alias_without_delta(worker: "Bench") -> None:
    placed(worker, REGION_0)
    worker.issue("ld32 $m0, $m1, 2", m1=REGION_0)
    assert worker.m[0] == number_at(8, 4)


def test_loaded_value_wins_over_the_stepped_delta(either: "Bench") -> None:
    placed(either, REGION_0)
    either.issue("ld32step $m2, $m1, $m2+=, 5", m1=REGION_0, m2=8)
    assert either.m[2] == number_at(8, 4)


def test_base_that_is_the_destination(either: "Bench") -> None:
    placed(either, REGION_0)
    either.issue("ld32 $m1, $m1, $m15, 1", m1=REGION_0)
    assert either.m[1] == number_at(4, 4)


def test_addresses_wrap_at_32_bits(worker: "Bench") -> None:
    placed(worker, REGION_0)
    worker.issue("ld32 $m0, $m1, $m2, $m3", m1=0xFFFFFFF0, m2=REGION_0 + 16, m3=1 << 30)
    assert worker.m[0] == number_at(0, 4)


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("ld64step $azeros, $mzero, $m1+=, 3", 24),
        ("ld128step $a12:15, $mzero, $m1+=, -2", -32),
        ("ld32step $m15, $mzero, $m1+=, 1", 4),
    ],
)
def test_a_load_into_zero_registers_only_steps(worker: "Bench", text: str, step: int) -> None:
    placed(worker, REGION_1)
    registers = {f"a{number}": 100 + number for number in range(8)}
    worker.issue(text, m1=REGION_1, **registers)
    assert worker.m[1] == REGION_1 + step
    assert worker.a == list(range(100, 108))


def test_a_load_into_zero_registers_still_happens(worker: "Bench") -> None:
    text = "ld64step $azeros, $mzero, $m1+=, 1"
    worker.check_fault(AddressFault, "outside tile memory", text, m1=END)


# -- stores -----------------------------------------------------------------------------------

STORES = {
    "st32 of $m": ("st32", 4, "$m0", ("{}",)),
    "st32 of $a": ("st32", 4, "$a0", ("{}", "$m3")),
    "st64": ("st64", 8, "$a0:1", ("{}", "$m3")),
}
VALUE = 0x89ABCDEF_01234567


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("items", [0, 1, 9, 300])
def test_store_with_offset(worker: "Bench", name: str, items: int) -> None:
    mnemonic, size, source, offsets = STORES[name]
    for offset in offsets:
        target = REGION_0 + 64 + items * size
        worker.write(target - 16, 0, 64)
        text = f"{mnemonic} {source}, $m1, $m2, {offset.format(items)}"
        values = {"m0": VALUE, "a0": VALUE, "a1": VALUE >> 32}
        worker.issue(text, m1=REGION_0, m2=64, m3=items, **values)
        assert worker.read(target - 16, 64) == (VALUE % (1 << 8 * size)) << 128


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("step", [1, -1, 127, -128])
def test_store_with_step(worker: "Bench", name: str, step: int) -> None:
    mnemonic, size, source, steps = STORES[name]
    for operand in steps:
        worker.write(REGION_0, 0, 64)
        text = f"{mnemonic}step {source}, $m1, $m2+=, {operand.format(step)}"
        values = {"m0": VALUE, "a0": VALUE, "a1": VALUE >> 32}
        worker.issue(text, m1=REGION_0, m2=16, m3=step, **values)
        assert worker.read(REGION_0, 64) == (VALUE % (1 << 8 * size)) << 128
        assert worker.m[2] == (16 + size * step) % WORD


def test_supervisors_store(supervisor: "Bench") -> None:
    supervisor.issue("st32 $m0, $m1, $m2, 4", m0=1111, m1=REGION_0, m2=8)
    assert supervisor.read(REGION_0 + 24, 4) == 1111
    supervisor.issue("st32step $m0, $m1, $m2+=, -2", m0=2222)
    assert supervisor.read(REGION_0 + 8, 4) == 2222
    assert supervisor.m[2] == 0


def test_stores_with_register_offsets(either: "Bench") -> None:
    either.issue("stm32 $m0, $m1, $m2", m0=77, m1=REGION_0, m2=-3)
    assert either.read(REGION_0 - 12, 4) == 77
    either.issue("stm32step $m0, $m1+=, $m2", m0=88)
    assert either.read(REGION_0, 4) == 88
    assert either.m[1] == REGION_0 - 12


def test_a_store_that_steps_what_it_stores(worker: "Bench") -> None:
    worker.issue("stm32step $m1, $m1+=, $m2", m1=REGION_0, m2=2)
    assert worker.read(REGION_0, 4) == REGION_0
    assert worker.m[1] == REGION_0 + 8
    worker.issue("st32step $m2, $m1, $m2+=, 1", m1=REGION_0, m2=16)
    assert worker.read(REGION_0 + 16, 4) == 16
    assert worker.m[2] == 20


def test_zero_registers_store_zeros(worker: "Bench") -> None:
    worker.issue("st64 $azeros, $m1, $mzero, 0", m1=REGION_1)
    assert worker.read(REGION_1, 8) == 0


# -- faults -----------------------------------------------------------------------------------

SIZES = {
    "lds8": 1,
    "ldz8": 1,
    "ldb8": 1,
    "lds16": 2,
    "ldz16": 2,
    "ldb16": 2,
    "ld32": 4,
    "ld64": 8,
    "ld128": 16,
    "st32": 4,
    "st64": 8,
}
REGISTER_OF_SIZE = {1: "$m0", 2: "$m0", 4: "$a0", 8: "$a0:1", 16: "$a0:3"}


def accesses(mnemonic: str) -> list[str]:
    """The access with an offset, and with a step; the address is in $m1."""
    register = "$a0" if "ldb" in mnemonic else REGISTER_OF_SIZE[SIZES[mnemonic]]
    return [
        f"{mnemonic} {register}, $m1, $mzero, 0",
        f"{mnemonic}step {register}, $m1, $m2+=, 1",
    ]


@pytest.mark.parametrize("mnemonic", [name for name, size in SIZES.items() if size > 1])
def test_misaligned(worker: "Bench", mnemonic: str) -> None:
    size = SIZES[mnemonic]
    for text, off in itertools.product(accesses(mnemonic), (1, size // 2, size - 1)):
        worker.check_fault(AddressFault, "not aligned", text, m1=REGION_1 + off, m2=0)
        worker.issue(text, m1=REGION_1, m2=0)


@pytest.mark.parametrize("mnemonic", SIZES)
def test_outside_memory(worker: "Bench", mnemonic: str) -> None:
    size = SIZES[mnemonic]
    for text in accesses(mnemonic):
        for address in (BASE - size, END, 0, 1 << 21 | REGION_1, WORD - size):
            worker.check_fault(AddressFault, "outside tile memory", text, m1=address, m2=0)
        worker.issue(text, m1=END - size, m2=0)
        if size < 16:
            worker.issue(text, m1=BASE, m2=0)


def test_supervisor_faults(supervisor: "Bench") -> None:
    supervisor.check_fault(AddressFault, "aligned", "ld32 $m0, $m1, $mzero, 0", m1=REGION_0 + 2)
    supervisor.check_fault(AddressFault, "outside", "stm32 $m0, $m1, $mzero", m1=END)
    supervisor.check_fault(AddressFault, "outside", "stm32step $m0, $m1+=, $m2", m1=BASE - 4)


@pytest.mark.parametrize("address", [BASE, REGION_0, 0x7FFF0])
def test_128_bits_come_from_region_1_only(worker: "Bench", address: int) -> None:
    for text in accesses("ld128"):
        worker.check_fault(AddressFault, "region 1", text, m1=address, m2=0)


def test_code_may_be_stored_to_and_read(worker: "Bench") -> None:
    worker.issue("st32 $a0, $m1, $mzero, 0", m1=BASE, a0=5)
    assert worker.read(BASE, 4) == 5


# -- weights ----------------------------------------------------------------------------------


def weights(bench: "Bench") -> dict[int, int]:
    return {place: int(word) for place, word in enumerate(bench.tile["weights"]) if word}


LOAD_ADDRESS = 0x50


def test_weights_by_64_bits(supervisor: "Bench") -> None:
    placed(supervisor, REGION_0)
    supervisor.state["csr"][LOAD_ADDRESS] = REGION_0
    for number in (0, 63, 17):
        supervisor.issue(f"ld64putcs {number}")
    assert weights(supervisor) == {0: number_at(0, 8), 63: number_at(8, 8), 17: number_at(16, 8)}
    assert int(supervisor.state["csr"][LOAD_ADDRESS]) == REGION_0 + 24


def test_weights_by_128_bits(supervisor: "Bench") -> None:
    placed(supervisor, REGION_1)
    supervisor.issue("put $CCCSLOAD, $m1", m1=REGION_1)
    for number in (62, 0):
        supervisor.issue(f"ld128putcs {number}")
    assert weights(supervisor) == {
        62: number_at(0, 8),
        63: number_at(8, 8),
        0: number_at(16, 8),
        1: number_at(24, 8),
    }
    supervisor.issue("get $m0, $CCCSLOAD")
    assert supervisor.m[0] == REGION_1 + 32


def test_weight_entries_have_names(supervisor: "Bench") -> None:
    placed(supervisor, REGION_0)
    supervisor.issue("put $CCCSLOAD, $m1", m1=REGION_0)
    supervisor.issue("ld64putcs $CWEI_11_3")
    assert weights(supervisor) == {47: number_at(0, 8)}


@pytest.mark.parametrize("text", ["ld64putcs 64", "ld64putcs 255", "ld128putcs 64"])
def test_weight_index_out_of_range(supervisor: "Bench", text: str) -> None:
    supervisor.state["csr"][LOAD_ADDRESS] = REGION_1
    supervisor.check_fault(OperandFault, "invalid putcs index", text)


@pytest.mark.parametrize("index", [1, 33, 63])
def test_two_weights_start_at_an_even_index(supervisor: "Bench", index: int) -> None:
    supervisor.state["csr"][LOAD_ADDRESS] = REGION_1
    supervisor.check_fault(OperandFault, "putcs index", f"ld128putcs {index}")


@pytest.mark.parametrize(
    ("text", "address", "cause"),
    [
        ("ld64putcs 0", REGION_0 + 4, "aligned"),
        ("ld64putcs 0", END, "outside tile memory"),
        ("ld64putcs 0", BASE - 8, "outside tile memory"),
        ("ld128putcs 0", REGION_1 + 8, "aligned"),
        ("ld128putcs 0", END, "outside tile memory"),
        ("ld128putcs 0", REGION_0, "region 1"),
    ],
)
def test_weight_address(supervisor: "Bench", text: str, address: int, cause: str) -> None:
    supervisor.state["csr"][LOAD_ADDRESS] = address
    supervisor.check_fault(AddressFault, cause, text)
