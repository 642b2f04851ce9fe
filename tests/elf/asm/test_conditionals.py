"""Conditional assembly."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.elf.asm.conftest import Assemble, OneFault

DEFINITIONS = "defined = 5\nzero = 0\nlabel: .long 99\n"


def taken(assembly: "Assemble", source: str) -> list[int]:
    """The words of the branches that counted."""
    return assembly(DEFINITIONS + source).words()[1:]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (".if 1", True),
        (".if -1", True),
        (".if 0", False),
        (".if defined", True),
        (".if zero", False),
        (".if defined == 5", True),
        (".if defined == 4", False),
        (".if defined > 3 && zero == 0", True),
        (".if zero || 0", False),
        (".if !zero", True),
        (".if . - label == 4", True),
        (".if (. - label) & 7", True),
        (".if (. - label + 4) & 7", False),
        (".ifne 3", True),
        (".ifne 0", False),
        (".ifeq 0", True),
        (".ifeq 3 - 3", True),
        (".ifeq 1", False),
        (".ifgt 1", True),
        (".ifgt 0", False),
        (".ifge 0", True),
        (".ifge -1", False),
        (".iflt -1", True),
        (".iflt 0", False),
        (".ifle 0", True),
        (".ifle 1", False),
        (".ifdef defined", True),
        (".ifdef label", True),
        (".ifdef nothing", False),
        (".ifndef defined", False),
        (".ifndef nothing", True),
        (".ifc a, a", True),
        (".ifc a,a", True),
        (".ifc   a  ,  a  ", True),
        (".ifc a, b", False),
        (".ifc a, A", False),
        (".ifc a b, a b", True),
        (".ifc ,", True),
        (".ifc a,", False),
        ('.ifc "a", "a"', True),
        ('.ifc "a", "b"', False),
        ('.ifc "a, b", "a, b"', True),
        (".ifnc a, a", False),
        (".ifnc a, b", True),
        (".ifb", True),
        (".ifb x", False),
        (".ifnb", False),
        (".ifnb x", True),
    ],
)
def test_condition(assembly: "Assemble", condition: str, holds: bool) -> None:
    source = f"{condition}\n.long 1\n.else\n.long 2\n.endif\n.long 3\n"
    assert taken(assembly, source) == ([1, 3] if holds else [2, 3])


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("second", [0, 1])
@pytest.mark.parametrize("third", [0, 1])
def test_chain_of_conditions(assembly: "Assemble", first: int, second: int, third: int) -> None:
    source = f"""
    .if {first}
    .long 1
    .elseif {second}
    .long 2
    .elseif {third}
    .long 3
    .else
    .long 4
    .endif
    """
    truths = [first, second, third, 1]
    assert taken(assembly, source) == [1 + truths.index(1)]


def test_nested_blocks(assembly: "Assemble") -> None:
    source = """
    .if {outer}
      .long 1
      .if {inner}
        .long 2
      .else
        .long 3
      .endif
      .long 4
    .else
      .long 5
      .ifdef {name}
        .long 6
      .elseif {inner}
        .long 7
      .endif
      .long 8
    .endif
    """
    expected = {
        (1, 1, "defined"): [1, 2, 4],
        (1, 0, "defined"): [1, 3, 4],
        (0, 0, "defined"): [5, 6, 8],
        (0, 1, "nothing"): [5, 7, 8],
        (0, 0, "nothing"): [5, 8],
    }
    for (outer, inner, name), values in expected.items():
        text = source.format(outer=outer, inner=inner, name=name)
        assert taken(assembly, text) == values


def test_nothing_counts_in_false_branches(assembly: "Assemble") -> None:
    source = """
    .if 0
      { nop
      } }
      /* { */ // }
      bogus $$$ ?
      label: other:
      .error "not reached"
      .set defined, 9
      .if undefined_name / 0
        .long 1
      .elseif 1
        .long 2
      .else
        .long 3
      .endif
      .ifc a
      .endif
      .section nowhere
      .supervisor
      .macro m
    .endif
    .long defined
    exitz $mzero
    """
    assert taken(assembly, source) == [5, 0x43F04000]


def test_conditions_after_a_settled_block_are_not_evaluated(assembly: "Assemble") -> None:
    assert taken(assembly, ".if 1\n.long 1\n.elseif 1 / 0\n.elseif nothing\n.endif") == [1]


def test_comments_hide_directives(assembly: "Assemble") -> None:
    source = ".if 0\n# .endif\n// .endif\n/* .endif\n.else */\n.long 1\n.endif\n.long 2"
    assert taken(assembly, source) == [2]


def test_conditionals_on_one_line(assembly: "Assemble") -> None:
    assert taken(assembly, ".if 1; .long 1; .else; .long 2; .endif; .long 3") == [1, 3]
    assert taken(assembly, ".if 0; .long 1; .else; .long 2; .endif; .long 3") == [2, 3]


def test_label_before_a_conditional(assembly: "Assemble") -> None:
    assert taken(assembly, "here: .if 1\n.long here - label\nthere: .endif\n.long 2") == [4, 2]
    assert taken(assembly, "1: .ifdef nothing\n.long 1\n.else\n.long 1b - label\n.endif") == [4]


def test_conditions_decide_among_bundles(assembly: "Assemble") -> None:
    source = """
    start:
    .if (. - start) & 7
    { nop ; fnop }
    .else
    nop
    .endif
    {
    .if 1
    nop
    .else
    bogus
    .endif
    fnop
    }
    """
    assert assembly(source).words() == [0x19E00000, 0x99E00000, 0x9AD00000]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("«.if» 1\nnop", ".if without .endif"),
        ("«.if» 0\n.if 0\n.endif\nnop", ".if without .endif"),
        ("«.ifdef» x\nnop", "without .endif"),
        ("«.endif»", ".endif without .if"),
        ("«.else»", ".else without .if"),
        ("«.elseif» 1", ".elseif without .if"),
        (".if 1\n.else\n«.else»\n.endif", ".else after .else"),
        (".if 1\n.else\n«.elseif» 1\n.endif", ".elseif after .else"),
        (".if «nothing»\nfoo\n.else\nbar\n.endif", "'nothing' is not defined so far"),
        ("a: .if «a»\nfoo\n.else\nbar\n.endif", "not an address"),
        (".if 1 «+»\n.endif", "expected a value"),
        (".if 0\n.elseif «nothing»\nfoo\n.endif", "'nothing' is not defined so far"),
        ("«.if»\n.endif", "expected an expression"),
        ("«.ifdef»\n.endif", "needs a symbol"),
        ("«.ifndef»\n.endif", "needs a symbol"),
        (".ifdef a «b»\n.endif", "unexpected"),
        (".ifc a« »\n.endif", "comma"),
        ('.ifc «"a", a»\n.endif', "both texts must be quoted, or neither"),
        (".if 0\n.else «if 1»\n.endif", "takes no operands"),
        (".if 1\n.endif «x»", "takes no operands"),
    ],
)
def test_fault(one_fault: "OneFault", source: str, message: str) -> None:
    one_fault(source, message)
