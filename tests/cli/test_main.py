"""Help names every command as its own help does."""

import pytest

from tests.cli.conftest import Command
from tilewright.cli import main


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
