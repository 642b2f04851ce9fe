"""Compiled functions do what they say, and their code is kept where the user wants it."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from tilewright.compiled import compiled, compiled_part

_PROGRAM = "import tests_compiled_target as t; print(t.add(20, 22))"
_MODULE = """
from tilewright.compiled import compiled
@compiled
def add(a: int, b: int) -> int:
    return a + b
"""


@compiled
def _running_sum(values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    total = 0
    for place in range(len(values)):
        total += int(values[place])
    return total


def test_a_compiled_function_gives_what_python_gives() -> None:
    values = np.arange(1000, dtype=np.int64)
    assert _running_sum(values) == sum(range(1000))


@compiled_part
def _next(value: int) -> int:
    return value + 1


@compiled
def _after_next(value: int) -> int:
    return _next(_next(value))


def test_parts_are_compiled_with_what_calls_them_and_are_plain_for_python() -> None:
    assert _after_next(40) == 42 == _next(41)


def test_code_is_kept_in_the_users_folder(tmp_path: Path) -> None:
    assert _run(tmp_path, str(tmp_path / "cache")) == "42\n"
    assert list((tmp_path / "cache" / "compiled").rglob("*.nbc"))


def test_nothing_is_kept_without_a_folder(tmp_path: Path) -> None:
    assert _run(tmp_path, "") == "42\n"
    assert not list(tmp_path.rglob("*.nbc"))


def test_a_folder_that_cannot_be_made_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert _run(tmp_path, str(tmp_path / "file" / "cache")) == "42\n"


def _run(folder: Path, cache: str) -> str:
    (folder / "tests_compiled_target.py").write_text(_MODULE)
    environment = {"TILEWRIGHT_CACHE": cache, "PYTHONPATH": f"{folder}", "HOME": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
