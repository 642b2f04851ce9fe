"""Help names every command as its own help does."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tilewright.cli import main

LARGE = ("numpy", "llvmlite", "numba", "capnp", "tokenizers", "opentelemetry", "rich.progress")


@pytest.mark.parametrize("name", main.COMMANDS)
def test_what_help_says_is_what_the_command_says(name: str) -> None:
    said = " ".join((main.load(name).help or "").split())
    assert said.startswith(main.COMMANDS[name].rstrip("."))


def test_help_lists_all_commands(tilewright: Command) -> None:
    output = tilewright("--help").stdout
    assert all(name in output for name in main.COMMANDS)


def test_an_unknown_command(tilewright: Command) -> None:
    failed = tilewright("assemble")
    assert failed.returncode == 2
    assert "No such command 'assemble'" in failed.stderr


def test_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "bad.s").write_text("frob\n")
    code = "from tilewright.cli.main import main; main()"
    command = [sys.executable, "-c", code, "asm", "bad.s"]
    failed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("bad.s:1:1: error: ")


def test_what_the_system_refuses_is_a_message(tilewright: Command) -> None:
    name = 300 * "x"
    for arguments in (("embed", name, "a"), ("plan", name), ("disasm", name)):
        failed = tilewright(*arguments)
        assert failed.returncode == 1
        assert failed.stderr.startswith("error: ")
        assert "File name too long" in failed.stderr
        assert "Traceback" not in failed.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("arguments", [("--help",), ("kernel", "list")])
def test_no_room_for_what_is_printed(arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-c", "from tilewright.cli.main import main; main()", *arguments]
    with open("/dev/full", "w") as full:
        failed = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert failed.returncode == 1
    assert failed.stderr == "error: No space left on device\n"


def test_help_comes_without_the_large_libraries() -> None:
    """They take longer to import than a command may take to say what it does."""
    code = f"""
import sys
from tilewright.cli.main import main
sys.argv = ["tilewright", "--help"]
try:
    main()
except SystemExit:
    pass
print([name for name in {LARGE} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
