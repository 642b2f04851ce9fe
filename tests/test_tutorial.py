"""docs/tutorial.md, run from its first line to its last."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tilewright.cli.main import app

PAGE = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^    \$ tilewright (.*)$", PAGE, re.MULTILINE)


def test_every_block_and_command_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"docs/tutorial.md, block {number}", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    for said in re.findall(r"print\(.*\)  # (.*)$", "".join(BLOCKS), re.MULTILINE):
        assert said in printed
    (run,) = (line for line in printed if re.fullmatch(r"True \d+", line))
    for command in COMMANDS:
        result = CliRunner().invoke(app, command.split())
        assert result.exception is None, command
    assert np.array_equal(np.load("y.npy"), names["result"].outputs["y"])
    assert f"{int(run.split()[1]):,} cycles" in result.output
