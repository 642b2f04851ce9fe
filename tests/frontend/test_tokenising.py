"""Texts to tokens, against the rules of WordPiece done by hand."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.frontend.models import SMALL
from tilewright.frontend import Checkpoint, CheckpointError, TextError, load_checkpoint
from tilewright.frontend.seeded import VOCABULARY

NUMBERS = {word: number for number, word in enumerate(VOCABULARY)}


def _spelled(*words: str) -> list[int]:
    return [NUMBERS[word] for word in words]


def test_words_are_known_or_spelled(checkpoint: Checkpoint) -> None:
    tokens = checkpoint.tokenise(["The cat, of Ωx"])
    assert tokens.ids.tolist() == [
        _spelled("[CLS]", "the", "c", "##a", "##t", ",", "of", "[UNK]", "[SEP]")
    ]
    assert tokens.ids.dtype == np.int32
    assert not tokens.types.any()


def test_texts_are_filled_up_on_the_right(checkpoint: Checkpoint) -> None:
    tokens = checkpoint.tokenise(["the", "the of the"])
    assert tokens.ids.tolist() == [
        _spelled("[CLS]", "the", "[SEP]", "[PAD]", "[PAD]"),
        _spelled("[CLS]", "the", "of", "the", "[SEP]"),
    ]
    assert tokens.counts.tolist() == [3, 5]
    wider = checkpoint.tokenise(["the", "the of the"], 9)
    assert np.array_equal(wider.ids[:, :5], tokens.ids)
    assert not wider.ids[:, 5:].any()


def test_texts_are_cut_and_that_is_told(checkpoint: Checkpoint) -> None:
    tokens = checkpoint.tokenise(["the of the of", "the"], 4)
    assert tokens.ids.tolist() == [
        _spelled("[CLS]", "the", "of", "[SEP]"),
        _spelled("[CLS]", "the", "[SEP]", "[PAD]"),
    ]
    assert tokens.truncated.tolist() == [True, False]


def test_long_texts_are_cut_to_what_the_model_wants(checkpoint: Checkpoint) -> None:
    tokens = checkpoint.tokenise(["the " * 1000])
    assert (tokens.tokens, tokens.counts.tolist()) == (40, [40])
    assert tokens.truncated.all()


def test_more_tokens_than_the_model_wants_are_filling(checkpoint: Checkpoint) -> None:
    narrower = replace(checkpoint, sentence=replace(checkpoint.sentence, most_tokens=6))
    tokens = narrower.tokenise(["the " * 10], 10)
    assert (tokens.tokens, tokens.counts.tolist()) == (10, [6])


@given(texts=st.lists(st.text(max_size=30), min_size=1, max_size=4))
def test_a_text_is_tokenised_alike_in_any_company(checkpoint: Checkpoint, texts: list[str]) -> None:
    together = checkpoint.tokenise(texts)
    for row, text in enumerate(texts):
        alone = checkpoint.tokenise([text])
        assert alone.counts[0] == together.counts[row]
        assert np.array_equal(alone.ids[0], together.ids[row, : alone.tokens])


def test_white_space_at_the_ends_does_not_count(copied: Path) -> None:
    """To a tokeniser without rules for white space."""
    path = copied / "tokenizer.json"
    values = json.loads(path.read_text()) | {"normalizer": None, "pre_tokenizer": None}
    path.write_text(json.dumps(values))
    tokens = load_checkpoint(copied).tokenise(["\n the  "])
    assert tokens.ids.tolist() == [_spelled("[CLS]", "the", "[SEP]")]


def test_lengths_in_the_tokeniser_s_file_do_not_count(copied: Path, checkpoint: Checkpoint) -> None:
    """The model's files state the lengths; tokenizer.json has those of some use of it."""
    path = copied / "tokenizer.json"
    lengths = {
        "truncation": {
            "direction": "Right",
            "max_length": 4,
            "strategy": "LongestFirst",
            "stride": 0,
        },
        "padding": {
            "strategy": {"Fixed": 30},
            "direction": "Left",
            "pad_to_multiple_of": None,
            "pad_id": 1,
            "pad_type_id": 1,
            "pad_token": "[UNK]",
        },
    }
    path.write_text(json.dumps(json.loads(path.read_text()) | lengths))
    texts = ["the of the of the", "x"]
    tokens, expected = load_checkpoint(copied).tokenise(texts), checkpoint.tokenise(texts)
    assert np.array_equal(tokens.ids, expected.ids)
    assert np.array_equal(tokens.counts, expected.counts)


def test_an_empty_text_has_the_tokens_that_every_text_has(checkpoint: Checkpoint) -> None:
    assert checkpoint.tokenise(["", " \n"]).ids.tolist() == 2 * [_spelled("[CLS]", "[SEP]")]


def test_no_room_for_text(checkpoint: Checkpoint) -> None:
    with pytest.raises(TextError, match=r"2 tokens leave no room .* ask for 3 or more"):
        checkpoint.tokenise(["the"], 2)
    assert checkpoint.tokenise(["the"], 3).counts.tolist() == [3]


@pytest.mark.parametrize("texts", [[], "a text", [b"bytes"], [None], ["\ud800"]])
def test_what_is_no_list_of_texts(checkpoint: Checkpoint, texts: list[str]) -> None:
    with pytest.raises(TextError):
        checkpoint.tokenise(texts)


def test_more_tokens_than_there_are_positions(checkpoint: Checkpoint) -> None:
    with pytest.raises(TextError, match="takes texts of 1 to 40 tokens, not 41"):
        checkpoint.tokenise(["the"], 41)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_list_of_words_does_as_well(copied: Path, checkpoint: Checkpoint, end: str) -> None:
    (copied / "tokenizer.json").unlink()
    (copied / "vocab.txt").write_bytes("".join(word + end for word in VOCABULARY).encode())
    loaded = load_checkpoint(copied)
    texts = ["The cát, of [MASK] Ωx", "", "日本 x_y"]
    expected = checkpoint.tokenise(texts)
    assert np.array_equal(loaded.tokenise(texts).ids, expected.ids)


def test_a_list_without_the_marks(copied: Path) -> None:
    (copied / "tokenizer.json").unlink()
    (copied / "vocab.txt").write_text("\n".join(VOCABULARY[1:]))
    with pytest.raises(CheckpointError, match=r'vocab.txt: lacks "\[PAD\]"'):
        load_checkpoint(copied)


def test_lower_case_where_the_model_wants_it(copied: Path) -> None:
    settings = copied / "sentence_bert_config.json"
    (copied / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    assert NUMBERS["[UNK]"] in load_checkpoint(copied).tokenise(["THE"]).ids
    settings.write_text(f'{{"max_seq_length": {SMALL.most_tokens}, "do_lower_case": true}}')
    assert load_checkpoint(copied).tokenise(["THE"]).ids.tolist() == [
        _spelled("[CLS]", "the", "[SEP]")
    ]


@pytest.mark.parametrize("described", [True, False])
@pytest.mark.parametrize("stated", [True, False])
def test_settings_of_letters_count_before_the_description(
    copied: Path, described: bool, stated: bool
) -> None:
    """As for the tokenisers of BERT in transformers."""
    path = copied / "tokenizer.json"
    content = json.loads(path.read_text())
    content["normalizer"] |= {"lowercase": described, "strip_accents": False}
    path.write_text(json.dumps(content))
    letters = {"do_lower_case": stated, "strip_accents": True}
    (copied / "tokenizer_config.json").write_text(json.dumps(letters))
    expected = _spelled("[CLS]", "the" if stated else "[UNK]", "a", "[SEP]")
    assert load_checkpoint(copied).tokenise(["THE á"]).ids.tolist() == [expected]


def test_texts_are_cut_where_the_settings_say(copied: Path) -> None:
    settings = copied / "tokenizer_config.json"
    settings.write_text('{"truncation_side": "left"}')
    tokens = load_checkpoint(copied).tokenise(["the of and to"], 4)
    assert tokens.ids.tolist() == [_spelled("[CLS]", "and", "to", "[SEP]")]
    assert tokens.truncated.all()
    settings.write_text('{"truncation_side": "middle"}')
    with pytest.raises(
        CheckpointError, match='truncation_side is "middle"; supported: right, left'
    ):
        load_checkpoint(copied)
