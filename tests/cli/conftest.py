"""A command line as a user has it: arguments in, status and both streams out."""

import io
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tilewright.cli.main import main

Command = Callable[..., CompletedProcess[str]]


@pytest.fixture
def tilewright(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `tilewright` with arguments, in a folder of its own but in this process.

    What it raises is no fault that it tells, and fails the test.
    """

    def run(*arguments: str) -> CompletedProcess[str]:
        monkeypatch.setattr("sys.argv", ["tilewright", *arguments])
        output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
        status: str | int | None = 0
        with chdir(tmp_path), redirect_stdout(output), redirect_stderr(errors):
            try:
                main()
            except SystemExit as left:
                status = left.code
        assert isinstance(status, int | None)
        return CompletedProcess(arguments, status or 0, _written(output), _written(errors))

    return run


def _written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
