"""`tilewright asm` as a user meets it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from tilewright.elf.reader import read_object_file

Command = Callable[..., "subprocess.CompletedProcess[str]"]


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
