"""Packed addresses, accesses that step them, and indexed loads.

Addresses are packed and unpacked here once more, as the places of their bits in 64: A0 in 20:0, A1
in 52:32, A2 in 31:21 and 62:53.
"""

import itertools
import random
from typing import TYPE_CHECKING

import pytest

from tilewright.emulator.faults import AddressFault, ConflictFault, OperandFault

if TYPE_CHECKING:
    from tests.isa.meaning.conftest import Bench

ADDRESS = 1 << 21
WORD = 1 << 32
END = 0xE8000

# Three addresses in different elements: linear, and both halves of an interleaved pair.
A0, A1, A2 = 0x60000, 0x90000, 0x90058
FREE = 0x70000
"""In an element of its own."""


def packed(a0: int, a1: int, a2: int) -> dict[str, int]:
    """The pair $m0:1."""
    return {"m0": a0 + a2 % (1 << 11) * ADDRESS, "m1": a1 + a2 // (1 << 11) * ADDRESS}


def unpacked(bench: "Bench", first: int = 0) -> tuple[int, int, int]:
    low, high = bench.m[first], bench.m[first + 1]
    assert high < SIGN, "bit 31 of the second register is 0"
    return low % ADDRESS, high % ADDRESS, low // ADDRESS + high // ADDRESS * (1 << 11)


SIGN = 1 << 31


def strides(*fields: int) -> int:
    """A stride register of fields for the selectors 1, 2 and 3."""
    return sum(field % 1024 << 10 * place for place, field in enumerate(fields))


FIELDS = (5, -3, 511)
STRIDE = strides(*FIELDS)
STEPS = (1, *FIELDS)
"""What each selector adds, in atoms."""


# -- packing ----------------------------------------------------------------------------------


def test_published_vector_of_tapack(worker: "Bench") -> None:
    worker.issue("tapack $m4:5, $m0, $m1, $m2", m0=0x80000, m1=0x84008, m2=0x9C018)
    assert worker.m[4:6] == [0x03080000, 0x27084008]
    assert unpacked(worker, 4) == (0x80000, 0x84008, 0x9C018)


def test_tapack_of_any_addresses(worker: "Bench") -> None:
    generator = random.Random(3)
    some = [0, 1, ADDRESS - 1, 1 << 20, 1 << 11, (1 << 11) - 1]
    triples = [*itertools.product(some, repeat=3)]
    triples += [tuple(generator.randrange(ADDRESS) for _ in range(3)) for _ in range(50)]
    for a0, a1, a2 in triples:
        worker.issue("tapack $m4:5, $m0, $m1, $m2", m0=a0, m1=a1, m2=a2)
        assert unpacked(worker, 4) == (a0, a1, a2)


def test_tapack_drops_what_is_no_address(worker: "Bench") -> None:
    worker.issue("tapack $m4:5, $m0, $m1, $m2", m0=-1, m1=-1, m2=-1)
    assert worker.m[4:6] == [0xFFFFFFFF, 0x7FFFFFFF]


def test_tapack_into_its_sources(worker: "Bench") -> None:
    worker.issue("tapack $m0:1, $m0, $m1, $m2", m0=0x80000, m1=0x84008, m2=0x9C018)
    assert worker.m[:3] == [0x03080000, 0x27084008, 0x9C018]


# -- accesses ---------------------------------------------------------------------------------

# instruction with {0} for its selectors: the addresses that these move, in order
ACCESSES = {
    "ld2x64pace $a0:1, $a2:3, $m0:1+=, $m2, {}": (0, 1),
    "ldst64pace $a0:1, $a6:7, $m0:1+=, $m2, {}": (0, 2),
    "ld2xst64pace $a0:3, $a6:7, $m0:1+=, $m2, {}": (0, 1, 2),
    "st64pace $a6:7, $m0:1+=, $m2, {}": (2,),
}


def prepared(bench: "Bench") -> None:
    bench.write(A0, 0x0A0A0A0A_00000000, 8)
    bench.write(A1, 0x1B1B1B1B_11111111, 8)
    bench.write(A2, 0x2C2C2C2C_22222222, 8)
    bench.set(a6=0x66666666, a7=0x77777777)


@pytest.mark.parametrize("text", ACCESSES)
def test_each_selector_steps_its_address(worker: "Bench", text: str) -> None:
    uses = ACCESSES[text]
    prepared(worker)
    for selectors in itertools.product(range(4), repeat=len(uses)):
        number = sum(selector << 2 * place for place, selector in enumerate(selectors))
        worker.issue(text.format(number), m2=STRIDE, **packed(A0, A1, A2))
        expected = [A0, A1, A2]
        for use, selector in zip(uses, selectors, strict=True):
            expected[use] += 8 * STEPS[selector]
        assert unpacked(worker) == tuple(expected), selectors
        assert worker.m[2] == STRIDE


def test_stride_vector(worker: "Bench") -> None:
    """0x000ff800 holds 0, -2, 0."""
    text = "ld2xst64pace $a0:3, $a6:7, $m0:1+=, $m2, 0b111001"
    worker.issue(text, m2=0x000FF800, **packed(A0, A1, A2))
    assert unpacked(worker) == (A0, A1 - 16, A2)


@pytest.mark.parametrize("field", [1, -1, 511, -512, 0])
def test_stride_fields_are_signed(worker: "Bench", field: int) -> None:
    for place in range(3):
        fields = [7, 7, 7]
        fields[place] = field
        text = f"st64pace $a6:7, $m0:1+=, $m2, {place + 1}"
        worker.issue(text, m2=strides(*fields), **packed(A0, A1, A2))
        assert unpacked(worker) == (A0, A1, A2 + 8 * field)


def test_bits_above_the_stride_fields_do_not_matter(worker: "Bench") -> None:
    worker.issue("st64pace $a6:7, $m0:1+=, $m2, 3", m2=3 << 30 | STRIDE, **packed(A0, A1, A2))
    assert unpacked(worker) == (A0, A1, A2 + 8 * FIELDS[2])


def test_zero_register_as_stride_stands_still(worker: "Bench") -> None:
    for selectors in (0b01, 0b10, 0b11):
        text = f"ld2x64pace $a0:1, $a2:3, $m0:1+=, $mzero, {selectors * 5}"
        worker.issue(text, **packed(A0, A1, A2))
        assert unpacked(worker) == (A0, A1, A2)
    worker.issue("ld2x64pace $a0:1, $a2:3, $m0:1+=, $mzero, 0", **packed(A0, A1, A2))
    assert unpacked(worker) == (A0 + 8, A1 + 8, A2)


def test_data_of_each_form(worker: "Bench") -> None:
    prepared(worker)
    worker.issue("ld2x64pace $a0:1, $a2:3, $m0:1+=, $mzero, 0", **packed(A0, A1, A2))
    assert worker.a[:4] == [0, 0x0A0A0A0A, 0x11111111, 0x1B1B1B1B]
    assert worker.read(A2, 8) == 0x2C2C2C2C_22222222

    worker.set(a0=0, a1=0, a2=0, a3=0)
    worker.issue("ld2xst64pace $a0:3, $a6:7, $m0:1+=, $mzero, 0", **packed(A0, A1, A2))
    assert worker.a[:4] == [0, 0x0A0A0A0A, 0x11111111, 0x1B1B1B1B]
    assert worker.read(A2, 8) == 0x77777777_66666666

    worker.issue("ldst64pace $a4:5, $a0:1, $m0:1+=, $mzero, 0", **packed(A1, 0, A2))
    assert worker.a[4:6] == [0x11111111, 0x1B1B1B1B]
    assert worker.read(A2, 8) == 0x0A0A0A0A_00000000

    worker.issue("st64pace $a2:3, $m0:1+=, $mzero, 0", **packed(0, 0, FREE))
    assert worker.read(FREE, 8) == 0x1B1B1B1B_11111111
    assert unpacked(worker) == (0, 0, FREE + 8)


def test_stored_is_what_the_register_held_before(worker: "Bench") -> None:
    """Also when the same instruction, or its bundle's other half, loads into it."""
    prepared(worker)
    worker.issue("ldst64pace $a6:7, $a6:7, $m0:1+=, $mzero, 0", **packed(A0, A1, A2))
    assert worker.read(A2, 8) == 0x77777777_66666666
    assert worker.a[6:] == [0, 0x0A0A0A0A]
    worker.issue("ld2xst64pace $a4:7, $a6:7, $m0:1+=, $mzero, 0", **packed(A0, A1, FREE))
    assert worker.read(FREE, 8) == 0x0A0A0A0A_00000000
    assert worker.a[4:] == [0, 0x0A0A0A0A, 0x11111111, 0x1B1B1B1B]
    both = "{ st64pace $a6:7, $m0:1+=, $mzero, 0 ; zero $a6:7 }"
    worker.issue(both, **packed(0, 0, A2))
    assert worker.read(A2, 8) == 0x1B1B1B1B_11111111
    assert worker.a[6:] == [0, 0]


def test_unused_addresses_may_be_anything(worker: "Bench") -> None:
    """They are neither accessed nor changed: here they are odd and out of range."""
    worker.issue("st64pace $a6:7, $m0:1+=, $mzero, 0", **packed(1, 0x1FFFFF, A2))
    assert unpacked(worker) == (1, 0x1FFFFF, A2 + 8)
    worker.issue("ldst64pace $a0:1, $a6:7, $m0:1+=, $mzero, 0", **packed(A0, 0x1FFFFF, A2))
    assert unpacked(worker) == (A0 + 8, 0x1FFFFF, A2 + 8)
    text = "ld2x64pace $a0:1, $a2:3, $m0:1+=, $mzero, 0"
    worker.issue(text, **packed(A0, A1, 0x1FFFFF))
    assert unpacked(worker) == (A0 + 8, A1 + 8, 0x1FFFFF)


@pytest.mark.parametrize(("address", "step"), [(0x4C000, -512), (END - 8, 511), (END - 8, 1)])
def test_addresses_may_step_out_of_memory(worker: "Bench", address: int, step: int) -> None:
    """Only an access there faults."""
    text = "st64pace $a6:7, $m0:1+=, $m2, 1"
    worker.issue(text, m2=strides(step), **packed(A0, A1, address))
    assert unpacked(worker) == (A0, A1, address + 8 * step)
    worker.check_fault(AddressFault, "outside tile memory", text)


@pytest.mark.parametrize(("mnemonic", "size"), [("ld64a32pace", 4), ("ld64b16pace", 2)])
def test_loads_of_two_sizes(worker: "Bench", mnemonic: str, size: int) -> None:
    """The second address counts in its own items (assumed)."""
    worker.write(A0, 0x01234567_89ABCDEF, 8)
    worker.write(A1 + size, 0xF00DCAFE, 4)
    for first, second in itertools.product(range(4), repeat=2):
        text = f"{mnemonic} $a0:1, $a2, $m0:1+=, $m2, {first + 4 * second}"
        worker.issue(text, m2=STRIDE, **packed(A0, A1 + size, A2))
        assert unpacked(worker) == (A0 + 8 * STEPS[first], A1 + size + size * STEPS[second], A2)
        value = 0xF00DCAFE if size == 4 else 0xCAFECAFE
        assert worker.a[:3] == [0x89ABCDEF, 0x01234567, value]


@pytest.mark.parametrize("mnemonic", ["ld64a32pace", "ld64b16pace"])
def test_the_second_load_is_aligned_to_its_own_size(worker: "Bench", mnemonic: str) -> None:
    size = 4 if mnemonic == "ld64a32pace" else 2
    text = f"{mnemonic} $a0:1, $a2, $m0:1+=, $mzero, 0"
    worker.issue(text, **packed(A0, A1 + size, A2))
    for a0, a1 in ((A0 + 4, A1), (A0, A1 + size // 2)):
        worker.check_fault(AddressFault, "aligned", text, **packed(a0, a1, A2))


# -- faults -----------------------------------------------------------------------------------

LIN, OTHER_LIN = 0x60000, 0x64000
EVEN, ODD = 0x90000, 0x90008

# (one address, the other, whether they lie in one element)
NEIGHBOURS = [
    (LIN, LIN, True),
    (LIN, LIN + 8, True),
    (LIN, 0x63FF8, True),
    (LIN, OTHER_LIN, False),
    (0x5FFF8, LIN, False),
    (EVEN, EVEN, True),
    (EVEN, ODD, False),
    (EVEN, EVEN + 16, True),
    (ODD, ODD + 16, True),
    (EVEN, 0x97FF0, True),
    (EVEN, 0x94008, False),
    (EVEN, 0x98000, False),
    (EVEN, 0x8FFF0, False),
    (LIN, EVEN, False),
    (0x7FFF8, 0x80000, False),
]


@pytest.mark.parametrize(("one", "other", "clash"), NEIGHBOURS)
@pytest.mark.parametrize(
    "text",
    [
        "ld2x64pace $a0:1, $a2:3, $m0:1+=, $m2, 0b0110",
        "ld64a32pace $a0:1, $a2, $m0:1+=, $m2, 0b0110",
        "ld64b16pace $a0:1, $a2, $m0:1+=, $m2, 0b0110",
    ],
)
def test_conflicts_of_two_loads(
    worker: "Bench", text: str, one: int, other: int, clash: bool
) -> None:
    for a0, a1 in ((one, other), (other, one)):
        # A2 is not accessed: it may lie with A0.
        if clash:
            worker.check_fault(
                ConflictFault, "same memory element", text, m2=STRIDE, **packed(a0, a1, a0)
            )
        else:
            worker.issue(text, m2=STRIDE, **packed(a0, a1, a0))


@pytest.mark.parametrize(("one", "other", "clash"), NEIGHBOURS)
def test_conflicts_of_load_and_store(worker: "Bench", one: int, other: int, clash: bool) -> None:
    text = "ldst64pace $a0:1, $a6:7, $m0:1+=, $m2, 0b0110"
    for a0, a2 in ((one, other), (other, one)):
        if clash:
            worker.check_fault(
                ConflictFault, "same memory element", text, m2=STRIDE, **packed(a0, a0, a2)
            )
        else:
            worker.issue(text, m2=STRIDE, **packed(a0, a0, a2))


@pytest.mark.parametrize(("one", "other", "clash"), NEIGHBOURS)
def test_conflicts_of_two_loads_and_a_store(
    worker: "Bench", one: int, other: int, clash: bool
) -> None:
    text = "ld2xst64pace $a0:3, $a6:7, $m0:1+=, $m2, 0b000110"
    third = 0xA0000
    for addresses in itertools.permutations((one, other, third)):
        if clash:
            worker.check_fault(
                ConflictFault, "same memory element", text, m2=STRIDE, **packed(*addresses)
            )
        else:
            worker.issue(text, m2=STRIDE, **packed(*addresses))


def test_a_single_store_cannot_conflict(worker: "Bench") -> None:
    worker.issue("st64pace $a6:7, $m0:1+=, $mzero, 0", **packed(A2, A2, A2))


@pytest.mark.parametrize(
    "text",
    [
        "ld2x64pace $a0:1, $a0:1, $m0:1+=, $mzero, 0",
        "ld2x64pace $azeros, $azeros, $m0:1+=, $mzero, 0",
        "ld64a32pace $a0:1, $a0, $m0:1+=, $mzero, 0",
        "ld64a32pace $a0:1, $a1, $m0:1+=, $mzero, 0",
        "ld64b16pace $a4:5, $a5, $m0:1+=, $mzero, 0",
    ],
)
def test_equal_destinations(worker: "Bench", text: str) -> None:
    worker.check_fault(OperandFault, "same destination", text, **packed(A0, A1, A2))


@pytest.mark.parametrize("text", ACCESSES)
def test_bad_addresses(worker: "Bench", text: str) -> None:
    prepared(worker)
    instruction = text.format(0)
    for use in ACCESSES[text]:
        for bad, cause in ((4, "aligned"), (None, "outside tile memory")):
            addresses = [A0, A1, A2]
            addresses[use] = END if bad is None else addresses[use] + bad
            worker.check_fault(AddressFault, cause, instruction, m2=STRIDE, **packed(*addresses))
        addresses = [A0, A1, A2]
        addresses[use] = 0x4C000 - 8
        worker.check_fault(
            AddressFault, "outside tile memory", instruction, m2=STRIDE, **packed(*addresses)
        )


# -- indexed loads ----------------------------------------------------------------------------

INDICES, TABLE = 0x60000, 0x90000


def indexed(bench: "Bench", indices: list[int], size: int) -> None:
    for place, index in enumerate(indices):
        bench.write(INDICES + size * place, index, size)


@pytest.mark.parametrize(
    ("mnemonic", "destination", "size", "width"),
    [
        ("ldd16b16", "$a0", 2, 1),
        ("ldd16a32", "$a0", 4, 1),
        ("ldd16a64", "$a0:1", 8, 2),
    ],
)
def test_gather(worker: "Bench", mnemonic: str, destination: str, size: int, width: int) -> None:
    """Each load takes the datum at the offset fetched by the one before, in bytes."""
    offsets = [8, 0xFFF8, 24, 0]
    indexed(worker, offsets, 2)
    for offset in offsets:
        worker.write(TABLE + offset, 0x01000000_00000100 + offset, 8)
    text = f"{mnemonic} {destination}, $m0++, $m1, $m2@"
    worker.issue(text, m0=INDICES, m1=TABLE, m2=0)
    assert worker.m[:3] == [INDICES + 2, TABLE, 8]
    for place, offset in enumerate(offsets):
        worker.issue(text)
        datum = (0x01000000_00000100 + offset) % (1 << 8 * size)
        assert worker.group(0, width) == (datum * 0x10001 if size == 2 else datum)
        following = offsets[place + 1] if place + 1 < len(offsets) else 0x7E00
        assert worker.m[:3] == [INDICES + 2 * place + 4, TABLE, following]


def test_gather_by_the_upper_offset(worker: "Bench") -> None:
    indexed(worker, [0x12345678], 4)
    worker.write(TABLE + 0x40, 0xCAFEF00D, 4)
    worker.issue("ldd16v2a32 $a0, $m0++, $m1, $m2@", m0=INDICES, m1=TABLE, m2=0x00400010)
    assert worker.a[0] == 0xCAFEF00D
    assert worker.m[:3] == [INDICES + 4, TABLE, 0x12345678]


def test_sequence_and_the_lower_offset(worker: "Bench") -> None:
    """64 bits go to the upper pair, the datum to the second register, the first one stays."""
    indexed(worker, [0x44444444_33333333], 8)
    worker.write(TABLE + 0x10, 0x22222222, 4)
    registers = {"a0": 1111, "a1": 0, "m0": INDICES, "m1": TABLE, "m2": 0x00430010}
    worker.issue("ld64a32 $a0:3, $m0++, $m1, $m2", **registers)
    assert worker.a[:4] == [1111, 0x22222222, 0x33333333, 0x44444444]
    assert worker.m[:3] == [INDICES + 8, TABLE, 0x00430010]


def test_two_broadcast_halves(worker: "Bench") -> None:
    """Low offset + 2, high offset + twice the lowest mini delta (assumed)."""
    worker.write(TABLE + 0x20, 0xAAAA, 2)
    worker.write(TABLE + 0x18, 0xBBBB, 2)
    text = "ldb16b16 $a0:1, $m0, $m1++, $m2>>"
    worker.issue(text, m0=TABLE, m1=0x00180020, m2=0x876543F5)
    assert worker.a[:2] == [0xAAAAAAAA, 0xBBBBBBBB]
    assert worker.m[:3] == [TABLE, (0x18 + 10) << 16 | 0x22, 0x0876543F]


def test_offsets_of_broadcast_halves_wrap(worker: "Bench") -> None:
    text = "ldb16b16 $a0:1, $m0, $m1++, $m2>>"
    worker.issue(text, m0=TABLE, m1=0xFFF0_FFFE - 0x8000_0000, m2=0xF)
    assert worker.m[1:3] == [(0x7FF0 + 30) << 16 & 0xFFFFFFFF | 0, 0]


@pytest.mark.parametrize(
    "text",
    [
        "ldd16b16 $a0, $m0++, $m1, $m2@",
        "ldd16a32 $a0, $m0++, $m1, $m2@",
        "ldd16a64 $a0:1, $m0++, $m1, $m2@",
        "ldd16v2a32 $a0, $m0++, $m1, $m2@",
        "ld64a32 $a0:3, $m0++, $m1, $m2",
    ],
)
@pytest.mark.parametrize(("one", "other", "clash"), NEIGHBOURS)
def test_conflicts_of_indexed_loads(
    worker: "Bench", text: str, one: int, other: int, clash: bool
) -> None:
    for at, base in ((one, other), (other, one)):
        if clash:
            worker.check_fault(ConflictFault, "same memory", text, m0=at, m1=base, m2=0)
        else:
            worker.issue(text, m0=at, m1=base, m2=0)


IN_REACH = [each for each in NEIGHBOURS if abs(each[0] - each[1]) < 1 << 16]
"""Two offsets of 16 bits from one base."""


@pytest.mark.parametrize(("one", "other", "clash"), IN_REACH)
def test_conflicts_of_two_broadcast_halves(
    worker: "Bench", one: int, other: int, clash: bool
) -> None:
    base = min(one, other)
    offset = max(one, other) - base
    text = "ldb16b16 $a0:1, $m0, $m1++, $m2>>"
    for deltas in (offset, offset << 16):
        if clash:
            worker.check_fault(ConflictFault, "same memory", text, m0=base, m1=deltas, m2=1)
        else:
            worker.issue(text, m0=base, m1=deltas, m2=1)


@pytest.mark.parametrize(
    ("text", "m0", "m2"),
    [
        ("ldd16b16 $a0, $m0++, $m1, $m2@", INDICES, 1),
        ("ldd16b16 $a0, $m0++, $m1, $m2@", INDICES + 1, 0),
        ("ldd16a32 $a0, $m0++, $m1, $m2@", INDICES, 2),
        ("ldd16a64 $a0:1, $m0++, $m1, $m2@", INDICES, 4),
        ("ldd16v2a32 $a0, $m0++, $m1, $m2@", INDICES + 2, 0),
        ("ldd16v2a32 $a0, $m0++, $m1, $m2@", INDICES, 0x20000),
        ("ld64a32 $a0:3, $m0++, $m1, $m2", INDICES + 4, 0),
        ("ld64a32 $a0:3, $m0++, $m1, $m2", INDICES, 2),
    ],
)
def test_misaligned_indexed_loads(worker: "Bench", text: str, m0: int, m2: int) -> None:
    worker.check_fault(AddressFault, "not aligned", text, m0=m0, m1=TABLE, m2=m2)


@pytest.mark.parametrize("deltas", [0x0008_0000 | 1, 0x0001_0000 | 8])
def test_misaligned_broadcast_halves(worker: "Bench", deltas: int) -> None:
    text = "ldb16b16 $a0:1, $m0, $m1++, $m2>>"
    worker.check_fault(AddressFault, "not aligned", text, m0=TABLE, m1=deltas, m2=1)


def test_indexed_loads_outside_memory(worker: "Bench") -> None:
    text = "ldd16a32 $a0, $m0++, $m1, $m2@"
    worker.check_fault(AddressFault, "outside", text, m0=END, m1=TABLE, m2=0)
    worker.check_fault(AddressFault, "outside", text, m0=INDICES, m1=END, m2=0)
    worker.check_fault(AddressFault, "outside", text, m0=INDICES, m1=TABLE, m2=1 << 31)
