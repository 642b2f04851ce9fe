"""Loading: what is read from where, and that everything wrong is told together, by name."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from tests.frontend.models import SMALL, TEXTS
from tilewright.frontend import (
    Checkpoint,
    CheckpointError,
    Pooling,
    load_checkpoint,
    reference_vectors,
    write_seeded_checkpoint,
)
from tilewright.frontend.inventory import FIRST_NORM

Tensors = dict[str, NDArray[Any]]


def _change(path: Path, **values: Any) -> None:
    """Set keys of a JSON object; `None` removes them."""
    settings = json.loads(path.read_text()) | values
    path.write_text(json.dumps({key: each for key, each in settings.items() if each is not None}))


def _rewrite(folder: Path, change: Callable[[Tensors], Tensors]) -> None:
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path)


def _faults(path: Path) -> tuple[str, ...]:
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path)
    for fault in caught.value.faults[:40]:
        assert fault in str(caught.value)
    return caught.value.faults


def test_what_is_loaded_is_what_the_files_say(folder: Path, checkpoint: Checkpoint) -> None:
    config = checkpoint.config
    assert (config.layers, config.width, config.heads, config.inner) == (2, 32, 4, 48)
    assert config.head_size == 8
    assert checkpoint.name == "small"
    assert checkpoint.most_tokens == 40
    assert checkpoint.sentence.pooling == (Pooling.MEAN,)
    assert checkpoint.sentence.normalise
    stored = load_file(folder / "model.safetensors")
    assert checkpoint.tensors.keys() == stored.keys()
    for name, numbers in stored.items():
        assert np.array_equal(checkpoint.tensors[name], numbers)


def test_a_file_with_others_beside_it(folder: Path, checkpoint: Checkpoint) -> None:
    loaded = load_checkpoint(str(folder / "model.safetensors"))
    assert loaded.name == "small"
    assert loaded.config == checkpoint.config


@pytest.mark.parametrize("prefix", ["", "bert.", "module.bert.", "0.auto_model.", "encoder."])
def test_names_of_models_with_heads_and_of_old(
    copied: Path, checkpoint: Checkpoint, prefix: str
) -> None:
    beside = {"module.bert.": "module.", "0.auto_model.": "0."}.get(prefix, "")

    def old(tensors: Tensors) -> Tensors:
        renamed = {
            prefix
            + name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): numbers
            for name, numbers in tensors.items()
        }
        head = np.zeros(3, np.float32)
        return renamed | {f"{beside}cls.predictions.bias": head, f"{prefix}pooler.dense.bias": head}

    _rewrite(copied, old)
    loaded = load_checkpoint(copied)
    assert set(loaded.ignored) == {f"{beside}cls.predictions.bias", f"{prefix}pooler.dense.bias"}
    for name, numbers in checkpoint.tensors.items():
        assert np.array_equal(loaded.tensors[name], numbers)


def test_tensors_of_another_family_or_of_two_encoders(copied: Path) -> None:
    _rewrite(copied, lambda tensors: {f"roberta.{name}": each for name, each in tensors.items()})
    (fault,) = _faults(copied)
    assert fault.startswith("tensors begin with roberta., and are not of the kind")
    _rewrite(copied, lambda tensors: tensors | {k[8:]: v for k, v in tensors.items()})
    (fault,) = _faults(copied)
    assert fault == "tensors of several encoders: '', 'roberta.'"


def _shard(folder: Path, files: int) -> Path:
    """Spread the tensors over several files; gives the index."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = [f"model-{number + 1:05d}-of-{files:05d}.safetensors" for number in range(files)]
    places = {name: names[place % files] for place, name in enumerate(tensors)}
    for file in names:
        save_file({k: v for k, v in tensors.items() if places[k] == file}, folder / file)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": places}))
    return index


def test_tensors_in_several_files(copied: Path, checkpoint: Checkpoint) -> None:
    _shard(copied, 3)
    tensors = load_checkpoint(copied).tensors
    assert tensors.keys() == checkpoint.tensors.keys()
    for name, numbers in checkpoint.tensors.items():
        assert np.array_equal(tensors[name], numbers)


def test_an_index_that_is_wrong(copied: Path) -> None:
    index = _shard(copied, 2)
    first, second = (f"model-0000{number}-of-00002.safetensors" for number in (1, 2))
    places = json.loads(index.read_text())["weight_map"]
    norm = "embeddings.LayerNorm.weight"
    index.write_text(json.dumps({"weight_map": places | {norm: second, "x": first}}))
    held = second if places[norm] == first else first
    index.write_text(json.dumps({"weight_map": places | {norm: held, "x": first}}))
    faults = _faults(copied)
    start = "model.safetensors.index.json: weight_map"
    assert faults[:2] == (
        f"{start} says that {held} holds {norm}; it does not",
        f"{start} says that {first} holds x; it does not",
    )
    assert faults[2] == f"tensor {norm} is missing; it should be [32]"
    (copied / second).unlink()
    assert any(second in fault and "No such file" in fault for fault in _faults(copied))
    index.write_text(json.dumps({"weight_map": places | {"x": "../x.safetensors"}}))
    assert f'{start} names the file "../x.safetensors", which is none in its folder' in _faults(
        copied
    )
    for wrong in ("{}", '{"weight_map": [1]}', '{"weight_map": {}}'):
        index.write_text(wrong)
        assert any("it must name the file of each tensor" in fault for fault in _faults(copied))


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16])
def test_other_formats_of_tensors(copied: Path, checkpoint: Checkpoint, dtype: Any) -> None:
    _rewrite(copied, lambda tensors: {name: each.astype(dtype) for name, each in tensors.items()})
    loaded = load_checkpoint(copied)
    for name, numbers in checkpoint.tensors.items():
        assert loaded.tensors[name].dtype == np.float32
        assert np.array_equal(loaded.tensors[name], numbers.astype(dtype).astype(np.float32))


def test_without_modules_the_mean_is_pooled(copied: Path, checkpoint: Checkpoint) -> None:
    (copied / "modules.json").unlink()
    loaded = load_checkpoint(copied)
    assert loaded.sentence.pooling == (Pooling.MEAN,)
    assert not loaded.sentence.normalise
    texts = loaded.tokenise(TEXTS)
    vectors = reference_vectors(loaded, texts)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors, reference_vectors(checkpoint, texts), atol=1e-6)


def test_vectors_are_normalised_only_where_a_module_says_so(tmp_path: Path) -> None:
    for normalise in (True, False):
        folder = write_seeded_checkpoint(tmp_path, replace(SMALL, normalise=normalise))
        assert load_checkpoint(folder).sentence.normalise == normalise


def test_an_encoder_in_a_folder_of_its_own(copied: Path) -> None:
    inner = copied / "0_Transformer"
    inner.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "sentence_bert_config.json"):
        (copied / name).rename(inner / name)
    modules = json.loads((copied / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (copied / "modules.json").write_text(json.dumps(modules))
    assert load_checkpoint(copied).most_tokens == SMALL.most_tokens


def test_pooling_by_name(copied: Path) -> None:
    (copied / "1_Pooling" / "config.json").write_text('{"pooling_mode": "cls"}')
    assert load_checkpoint(copied).sentence.pooling == (Pooling.FIRST,)


def test_the_mean_is_pooled_unless_files_say_that_it_is_not(copied: Path) -> None:
    """As by sentence-transformers, where only this flag is set if it is left out."""
    pooling = copied / "1_Pooling" / "config.json"
    pooling.write_text('{"pooling_mode_cls_token": true}')
    assert load_checkpoint(copied).sentence.pooling == (Pooling.FIRST, Pooling.MEAN)
    pooling.write_text('{"pooling_mode_mean_tokens": false}')
    assert "none is true" in "".join(_faults(copied))


@pytest.mark.parametrize("kind", ["bert", "roberta", "xlm-roberta"])
def test_which_limit_of_tokens_counts(copied: Path, kind: str) -> None:
    """That of the sentence model, else the tokeniser's, up to the encoder's 40 positions."""
    limits = copied / f"sentence_{kind}_config.json"
    (copied / "sentence_bert_config.json").rename(limits)
    _change(limits, max_seq_length=30)
    assert load_checkpoint(copied).most_tokens == 30
    _change(copied / "tokenizer_config.json", model_max_length=20)
    assert load_checkpoint(copied).most_tokens == 30
    _change(limits, max_seq_length=None)
    assert load_checkpoint(copied).most_tokens == 20
    _change(copied / "tokenizer_config.json", model_max_length=10**30)
    assert load_checkpoint(copied).most_tokens == 40
    _change(limits, max_seq_length=512)
    assert load_checkpoint(copied).most_tokens == 40


def test_everything_wrong_is_told_together(copied: Path) -> None:
    _change(
        copied / "config.json",
        hidden_act="quick_gelu",
        position_embedding_type="relative_key",
        is_decoder=True,
    )
    _change(copied / "1_Pooling" / "config.json", pooling_mode_median_tokens=True)
    (copied / "tokenizer.json").write_text("{}")
    _rewrite(copied, lambda tensors: tensors | {"extra": np.zeros(1, np.float32)})
    faults = "\n".join(_faults(copied))
    for words in (
        'config.json: hidden_act is "quick_gelu"; supported: gelu, ',
        'config.json: position_embedding_type is "relative_key"; supported: absolute',
        "config.json: is_decoder is true; supported are encoders only",
        "1_Pooling/config.json: pooling_mode_median_tokens is true; supported are ",
        "tokenizer.json: ",
        "tensor extra belongs to no part of a bert encoder",
    ):
        assert words in faults


def test_without_sizes_tensors_are_not_compared(copied: Path) -> None:
    _change(copied / "config.json", num_hidden_layers="many")
    assert any("the tensors were not compared" in each for each in _faults(copied))


def test_all_tensors_that_are_wrong_are_named(copied: Path) -> None:
    def damage(tensors: Tensors) -> Tensors:
        del tensors["encoder.layer.1.output.dense.bias"]
        tensors["encoder.layer.0.intermediate.dense.weight"] = np.zeros((32, 48), np.float32)
        tensors["encoder.layer.2.output.dense.bias"] = np.zeros(32, np.float32)
        tensors["encoder.layer.0.output.dense.bias"] = np.zeros(32, np.int8)
        return tensors

    _rewrite(copied, damage)
    assert sorted(_faults(copied)) == [
        "tensor encoder.layer.0.intermediate.dense.weight is [32, 48], expected [48, 32]",
        "tensor encoder.layer.0.output.dense.bias is stored as I8; supported: F64, F32, F16, BF16",
        "tensor encoder.layer.1.output.dense.bias is missing; it should be [32]",
        "tensor encoder.layer.2.output.dense.bias belongs to no part of a bert encoder",
    ]


def test_a_tokeniser_that_is_missing_hides_no_tensor(copied: Path) -> None:
    (copied / "tokenizer.json").unlink()
    _rewrite(copied, lambda tensors: tensors | {"extra": np.zeros(1, np.float32)})
    assert _faults(copied) == (
        "tokenizer.json: there is no such file, nor is there vocab.txt",
        "tensor extra belongs to no part of a bert encoder",
    )


def test_numbers_that_no_half_holds(copied: Path) -> None:
    def damage(tensors: Tensors) -> Tensors:
        tensors["encoder.layer.0.output.dense.bias"][3] = np.nan
        tensors["encoder.layer.1.output.dense.bias"][3] = 70000
        tensors["embeddings.word_embeddings.weight"][5] = 40000
        tensors["embeddings.position_embeddings.weight"][5] = -40000
        return tensors

    _rewrite(copied, damage)
    faults = _faults(copied)
    assert faults[:2] == (
        "tensor encoder.layer.0.output.dense.bias holds NaN or infinity",
        "tensor encoder.layer.1.output.dense.bias holds 70000; halves end at 65504",
    )
    assert faults[2].startswith("sums of embeddings may reach 8000")


def test_one_part_under_two_names(copied: Path) -> None:
    name = "encoder.layer.0.output.dense.bias"
    _rewrite(copied, lambda tensors: tensors | {f"bert.{name}": tensors[name]})
    (fault,) = _faults(copied)
    assert "are the same part of the encoder" in fault
    assert f"bert.{name}" in fault


def test_a_table_smaller_than_the_tokeniser(copied: Path) -> None:
    words = json.loads((copied / "config.json").read_text())["vocab_size"]
    _change(copied / "config.json", vocab_size=words - 1)
    faults = _faults(copied)
    assert faults[0] == f"the tokeniser has tokens up to {words - 1}; vocab_size is {words - 1}"
    assert "word_embeddings" in faults[1]


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"hidden_size": 33}, "hidden_size is 33, which 4 heads do not divide"),
        ({"hidden_size": None}, "hidden_size is missing; it must be a whole number from 1 to"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000; it must be a whole"),
        ({"num_hidden_layers": True}, "num_hidden_layers is true; it must be a whole number"),
        ({"layer_norm_eps": -1}, "layer_norm_eps is -1; it must be a number from 1e-30 to 1e+30"),
        ({"layer_norm_eps": 0}, "layer_norm_eps is 0; it must be a number from 1e-30 to 1e+30"),
        ({"layer_norm_eps": 10**400}, "layer_norm_eps is 1000"),
        ({"layer_norm_eps": "x"}, 'layer_norm_eps is "x"; it must be a number from'),
        ({"pad_token_id": 5000}, "pad_token_id is 5000; vocab_size is "),
        ({"hidden_act": ["gelu"]}, 'hidden_act is ["gelu"]; supported: gelu, '),
        ({"model_type": "mpnet"}, 'model_type is "mpnet"; supported: bert, '),
        ({"model_type": None}, "model_type is missing; supported: bert, "),
        ({"is_decoder": 0}, "is_decoder is 0; it must be true or false"),
        ({"quantization_config": {}}, "quantization_config is set"),
    ],
)
def test_settings_that_will_not_do(copied: Path, values: dict[str, Any], fault: str) -> None:
    _change(copied / "config.json", **values)
    assert any(each.startswith(f"config.json: {fault}") for each in _faults(copied))


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (["Transformer", "Pooling", "Dense"], "supported are Transformer, Pooling"),
        (["Pooling", "Transformer"], "supported are Transformer, Pooling"),
        ([], "supported are Transformer, Pooling"),
    ],
)
def test_modules_that_are_not_supported(copied: Path, kinds: list[str], words: str) -> None:
    modules = [{"path": "", "type": f"sentence_transformers.models.{kind}"} for kind in kinds]
    (copied / "modules.json").write_text(json.dumps(modules))
    (fault,) = _faults(copied)
    assert words in fault
    assert all(kind in fault for kind in kinds)


def test_pooling_for_another_width(copied: Path) -> None:
    _change(copied / "1_Pooling" / "config.json", word_embedding_dimension=384)
    (fault,) = _faults(copied)
    assert fault == "1_Pooling/config.json: word_embedding_dimension is 384; hidden_size is 32"


def test_a_prompt_is_not_left_out_silently(copied: Path) -> None:
    (copied / "config_sentence_transformers.json").write_text('{"default_prompt_name": "query"}')
    (fault,) = _faults(copied)
    assert fault.endswith('default_prompt_name is "query"; prompts are not supported')


def test_the_names_of_distilbert(tmp_path: Path) -> None:
    folder = write_seeded_checkpoint(tmp_path, replace(SMALL, model_type="distilbert"))
    stored = load_file(folder / "model.safetensors")
    assert "transformer.layer.1.attention.q_lin.weight" in stored
    assert not any("token_type" in name for name in stored)
    head = {"vocab_projector.bias": np.zeros(9, np.float32)}
    _rewrite(folder, lambda tensors: {f"distilbert.{k}": v for k, v in tensors.items()} | head)
    tensors = load_checkpoint(folder).tensors
    for own, plain in (
        ("transformer.layer.1.attention.k_lin.weight", "encoder.layer.1.attention.self.key.weight"),
        ("transformer.layer.0.ffn.lin2.bias", "encoder.layer.0.output.dense.bias"),
        ("transformer.layer.0.sa_layer_norm.bias", f"encoder.layer.0.{FIRST_NORM}.bias"),
        ("embeddings.LayerNorm.weight", "embeddings.LayerNorm.weight"),
    ):
        assert np.array_equal(tensors[plain], stored[own])
    _rewrite(folder, lambda tensors: {k: v for k, v in tensors.items() if "1.ffn.lin1.w" not in k})
    assert _faults(folder) == (
        "tensor transformer.layer.1.ffn.lin1.weight is missing; it should be [48, 32]",
    )


def test_nothing_there(tmp_path: Path) -> None:
    assert _faults(tmp_path / "missing") == ("there is no such file or folder",)
    faults = "\n".join(_faults(tmp_path))
    assert "config.json: there is no such file" in faults
    assert "tokenizer.json: there is no such file" in faults
    assert "there is no safetensors file" in faults


def test_settings_that_are_null_are_missing(copied: Path) -> None:
    path = copied / "config.json"
    settings = json.loads(path.read_text())
    usual = dict.fromkeys(("position_embedding_type", "pad_token_id", "is_decoder", "hidden_act"))
    path.write_text(json.dumps(settings | usual))
    assert load_checkpoint(copied).config.padding_token == 0
    path.write_text(json.dumps(settings | {"hidden_size": None}))
    assert "config.json: hidden_size is missing" in "".join(_faults(copied))


def test_files_of_other_formats_are_named(copied: Path) -> None:
    (copied / "model.safetensors").rename(copied / "pytorch_model.bin")
    (copied / "tokenizer.json").rename(copied / "merges.txt")
    tokeniser, tensors = _faults(copied)
    assert "nor is there vocab.txt; merges.txt cannot be read: save the tokeniser with" in tokeniser
    assert "and pytorch_model.bin cannot be read; save the model with save_pretrained" in tensors


def test_several_safetensors_files(copied: Path) -> None:
    (copied / "model.safetensors").rename(copied / "a.safetensors")
    assert load_checkpoint(copied).config.width == 32
    (copied / "b.safetensors").write_bytes(b"")
    (fault,) = _faults(copied)
    assert "(a.safetensors, b.safetensors), and no model.safetensors.index.json; name one" in fault
    assert load_checkpoint(copied / "a.safetensors").name == "a"
