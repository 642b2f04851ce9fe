"""`tilewright profile`, on profiles with known answers."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.package import examples
from tests.profile import synthetic
from tilewright.cli.main import app
from tilewright.errors import TilewrightError
from tilewright.package import write_package, write_profile


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["profile", *arguments])
    if result.exception is not None:
        raise result.exception
    return result.output


@pytest.fixture
def measured(tmp_path: Path) -> str:
    path = tmp_path / "a.ipuprof"
    write_profile(synthetic.profile(), path)
    return str(path)


def test_a_table_by_operation(measured: str) -> None:
    lines = _run(measured).splitlines()
    assert lines[0] == ("took 1,080 cycles (compute 930, exchange 90, sync 60), 1.1 µs at 1 GHz")
    assert lines[1] == "3 tiles, which compute in 64.8% of their cycles"
    (up,) = (line for line in lines if line.startswith("│ up"))
    cells = [cell.strip() for cell in up.strip("│").split("│")]
    assert cells[:9] == ["up", "2", "430", "39.8%", "430", "0", "0", "400", "108%"]


def test_json_by_kernel(measured: str) -> None:
    made = json.loads(_run(measured, "--group-by", "kernel", "--json"))
    assert made["measured"]
    assert made["cycles"] == 1080
    assert {group["name"]: group["cycles"] for group in made["groups"]} == {
        "gemm_f16": 810,
        "gelu_f16": 120,
        "no kernel": 150,
    }


def test_a_trace(measured: str, tmp_path: Path) -> None:
    trace = tmp_path / "a.json"
    _run(measured, "--perfetto", str(trace), "--tiles", "0,2-2")
    events = json.loads(trace.read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {1, 2}
    for wrong in ("x", "2-0", "0-99999999999", "²", ""):
        with pytest.raises(TilewrightError, match=f"--tiles has '{wrong}'; expected ids"):
            _run(measured, "--perfetto", str(trace), "--tiles", f"0,{wrong}")
    with pytest.raises(TilewrightError, match="--tiles chooses tiles of a trace"):
        _run(measured, "--tiles", "0")


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    """And not taken for markup, or done by the terminal."""
    steps = synthetic.profile().steps
    names = ("x[i] [/b][red]", "\x1b[2J", *steps.strings[2:])
    path = tmp_path / "a.ipuprof"
    write_profile(replace(synthetic.profile(), steps=replace(steps, strings=names)), path)
    text = _run(str(path)) + _run(str(path), "--group-by", "kernel")
    assert "x[i] [/b][red]" in text
    assert "\\x1b[2J" in text
    assert "\x1b" not in text


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a"
    os.mkfifo(path)
    with pytest.raises(TilewrightError, match="is no regular file"):
        _run(str(path))


def test_the_plan_of_a_package(tmp_path: Path) -> None:
    path = tmp_path / "a.ipuexe"
    write_package(examples.application(), path)
    text = _run(str(path))
    assert text.startswith("planned 40 cycles (exchange 40)")
    assert not json.loads(_run(str(path), "--json"))["measured"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"nothing")
    with pytest.raises(TilewrightError, match="cut off"):
        _run(str(path))
