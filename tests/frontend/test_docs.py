"""What docs/frontend.md shows is so."""

import re
from pathlib import Path

import pytest

from tilewright.frontend import Pooling
from tilewright.frontend.config import ACTIVATIONS
from tilewright.frontend.families import FAMILIES

PAGE = (Path(__file__).parents[2] / "docs" / "frontend.md").read_text()
(PYTHON,) = re.findall(r"^```python\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_example_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(PYTHON, "docs/frontend.md", "exec"), {})
    (said,) = re.findall(r"# (\[.*\])$", PYTHON, re.MULTILINE)
    assert capsys.readouterr().out.strip() == said


@pytest.mark.parametrize(
    ("row", "names"),
    [
        ("`model_type`", FAMILIES),
        ("`hidden_act`", ACTIVATIONS),
        ("pooling", [each.value for each in Pooling]),
    ],
)
def test_the_table_lists_what_is_supported(row: str, names: list[str]) -> None:
    (line,) = re.findall(rf"^\| {row} \| ([^|]*) \|$", PAGE, re.MULTILINE)
    assert set(names) <= set(re.findall(r"[\w-]+", line))
