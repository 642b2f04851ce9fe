"""`tilewright run`, with a package written by hand: y = x + w on one row of tiles."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.format import write_array_header_1_0
from safetensors.numpy import save_file
from typer.testing import CliRunner

from tests.driver import programs
from tilewright.cli.main import app
from tilewright.errors import TilewrightError
from tilewright.package import Source, read_profile, write_package

X = np.arange(64 * programs.WORDS, dtype=np.int32).reshape(64, programs.WORDS)
W = X[::-1] * 3


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the package, its input and its parameters."""
    monkeypatch.chdir(tmp_path)
    write_package(programs.application(), tmp_path / "sum.ipuexe")
    np.save(tmp_path / "x.npy", X)
    save_file({"layer.w": W}, tmp_path / "w.safetensors")
    with (tmp_path / "vast.npy").open("wb") as file:
        write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (2**50,)})
    return tmp_path


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["run", "sum.ipuexe", *arguments])
    if result.exception is not None:
        raise result.exception
    return result.output


def test_arrays_in_and_out_and_a_profile(folder: Path) -> None:
    text = _run(
        *("--input", "x=x.npy", "--parameters", "w.safetensors", "--repeat", "2"),
        *("--output", "y=sum.npy", "--profile", "sum.ipuprof"),
    )
    assert np.array_equal(np.load("sum.npy"), X + W)
    first, second = re.findall(r"^([\d,]+) cycles \(graph [\d,]+, host [\d,]+\)", text, re.M)
    assert first == second
    assert "y: int32 64 × 16 → sum.npy" in text
    assert len(read_profile(Path("sum.ipuprof")).cycles()) == 64


def test_outputs_are_printed_or_go_to_a_folder(folder: Path) -> None:
    arguments = ("--input", "x=x.npy", "--parameters", "w.safetensors")
    assert "y: int32 64 × 16\n[[" in _run(*arguments)
    (folder / "out").mkdir()
    _run(*arguments, "--output", "out")
    assert [path.name for path in (folder / "out").iterdir()] == ["y.npy"]
    assert np.array_equal(np.load("out/y.npy"), X + W)


def test_names_of_outputs_lead_nowhere_else(folder: Path) -> None:
    """Neither out of the folder nor to the terminal's commands: packages come from strangers."""
    application = programs.application()
    name = "../../y\x1b[2J"
    tensors = tuple(
        replace(each, name=name) if each.name == "y" else each for each in application.tensors
    )
    write_package(replace(application, tensors=tensors), folder / "sum.ipuexe")
    (folder / "out").mkdir()
    arguments = ("--input", "x=x.npy", "--parameters", "w.safetensors", "--output", "out")
    assert "../../y\\x1b[2J: int32 64 × 16 → out/%2E.%2F..%2Fy%1B[2J.npy" in _run(*arguments)
    assert [path.name for path in (folder / "out").iterdir()] == ["%2E.%2F..%2Fy%1B[2J.npy"]


def test_a_package_is_run_for_its_profile(folder: Path) -> None:
    write_package(programs.application(parameters=Source.BLOB), folder / "whole.ipuexe")
    result = CliRunner().invoke(app, ["profile", "whole.ipuexe", "--run"])
    assert result.output.startswith("took ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "x"], "--input has 'x'; expected NAME=FILE.npy"),
        (["--input", "x=y.npy"], "cannot read y.npy: No such file"),
        (["--input", "x=w.safetensors"], "w.safetensors holds no numbers in NumPy's .npy format"),
        (["--output", "nowhere"], "cannot write nowhere/y.npy: there is no folder nowhere"),
        (["--output", "z=z.npy"], "the package has no output 'z'; it has: y"),
        (["--output", "profile.cycles=z.npy"], "has no output 'profile.cycles'"),
        (["--input", "x=x.npy"], "expects 1 parameters when it is loaded"),
        (["--parameters", "w.safetensors"], "'x' is missing: int32"),
        (["--device", "card"], "no device 'card'"),
        (["--input", "x=x.npy", "--input", "x=x.npy"], "--input has 'x' twice"),
        (["--output", "y=z.npy", "--output", "y=z.npy"], "--output has 'y' twice"),
        (
            ["--output", "y=z.npy", "--profile", "./z.npy"],
            "z.npy would be written more than once",
        ),
        (["--limit", "0"], "--limit has 0; expected seconds above 0"),
        (["--input", "x=vast.npy"], "vast.npy holds an array that takes more memory than there is"),
    ],
)
def test_what_is_wrong_is_told(folder: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(TilewrightError, match=re.escape(message)):
        _run(*arguments)
    assert not list(folder.glob("z.npy"))
