"""`tilewright plan`, and its figures in the benchmark."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tilewright.cli.bench.plan import plan_figures
from tilewright.cli.examples import EXAMPLES, perceptron
from tilewright.cli.main import app
from tilewright.codegen import mid
from tilewright.codegen.mid import config
from tilewright.codegen.mid.kernels import CATALOGUE, KernelStatus
from tilewright.errors import TilewrightError
from tilewright.graph import ComputeGraph

runner = CliRunner()


def _run(*arguments: str) -> str:
    result = runner.invoke(app, ["plan", *arguments])
    if result.exception is not None:
        raise result.exception
    return result.output


def test_an_example_prints_as_a_table_with_totals() -> None:
    text = _run("gemm-up", "--tiles", "200")
    assert "gemm 196×768×3072 on 200 tiles" in text
    assert "total" in text
    assert "limited by" in text
    assert "cannot be built yet" not in text


def test_kernels_that_do_not_exist_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = {
        name: replace(spec, status=KernelStatus.REQUIRED)
        for name, spec in CATALOGUE.items()
        if name.startswith("reduce")
    }
    monkeypatch.setattr(config, "CATALOGUE", {**CATALOGUE, **missing})
    graph = ComputeGraph("sums")
    graph.output("y", graph.reduce_sum(graph.input("x", (64, 32))))
    file = tmp_path / "sums.graph"
    file.write_text(str(graph))
    assert "cannot be built yet: 1 kernels do not exist (reduce_sum_f16)" in _run(str(file))
    with pytest.raises(TilewrightError, match="kernels that exist"):
        _run(str(file), "--policy", "build")


def test_json_has_rows_and_totals_that_agree() -> None:
    made = json.loads(_run("mlp-729", "--json"))
    assert made["tiles"] == 1472
    assert {row["operation"] for row in made["rows"]} == {"up", "down"}
    cycles = sum(row["runs"] * row["total_cycles"] for row in made["rows"])
    assert made["total_cycles"] == pytest.approx(cycles)
    assert 0 < made["memory"] <= made["available"]


def test_a_graph_is_read_from_its_text(tmp_path: Path) -> None:
    file = tmp_path / "mlp.graph"
    file.write_text(str(perceptron(8, 32, 64)))
    assert "mlp 8×32×64 on 16 tiles" in _run(str(file), "--tiles", "16")


def test_the_planned_graph_prints_with_formats() -> None:
    text = _run("gemm-up", "--tiles", "100", "--graph")
    assert text.startswith('mid "gemm 196×768×3072" for 100 tiles')


def test_copies_and_costs_can_be_chosen() -> None:
    few = json.loads(_run("gemm-up", "--json", "--copies", "1", "--model", "conservative"))
    many = json.loads(_run("gemm-up", "--json"))
    assert few["model"] == "conservative"
    assert few["total_cycles"] > many["total_cycles"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "there is no file 'nothing', and no example of that name"),
        (["gemm-up", "--model", "hopeful"], "no cost model 'hopeful'"),
        (["gemm-4096", "--tiles", "8"], "does not fit 8 tiles"),
    ],
)
def test_faults_are_told(arguments: list[str], message: str) -> None:
    with pytest.raises(TilewrightError, match=message):
        _run(*arguments)


def test_a_file_that_is_no_graph_is_refused_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "bad.graph"
    file.write_text("graph 'x'")
    with pytest.raises(TilewrightError, match=r"bad\.graph:1"):
        _run(str(file))
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TilewrightError, match="not text in UTF-8"):
        _run(str(file))


@pytest.mark.slow
def test_the_benchmark_covers_every_example() -> None:
    names = [figure.name for figure in plan_figures()]
    assert len(names) == len(set(names))
    for example in EXAMPLES:
        assert any(name.startswith(f"plan.{example}.") for name in names)


@pytest.mark.parametrize("tiles", [0, 1473])
def test_plans_are_for_chips_that_there_are(tiles: int) -> None:
    with pytest.raises(TilewrightError, match=f"a chip has 1472 tiles; a plan for {tiles} is"):
        mid.plan(EXAMPLES["gemm-up"](), mid.PipelineConfig(tiles=tiles))
