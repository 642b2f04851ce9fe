"""docs/driver.md and docs/fidelity.md against the code."""

import re
from pathlib import Path

from tilewright.driver import Limits

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "tilewright"


def test_limits() -> None:
    limits = Limits()
    docs = (ROOT / "docs" / "driver.md").read_text()
    for row in (
        f"| auto-loader | {limits.auto_loader:g} s | {limits.poll * 1e6:g} µs |",
        f"| mark | {limits.mark:g} s | {limits.poll * 1e6:g} µs |",
        f"| a context that stops; an injected instruction | {limits.debug * 1e3:g} ms |",
        f"| all tiles at their ends | {limits.completion:g} s |",
    ):
        assert row in docs


def test_every_module_is_listed() -> None:
    docs = (ROOT / "docs" / "driver.md").read_text()
    for module in (SOURCES / "driver").glob("*.py"):
        if module.stem not in ("__init__", "errors"):
            assert f"`{module.stem}`" in docs, module.stem


def test_assumptions_are_named_where_they_are_made() -> None:
    docs = (ROOT / "docs" / "fidelity.md").read_text()
    table = docs.split("## Assumptions of the driver and the emulated device")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([\w-]+)` \|.*\| `([\w/.]+)` \|$", table, re.MULTILINE)
    assert len(rows) == 10
    for name, place in rows:
        assert f"`{name}`" in (SOURCES / place).read_text(), (name, place)
