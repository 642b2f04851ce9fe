"""`tilewright check`."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tilewright.cli.main import app
from tilewright.codegen.emit.operands import Call
from tilewright.codegen.emit.reducing import reduce_calls

GRAPH = """
graph "sums" {
  %0 = input "x" : f16[4, 8]
  %1 = reduce %0 {kind = sum} : f16[4]
  output "y" = %1
}
"""


def test_a_graph_that_is_built_right_and_one_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sums.txt"
    path.write_text(GRAPH)
    arguments = ["check", str(path), "--tiles", "1"]
    found = CliRunner().invoke(app, arguments)
    assert (found.exit_code, found.output) == (0, "plan, lowering, placement, chip agree\n")

    def wrong(*given: Any) -> Iterator[Call]:
        for call in reduce_calls(*given):
            yield replace(call, kernel="reduce_max_f16")

    monkeypatch.setattr("tilewright.codegen.emit.calls.reduce_calls", wrong)
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 1
    assert found.output.startswith('chip of reduce %1: output "y": 4 elements differ')
