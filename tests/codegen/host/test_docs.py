"""The example of docs/host-exchange.md prints what the page says."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "host-exchange.md").read_text()


def test_example(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "docs/host-exchange.md", "exec"), {})
    expected = re.findall(r"#\s(.*)$", code, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == expected
