"""Graphs of checkpoints on the emulated chip, against the frontend's reference in NumPy and F32."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.codegen.emit.on_chip import finished, loaded
from tilewright.codegen.emit import emit, read_outputs
from tilewright.codegen.low import lower
from tilewright.codegen.mid import KernelPolicy, PipelineConfig, plan
from tilewright.frontend import (
    Checkpoint,
    CheckpointError,
    SeededModel,
    encoder_graph,
    encoder_inputs,
    find_installed_checkpoint,
    load_checkpoint,
    reference_vectors,
    sentence_vectors,
    write_seeded_checkpoint,
)
from tilewright.graph import DType

TEXTS = (
    "a cat sleeps on the mat in front of the fire while it rains",
    "dog",
    "the stock market fell by three percent",
)
SMALL = SeededModel(width=32, heads=2, inner=64)
ODD = SeededModel(layers=1, width=60, heads=5, inner=72)
"""Heads of 12, which fill no block of the matrix engine."""


def on_chip(
    checkpoint: Checkpoint, batch: int, tokens: int, tiles: int, weights: DType = DType.F16
) -> tuple[NDArray[np.float64], int]:
    """The least cosine of a text's vector with the reference, and the cycles of the run."""
    texts = checkpoint.tokenise([TEXTS[each % len(TEXTS)] for each in range(batch)], tokens)
    graph, parameters = encoder_graph(checkpoint, batch, tokens, weights)
    planned = plan(graph, PipelineConfig(tiles=tiles, policy=KernelPolicy.BUILD)).graph
    program = emit(lower(planned))
    inputs = encoder_inputs(checkpoint, texts, batch=batch, tokens=tokens)
    chip = loaded(planned, program, {**inputs, **parameters})
    cycles = finished(chip).cycle
    outputs = read_outputs(planned, program, chip.memory.read)
    found = sentence_vectors(checkpoint, outputs, texts.counts)
    expected = reference_vectors(checkpoint, texts)
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    return ((found * expected).sum(axis=1) / lengths).min(), cycles


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return load_checkpoint(write_seeded_checkpoint(tmp_path_factory.mktemp("small"), SMALL))


@pytest.mark.parametrize(("batch", "tokens", "tiles"), [(1, 3, 1), (2, 13, 5), (3, 16, 24)])
def test_texts_of_any_length(small: Checkpoint, batch: int, tokens: int, tiles: int) -> None:
    cosine, _ = on_chip(small, batch, tokens, tiles)
    assert cosine > 0.99999


def test_heads_of_any_size(tmp_path: Path) -> None:
    checkpoint = load_checkpoint(write_seeded_checkpoint(tmp_path, ODD))
    cosine, _ = on_chip(checkpoint, 2, 10, 12)
    assert cosine > 0.99999


def test_weights_of_eight_bits(small: Checkpoint) -> None:
    cosine, _ = on_chip(small, 1, 8, 8, DType.F8F143)
    assert cosine > 0.995


@pytest.mark.slow
@pytest.mark.parametrize("tiles", [1, 16, 368, 1472])
@pytest.mark.parametrize(("batch", "tokens"), [(1, 5), (4, 40), (8, 17), (1, 256)])
def test_small_checkpoints_on_many_tiles(
    tmp_path: Path, batch: int, tokens: int, tiles: int
) -> None:
    model = replace(SMALL, layers=2)
    checkpoint = load_checkpoint(write_seeded_checkpoint(tmp_path, model))
    cosine, _ = on_chip(checkpoint, batch, tokens, tiles)
    assert cosine > 0.99999


@pytest.fixture(scope="module")
def real() -> Checkpoint:
    try:
        return load_checkpoint(find_installed_checkpoint())
    except CheckpointError as fault:
        pytest.skip(str(fault))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("batch", "tokens", "tiles", "most"),
    [(1, 128, 1472, 250_000), (1, 3, 1472, 250_000), (1, 32, 368, 600_000)],
)
def test_a_real_checkpoint(
    real: Checkpoint, batch: int, tokens: int, tiles: int, most: int
) -> None:
    cosine, cycles = on_chip(real, batch, tokens, tiles)
    assert cosine > 0.9999
    assert cycles < most
