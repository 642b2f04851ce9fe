"""Integer instructions and bit operations, against Python's integers of any size."""

import itertools
import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tilewright.isa import FORMS

if TYPE_CHECKING:
    from tests.isa.meaning.conftest import Bench

WORD = 1 << 32
SIGN = 1 << 31
BOUNDARIES = [
    *(0, 1, 2, 3, 31, 32, 33, 63, 64, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000),
    *(0x12345678, 0x55555555, 0xAAAAAAAA, SIGN - 1, SIGN, SIGN + 1, 0xFFFF8000, WORD - 2, WORD - 1),
]
_RANDOM = random.Random(21)
OPERANDS = BOUNDARIES + [_RANDOM.getrandbits(32) for _ in range(8)]


def signed(word: int) -> int:
    return word - WORD if word >= SIGN else word


def leading(word: int, bit: str) -> int:
    """How many of the highest bits are `bit`."""
    text = f"{word:032b}"
    return len(text) - len(text.lstrip(bit))


def shifted_right(word: int, amount: int) -> int:
    return signed(word) // (1 << amount)


def reversed_bytes(word: int) -> int:
    return int.from_bytes(int(f"{byte:08b}"[::-1], 2) for byte in word.to_bytes(4, "big"))


TWO_OPERANDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "max": lambda a, b: max(signed(a), signed(b)),
    "min": lambda a, b: min(signed(a), signed(b)),
    "cmpeq": lambda a, b: int(a == b),
    "cmpne": lambda a, b: int(a != b),
    "cmpslt": lambda a, b: int(signed(a) < signed(b)),
    "cmpult": lambda a, b: int(a < b),
    "and": lambda a, b: a & b,
    "andc": lambda a, b: a & (WORD - 1 - b),
    "or": lambda a, b: a | b,
    "xor": lambda a, b: (a | b) - (a & b),
    "xnor": lambda a, b: WORD - 1 - ((a | b) - (a & b)),
    "shl": lambda a, b: a * 2**b if b < 64 else 0,
    "shr": lambda a, b: a // 2**b if b < 64 else 0,
    "shrs": lambda a, b: shifted_right(a, min(b, 64)),
}
ONE_OPERAND: dict[str, Callable[[int], int]] = {
    "abs": lambda a: abs(signed(a)),
    "clz": lambda a: leading(a, "0"),
    "cms": lambda a: leading(a, "1" if a >= SIGN else "0") - 1,
    "popc": lambda a: bin(a).count("1"),
    "bitrev8": reversed_bytes,
    "not": lambda a: WORD - 1 - a,
}
WIDE_OPERATIONS = ("and64", "andc64", "or64", "not64")


def forms_of(*mnemonics: str) -> list[str]:
    return [form.name for form in FORMS if form.mnemonic in mnemonics]


def immediates(kind: str) -> list[int]:
    """Boundary values of an immediate operand such as `s16`, `u12<<20`."""
    width, _, shift = kind[1:].partition("<<")
    bits = int(width)
    if kind[0] == "s":
        return [0, 1, -1, 7, -2, (1 << (bits - 1)) - 1, -1 << (bits - 1)]
    plain = {0, 1, 5, 31, 32, 33, 1 << (bits - 1), (1 << (bits - 1)) - 1, (1 << bits) - 1}
    return [number << int(shift or 0) for number in sorted(plain)]


def choices(form: str) -> list[tuple[list[int], list[int]]]:
    """(operands of the instruction without the destination, their values) to try.

    Registers 0 and 1 of the file hold the sources.
    """
    kinds = form.split(" ")[1].split(",")[1:]
    per_operand = [
        [(place, value) for value in OPERANDS]
        if kind in ("m", "a")
        else [(value, value) for value in immediates(kind)]
        for place, kind in enumerate(kinds)
    ]
    return [
        ([given for given, _ in each], [value % WORD for _, value in each])
        for each in itertools.product(*per_operand)
    ]


@pytest.mark.parametrize("form", forms_of(*TWO_OPERANDS, *ONE_OPERAND))
def test_against_python(worker: "Bench", form: str) -> None:
    mnemonic, kinds = form.split(" ")
    file = kinds[0]
    expected: Callable[..., int] = (TWO_OPERANDS | ONE_OPERAND)[mnemonic]
    for operands, values in choices(form):
        sources = {f"{file}{place}": value for place, value in enumerate(values) if place < 2}
        worker.issue_form(form, [2, *operands], **sources)
        assert int(worker.state[file][2]) == expected(*values) % WORD, (form, values)


def test_every_integer_form_is_compared() -> None:
    """The table's forms on $m registers that neither touch memory nor control nor permute."""
    mnemonics = {*TWO_OPERANDS, *ONE_OPERAND, *WIDE_OPERATIONS, "setzi", "movz", "atom"}
    integer_like = {
        form.mnemonic
        for form in FORMS
        if form.base >> 24 in (0x42, 0x44, 0x19, 0x1A, *range(0x20, 0x40)) and form.operands
    }
    permutes = {name for name in integer_like if name.startswith(("sort", "shuf", "roll", "swap"))}
    assert integer_like - permutes <= mnemonics


@pytest.mark.parametrize("mnemonic", ["add", "sub", "mul", "max", "min", "cmpeq", "shl", "or"])
def test_supervisors_compute_the_same(supervisor: "Bench", mnemonic: str) -> None:
    for a, b in itertools.product(BOUNDARIES[::2], BOUNDARIES[1::2]):
        supervisor.issue(f"{mnemonic} $m2, $m0, $m1", m0=a, m1=b)
        assert supervisor.m[2] == TWO_OPERANDS[mnemonic](a, b) % WORD


@pytest.mark.parametrize("mnemonic", WIDE_OPERATIONS)
def test_bit_operations_on_pairs(worker: "Bench", mnemonic: str) -> None:
    operands = {
        "and64": lambda a, b: a & b,
        "andc64": lambda a, b: a & ~b,
        "or64": lambda a, b: a | b,
        "not64": lambda a, b: ~a,
    }
    a, b = 0xFFFF0000_0F0F3355, 0x12345678_9ABCDEF0
    sources = "$a0:1" if mnemonic == "not64" else "$a0:1, $a2:3"
    worker.issue(
        f"{mnemonic} $a4:5, {sources}",
        a0=a & (WORD - 1),
        a1=a >> 32,
        a2=b & (WORD - 1),
        a3=b >> 32,
    )
    assert worker.group(4, 2) == operands[mnemonic](a, b) % (1 << 64)
    assert worker.group(0, 2) == a


@pytest.mark.parametrize(
    ("value", "copies"), [(0, 31), (WORD - 1, 31), (1, 30), (0x40000000, 0), (SIGN, 0)]
)
def test_published_vectors_of_cms(either: "Bench", value: int, copies: int) -> None:
    either.issue("cms $m0, $m1", m1=value)
    assert either.m[0] == copies


@pytest.mark.parametrize(
    ("text", "m1", "result"),
    [
        # The explicit spellings pick between immediates of equal bits.
        ("adds $m0, $m1, -1", 5, 4),
        ("addz $m0, $m1, 65535", 5, 65540),
        ("subs $m0, -1, $m1", 5, WORD - 6),
        ("subz $m0, 65535, $m1", 5, 65530),
        ("cmpeqs $m0, $m1, -1", WORD - 1, 1),
        ("cmpeqz $m0, $m1, 65535", 65535, 1),
        ("cmpeqz $m0, $m1, 65535", WORD - 1, 0),
        ("maxs $m0, $m1, -1", WORD - 7, WORD - 1),
        ("maxz $m0, $m1, 65535", WORD - 7, 65535),
        ("mins $m0, $m1, -1", 3, WORD - 1),
        ("minz $m0, $m1, 65535", 0x7FFFFFFF, 65535),
        ("minz $m0, $m1, 65535", WORD - 7, WORD - 7),
        # Subtracting a constant adds its negative.
        ("sub $m0, $m1, 3", 1, WORD - 2),
        ("sub $m0, $m1, -32767", 1, 32768),
        ("or $m0, $m1, 0xabc00000", 0x00012345, 0xABC12345),
        ("mov $m0, $m1", 0x89ABCDEF, 0x89ABCDEF),
        ("setzi $m0, 0xfffff", 0, 0xFFFFF),
        ("shl $m0, $m1, 4095", WORD - 1, 0),
        ("shr $m0, $m1, 32", WORD - 1, 0),
        ("shrs $m0, $m1, 32", SIGN, WORD - 1),
        ("abs $m0, $m1", SIGN, SIGN),
    ],
)
def test_spellings_and_worked_cases(either: "Bench", text: str, m1: int, result: int) -> None:
    either.issue(text, m0=0xDEADBEEF, m1=m1)
    assert either.m[0] == result


@pytest.mark.parametrize("spelling", ["movz", "movnz"])
@pytest.mark.parametrize("condition", [0, 1, SIGN, WORD - 1])
def test_conditional_move(either: "Bench", spelling: str, condition: int) -> None:
    """One word with two names: the destination changes if the condition is not 0."""
    either.issue(f"{spelling} $m0, $m1, $m2", m0=11, m1=condition, m2=22)
    assert either.m[0] == (22 if condition else 11)


@pytest.mark.parametrize("number", [0, 1, 0x7FFFF, 0x80000, 0xFFFFF])
def test_setzi(worker: "Bench", number: int) -> None:
    worker.issue(f"{{ setzi $m3, {number} ; setzi $a4, {0xFFFFF - number} }}", m3=-1, a4=-1)
    assert worker.m[3] == number
    assert worker.a[4] == 0xFFFFF - number


def test_copies_between_the_register_files_and_pairs(worker: "Bench") -> None:
    worker.set(a0=0x11111111, a1=0x22222222, a2=0x33333333)
    worker.issue("atom $m0, $a1")
    worker.issue("mov $m1, $a2")
    worker.issue("mov $a4:5, $a0:1")
    worker.issue("mov $a6, $a2")
    worker.issue("zero $a0")
    assert worker.m[:2] == [0x22222222, 0x33333333]
    assert worker.a == [0, 0x22222222, 0x33333333, 0, 0x11111111, 0x22222222, 0x33333333, 0]


@pytest.mark.parametrize(
    ("text", "a1", "result"),
    [
        ("and $a0, $a1, 0xfff", 0x12345678, 0x678),
        ("and $a0, $a1, 0xfff00000", 0x12345678, 0x12300000),
        ("andc $a0, $a1, 0xfff", 0x12345678, 0x12345000),
        ("andc $a0, $a1, 0x80000000", 0xC0000001, 0x40000001),
        ("or $a0, $a1, 0x00f", 0x12345670, 0x1234567F),
        ("or $a0, $a1, 0x80000000", 0x00000001, 0x80000001),
        ("not $a0, $a1", 0x00FF00FF, 0xFF00FF00),
    ],
)
def test_constants_of_bit_operations(worker: "Bench", text: str, a1: int, result: int) -> None:
    worker.issue(text, a0=-1, a1=a1)
    assert worker.a[0] == result


def test_reads_come_before_the_write(either: "Bench") -> None:
    either.issue("sub $m1, $m0, $m1", m0=10, m1=3)
    assert either.m[1] == 7
    either.issue("mul $m1, $m1, $m1")
    assert either.m[1] == 49


@pytest.mark.parametrize("destination", ["$m12", "$m13", "$m14", "$m15"])
def test_writes_to_read_only_registers_vanish(either: "Bench", destination: str) -> None:
    before = either.tile.copy()
    either.issue(f"add {destination}, $m0, 5")
    before_pc = int(either.state["pc"])
    either.state["pc"] = 0
    assert before_pc == 0x4C104
    assert either.tile == before


def test_zero_registers_read_zero(worker: "Bench") -> None:
    for number in (14, 15):
        worker.issue(f"add $m0, $m{number}, 7", m0=99)
        assert worker.m[0] == 7
    for number in range(8, 16):
        worker.issue(f"atom $m0, $a{number}", m0=99)
        assert worker.m[0] == 0


def test_worker_sees_its_bases_and_the_supervisor_zeros(
    worker: "Bench", supervisor: "Bench"
) -> None:
    worker.state["worker_base"], worker.state["vertex_base"] = 0x58000, 0x59000
    worker.issue("add $m0, $m12, 1")
    worker.issue("add $m1, $mvertex_base, 2")
    assert worker.m[:2] == [0x58001, 0x59002]
    supervisor.issue("or $m0, $m12, $m13", m0=99)
    assert supervisor.m[0] == 0
