"""Text into lines and statements: comments, separators, columns."""

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.elf.asm.source import (
    UnterminatedComment,
    blank_comments,
    blank_hash_comment,
    statements,
)

if TYPE_CHECKING:
    from tests.elf.asm.conftest import Assemble, Faults, OneFault

NOP = 0x19E00000


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("nop # c", "nop    "),
        ("nop // c", "nop     "),
        ("nop /* c */ nop", "nop         nop"),
        ("# c\nnop", "   \nnop"),
        ("a /* b\nc */", "a     \n    "),
        ("a\n/* b\nc */ d\ne", "a\n    \n     d\ne"),
        # Inside a line the comment is a blank: what follows moves up, the newline behind it.
        ("a /* b\nc */ d\ne", "a          d\n\ne"),
        ("a /* b\nc */ d", "a          d\n"),
        ("a /*\n*/ b /*\n*/ c\nd", "a      b      c\n\n\nd"),
        ("/**/x", "    x"),
        ("/* * / */x", "         x"),
        ("/***/x", "     x"),
        ("# /*\nx", "    \nx"),
        ("// /*\nx", "     \nx"),
        ("/* // */x", "        x"),
        ("/* # */x", "       x"),
        ('"# // /* */" # c', '"# // /* */"    '),
        (r'"\"#" # c', r'"\"#"    '),
        (r'"\\" # c', r'"\\"    '),
        ("8 / 4", "8 / 4"),
        ("8 / *p", "8 / *p"),
        ("", ""),
    ],
)
def test_comments_become_blanks(text: str, left: str) -> None:
    assert blank_comments(text, hash_starts_comment=True) == left


def test_hash_may_be_left_to_the_preprocessor() -> None:
    assert blank_comments("#if 1 // c\nx # y", hash_starts_comment=False) == "#if 1     \nx # y"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("nop # c", "nop "),
        ("# c", ""),
        ('.ascii "#" # "', '.ascii "#" '),
        ("nop", "nop"),
    ],
)
def test_hash_comment_of_a_line(text: str, left: str) -> None:
    assert blank_hash_comment(text) == left


@pytest.mark.parametrize(("text", "line"), [("/* x", 1), ("nop\n\n x /* y\n/*", 3), ("/*/", 1)])
def test_comment_without_end(text: str, line: int) -> None:
    with pytest.raises(UnterminatedComment) as caught:
        blank_comments(text, hash_starts_comment=True)
    assert caught.value.number == line


def test_lines_can_be_continued_inside_comments_of_the_preprocessor() -> None:
    text = "#define X /* a \\\n b */ c \\\n d"
    left = "#define X      \\\n      c \\\n d"
    assert blank_comments(text, hash_starts_comment=False) == left
    text = "a /* b \\\n c */"
    assert blank_comments(text, hash_starts_comment=True) == "a       \n     "


@given(st.text(alphabet='ab#/*"\\\n ;', max_size=40))
def test_blanking_keeps_lines(text: str) -> None:
    try:
        left = blank_comments(text, hash_starts_comment=True)
    except UnterminatedComment:
        return
    assert left.count("\n") == text.count("\n")
    assert len(left) == len(text)
    if "/*" not in text:
        assert all(mine in (" ", char) for mine, char in zip(left, text, strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("   ", []),
        (" nop ", [("nop", 1)]),
        ("a;b", [("a", 0), ("b", 2)]),
        ("a ; ; b", [("a", 0), ("b", 6)]),
        (";a;", [("a", 1)]),
        ("{a;b}", [("{", 0), ("a", 1), ("b", 3), ("}", 4)]),
        ("{ a ; b } c", [("{", 0), ("a", 2), ("b", 6), ("}", 8), ("c", 10)]),
        ('x "a;b{}" ; y', [('x "a;b{}"', 0), ("y", 12)]),
        (r'x "\";" ; y', [(r'x "\";"', 0), ("y", 10)]),
        ("\ta\tb\t", [("a\tb", 1)]),
    ],
)
def test_statements(text: str, expected: list[tuple[str, int]]) -> None:
    assert [(each.text, each.column) for each in statements(text)] == expected


@given(st.text(alphabet='ab;{}" \t\\', max_size=30))
def test_columns_point_into_the_line(text: str) -> None:
    for each in statements(text):
        assert text.startswith(each.text, each.column)
        assert each.text == each.text.strip() != ""


@pytest.mark.parametrize(
    "source",
    [
        "nop # comment",
        "nop // comment",
        "nop /* comment */",
        "/* comment */ nop",
        "/* comment\n * over\n * lines */ nop",
        "nop /* over\nlines */",
        "# comment\nnop",
        "nop#comment",
        "nop//comment",
        "# don't \"worry\nnop",
        "// { } .if 1\nnop",
        "nop\r\n",
        "\r\n\tnop\r\n",
        "nop\x0c",
        "\ufeffnop".removeprefix("\ufeff"),
    ],
)
def test_comments_and_blanks_do_not_matter(assembly: "Assemble", source: str) -> None:
    assert assembly(source).words() == [NOP]


def test_a_comment_over_lines_does_not_end_a_statement(assembly: "Assemble") -> None:
    assert assembly("add $m1, /* one\ntwo */ $m2, 3\nnop").words() == [0x22210003, NOP]
    assert assembly("add $m1, $m2, /*\n*/ 3 ; nop /*\n*/ ; nop").words() == [0x22210003, NOP, NOP]


def test_lines_after_comments_keep_their_numbers(one_fault: "OneFault") -> None:
    one_fault("/* one\ntwo */\nnop /* three\nfour */\n«frob» $m0\n", "frob")
    one_fault("nop\n/* one\n\ntwo */ «frob» $m0\n", "frob")
    one_fault("nop // one\n# two\n\n  «frob» $m0", "frob")


def test_unterminated_comment(faults: "Faults") -> None:
    (fault,) = faults("nop\nnop /* x\nnop\n")
    assert (fault.line, "no end" in fault.message) == (2, True)


def test_unterminated_string(one_fault: "OneFault") -> None:
    one_fault('nop\n.ascii «"abc»\nnop', "string")
    one_fault('.ascii "abc", «"de ; nop»', "string")
