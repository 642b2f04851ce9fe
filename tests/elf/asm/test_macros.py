"""Macros and repeated blocks: definitions, arguments, substitution, nesting."""

import struct
from typing import TYPE_CHECKING

import pytest

from tilewright.elf.asm.macros import split_arguments
from tilewright.elf.assembler import AssemblyError, assemble

if TYPE_CHECKING:
    from tests.elf.asm.conftest import Assemble, Faults, OneFault

NOP = 0x19E00000


def longs(assembly: "Assemble", source: str) -> list[int]:
    """The words that the source puts into `.data`, signed."""
    data = assembly(f".data\n{source}\n").data(".data")
    return [value for (value,) in struct.iter_unpack("<i", data)]


# -- arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", []),
        ("   ", []),
        ("a", ["a"]),
        ("a b c", ["a", "b", "c"]),
        ("a,b,c", ["a", "b", "c"]),
        ("a , b ,c", ["a", "b", "c"]),
        ("a b, c", ["a", "b", "c"]),
        ("a\tb", ["a", "b"]),
        ("a,,c", ["a", "", "c"]),
        (",b", ["", "b"]),
        ("a,", ["a", ""]),
        ("(a b) c", ["(a b)", "c"]),
        ("(a, (b, c)) d", ["(a, (b, c))", "d"]),
        ("f(x, y)+1 z", ["f(x, y)+1", "z"]),
        ('"a b, c" d', ['"a b, c"', "d"]),
        (r'"a\" b" d', [r'"a\" b"', "d"]),
        ("a + b c", ["a + b", "c"]),
        ("a +b", ["a", "+b"]),
        ("a+ b", ["a+ b"]),
        ("a -1", ["a", "-1"]),
        ("a - 1", ["a - 1"]),
        ("1 << 2 3", ["1 << 2", "3"]),
        ("$m0 $a2:3 $m4+= 3", ["$m0", "$a2:3", "$m4+=", "3"]),
        ("$m1++ $m2", ["$m1++", "$m2"]),
        ("$m1>> $m2", ["$m1>>", "$m2"]),
        ("$m1@ $m2", ["$m1@", "$m2"]),
        ("a b=3", ["a", "b=3"]),
    ],
)
def test_splitting_of_arguments(text: str, arguments: list[str]) -> None:
    assert split_arguments(text) == arguments


@pytest.mark.parametrize(
    ("header", "call", "values"),
    [
        ("a b", "1 2", [1, 2]),
        ("a, b", "1, 2", [1, 2]),
        (", a, b", "1, 2", [1, 2]),
        ("a b", "1, 2", [1, 2]),
        ("a b=7", "1", [1, 7]),
        ("a=5 b=7", "", [5, 7]),
        ("a=5, b=7", ", 2", [5, 2]),
        ("a=5 b = 7", "3,", [3, 7]),
        ("a=(1 + 2) b=4", "", [3, 4]),
        ('a="1 + 2" b=4', "", [3, 4]),
        ("a b", "b=2 a=1", [1, 2]),
        ("a b", "b=2, 1", [1, 2]),
        ("a b", "b = 2 a = 1", [1, 2]),
        ("a b=9", "a=1", [1, 9]),
        ("a b", "(1 + 2) 4", [3, 4]),
        ("a b", "(1 + 2), 4", [3, 4]),
        ("a b", '"1 + 2" 4', [3, 4]),
        ("a b", "1 + 2, 4", [3, 4]),
        ("a b", "-1 -2", [-1, -2]),
        ("a:req b:req", "1 2", [1, 2]),
    ],
)
def test_values_of_parameters(
    assembly: "Assemble", header: str, call: str, values: list[int]
) -> None:
    macro = f".macro m {header}\n.long \\a, \\b\n.endm\n"
    assert longs(assembly, f"{macro}m {call}") == values


def test_rest_of_the_arguments(assembly: "Assemble") -> None:
    macro = ".macro m first rest:vararg\n.long \\first\n.long \\rest\n.endm\n"
    assert longs(assembly, macro + "m 1, 2, 3 + 4") == [1, 2, 7]
    assert longs(assembly, macro + "m 1 2, 3") == [1, 2, 3]
    code = ".macro m rest:vararg\n\\rest\n.endm\nm add $m1, $m2, 3"
    assert assembly(code).words() == [0x22210003]
    empty = ".macro m rest:vararg\n.ifnb \\rest\n.long \\rest\n.endif\n.endm\n"
    assert longs(assembly, empty + "m\nm 5") == [5]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (".macro m a:req\n.endm\n«m»", "needs the argument 'a'"),
        (".macro m a b:req\n.endm\n«m» 1", "needs the argument 'b'"),
        (".macro m a\n.endm\n«m» 1 2", "takes 1 argument"),
        ("«.macro»\n.endm", "needs a name"),
        (".macro m a «a»\n.endm", "there twice"),
        (".macro «m a:vararg b»\n.endm", "only the last parameter"),
        (".macro m a «(»\n.endm", "name of a parameter"),
        ("nop\n«.macro» m\nnop", ".macro without .endm"),
        ("«.rept» 3\nnop", ".rept without .endr"),
        ("«.irp» x, 1\nnop", ".irp without .endr"),
        (".rept «-1»\n.endr", "0 to"),
        (".rept «1 << 30»\n.endr", "0 to"),
        (".rept «x»\n.endr\n.set x, 3", "known here"),
        ("«.rept»\n.endr", "expected"),
        ("«.irp»\n.endr", "needs the name of a parameter"),
        (".irp «3, 4»\n.endr", "needs the name of a parameter"),
    ],
)
def test_fault(one_fault: "OneFault", source: str, message: str) -> None:
    one_fault(source, message)


# -- substitution ---------------------------------------------------------------------------------


def test_parameters_are_replaced_everywhere(assembly: "Assemble") -> None:
    source = r"""
    .macro op name d s end
    \name\()_x: \name \d, $m\s, \end
    .endm
    .data
    .long add_x
    .text
    op add $m1 2 3
    """
    made = assembly(source)
    assert made.words() == [0x22210003]
    assert made.symbol("add_x").value == 0


def test_empty_parentheses_end_a_name(assembly: "Assemble") -> None:
    macro = ".set xb, 40\n.macro m a ab\n.long \\a\\()b, \\ab, \\ab\\()0\n.endm\n"
    assert longs(assembly, macro + "m x 7") == [40, 7, 70]


def test_dots_and_dollars_end_a_parameter(assembly: "Assemble") -> None:
    made = assembly(".macro m a\n\\a.x: nop\n\\a$y: nop\nend_\\a: nop\n.endm\nm f")
    assert made.names() == ["f.x", "f$y", "end_f"]


def test_unknown_parameters_stay(faults: "Faults") -> None:
    (fault,) = faults(".macro m a\n.long \\b\n.endm\nm 1")
    assert fault.line == 2


def test_counter_makes_labels_unique(assembly: "Assemble") -> None:
    source = ".macro m\nl\\@: nop\nbri l\\@\n.endm\nm\nm\nm\n"
    made = assembly(source)
    assert len(set(made.names())) == 3
    assert [(offset, made.symbol(name).value) for offset, _, name, _ in made.relocations()] == [
        (4, 0),
        (12, 8),
        (20, 16),
    ]


def test_counter_is_one_number_in_an_expansion(assembly: "Assemble") -> None:
    source = """
    .macro inner
    .long \\@
    .endm
    .macro outer
    .long \\@
    inner
    .long \\@
    .endm
    outer
    """
    first, inner, last = longs(assembly, source)
    assert first == last != inner


def test_macros_may_use_macros(assembly: "Assemble") -> None:
    source = """
    .macro inner a b
    .long \\a, \\b
    .endm
    .macro outer a b
    inner \\b \\a
    inner (\\a + 1), \\b
    .endm
    outer 1 2
    """
    assert longs(assembly, source) == [2, 1, 2, 2]


def test_macros_may_define_macros(assembly: "Assemble") -> None:
    source = """
    .macro make name value
    .macro \\name extra
    .long \\value + \\extra
    .endm
    .endm
    make one 1
    make two 2
    one 10
    two 20
    """
    assert longs(assembly, source) == [11, 22]


def test_recursion_that_ends(assembly: "Assemble") -> None:
    source = """
    .macro count n
    .if \\n
    .long \\n
    count (\\n - 1)
    .endif
    .endm
    count 15
    """
    assert longs(assembly, source) == list(range(15, 0, -1))


def test_recursion_that_does_not_end(faults: "Faults") -> None:
    (fault,) = faults(".macro m\nnop\nm\n.endm\nm\n")
    assert (fault.line, fault.first, fault.last) == (3, 1, 1)
    assert "nested" in fault.message


def test_recursion_that_branches_without_end(faults: "Faults") -> None:
    (fault,) = faults(".macro m\nm\nm\n.endm\nm\n")
    assert "nested" in fault.message


def test_message_of_an_endless_recursion_fits_a_screen() -> None:
    with pytest.raises(AssemblyError) as caught:
        assemble(".macro m\nm\n.endm\nm\n")
    assert len(str(caught.value).splitlines()) < 25


def test_redefinition_counts_from_there_on(assembly: "Assemble") -> None:
    source = """
    .macro m
    .long 1
    .endm
    m
    .macro m
    .long 2
    .endm
    m
    .purgem m
    .macro m a
    .long \\a
    .endm
    m 3
    """
    assert longs(assembly, source) == [1, 2, 3]


def test_purged_macros_are_gone(one_fault: "OneFault") -> None:
    one_fault(".macro m\nnop\n.endm\n.purgem m\n«m»", "unknown instruction 'm'")


def test_macro_named_like_an_instruction_or_directive(assembly: "Assemble") -> None:
    source = ".macro add a\n.long \\a\n.endm\n.macro .mine a\n.long \\a\n.endm\nadd 5\n.mine 6"
    assert longs(assembly, source) == [5, 6]


def test_body_is_read_only_when_used(assembly: "Assemble") -> None:
    assert assembly(".macro m\nbogus } {\n.error\n.endm\nnop\n").words() == [NOP]


def test_sets_inside_macros_last(assembly: "Assemble") -> None:
    source = ".set n, 0\n.macro m\n.set n, n + 1\n.endm\nm\nm\nm\n.long n"
    assert longs(assembly, source) == [3]


def test_exit_from_a_macro(assembly: "Assemble") -> None:
    source = """
    .macro m a
    .long 1
    .if \\a
    .long 2
    .exitm
    .endif
    .long 3
    .endm
    m 1
    m 0
    .long 4
    """
    assert longs(assembly, source) == [1, 2, 1, 3, 4]


def test_exit_from_an_inner_macro_leaves_the_outer_one(assembly: "Assemble") -> None:
    source = """
    .macro inner
    .long 1
    .exitm
    .long 2
    .endm
    .macro outer
    inner
    .long 3
    .endm
    outer
    """
    assert longs(assembly, source) == [1, 3]


def test_exit_from_a_repetition_ends_it(assembly: "Assemble") -> None:
    source = ".set n, 0\n.rept 5\n.set n, n + 1\n.long n\n.if n == 2\n.exitm\n.endif\n.endr"
    assert longs(assembly, source) == [1, 2]


def test_conditionals_must_close_in_the_macro(one_fault: "OneFault") -> None:
    one_fault(".macro m\n«.if» 1\n.endm\nm\nnop", ".if without .endif")


def test_bundles_from_macros(assembly: "Assemble") -> None:
    source = """
    .macro both main:vararg
    { \\main ; fnop }
    .endm
    .macro half
    nop
    .endm
    both add $m1, $m2, 3
    { half
      fnop }
    """
    assert assembly(source).words() == [0xA2210003, 0x9AD00000, 0x99E00000, 0x9AD00000]


# -- statements on one line -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        ".rept 3; nop; .endr",
        ".rept 3; nop\n.endr",
        ".rept 3\nnop; .endr",
        ".macro m; nop; .endm; m; m; m",
        ".macro m\nnop; nop\n.endm; m\nnop",
        ".irp x, 1, 2, 3; nop; .endr",
        "nop; .rept 2; nop; .endr",
        "here: .rept 3\nnop\n.endr",
        ".rept 1; .rept 3; nop; .endr; .endr",
        ".rept 2; nop; .endr; nop",
    ],
)
def test_blocks_on_one_line(assembly: "Assemble", source: str) -> None:
    assert assembly(source).words() == [NOP] * 3


# -- repetitions ----------------------------------------------------------------------------------


def test_repetitions(assembly: "Assemble") -> None:
    assert longs(assembly, ".rept 3\n.long 7\n.endr") == [7, 7, 7]
    assert longs(assembly, ".rept 0\n.long 7\n.endr") == []
    assert longs(assembly, ".set n, 2\n.rept n * 2\n.long n\n.set n, n + 1\n.endr") == [2, 3, 4, 5]
    assert longs(assembly, ".irp x, 1, 2, 3\n.long \\x\n.endr") == [1, 2, 3]
    assert longs(assembly, ".irp x 1 2 3\n.long \\x\n.endr") == [1, 2, 3]
    assert longs(assembly, ".irp x, (1 + 2), 4\n.long \\x * 2\n.endr") == [6, 8]
    assert longs(assembly, ".irpc x, 123\n.long 1\\x\n.endr") == [11, 12, 13]
    assert longs(assembly, '.irpc x, "12"\n.long 1\\x\n.endr') == [11, 12]


def test_registers_by_repetition(assembly: "Assemble") -> None:
    made = assembly(".irp r, 4, 5, 6\nsetzi $m\\r, \\r\n.endr")
    assert made.words() == [0x19400004, 0x19500005, 0x19600006]


def test_repetitions_may_be_nested(assembly: "Assemble") -> None:
    source = """
    .irp x, 10, 20
    .irp y, 1, 2
    .long \\x + \\y
    .endr
    .rept 1
    .long 0
    .endr
    .endr
    """
    assert longs(assembly, source) == [11, 12, 0, 21, 22, 0]


def test_repetition_in_a_macro(assembly: "Assemble") -> None:
    source = ".macro m n\n.rept \\n\n.long \\n\n.endr\n.endm\nm 2\nm 3"
    assert longs(assembly, source) == [2, 2, 3, 3, 3]


def test_macro_in_a_repetition(assembly: "Assemble") -> None:
    source = ".macro m n\n.long \\n\n.endm\n.irp x, 4, 5\nm \\x\n.endr"
    assert longs(assembly, source) == [4, 5]


def test_blocks_in_false_branches_do_not_count(assembly: "Assemble") -> None:
    source = ".if 0\n.macro m\n.long 1\n.endm\n.rept 4\n.long 2\n.endr\n.endif\n.long 3"
    assert longs(assembly, source) == [3]


# -- where faults are shown -----------------------------------------------------------------------


def test_fault_in_a_body_is_reported_once(faults: "Faults") -> None:
    (fault,) = faults(".macro m\nfrob $m0\n.endm\nm\nm\nm\n")
    assert (fault.line, fault.first) == (2, 1)


def test_faults_that_depend_on_arguments_are_all_reported(faults: "Faults") -> None:
    found = faults(".macro m a\nadd $m0, $m0, \\a\n.endm\nm 70000\nm 80000\nm 1\n")
    assert ["70000" in each.message or "80000" in each.message for each in found] == [True, True]


def test_chain_of_expansions_is_shown() -> None:
    source = ".macro inner x\nfrob \\x\n.endm\n.macro outer\nnop\ninner 3\n.endm\nnop\nouter\n"
    with pytest.raises(AssemblyError) as caught:
        assemble(source, "kernel.s")
    assert str(caught.value).splitlines() == [
        "kernel.s:2:1: error: unknown instruction 'frob'",
        "    2 | frob 3",
        "      | ^~~~",
        "      (the line after macro expansion)",
        "  in macro 'inner', used at kernel.s:6",
        "  in macro 'outer', used at kernel.s:9",
        "1 error",
    ]


def test_chain_of_repetitions_is_shown() -> None:
    with pytest.raises(AssemblyError) as caught:
        assemble("nop\n.rept 2\nfrob $m0\n.endr\n", "kernel.s")
    assert "  in .rept at kernel.s:2" in str(caught.value).splitlines()
