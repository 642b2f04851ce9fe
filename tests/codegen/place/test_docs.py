"""The examples of docs/placement.md print what the page says."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "placement.md"


def test_the_examples() -> None:
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        said = re.findall(r"^# (.*)$", code, re.MULTILINE)
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        assert printed.getvalue().splitlines() == said
