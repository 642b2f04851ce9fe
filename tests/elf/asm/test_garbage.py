"""Whatever the input, the outcome is an object or an `AssemblyError`."""

import contextlib
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tilewright.elf.assembler import AssemblyError, assemble, assemble_file
from tilewright.elf.writer import write_object

if TYPE_CHECKING:
    from tests.elf.asm.conftest import Faults

VALID = r"""
.allow_optimizations
.macro op name d s=$m2 n:vararg
  .ifnb \n
  \name \d, \s, \n
  .else
  \name \d, \s
  .endif
.endm
.section .text.kernel, "ax", @progbits
.globl kernel
.type kernel, @function
.align 8
kernel:
  op add $m1 $m2 3
  op clz $m4, $m5
  ldconst $m6, 0x12345678
  setzi $a0, -1.5h // half
  sub $m1, $m1, (end - kernel) / 4
  { rpt $m3, (2f - 1f) / 8 - 1 ; fnop }
1:
  { ld32step $a0, $mzero, $m1+=, 1 ; f16v4add $a2:3, $a4:BL, $a6:7 }
  { /* main */ st32 $a1, $m0, 5 # aux
    f32v2add $a0:1, $a2:B, $a4:5 }
2:
  .if . - kernel > 16 && !0
  brnz $m2, 1b
  .elseif 1
  bogus
  .endif
  get $m0, $WSR
  put $FP_CLR, $a3
  .rept 2
  call $lr, elsewhere + 4
  .endr
  exitz $mzero
end:
.size kernel, end - kernel
.supervisor
  sync 1
  run $m0, $m1, state
  ld64putcs $CWEI_3_2
.data
table: .long kernel, table - 4, 1 + 2 * 3
.half (kernel)@relative@16@s2, 1.0h
.ascii "text \"with\" \\ escapes\n"
.float 1.5, -2e-3
.set x, 5
x = x + 1
.byte x, ~x & 0xff
.weak maybe
.quad maybe
.stack_usage kernel, 16
"""


def outcome(text: str) -> None:
    """Assembles, and writes what it made; only `AssemblyError` may stop it."""
    try:
        write_object(assemble(text))
    except AssemblyError as error:
        str(error)


def test_the_text_that_is_mangled_is_sound() -> None:
    assemble(VALID)


TOKENS = sorted(
    {
        *VALID.replace(",", " , ").split(),
        *'\n \n \n { } ; , ( ) : = \\ @ $ . # // /* */ " \\@ \\() ++ += >> 0 -1 1f 1b 2f'.split(
            " "
        ),
        *".macro .endm .rept .endr .irp .irpc .if .else .endif .elseif .exitm .purgem".split(),
        *".align .p2align .space .fill .org .section .previous .popsection .pushsection".split(),
        *".allow_invalid_operands .allow_invalid_repeat .warn_on_invalid_bundles .set".split(),
        *"$m0 $m15 $m16 $a0:1 $a0:3 $a1:2 $a0:7 $m0:1 $azeros $ap9 $FP_CTL $PC $a3:BL".split(),
        *"nop fnop add f32add ld64 ldst64pace rpt bri call exitz sync run ldconst sub mov".split(),
        *"0x 0b 08 1.5 1e5 1h infh 1e9999h 99999999999999999999 'a' é \u2028 \0".split(),
    }
    - {""}
)
soups = st.lists(st.sampled_from(TOKENS), max_size=60).map(" ".join)


@given(soups)
@examples(400)
def test_token_soups(text: str) -> None:
    outcome(text)


@given(st.text(max_size=80))
@examples(200)
def test_random_text(text: str) -> None:
    outcome(text)


@given(st.text(alphabet="am$.:,;{}()[]<>=+-*/\\@#\"' \n\t019fbx_", max_size=60))
@examples(400)
def test_random_punctuation(text: str) -> None:
    outcome(text)


OPERANDS = [
    each
    for each in TOKENS
    if not each.startswith("/*") and "\n" not in each and each not in ("{", "}", ";", "#", "//")
]
statements = st.builds(
    "{} {}\n".format,
    st.sampled_from([each for each in TOKENS if each[0] == "." or each.isalnum()]),
    st.lists(st.sampled_from(OPERANDS), max_size=5).map(" ".join),
)


@given(st.lists(statements, max_size=12).map("".join))
@examples(300)
def test_statements_with_odd_operands(text: str) -> None:
    outcome(text)


def test_truncated_sources() -> None:
    for end in range(0, len(VALID), 7):
        outcome(VALID[:end])
    for start in range(0, len(VALID), 31):
        outcome(VALID[start:])


def test_sources_with_a_line_missing_or_twice() -> None:
    lines = VALID.splitlines(keepends=True)
    for place in range(len(lines)):
        outcome("".join(lines[:place] + lines[place + 1 :]))
        outcome("".join(lines[:place] + lines[place : place + 1] * 2 + lines[place + 1 :]))


def test_sources_with_a_character_changed() -> None:
    generator = random.Random(1)
    for _ in range(300):
        place = generator.randrange(len(VALID))
        changed = generator.choice("\n\"'$.{}();,:\\@#/*+-= 0a")
        outcome(VALID[:place] + changed + VALID[place + 1 :])


def test_preprocessed_garbage(tmp_path: Path) -> None:
    directives = (
        "#define X 1\n#define F(a, b) a##b\n#if X == F(,1)\nnop\n#elif defined(X) && 0\n#else\n"
        "F(n,op)\n#endif\n#undef X\n#include <tile_defines.h>\n.long CTXT_WORKERS \\\n + 1\n"
    )
    path = tmp_path / "main.S"
    path.write_text(directives)
    assemble_file(path)
    generator = random.Random(2)
    for _ in range(100):
        place = generator.randrange(len(directives))
        length = generator.randrange(4)
        changed = generator.choice(
            ["", "#", "(", ")", ",", "\n", "\\\n", '"', "/*", "##", "'", "<"]
        )
        path.write_text(directives[:place] + changed + directives[place + length :])
        with contextlib.suppress(AssemblyError):
            assemble_file(path)


@pytest.mark.parametrize(
    "text",
    [
        "add $m0, $m0, " + "(" * 500,
        "x = " + "y + " * 500 + "1",
        ".long " + "1," * 20000 + "1",
        "nop ;" * 20000,
        "{" * 1000,
        "}" * 1000,
        "a: " * 1000,
        ".if 1\n" * 3000,
        '"' * 1001,
        "\\" * 1000,
        ".macro m a=\\m\nm \\a\n.endm\nm m",
        ".rept 3\n" * 8 + "nop\n" + ".endr\n" * 8,
        "/*" * 1000,
        '.ascii "' + "\\" * 999 + '"',
        "\0\1\2",
        "nop\0",
        "\ud800",
    ],
    ids=range(17),
)
def test_heaps(text: str) -> None:
    outcome(text)


def test_no_text_gives_more_than_one_error_per_line_of_nonsense(faults: "Faults") -> None:
    text = "".join(f"nonsense{number} $m0, 1\n" for number in range(10))
    assert [fault.line for fault in faults(text)] == list(range(1, 11))
