"""Expressions: their grammar, their arithmetic, and what happens to addresses in them."""

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tilewright.elf.assembler import AssemblyError, assemble
from tilewright.elf.relocations import RelocationType

if TYPE_CHECKING:
    from tests.elf.asm.conftest import Assemble, Faults, OneFault

M64 = (1 << 64) - 1


def values_of(assembly: "Assemble", *expressions: str) -> list[int]:
    """The expressions as unsigned 64-bit numbers."""
    data = assembly("\n".join(f".quad {each}" for each in expressions)).data()
    return [value for (value,) in struct.iter_unpack("<Q", data)]


LEVELS = (
    ("||",),
    ("&&",),
    ("==", "!=", "<>", "<", "<=", ">", ">="),
    ("+", "-"),
    ("|", "^", "&", "!"),
    ("*", "/", "%", "<<", ">>"),
)
"""Binary operators from the loosest to the tightest."""
LEVEL = {operator: level for level, operators in enumerate(LEVELS) for operator in operators}

BY_HAND = {
    "1 + 2 * 3": 7,
    "2 * 3 + 1": 7,
    "1 << 2 + 1": 5,
    "2 + 1 << 3": 10,
    "6 & 3 + 1": 3,
    "1 + 6 & 3": 3,
    "1 + 2 | 4": 7,
    "8 - 1 ^ 3": 6,
    "1 | 2 * 4": 9,
    "3 ^ 1 << 1": 1,
    "7 & 1 << 1": 2,
    "16 >> 2 * 2": 8,
    "2 * 3 << 1": 12,
    "7 % 4 * 2": 6,
    "7 - 4 - 1": 2,
    "100 / 10 / 5": 2,
    "1 == 1 + 0": -1,
    "2 + 3 == 5 && 1": 1,
    "1 && 0 || 1": 1,
    "1 || 1 && 0": 1,
    "0 || 0": 0,
    "2 || 0": 1,
    "5 && 6": 1,
    "3 < 4": -1,
    "4 <= 3": 0,
    "4 >= 4": -1,
    "4 > 4": 0,
    "4 <> 5": -1,
    "4 != 4": 0,
    "5 ! 3": -3,  # or with the complement
    "5 ^ 3": 6,
    "-2 * 3": -6,
    "~0 & 0xf": 15,
    "!0 + 1": 2,
    "!5": 0,
    "- -3": 3,
    "-~3": 4,
    "+7": 7,
    "(1 + 2) * 3": 9,
    "((4))": 4,
    "-(1 + 2)": -3,
}


@pytest.mark.parametrize("expression", BY_HAND)
def test_value_by_hand(assembly: "Assemble", expression: str) -> None:
    assert values_of(assembly, expression) == [BY_HAND[expression] & M64]


def test_every_pair_of_operators_binds_by_level_and_from_the_left(assembly: "Assemble") -> None:
    pairs = [(first, second) for first in LEVEL for second in LEVEL]
    plain = [f"13 {first} 6 {second} 2" for first, second in pairs]
    grouped = [
        f"13 {first} (6 {second} 2)"
        if LEVEL[second] > LEVEL[first]
        else f"(13 {first} 6) {second} 2"
        for first, second in pairs
    ]
    found = dict(zip(plain, values_of(assembly, *plain), strict=True))
    assert found == dict(zip(plain, values_of(assembly, *grouped), strict=True))


def test_numbers(assembly: "Assemble") -> None:
    found = values_of(
        assembly, "10", "0x1F", "0XfF", "017", "0b1011", "0B1", "0", "00", "0xffffffffffffffff"
    )
    assert found == [10, 31, 255, 15, 11, 1, 0, 0, M64]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (".long «08»", "not a number"),
        (".long «0x1_0»", "not a number"),
        (".long «12ab»", "not a number"),
        (".long 3 + «0b12»", "not a number"),
        (".quad «0x10000000000000000»", "does not fit 64 bits"),
        (".long 1 + «?»", "unexpected '?'"),
        (".long «(»1 + 2", "not closed"),
        (".long 1 + 2«)»", "unexpected ')'"),
        (".long 1 «2»", "unexpected '2'"),
        (".long 1 * «*» 2", "expected a value, found '*'"),
        (".long «-»", "expected a value"),
        (".long 1 «/» 0", "division by zero"),
        (".long 1 «%» (3 - 3)", "division by zero"),
        (".long 1 «<<» -1", "shift by a negative number"),
        (".long 1 «>>» -1", "shift by a negative number"),
        (".long «'»a'", "unexpected"),
        (".long 1,« », 2", "expected an expression"),
    ],
)
def test_fault(one_fault: "OneFault", source: str, message: str) -> None:
    one_fault(source, message)


def test_division_truncates_and_the_rest_has_the_sign_of_the_dividend(
    assembly: "Assemble",
) -> None:
    expected = {
        "7 / 2": 3,
        "-7 / 2": -3,
        "7 / -2": -3,
        "-7 / -2": 3,
        "7 % 2": 1,
        "-7 % 2": -1,
        "7 % -2": 1,
        "-7 % -2": -1,
    }
    assert values_of(assembly, *expected) == [value & M64 for value in expected.values()]


def test_arithmetic_wraps_at_64_bits(assembly: "Assemble") -> None:
    expected = {
        "0xffffffffffffffff + 1": 0,
        "0x7fffffffffffffff + 1": 1 << 63,
        "-0x8000000000000000 - 1": (1 << 63) - 1,
        "0x100000000 * 0x100000000": 0,
        "1 << 63": 1 << 63,
        "1 << 64": 0,
        "3 << 63": 1 << 63,
        "1 << 0x100000": 0,
        "~0": M64,
        "-1": M64,
        "1 >> 64": 0,
    }
    assert values_of(assembly, *expected) == list(expected.values())


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "&": lambda left, right: left & right,
    "|": lambda left, right: left | right,
    "^": lambda left, right: left ^ right,
}
Tree = int | tuple["Tree", str, "Tree"]
trees: st.SearchStrategy[Tree] = st.recursive(
    st.integers(0, M64),
    lambda inner: st.tuples(inner, st.sampled_from(sorted(OPERATIONS)), inner),
    max_leaves=12,
)


def text_of(tree: Tree) -> str:
    if isinstance(tree, int):
        return hex(tree)
    left, operator, right = tree
    return f"({text_of(left)} {operator} {text_of(right)})"


def value_of(tree: Tree) -> int:
    """Modulo 2**64, where these operators are homomorphisms."""
    if isinstance(tree, int):
        return tree
    left, operator, right = tree
    return OPERATIONS[operator](value_of(left), value_of(right)) & M64


@given(st.lists(trees, min_size=1, max_size=10))
@examples(60)
def test_ring_operators_agree_with_python(assembly: "Assemble", some: list[Tree]) -> None:
    assert values_of(assembly, *map(text_of, some)) == list(map(value_of, some))


def growing_variable(steps: int) -> str:
    """A variable whose start is known at the end only."""
    return f".set n, start\n.rept {steps}\n.set n, n + 1\n.endr\n.quad n\n.set start, 5\n"


def test_long_expressions(assembly: "Assemble") -> None:
    assert values_of(assembly, " + ".join(["1"] * 200)) == [200]
    assert assembly(growing_variable(100)).data() == (105).to_bytes(8, "little")


@pytest.mark.parametrize(
    "source",
    [
        ".quad " + "+".join(["1"] * 5000),
        ".quad " + "(" * 5000 + "1" + ")" * 5000,
        ".quad " + "-" * 5000 + "1",
        growing_variable(5000),
        "".join(f".set a{each}, a{each + 1} + 1\n" for each in range(2000)) + ".set a2000, 1\n",
    ],
    ids=["sum", "parentheses", "signs", "growing variable", "chain of variables"],
)
def test_endless_expressions_are_values_or_faults(source: str) -> None:
    message = ""
    try:
        assemble(source)
    except AssemblyError as error:
        message = str(error)
    assert message == "" or "nested too deeply" in message


HALVES = {
    "1.0h": 0x3C00,
    "1.0009765625h": 0x3C01,
    "-2.0h": 0xC000,
    "65504h": 0x7BFF,
    "65504.0h": 0x7BFF,
    "6.10352e-5h": 0x0400,
    "6.09756e-5h": 0x03FF,
    "5.96046e-8h": 0x0001,
    "0.0h": 0x0000,
    "-0.0h": 0x8000,
    "infh": 0x7C00,
    "-infh": 0xFC00,
    "0.333251953125h": 0x3555,
    "+1.5h": 0x3E00,
    ".5h": 0x3800,
    "2h": 0x4000,
    "2.h": 0x4000,
    "1e1h": 0x4900,
    "1E+1h": 0x4900,
    # Ties go to even; past the largest finite value and half a step there is infinity.
    "2049h": 0x6800,
    "2051h": 0x6802,
    "65519.9h": 0x7BFF,
    "65520h": 0x7C00,
    "2.98023223876953125e-8h": 0x0000,
    "2.98023223876953126e-8h": 0x0001,
    "1e-400h": 0x0000,
    "1e999999h": 0x7C00,
}


@pytest.mark.parametrize("literal", HALVES)
def test_half_literal(assembly: "Assemble", literal: str) -> None:
    assert assembly(f".half {literal}").data() == HALVES[literal].to_bytes(2, "little")
    assert assembly(f"setzi $a3, {literal}").words() == [0x1A300000 | HALVES[literal]]


@pytest.mark.parametrize(
    ("literal", "bits"),
    [
        (f"1e{'1' * 5000}h", 0x7C00),
        (f"1e-{'1' * 5000}h", 0x0000),
        (f"1e-{'0' * 5000}1h", 0x2E66),
        (f"{'1' * 900}h", 0x7C00),
        (f"0.{'1' * 900}h", 0x2F1C),
        (f"0.{'0' * 900}1e901h", 0x3C00),
        (f"1{'0' * 900}e-900h", 0x3C00),
    ],
    ids=range(7),
)
def test_long_half_literals(assembly: "Assemble", literal: str, bits: int) -> None:
    assert assembly(f".half {literal}").data() == bits.to_bytes(2, "little")


def test_half_literals_without_end_are_faults(one_fault: "OneFault") -> None:
    one_fault(f".half 1, «{'1' * 5000}h»", "too many digits")
    one_fault(f".half «0.{'1' * 5000}h»", "too many digits")


def test_half_literals_are_patterns_not_numbers(assembly: "Assemble") -> None:
    assert assembly(".long 1.0h, -1.0h, (1.0h << 16) | 2.0h").words() == [
        0x3C00,
        0xBC00,
        0x3C004000,
    ]


@pytest.mark.parametrize("section", [".text", ".data", ".comment", ".debug_own", ".bss.x"])
def test_differences_of_labels_are_numbers(assembly: "Assemble", section: str) -> None:
    source = f"""
    .data
    .long last - first, first - last, last - first + 100, (last - first) * 2, mid - first
    .section {section}
    first: .space 4
    mid: .space 8
    last:
    .data
    .long last - first, last - mid
    """
    made = assembly(source)
    words = made.words(".data")
    count = 7
    assert words[: count - 2][:5] == [12, 2**32 - 12, 112, 24, 4]
    assert words[-2:] == [12, 8]
    assert made.relocations(".data") == []


def test_comparisons_of_places_in_one_section(assembly: "Assemble") -> None:
    source = "a: .space 4\nb:\n.data\n.long a < b, a > b, a == b, a != b, b >= a, b == a + 4\n"
    truth = 0xFFFFFFFF
    assert assembly(source).words(".data") == [truth, 0, 0, truth, truth, truth]


def test_location_counter(assembly: "Assemble") -> None:
    source = ".data\n.long . - start, 7\nstart: .long . - start, . - start\n.long . - start\n"
    # `.` is the place of the value that is about to be written.
    assert assembly(source).words(".data") == [2**32 - 8, 7, 0, 4, 8]


def test_address_arithmetic_becomes_an_addend(assembly: "Assemble") -> None:
    source = """
    .data
    .long sym, sym + 4, 4 + sym, sym - 4, sym + 2 * 3 - 1, (sym), sym + (b - a), sym - (b - a)
    a: .long 0
    b:
    """
    addends = [0, 4, 4, -4, 5, 0, 4, -4]
    assert assembly(source).relocations(".data") == [
        (4 * place, RelocationType.ABS_32, "sym", addend) for place, addend in enumerate(addends)
    ]


def test_difference_of_one_external_symbol_is_a_number(assembly: "Assemble") -> None:
    made = assembly(".data\n.long sym + 12 - sym\n")
    assert made.words(".data") == [12]
    assert made.relocations(".data") == []


@pytest.mark.parametrize(
    "expression",
    ["one - two", "-one", "one * 2", "one + two", "~one", "one << 1", "one && 1", "here - there"],
)
def test_what_is_no_symbol_plus_number_is_refused(faults: "Faults", expression: str) -> None:
    source = f".data\n.long {expression}\nhere: .section .other\nthere:\n"
    (fault,) = faults(source)
    assert fault.line == 2
    assert fault.first >= 7


def test_unparenthesised_expressions_that_c_reads_otherwise_warn(
    one_warning: "OneFault", warnings: "Faults"
) -> None:
    one_warning(".long «1 << 2 + 1», 3", "C would read this otherwise")
    one_warning("add $m0, $m0, «6 & 3 + 1»", "C would read this otherwise")
    assert warnings(".long (1 << 2) + 1, 1 + 2 * 3, 1 + (2 << 1), (6 & 3) == 2") == []
