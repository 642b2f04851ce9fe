"""all-MiniLM-L6-v2, where the package that ships it is installed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewright.frontend import (
    SENTENCE_MODEL,
    Checkpoint,
    CheckpointError,
    encoder_graph,
    encoder_inputs,
    find_installed_checkpoint,
    load_checkpoint,
    reference_vectors,
    sentence_vectors,
)
from tilewright.graph import DType, evaluate

TEXTS = [
    "The weather is lovely today.",
    "It's so sunny outside!",
    "He drove to the stadium.",
]
LIKENESS = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
"""As the documentation of sentence-transformers states them for this model."""


@pytest.fixture(scope="module")
def folder() -> Path:
    try:
        return find_installed_checkpoint()
    except CheckpointError:
        pytest.skip(f"{SENTENCE_MODEL} is not installed")


@pytest.fixture(scope="module")
def minilm(folder: Path) -> Checkpoint:
    return load_checkpoint(folder)


def test_the_reference_gives_the_published_likeness(minilm: Checkpoint) -> None:
    vectors = reference_vectors(minilm, minilm.tokenise(TEXTS))
    np.testing.assert_allclose(vectors @ vectors.T, LIKENESS, atol=1e-4)


def test_the_list_of_words_gives_the_same_tokens(folder: Path, tmp_path: Path) -> None:
    texts = [*TEXTS, "Ångström naïve 日本語 [MASK] don't", "x" * 300, "", "a\tb\u200bc"]
    for each in folder.iterdir():
        if each.name != "tokenizer.json":
            (tmp_path / each.name).symlink_to(each)
    expected = load_checkpoint(folder).tokenise(texts)
    assert np.array_equal(load_checkpoint(tmp_path).tokenise(texts).ids, expected.ids)


@pytest.mark.parametrize(("weights", "least"), [(DType.F16, 0.99999), (DType.F8F143, 0.995)])
def test_the_graph_keeps_the_direction(minilm: Checkpoint, weights: DType, least: float) -> None:
    texts = minilm.tokenise(TEXTS)
    graph, parameters = encoder_graph(minilm, 4, texts.tokens + 3, weights)
    inputs: dict[str, NDArray[Any]] = encoder_inputs(minilm, texts, 4, texts.tokens + 3)
    vectors = sentence_vectors(minilm, evaluate(graph, inputs, parameters), texts.counts)
    assert np.sum(vectors * reference_vectors(minilm, texts), axis=1).min() > least
