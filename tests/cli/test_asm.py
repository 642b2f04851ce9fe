"""`tilewright asm` as a user meets it."""

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tilewright.elf.reader import read_object_file


def test_an_object_is_written_beside_the_caller(tilewright: Command, tmp_path: Path) -> None:
    (tmp_path / "code.s").write_text("nop\n")
    result = tilewright("asm", "code.s")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert read_object_file(tmp_path / "code.o").sections[0].data == bytes.fromhex("0000e019")


def test_defines_and_include_folders(tilewright: Command, tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "h.h").write_text("#define TWICE(x) ((x) * 2)\n")
    (tmp_path / "code.S").write_text(
        '#include "h.h"\n#ifdef FLAG\nsetzi $m0, TWICE(VALUE)\n#endif\n'
    )
    result = tilewright("asm", "code.S", "-o", "out.o", "-I", "inc", "-D", "VALUE=21", "-D", "FLAG")
    assert (result.returncode, result.stderr) == (0, "")
    assert read_object_file(tmp_path / "out.o").sections[0].data == bytes.fromhex("2a000019")


@pytest.mark.parametrize("folder", [".", "./inc", "{here}", "{here}/inc", "inc/..", "inc/../inc"])
@pytest.mark.parametrize("source", ["code.S", "./inc/code.S", "{here}/code.S"])
def test_folders_that_hold_the_source_and_what_it_includes(
    tilewright: Command, tmp_path: Path, folder: str, source: str
) -> None:
    """Each file is named as a user would, whichever folder led to it."""
    (tmp_path / "inc").mkdir()
    for place in (tmp_path, tmp_path / "inc"):
        (place / "h.h").write_text("#define ONE 1\nbogus ONE\n")
        (place / "code.S").write_text('#define TWO 2\n#include "h.h"\nwrong TWO\n')
    source = source.format(here=tmp_path)
    result = tilewright("asm", source, "-I", folder.format(here=tmp_path))
    header = "inc/h.h" if "inc" in source else "h.h"
    places = [line.split(": ")[0] for line in result.stderr.splitlines() if ": error" in line]
    assert places == [f"{header}:2:1", f"{source.removeprefix('./')}:3:1"]


def test_a_source_in_a_searched_folder_assembles(tilewright: Command, tmp_path: Path) -> None:
    (tmp_path / "code.S").write_text("#define ONE 1\nsetzi $m0, ONE\n")
    result = tilewright("asm", "code.S", "-I", ".")
    assert (result.returncode, result.stderr) == (0, "")


def test_cpp_without_an_sdk(
    tilewright: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "code.cpp").write_text("int zero() { return 0; }\n")
    for variable in ("TILEWRIGHT_POPC", "POPLAR_SDK_ENABLED", "POPLAR_SDK"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = tilewright("asm", "code.cpp")
    assert result.returncode == 1
    assert "$TILEWRIGHT_POPC, which is not set" in result.stderr
    assert "PATH, which has no popc" in result.stderr
    assert not (tmp_path / "code.o").exists()
    refused = tilewright("asm", "code.cpp", "--supervisor")
    assert "are for assembly" in refused.stderr


def test_errors_show_place_and_write_nothing(tilewright: Command, tmp_path: Path) -> None:
    (tmp_path / "code.s").write_text("nop\n  add $m0, $m1, $a2\n")
    result = tilewright("asm", "code.s")
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.splitlines()[:3] == [
        "code.s:2:17: error: expected a number from -32768 to 32767 or a number from 0 to 65535 "
        "or a $m register such as $m1",
        "    2 |   add $m0, $m1, $a2",
        "      |                 ^~~",
    ]
    assert not (tmp_path / "code.o").exists()


def test_a_failed_run_keeps_the_old_object(tilewright: Command, tmp_path: Path) -> None:
    (tmp_path / "code.s").write_text("oops\n")
    (tmp_path / "code.o").write_text("old")
    assert tilewright("asm", "code.s").returncode == 1
    assert (tmp_path / "code.o").read_text() == "old"


def test_warnings_do_not_fail(tilewright: Command, tmp_path: Path) -> None:
    (tmp_path / "code.s").write_text(".long 1 << 2 + 3\n")
    result = tilewright("asm", "code.s")
    assert result.returncode == 0
    assert "code.s:1:7: warning: C would read this otherwise" in result.stderr


def test_modes_and_word_targets(tilewright: Command, tmp_path: Path) -> None:
    (tmp_path / "code.s").write_text("sync 2\nbri 4\n")
    assert tilewright("asm", "code.s").returncode == 1
    assert tilewright("asm", "code.s", "--supervisor", "--word-targets").returncode == 0
    data = read_object_file(tmp_path / "code.o").sections[0].data
    assert data == bytes.fromhex("02008041 04008040")


def test_missing_files_and_bad_defines(tilewright: Command) -> None:
    result = tilewright("asm", "nothing.S")
    assert (result.returncode, result.stderr) == (
        1,
        "error: cannot read nothing.S: No such file or directory\n",
    )
    assert "expected NAME or NAME=VALUE" in tilewright("asm", "x.S", "-D", "1=2").stderr
