"""What a user sees: place, line, caret, chain of causes; one error for one mistake."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tilewright.elf.asm.diagnostics import MAX_ERRORS
from tilewright.elf.assembler import AssemblyError, assemble, assemble_file
from tilewright.errors import TilewrightError

if TYPE_CHECKING:
    from tests.elf.asm.conftest import Faults, OneFault


def shown(source: str, name: str = "kernel.s") -> list[str]:
    with pytest.raises(AssemblyError) as caught:
        assemble(source, name)
    return str(caught.value).splitlines()


def test_message_with_line_and_caret() -> None:
    assert shown("nop\n  add $m0, $m99, 1  # comment") == [
        "kernel.s:2:12: error: no register $m99: m registers are $m0 to $m15",
        "    2 |   add $m0, $m99, 1",
        "      |            ^~~~",
        "1 error",
    ]


def test_caret_stands_under_its_column_behind_tabs() -> None:
    lines = shown("\tadd\t$m0, $m99, 1")
    assert lines[1:3] == ["    1 | \tadd\t$m0, $m99, 1", "      | \t   \t     ^~~~"]


def test_columns_count_characters() -> None:
    assert shown("/* äöü */ frob $m0")[0].startswith("kernel.s:1:11: ")


def test_caret_at_the_end_of_a_line() -> None:
    lines = shown(".long 1,")
    assert lines[0].startswith("kernel.s:1:9: ")
    assert lines[2] == "      |         ^"


def test_errors_are_of_the_family() -> None:
    with pytest.raises(TilewrightError):
        assemble("frob")


def test_every_error_is_listed_and_counted() -> None:
    lines = shown("frob\nnop\nqqq\n")
    assert [line.split(":")[1] for line in lines if "error:" in line] == ["1", "3"]
    assert lines[-1] == "2 errors"


def test_errors_come_in_the_order_of_the_text(faults: "Faults") -> None:
    source = "ld32 $m0, $m1, elsewhere\nfrob\nbri 1f\nqqq\n.size x, 4\n"
    assert [fault.line for fault in faults(source)] == [1, 2, 3, 4, 5]


def test_errors_in_macros_stand_where_the_macro_is_used(faults: "Faults") -> None:
    source = ".macro m\nfrob\n.endm\nqqq\nsetzi $m0, 1f\nm\nqqq\n"
    assert [fault.line for fault in faults(source)] == [4, 5, 2, 7]


def test_reading_stops_at_the_limit() -> None:
    assert MAX_ERRORS == 20
    source = "".join(f"frob{number}\n" for number in range(50))
    lines = shown(source)
    assert len([line for line in lines if "error:" in line]) == 20
    assert lines[-1] == "20 errors (there may be more)"


def test_limit_holds_for_what_is_found_at_the_end() -> None:
    lines = shown("".join(f"setzi $m0, {number}f\n" for number in range(50)))
    assert lines[-1] == "20 errors (there may be more)"


def test_exactly_as_many_errors_as_the_limit_allows() -> None:
    lines = shown("".join(f"frob{number}\n" for number in range(19)))
    assert lines[-1] == "19 errors"


def test_include_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("inner.h").write_text("nop\nfrob $m0\n")
    Path("outer.h").write_text('\n#include "inner.h"\n')
    Path("main.S").write_text('nop\n\n#include "outer.h"\n')
    with pytest.raises(AssemblyError) as caught:
        assemble_file(Path("main.S"))
    assert str(caught.value).splitlines() == [
        "inner.h:2:1: error: unknown instruction 'frob'",
        "    2 | frob $m0",
        "      | ^~~~",
        "  included at outer.h:2",
        "  included at main.S:3",
        "1 error",
    ]


def test_macro_and_include_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("macros.h").write_text(".macro m x\nfrob \\x\n.endm\n")
    Path("main.S").write_text('#include "macros.h"\nnop\nm 3\n')
    with pytest.raises(AssemblyError) as caught:
        assemble_file(Path("main.S"))
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("macros.h:2:1: error: ")
    assert "  in macro 'm', used at main.S:3" in lines


def test_line_changed_by_the_preprocessor_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.S").write_text("#define OP frob\n\nOP $m0\nqqq $m0\n")
    with pytest.raises(AssemblyError) as caught:
        assemble_file(Path("main.S"))
    assert str(caught.value).splitlines() == [
        "main.S:3:1: error: unknown instruction 'frob'",
        "    3 | frob $m0",
        "      | ^~~~",
        "      (the line after macro expansion)",
        "main.S:4:1: error: unknown instruction 'qqq'",
        "    4 | qqq $m0",
        "      | ^~~",
        "2 errors",
    ]


@pytest.mark.parametrize(
    "source",
    [
        "«frob» $m0\nlabel: bri label",
        ".set x, y «z»\n.long x\nadd $m0, $m0, x\n.rept x\n.endr",
        "x = 3 «=» 4\n.long x",
        ".if «nowhere»\nfrob\n.elseif 1\nfrob\n.else\nfrob\n.endif",
        "{ «frob» ; fnop }\n{ nop ; fnop }",
        "{ «frob» }",
        "{ nop ; «frob» $m0 ; fnop }",
        "nop\nrpt $m0, 0\n{ «frob» ; fnop }\nexitz $mzero",
        "nop\n«frob» $m0, 0\n{ nop ; fnop }\nexitz $mzero",
        ".macro m x\nadd $m0, $m0, «?»\n.endm\nm 1\nm 2\nm 3",
        ".rept «nowhere»\nfrob\n.endr\nnop",
        'x: nop\n.section y, «"q"»\n.long 1\n.size x, 4',
        ".size x, 4 «+»\ny: nop\nx: nop",
        "setzi $m0, «1f»\nsetzi $m0, 5",
    ],
)
def test_one_mistake_gives_one_error(one_fault: "OneFault", source: str) -> None:
    one_fault(source, "")


def test_unknown_names_get_a_hint_if_one_is_close(faults: "Faults") -> None:
    (fault,) = faults("f16v4ad $a0:1, $a2:3, $a4:5")
    assert fault.message == "unknown instruction 'f16v4ad'; did you mean 'f16v4add'?"
    (fault,) = faults("qqq $m0")
    assert fault.message == "unknown instruction 'qqq'"
