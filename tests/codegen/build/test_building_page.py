"""The example of docs/building.md prints what the page says."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "building.md"


def test_the_example() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(code, str(PAGE), "exec"), {})
    assert printed.getvalue().splitlines() == re.findall(r"^# (.*)$", code, re.MULTILINE)
