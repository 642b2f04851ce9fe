"""What docs/profiling.md shows is so."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "profiling.md").read_text()
PYTHON, SAID = re.findall(r"^```python\n(.*?)```\n\n(.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)[0]


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(PYTHON, "docs/profiling.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed == [line.strip() for line in SAID.splitlines()]
