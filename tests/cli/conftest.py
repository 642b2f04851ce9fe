"""A command line as a user has it: arguments in, status and both streams out."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def tilewright(tmp_path: Path) -> Command:
    """Runs `tilewright` with arguments, in a folder of its own."""

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-c", "from tilewright.cli.main import main; main()"]
        return subprocess.run(
            [*command, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    return run
