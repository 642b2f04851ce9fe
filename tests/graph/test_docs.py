"""What docs/graph.md shows is so."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright.graph import REGISTRY, ComputeGraph, Formula, evaluate, parse_graph
from tilewright.graph.operator import Array
from tilewright.graph.operators.pointwise import Unary

PAGE = (Path(__file__).parents[2] / "docs" / "graph.md").read_text()
PYTHON, ADDED = re.findall(r"^ *```python\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
(TEXT,) = re.findall(r"^```\n(graph .*?)```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(compile(PYTHON, "docs/graph.md", "exec"), names)
    (said,) = re.findall(r"# (0\.\d+)$", PYTHON, re.MULTILINE)
    assert float(capsys.readouterr().out) == pytest.approx(float(said), rel=0.2)


def test_the_operator_to_add_works() -> None:
    names: dict[str, Any] = {
        "register": lambda operator: operator,
        "dataclass": dataclass,
        "np": np,
    }
    exec(textwrap.dedent(ADDED), names | {"Unary": Unary, "Array": Array}, names)
    graph = ComputeGraph("leaky")
    graph.output("y", graph.apply(names["LeakyRelu"](0.25), graph.input("x", (2,))))
    assert "%1 = leaky_relu %0 {slope=0.25} : f16[2]" in str(graph)
    assert evaluate(graph, {"x": [-4, 3]})["y"].tolist() == [-1, 3]


def test_the_text_is_one_that_prints_so() -> None:
    assert str(parse_graph(TEXT)) == TEXT


def test_the_table_lists_every_operator_with_its_operands() -> None:
    rows = [line.split("|") for line in PAGE.splitlines() if line.startswith("| `")]
    listed = {name: row[2] for row in rows for name in re.findall(r"`(\w+)`", row[1])}
    for mnemonic, operator in REGISTRY.items():
        assert mnemonic in listed
        if issubclass(operator, Formula) and not operator.variadic:
            assert tuple(re.findall(r"\w+", listed[mnemonic])) == operator.roles
