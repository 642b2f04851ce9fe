"""The C preprocessor for `.S` files, on its own terms and against plain pcpp."""

import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pcpp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tilewright.elf.asm.diagnostics import Diagnostics
from tilewright.elf.asm.preprocess import preprocess
from tilewright.elf.assembler import Assembled, AssemblyError, assemble_file
from tilewright.elf.object import Binding

NOP = 0x19E00000
COISSUE = 1 << 31

Files = Callable[..., Assembled]


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Writes files and assembles the first; `include` names folders for `-I`."""
    monkeypatch.chdir(tmp_path)

    def run(
        text: str,
        others: Mapping[str, str] | None = None,
        include: tuple[str, ...] = (),
        defines: Mapping[str, str] | None = None,
    ) -> Assembled:
        for name, content in {"main.S": text, **(others or {})}.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(content.encode())
        folders = [Path(folder) for folder in include]
        return assemble_file(Path("main.S"), include_folders=folders, defines=defines)

    return run


def words(made: Assembled, name: str = ".text") -> list[int]:
    (section,) = (each for each in made.object.sections if each.name == name)
    data = section.data
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]


def places(error: AssemblyError) -> list[tuple[str, int]]:
    """File and line of each error."""
    found = []
    for diagnostic in error.diagnostics:
        assert diagnostic.place is not None
        found.append((diagnostic.place.line.file, diagnostic.place.line.number))
    return found


# -- macros ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("#define OUT m4\nadd $OUT, $OUT, 1\n", [0x22440001]),
        ("#define ACC a0:1\nf16v4add $ACC, $a2:3, $ACC\n", [0x58200002]),
        ("#define R(n) m##n\nadd $R(1), $R(2), 3\n", [0x22210003]),
        ("#define PAIR(x, y) a##x:y\nf16v4acc $PAIR(2,3)\n", [0x59208000]),
        ("#define A(n) m ## n\n#define B(n) A(n)\n#define N 3\nbr $B(N)\n", [0x43300000]),
        ("#define SUM(a, b) ((a) + (b))\n.long SUM(1, SUM(2, 3))\n", [6]),
        ("#define F(x) .long x ; .long x + 1\nF(3)\n", [3, 4]),
        ("#define EMPTY\nEMPTY nop EMPTY\n", [NOP]),
        ("#define NONE() nop\nNONE()\nNONE ()\n", [NOP, NOP]),
        ("#define F(x) .long x\nF(\n  5\n)\n", [5]),
        ("#define F(x, y) .long x, y\nF(1,\n  2)\n.long 3\n", [1, 2, 3]),
        ("#define F(x) .long x\nF\n(5)\nF\n\n(6)\n", [5, 6]),
        ("#define F(x) .long x\n#define G F\nG(5)\nG\n(6)\n", [5, 6]),
        ('#define F(x, y) .long y\nF(")",\n  2)\n', [2]),
        ("#define V(...) .long __VA_ARGS__\nV(1, 2, 3)\n", [1, 2, 3]),
        ("#define S(x) .ascii #x\nS(a bc)\n", [0x63622061]),
        ("#define L \\\n  .long 1 ; \\\n  .long 2\nL\n", [1, 2]),
        ("#define F(a, \\\n  b) .long a, \\\n  b\nF(1, 2)\n", [1, 2]),
        (".long 1, \\\n  2\n", [1, 2]),
        ("#define X 1\n.long X, \\\n  X + 1\n", [1, 2]),
        ("#define X 1\n#define X 2\n.long X\n", [2]),
        ("#define X 1\n.long X\n#undef X\n#define X 2\n.long X\n", [1, 2]),
        ("#define A B\n#define B 3\n.long A\n", [3]),
        ("#define B 3\n#define A B\n#undef B\n#define B 4\n.long A\n", [4]),
        ("X = 7\n#define X X\n.long X\n", [7]),
        ("#define X 5\n.long X ; .long X // X\n", [5, 5]),
        (".long __LINE__\n\n.long __LINE__\n", [1, 3]),
        ("#define _X 3\n#define X_ 4\nX = 1\n.long X, _X, X_\n", [1, 3, 4]),
        ("#define m0 m5\nadd $m0, $m1, 1\n", [0x22150001]),
    ],
)
def test_macro(built: Files, source: str, expected: list[int]) -> None:
    assert words(built(source)) == expected


def test_macros_in_names_of_sections_and_labels(built: Files) -> None:
    source = """
    #define NAME(x) __runCodelet_kernel__##x
    #define TYPE half
    #define EXPAND(x) NAME(x)
    .section .text.EXPAND(TYPE), "ax"
    .globl EXPAND(TYPE)
    .type EXPAND(TYPE), @function
    EXPAND(TYPE):
      nop
    .size EXPAND(TYPE), . - EXPAND(TYPE)
    """
    made = built(source)
    (section,) = (each for each in made.object.sections if each.name.startswith(".text"))
    assert section.name == ".text.__runCodelet_kernel__half"
    (symbol,) = (each for each in made.object.symbols if each.name.startswith("__run"))
    assert (symbol.name, symbol.binding, symbol.size) == (
        "__runCodelet_kernel__half",
        Binding.GLOBAL,
        4,
    )


def test_names_that_only_contain_a_macro_stay(built: Files) -> None:
    made = built("#define M0 1\n#define add sub\nadd_M0: M0x: xM0: nop\n")
    names = [each.name for each in made.object.symbols if each.name]
    assert names == ["add_M0", "M0x", "xM0"]


def test_strings_are_not_expanded(built: Files) -> None:
    made = built('#define abcd wxyz\n.ascii "abcd" ; .ascii "$abcd"\n.byte 0, 0, 0\n')
    assert b"".join(each.to_bytes(4, "little") for each in words(made)) == b"abcd$abcd\0\0\0"


def test_assembler_macros_and_c_macros_work_together(built: Files) -> None:
    source = """
    #define STEP 3
    #define REG(n) m##n
    .macro bump reg by=STEP
      add $REG(\\reg), $REG(\\reg), \\by
      add $\\reg, $\\reg, \\by
    .endm
    """
    # `##` pastes what is there: the assembler's own arguments come later.
    made = built(source.replace("      add $REG(\\reg), $REG(\\reg), \\by\n", "") + "bump m2\n")
    assert words(made) == [0x22220003]


def test_bundles_from_macros(built: Files) -> None:
    source = "#define BOTH(x) { x ; fnop }\n#define OPEN {\n#define CLOSE }\n"
    made = built(source + "BOTH(nop)\nOPEN nop\nfnop CLOSE\n")
    assert words(made) == [NOP | COISSUE, 0x9AD00000] * 2


# -- conditions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("#if 1", True),
        ("#if 0", False),
        ("#if 2 * 3 == 6 && (1 << 4) > 15", True),
        ("#if 7 / 2 == 3 && 7 % 4 == 3", True),
        ("#if !1 || 0x10 == 020", True),
        ("#if 1 ? 0 : 1", False),
        ("#if A", True),
        ("#if A + 1 == 4", True),
        ("#if NOTHING", False),
        ("#if NOTHING == 0", True),
        ("#ifdef A", True),
        ("#ifdef NOTHING", False),
        ("#ifndef A", False),
        ("#ifndef NOTHING", True),
        ("#if defined(A)", True),
        ("#if defined A && !defined(NOTHING)", True),
        ("#if defined(NOTHING) || F(2) == 4", True),
        ("#if defined(__IPU__) && __IPU_ARCH_VERSION__ == 21", True),
        ("#if __IPU_ARCH_VERSION__ >= 21", True),
        ("# if 1", True),
        ("  #  if 0", False),
        ("#if 1 \\\n  && 0", False),
        ("#if 1 // comment", True),
        ("#if /* comment */ 0", False),
        ("#if 0\n.long 7\n#elif A == 3", True),
        ("#if 0\n.long 7\n#elif A == 4", False),
    ],
)
def test_condition(built: Files, condition: str, holds: bool | None) -> None:
    source = f"#define A 3\n#define F(x) ((x) * 2)\n{condition}\n.long 1\n#else\n.long 2\n#endif\n"
    if holds is None:
        source = source.replace("\n.long 1\n#else", "\n.long 9\n#else", 1)
        assert words(built(source)) in ([1], [9])
    else:
        assert words(built(source)) == [1 if holds else 2]


def test_false_branches_hold_anything(built: Files) -> None:
    source = '#if 0\nbogus { } \' " $$\n#error no\n#include "nowhere.h"\n#define X 1\n#if\n#endif\n'
    assert words(built(source + "#endif\n#ifdef X\n.long 1\n#endif\nnop\n")) == [NOP]


# -- predefined names, options, our header --------------------------------------------------------


def test_predefined_names(built: Files) -> None:
    assert words(built(".long __IPU__, __IPU_ARCH_VERSION__\n")) == [1, 21]


def test_defines(built: Files) -> None:
    made = built("#ifdef FLAG\n.long VALUE, FLAG\n#endif\n", defines={"VALUE": "7", "FLAG": "1"})
    assert words(made) == [7, 1]
    made = built(".long __IPU_ARCH_VERSION__\n", defines={"__IPU_ARCH_VERSION__": "2"})
    assert words(made) == [2]


@pytest.mark.parametrize("name", ["__DATE__", "__TIME__"])
def test_there_is_no_date(built: Files, name: str) -> None:
    assert words(built(f"#ifdef {name}\n.long 1\n#else\n.long 2\n#endif\n")) == [2]


def test_dollar_is_no_letter(built: Files) -> None:
    # In C compilers that take `$` into names, `$OUT` would be a name of its own.
    assert words(built("#define OUT m1\n.set $x, 3\n#define x y\nbr $OUT\n")) == [0x43100000]


# -- comments and lines ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "# a comment\nnop\n",
        "   # a comment\nnop\n",
        "#\nnop\n",
        '# 1 "other.c" 2\nnop\n',
        "#!/bin/sh\nnop\n",
        "# don't\nnop\n",
        '# "open\nnop\n',
        "nop # comment\n",
        "nop // comment\n",
        "nop /* over\nlines */\n",
        "/* #define nop bogus\n*/ nop\n",
        "#define X /* over\nlines */ nop\nX\n",
        "#define X nop // comment\nX\n",
        "#define X nop /* comment */\nX\n",
        "#define X bogus\nnop # X\n",
        "#define X bogus\nnop // X\n",
        "#define X bogus\n# X\n/* X */ nop\n",
        "#define F(x) bogus\nnop # F(1\n",
        "#define F(x) bogus\nnop # don't F(1)\n",
        "#define X \\\n  /* comment \\\n  more */ \\\n  nop\nX\n",
        "#define X \\\n  nop /* comment */ \\\n\nX\n",
        "#define X /* over\nlines */ \\\n  nop\nX\n",
        "#define X EMPTY /* over\nlines */ nop \\\n  EMPTY\n#define EMPTY\nX\n",
        "#pragma once\nnop\n",
        "nop\r\n",
        "#define X nop\r\nX\r\n",
        "#define X \\\r\n  nop\r\nX\r\n",
        "nop",
        "#define X nop\nX",
        "nop\n#if 0\n#endif",
    ],
)
def test_comments_and_blanks_do_not_matter(built: Files, source: str) -> None:
    assert words(built(source)) == [NOP]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("bogus\n", 1),
        ("\n\nbogus\n", 3),
        ("#define X 1\nbogus\n", 2),
        ("#define X 1 \\\n  + 2 \\\n  + 3\nbogus\n", 4),
        ("/* over\nlines */\nbogus\n", 3),
        ("/* over\nlines */ bogus\n", 2),
        ("nop /* over\nlines */\nbogus\n", 3),
        ("#if 0\nnop\n#endif\nbogus\n", 4),
        ('#include "three.h"\nbogus\n', 2),
        ('nop\n#include "three.h"\n\n#include "three.h"\nnop\nbogus\n', 6),
        ("#define F(x, y) .long x, y\nF(1,\n2)\nbogus\n", 4),
        ("#define F(x, y) .long x, y\nF(1,\n2) ; bogus\n", 2),
        ("#define BOGUS bogus\nnop\nBOGUS\n", 3),
        ("#define X 1\nnop\n.long X\nbogus X\n", 4),
        (".long 1, \\\n2, \\\n3\nbogus\n", 4),
        ("nop\f\nbogus\n", 2),
        ("nop\v\nnop\x1c\nbogus\n", 3),
        ("# \u2028 \x85\nbogus\n", 2),
        ("nop\r\n\r\nbogus\r\n", 3),
        ("#define X \\\r\n  nop\r\nbogus\r\n", 3),
    ],
)
def test_line_numbers(built: Files, source: str, line: int) -> None:
    with pytest.raises(AssemblyError) as caught:
        built(source, {"three.h": "nop\n#define Y\nnop\n"})
    assert places(caught.value) == [("main.S", line)]


# -- includes -------------------------------------------------------------------------------------


def test_include_beside_the_file(built: Files) -> None:
    made = built('#include "a.h"\n.long X\n', {"a.h": "#define X 5\n.long 4\n"})
    assert words(made) == [4, 5]


def test_includes_are_relative_to_the_including_file(built: Files) -> None:
    others = {"sub/a.h": '#include "b.h"\n', "sub/b.h": ".long 1\n", "b.h": ".long 2\n"}
    assert words(built('#include "sub/a.h"\n#include "b.h"\n', others)) == [1, 2]


def test_order_of_include_folders(built: Files) -> None:
    others = {"one/a.h": ".long 1\n", "two/a.h": ".long 2\n", "two/b.h": ".long 3\n"}
    source = '#include "a.h"\n#include <b.h>\n'
    assert words(built(source, others, include=("one", "two"))) == [1, 3]
    assert words(built(source, others, include=("two", "one"))) == [2, 3]
    others["a.h"] = ".long 4\n"
    assert words(built('#include "a.h"\n', others, include=("one",))) == [4]


def test_our_header_needs_no_folder_and_can_be_replaced(built: Files) -> None:
    source = '#include "tile_defines.h"\n.long CTXT_WORKERS\n'
    assert words(built(source)) == [6]
    others = {"mine/tile_defines.h": "#define CTXT_WORKERS 7\n"}
    assert words(built(source, others, include=("mine",))) == [7]


def test_headers_may_be_included_again(built: Files) -> None:
    guarded = "#ifndef A_H\n#define A_H\n.long 1\n#endif\n"
    assert words(built('#include "a.h"\n#include "a.h"\n', {"a.h": guarded})) == [1]
    assert words(built('#include "a.h"\n#include "a.h"\n', {"a.h": ".long 1\n"})) == [1, 1]


def test_include_named_by_a_macro(built: Files) -> None:
    made = built('#define HEADER "a.h"\n#include HEADER\n', {"a.h": ".long 1\n"})
    assert words(made) == [1]


def test_include_that_includes_itself(built: Files) -> None:
    with pytest.raises(AssemblyError):
        built('#include "a.h"\n', {"a.h": '#include "a.h"\n'})


def test_missing_include(built: Files) -> None:
    with pytest.raises(AssemblyError) as caught:
        built('nop\n#include "nowhere.h"\n', include=("folder",))
    (diagnostic,) = caught.value.diagnostics
    assert places(caught.value) == [("main.S", 2)]
    assert "'nowhere.h' not found" in diagnostic.message
    assert "folder" in diagnostic.message


def test_missing_include_in_an_include(built: Files) -> None:
    with pytest.raises(AssemblyError) as caught:
        built('\n#include "a.h"\n', {"a.h": '\n\n#include "nowhere.h"\n'})
    assert places(caught.value) == [("a.h", 3)]
    assert "  included at main.S:2" in str(caught.value).splitlines()


def test_unreadable_include_is_an_error(built: Files, tmp_path: Path) -> None:
    (tmp_path / "folder.h").mkdir()
    with pytest.raises(AssemblyError):
        built('#include "folder.h"\n')


# -- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("nop\n#error the size is wrong\n", 2, "the size is wrong"),
        ("nop\n#if 1\nnop\n", 2, "#if"),
        ("nop\n#else\n", 2, "#else"),
        ("nop\n#endif\n", 2, "#endif"),
        ("nop\n#elif 1\n", 2, "#elif"),
        ("nop\n#if 1 +\n#endif\n", 2, "1 +"),
        ("nop\n#if 1 / 0\n#endif\n", 2, "zero"),
        ("nop\n#if\n#endif\n", 2, "#if"),
        ("nop\n#define\n", 2, "#define"),
        ("nop\n#define 1\n", 2, "#define"),
        ("nop\n#define F(a\n", 2, ")"),
        ("nop\n#undef\n", 2, "#undef"),
        ("nop\n#ifdef\n#endif\n", 2, "#ifdef"),
        ("nop\n#include\n", 2, "#include"),
        ("nop\n#include nowhere\n", 2, "#include"),
        ("#define F(a, b) a\nF(1)\n", 2, "F"),
        ("#define F(a, b) a\nF(1, 2, 3)\n", 2, "F"),
        ("nop\n/* no end\nnop\n", 2, "no end"),
    ],
)
def test_fault(built: Files, source: str, line: int, message: str) -> None:
    with pytest.raises(AssemblyError) as caught:
        built(source)
    assert places(caught.value) == [("main.S", line)]
    assert message in caught.value.diagnostics[0].message
    assert "\n" not in caught.value.diagnostics[0].message


def test_warning(built: Files) -> None:
    (warning,) = built("nop\n#warning look here\n").warnings
    assert "look here" in warning.message
    assert warning.place is not None
    assert warning.place.line.number == 2


def test_faults_of_the_preprocessor_come_alone(built: Files) -> None:
    # Lines that did not survive it would only give errors that follow from the first.
    with pytest.raises(AssemblyError) as caught:
        built('#include "nowhere.h"\nUSES_MACRO_OF_HEADER(1)\n')
    assert len(caught.value.diagnostics) == 1


# -- against plain pcpp ---------------------------------------------------------------------------


class Plain(pcpp.Preprocessor):  # type: ignore[misc]  # pcpp has no types
    """pcpp as it comes, with its errors counted and unknown directives left out."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: set[tuple[int, str]] = set()
        self.line_directive = None

    def on_error(self, file: str, line: int, msg: str) -> None:
        self.faults.add((line, msg))


Outcome = tuple[list[str], set[tuple[int, str]]]
"""Lines without empty ones, blanks in one form; and the errors."""


def plain_lines(text: str) -> Outcome:
    preprocessor = Plain()
    preprocessor.parse(text, "main.S")
    out = io.StringIO()
    preprocessor.write(out)
    lines = [squeezed(line) for line in out.getvalue().splitlines()]
    return [line for line in lines if line], preprocessor.faults


def our_lines(text: str) -> Outcome:
    diagnostics = Diagnostics()
    lines = preprocess(text, "main.S", [], {}, diagnostics)
    found = [squeezed(line.text) for line in lines]
    faults = {
        (each.place.line.number, each.message)
        for each in diagnostics.errors
        if each.place is not None
    }
    return [line for line in found if line], faults


def squeezed(line: str) -> str:
    return " ".join(re.sub(r"[ \t]*([^\w\s])[ \t]*", r" \1 ", line).split())


@pytest.mark.parametrize(
    "source",
    [
        "",
        "nop\n",
        "a b\nc d\n",
        "#define X 1\nX a\nb\nX\n",
        "a\n#define X 1\na X\n#undef X\na X\n",
        "#define F(x) [x]\nF(1) F(F(2))\nb\nF(\n3\n)\nc\n",
        "#define F(x) [x]\nF\n(1)\nF\n\n\n(2)\nF\nb\n",
        "#define F(x) [x]\n#define G F\nG\n(1) G(2) G\n\n(3)\n",
        '#define F(x, y) [x|y]\nF(")", 2)\nF("(", \n2)\nq\n) F(1,\n2)\nr\n',
        "#define F(x, y) [x|y]\na) F(1,\n  (2,\n  3)) b\nc\n",
        '#define X 1\n\'X\' "X" X\n"X\\"X" X\n',
        "#define X Y\n#define Y X\nX Y\n",
        "#if 1\na\n#else\nb\n#endif\nc\n#ifdef X\nd\n#elif 1\ne\n#endif\n",
        "#define X 1\na \\\n b X \\\n c\nd\n",
        "a /* X\n X */ b\n#define X 1\na /* X\n X */ X\n",
        "#define CAT(a, b) a##b\nCAT(x, 1): CAT(, y) CAT(CAT(1, 2), 3)\n",
        '#define S(x) #x\nS(a  b) S("q")\n',
        "__LINE__\n\n__LINE__ a\n#define L __LINE__\nL\nL\n",
        "#define V(a, ...) a [__VA_ARGS__]\nV(1) V(1, 2) V(1, 2,\n3)\n",
        "#define X\nX\nX a X\n  X\n",
        "__COUNTER__ __COUNTER__\n",
    ],
)
def test_same_as_plain_pcpp(source: str) -> None:
    assert our_lines(source) == plain_lines(source)


NAMES = ["A", "B", "F", "G", "x", "nop"]
words_of_text = st.sampled_from(
    [
        *NAMES,
        *NAMES,
        "1",
        "2",
        "$A",
        "(",
        ")",
        ",",
        "()",
        "(1)",
        "(A",
        '"A ("',
        "'A'",
        "+",
        ": ",
        ";",
    ]
)
text_lines = st.lists(words_of_text, max_size=6).map(" ".join)
bodies = st.lists(
    st.sampled_from(["A", "B", "F", "p", "q", "1", "x", "(p)", "[q]", "F(p)"]), max_size=4
).map(" ".join)
directives = st.one_of(
    st.builds("#define {} {}".format, st.sampled_from("AB"), bodies),
    st.builds("#define {}(p, q) {}".format, st.sampled_from("FG"), bodies),
    st.builds("#define {}(p) {}".format, st.sampled_from("FG"), bodies),
    st.builds("#undef {}".format, st.sampled_from("ABFG")),
)
blocks: st.SearchStrategy[str] = st.recursive(
    st.one_of(text_lines, text_lines, directives, st.just("")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map("\n".join),
        st.builds(
            "#if{} {}\n{}\n#else\n{}\n#endif".format,
            st.sampled_from(["def", "ndef"]),
            st.sampled_from("ABFG"),
            inner,
            inner,
        ),
    ),
    max_leaves=25,
)


@pytest.mark.parametrize(
    "source",
    [
        "#define G(p, q) p+q\nG (A\n#ifdef A\n\n#else\n)\n#endif",
        "#define G(p, q) p+q\nG (1\n#ifndef A\n, 2)\n#endif\nx",
        "#define G(p, q) p+q\nG\n#ifndef A\n(1, 2)\n#endif\n(x)",
        "#define G(p, q) p+q\nG (1\n#ifdef A\n, 3)\n#else\n\n,\n\n#endif\nx\ny )\nz",
    ],
)
def test_calls_that_go_on_past_a_conditional(source: str) -> None:
    assert our_lines(source + "\nend\n") == plain_lines(source + "\nend\n")


@given(blocks)
@examples(300)
def test_same_as_plain_pcpp_on_anything(source: str) -> None:
    text = source + "\nend\n"
    expected, faults = plain_lines(text)
    found, our_faults = our_lines(text)
    assert our_faults == faults
    if not faults:
        assert found == expected
