"""The graph of an encoder against the NumPy reference, which knows no graph."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.frontend.models import SMALL, TEXTS
from tilewright.frontend import (
    Checkpoint,
    Pooling,
    SeededModel,
    TextError,
    TokenBatch,
    encoder_graph,
    encoder_inputs,
    look_up,
    reference_hidden,
    reference_vectors,
    sentence_vectors,
)
from tilewright.frontend.config import ACTIVATIONS
from tilewright.graph import DType, Precision, Repeat, evaluate, parse_graph

Seeded = Callable[[SeededModel], Checkpoint]


def _exact(checkpoint: Checkpoint, parameters: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Parameters as the checkpoint has them, not rounded to halves."""
    fused = {}
    for name in parameters:
        if "qkv" not in name:
            fused[name] = checkpoint.tensors[name]
            continue
        parts = [name.replace("qkv", each) for each in ("query", "key", "value")]
        fused[name] = np.concatenate([checkpoint.tensors[part] for part in parts])
    return fused


def _run(
    checkpoint: Checkpoint,
    texts: TokenBatch,
    batch: int,
    tokens: int,
    precision: Precision = Precision.STORED,
    *,
    weights: DType = DType.F16,
    hidden: bool = False,
) -> dict[str, NDArray[Any]]:
    graph, parameters = encoder_graph(checkpoint, batch, tokens, weights, hidden=hidden)
    inputs = encoder_inputs(checkpoint, texts, batch, tokens, hidden=hidden)
    if precision is not Precision.STORED:
        parameters = _exact(checkpoint, parameters)
    return evaluate(graph, inputs, parameters, precision)


def _vectors(
    checkpoint: Checkpoint, texts: TokenBatch, *rest: Any, **named: Any
) -> NDArray[np.float32]:
    return sentence_vectors(checkpoint, _run(checkpoint, texts, *rest, **named), texts.counts)


def _cosines(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    products = np.sum(a * b, axis=-1)
    return np.asarray(products / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1))


def _first(texts: TokenBatch, text: int) -> TokenBatch:
    """One text of a batch, without what fills it up."""
    count = texts.counts[text]
    return TokenBatch(
        texts.ids[text : text + 1, :count],
        texts.types[text : text + 1, :count],
        texts.counts[text : text + 1],
        texts.truncated[text : text + 1],
    )


@pytest.mark.parametrize(("precision", "tolerance"), [(Precision.F64, 1e-3), (Precision.F32, 1e-3)])
def test_hidden_states_are_those_of_the_reference(
    checkpoint: Checkpoint, precision: Precision, tolerance: float
) -> None:
    """Embeddings come in halves; so the tolerance is not that of the arithmetic."""
    texts = checkpoint.tokenise(TEXTS)
    hidden = _run(checkpoint, texts, len(TEXTS), texts.tokens, precision, hidden=True)["hidden"]
    for text, expected in enumerate(reference_hidden(checkpoint, texts)):
        np.testing.assert_allclose(hidden[text, : len(expected)], expected, atol=8 * tolerance)
        assert np.sqrt(np.mean(np.square(hidden[text, : len(expected)] - expected))) < tolerance


def test_with_exact_embeddings_only_the_last_digits_differ(checkpoint: Checkpoint) -> None:
    texts = checkpoint.tokenise(TEXTS)
    graph, parameters = encoder_graph(checkpoint, len(TEXTS), texts.tokens, hidden=True)
    inputs = encoder_inputs(checkpoint, texts, len(TEXTS), texts.tokens, hidden=True)
    tables = checkpoint.tensors
    inputs["embedded"] = (
        tables["embeddings.word_embeddings.weight"][texts.ids]
        + tables["embeddings.position_embeddings.weight"][: texts.tokens]
        + tables["embeddings.token_type_embeddings.weight"][texts.types]
    )
    exact = _exact(checkpoint, parameters)
    hidden = evaluate(graph, inputs, exact, Precision.F64)["hidden"]
    for text, expected in enumerate(reference_hidden(checkpoint, texts)):
        np.testing.assert_allclose(hidden[text, : len(expected)], expected, atol=1e-5)


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_every_activation(seeded: Seeded, activation: str) -> None:
    checkpoint = seeded(replace(SMALL, activation=activation))
    texts = checkpoint.tokenise(TEXTS)
    vectors = _vectors(checkpoint, texts, len(TEXTS), texts.tokens, Precision.F64)
    np.testing.assert_allclose(vectors, reference_vectors(checkpoint, texts), atol=3e-4)


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("pooling", [*((each,) for each in Pooling), tuple(Pooling)])
def test_every_pooling(seeded: Seeded, pooling: tuple[Pooling, ...], normalise: bool) -> None:
    checkpoint = seeded(replace(SMALL, pooling=pooling, normalise=normalise))
    texts = checkpoint.tokenise(TEXTS)
    expected = reference_vectors(checkpoint, texts)
    assert expected.shape == (len(TEXTS), len(pooling) * SMALL.width)
    on_chip = _run(checkpoint, texts, len(TEXTS), texts.tokens, Precision.F64)
    assert list(on_chip) == ["hidden" if Pooling.MAX in pooling else "pooled"]
    hidden = _run(checkpoint, texts, len(TEXTS), texts.tokens, Precision.F64, hidden=True)
    for outputs in (on_chip, hidden):
        vectors = sentence_vectors(checkpoint, outputs, texts.counts)
        np.testing.assert_allclose(vectors, expected, rtol=2e-3, atol=3e-3)


@pytest.mark.parametrize(("model_type", "first"), [("distilbert", 0), ("roberta", 1)])
def test_other_families(seeded: Seeded, model_type: str, first: int) -> None:
    """RoBERTa's positions start behind its padding token; DistilBERT has no types."""
    checkpoint = seeded(replace(SMALL, model_type=model_type, types=1))
    assert checkpoint.config.first_position == first
    assert checkpoint.config.most_tokens == SMALL.positions - first
    texts = checkpoint.tokenise(TEXTS)
    vectors = _vectors(checkpoint, texts, len(TEXTS), texts.tokens, Precision.F64)
    np.testing.assert_allclose(vectors, reference_vectors(checkpoint, texts), atol=3e-4)


def test_padding_that_a_text_spells_out_has_no_position_in_roberta(seeded: Seeded) -> None:
    checkpoint = seeded(replace(SMALL, model_type="roberta", types=1))
    texts = checkpoint.tokenise(["the [PAD] of", "x"])
    sums = look_up(checkpoint, texts)
    words, positions, types = (
        checkpoint.tensors[f"embeddings.{part}_embeddings.weight"]
        for part in ("word", "position", "token_type")
    )
    expected = words[texts.ids[0]] + positions[[1, 2, 0, 3, 4]] + types[0]
    np.testing.assert_allclose(sums[0], expected, rtol=1e-6)
    vectors = _vectors(checkpoint, texts, 2, texts.tokens, Precision.F64)
    np.testing.assert_allclose(vectors, reference_vectors(checkpoint, texts), atol=3e-4)


@pytest.mark.parametrize("tokens", [1, 2, 17, 40])
@pytest.mark.parametrize("batch", [1, 3, 8])
def test_stored_numbers_keep_the_direction(checkpoint: Checkpoint, batch: int, tokens: int) -> None:
    rng = np.random.default_rng(batch * 100 + tokens)
    counts = rng.integers(1, tokens + 1, batch).astype(np.int32)
    counts[0] = tokens
    ids = rng.integers(0, checkpoint.config.words, (batch, tokens)).astype(np.int32)
    texts = TokenBatch(ids, np.zeros_like(ids), counts, np.zeros(batch, bool))
    vectors = _vectors(checkpoint, texts, batch, tokens)
    assert _cosines(vectors, reference_vectors(checkpoint, texts)).min() > 0.9999


def test_eight_bits_keep_it_less(seeded: Seeded) -> None:
    checkpoint = seeded(SeededModel())
    texts = checkpoint.tokenise(TEXTS)
    vectors = _vectors(checkpoint, texts, len(TEXTS), texts.tokens, weights=DType.F8F143)
    cosines = _cosines(vectors, reference_vectors(checkpoint, texts))
    assert 0.995 < cosines.min() < 0.9999


def test_texts_of_different_lengths_share_a_batch(checkpoint: Checkpoint) -> None:
    texts = checkpoint.tokenise(TEXTS)
    together = _run(checkpoint, texts, 7, 40, Precision.F64)["pooled"]
    for text in range(len(TEXTS)):
        alone = _first(texts, text)
        single = _run(checkpoint, alone, 1, alone.tokens, Precision.F64)["pooled"]
        np.testing.assert_allclose(together[text], single[0], atol=1e-12)


def test_what_fills_a_batch_up_gives_finite_numbers(checkpoint: Checkpoint) -> None:
    texts = checkpoint.tokenise(TEXTS)
    assert np.isfinite(_run(checkpoint, texts, 7, 40, hidden=True)["hidden"]).all()


def test_layers_are_one_repeat_and_the_graph_is_text(checkpoint: Checkpoint) -> None:
    graph, _ = encoder_graph(checkpoint, 2, 8, DType.F8F143)
    repeats = [each.operator for each in graph.operations if isinstance(each.operator, Repeat)]
    assert [each.count for each in repeats] == [checkpoint.config.layers]
    assert parse_graph(str(graph)) == graph


def test_parameters_have_the_formats_that_the_graph_states(checkpoint: Checkpoint) -> None:
    for weights, dtype in ((DType.F16, np.float16), (DType.F8F143, np.float32)):
        graph, parameters = encoder_graph(checkpoint, 2, 8, weights)
        assert list(parameters) == [each.name for each in graph.parameters]
        matrices = {each.name for each in graph.parameters if each.value.type.rank == 2}
        for each in graph.parameters:
            numbers = parameters[each.name]
            assert numbers.shape == each.value.type.shape
            assert numbers.dtype == (dtype if each.name in matrices else np.float16)
            assert each.value.type.dtype is (weights if each.name in matrices else DType.F16)


def test_stored_parameters_are_in_their_format_already(checkpoint: Checkpoint) -> None:
    texts = checkpoint.tokenise(TEXTS)
    graph, parameters = encoder_graph(checkpoint, 4, texts.tokens, DType.F8F143)
    inputs = encoder_inputs(checkpoint, texts, 4, texts.tokens)
    seen: dict[str, Any] = {}
    evaluate(
        graph, inputs, parameters, watch=lambda value, _, array: seen.setdefault(value.name, array)
    )
    for name, numbers in {**parameters, **inputs}.items():
        assert np.array_equal(seen[name], numbers)


@pytest.mark.parametrize(("batch", "tokens"), [(0, 4), (-1, 4), (1, 0), (1, 41)])
def test_sizes_that_the_encoder_does_not_take(
    checkpoint: Checkpoint, batch: int, tokens: int
) -> None:
    with pytest.raises(TextError, match=r"1 text or more|texts of 1 to 40 tokens"):
        encoder_graph(checkpoint, batch, tokens)


def test_weights_in_other_formats(checkpoint: Checkpoint) -> None:
    with pytest.raises(TextError, match="F16 or F8F143, not F32"):
        encoder_graph(checkpoint, 1, 4, DType.F32)


def test_texts_that_do_not_fit(checkpoint: Checkpoint) -> None:
    texts = checkpoint.tokenise(TEXTS)
    with pytest.raises(TextError, match="4 texts do not fit a batch of 3"):
        encoder_inputs(checkpoint, texts, 3, 40)
    with pytest.raises(TextError, match=f"a text of {texts.tokens} tokens does not fit into 5"):
        encoder_inputs(checkpoint, texts, 4, 5)


@pytest.mark.parametrize(("place", "what"), [("ids", "word"), ("types", "type")])
@pytest.mark.parametrize("number", [-1, 1000])
def test_tokens_that_the_tables_do_not_have(
    checkpoint: Checkpoint, place: str, what: str, number: int
) -> None:
    texts = checkpoint.tokenise(TEXTS)
    numbers = np.full_like(texts.ids, number)
    wrong = replace(texts, ids=numbers) if place == "ids" else replace(texts, types=numbers)
    with pytest.raises(TextError, match=f"there is no {what} {number}"):
        encoder_inputs(checkpoint, wrong, 4, texts.tokens)


def test_numbers_that_fill_texts_up_are_not_looked_up(checkpoint: Checkpoint) -> None:
    texts = checkpoint.tokenise(TEXTS)
    own = np.arange(texts.tokens) < texts.counts[:, None]
    other = replace(texts, ids=np.where(own, texts.ids, 10**6))
    for name, numbers in encoder_inputs(checkpoint, texts, 4, 40).items():
        assert np.array_equal(encoder_inputs(checkpoint, other, 4, 40)[name], numbers)
