"""Small models with seeded weights."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.frontend.models import SMALL, TEXTS
from tilewright.frontend import Checkpoint, reference_vectors, write_seeded_checkpoint


def _files(folder: Path) -> dict[str, bytes]:
    paths = (each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): each.read_bytes() for each in paths}


def test_one_model_gives_one_content(folder: Path, tmp_path: Path) -> None:
    assert _files(write_seeded_checkpoint(tmp_path / "again", SMALL)) == _files(folder)


def test_another_seed_gives_other_weights_only(folder: Path, tmp_path: Path) -> None:
    other = _files(write_seeded_checkpoint(tmp_path / "other", replace(SMALL, seed=1)))
    differing = {name for name, content in _files(folder).items() if other[name] != content}
    assert differing == {"model.safetensors"}


def test_vectors_of_different_texts_differ(checkpoint: Checkpoint) -> None:
    vectors = reference_vectors(checkpoint, checkpoint.tokenise(TEXTS))
    likeness = vectors @ vectors.T
    assert likeness[~np.eye(len(TEXTS), dtype=bool)].max() < 0.99


def test_a_model_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="which 5 heads do not divide"):
        write_seeded_checkpoint(tmp_path, replace(SMALL, heads=5))
    assert not list(tmp_path.iterdir())
