"""Seeded checkpoints, written once; and copies of one that tests may damage."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.frontend.models import SMALL
from tilewright.frontend import Checkpoint, SeededModel, load_checkpoint, write_seeded_checkpoint


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small checkpoint, to be read only."""
    return write_seeded_checkpoint(tmp_path_factory.mktemp("checkpoint") / "small", SMALL)


@pytest.fixture(scope="session")
def checkpoint(folder: Path) -> Checkpoint:
    return load_checkpoint(folder)


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    """A copy of the small checkpoint."""
    return Path(shutil.copytree(folder, tmp_path / "copied"))


@pytest.fixture
def seeded(tmp_path: Path) -> Callable[[SeededModel], Checkpoint]:
    """Writes and loads a model."""
    return lambda model: load_checkpoint(write_seeded_checkpoint(tmp_path / "seeded", model))
