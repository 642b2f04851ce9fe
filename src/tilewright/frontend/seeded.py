"""Writing small checkpoints with seeded weights, in the files that real ones have.

For tests, and for demonstrations where no real checkpoint is at hand. The vectors of such a model
mean nothing, but they are computed as those of a real one are.
"""

import json
import string
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from tilewright.files import write_atomically
from tilewright.frontend.config import EncoderConfig, read_config
from tilewright.frontend.families import FAMILIES
from tilewright.frontend.inventory import expected_tensors
from tilewright.frontend.json_files import Settings
from tilewright.frontend.modules import Pooling

_MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_WORDS = "the a of and to in is it that was for on are with as be at one have this from by not but"
_CHARACTERS = string.ascii_lowercase + string.digits + string.punctuation
VOCABULARY = (
    *_MARKS,
    *_CHARACTERS,
    *(f"##{each}" for each in string.ascii_lowercase + string.digits),
    *(word for word in _WORDS.split() if len(word) > 1),
)
"""Enough for any text in ASCII: a few words, and letters to spell the others."""


@dataclass(frozen=True, slots=True)
class SeededModel:
    """What to write. Sizes are those of `EncoderConfig`; `activation` is a `hidden_act`."""

    seed: int = 0
    model_type: str = "bert"
    layers: int = 2
    width: int = 64
    heads: int = 4
    inner: int = 256
    positions: int = 512
    types: int = 2
    activation: str = "gelu"
    epsilon: float = 1e-12
    pooling: tuple[Pooling, ...] = (Pooling.MEAN,)
    normalise: bool = True
    most_tokens: int = 256


def write_seeded_checkpoint(folder: Path, model: SeededModel) -> Path:
    """Write `model` into `folder`, which is made if it is missing; gives `folder`.

    The same model gives the same bytes. Raises `FileError`, and `ValueError` for a model that no
    checkpoint could describe.
    """
    settings = _config(model)
    config = _checked(settings)
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    files: dict[str, Any] = {
        "config.json": settings,
        "tokenizer.json": _tokeniser(),
        "tokenizer_config.json": {"do_lower_case": True, "tokenizer_class": "BertTokenizer"},
        "sentence_bert_config.json": {"max_seq_length": model.most_tokens, "do_lower_case": False},
        "modules.json": _modules(model.normalise),
        "1_Pooling/config.json": {
            "word_embedding_dimension": model.width,
            **{each.key: each in model.pooling for each in Pooling},
        },
    }
    for name, content in files.items():
        write_atomically(folder / name, json.dumps(content, indent=2) + "\n")
    tensors = _tensors(config, model.seed)
    write_atomically(folder / "model.safetensors", save(tensors, {"format": "np"}))
    return folder


def _config(model: SeededModel) -> dict[str, Any]:
    settings = {
        "model_type": model.model_type,
        "num_hidden_layers": model.layers,
        "hidden_size": model.width,
        "num_attention_heads": model.heads,
        "intermediate_size": model.inner,
        "hidden_act": model.activation,
        "layer_norm_eps": model.epsilon,
        "vocab_size": len(VOCABULARY),
        "max_position_embeddings": model.positions,
        "type_vocab_size": model.types,
        "pad_token_id": VOCABULARY.index("[PAD]"),
        "position_embedding_type": "absolute",
    }
    family = FAMILIES[model.model_type]
    return {family.setting(key): value for key, value in settings.items()}


def _checked(settings: dict[str, Any]) -> EncoderConfig:
    faults: list[str] = []
    config = read_config(Settings("the seeded model", settings, faults))
    if config is None:
        raise ValueError("; ".join(faults))
    return config


def _tensors(config: EncoderConfig, seed: int) -> dict[str, NDArray[np.float32]]:
    """Numbers of the sizes that trained encoders have, so that attention picks and chooses."""
    rng = np.random.default_rng(seed)

    def numbers(name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        spread = 0.1
        if len(shape) == 2:
            spread = 1.0 if "embeddings" in name else shape[1] ** -0.5
        centre = 1.0 if name.endswith("LayerNorm.weight") else 0.0
        return rng.normal(centre, spread, shape).astype(np.float32)

    return {
        config.family.tensor(name): numbers(name, shape)
        for name, shape in expected_tensors(config).items()
    }


def _modules(normalise: bool) -> list[dict[str, Any]]:
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling")]
    if normalise:
        kinds.append(("2_Normalize", "Normalize"))
    return [
        {
            "idx": index,
            "name": str(index),
            "path": path,
            "type": f"sentence_transformers.models.{kind}",
        }
        for index, (path, kind) in enumerate(kinds)
    ]


def _tokeniser() -> dict[str, Any]:
    """BERT's tokeniser over `VOCABULARY`, as the `tokenizers` library writes it."""
    numbers = {word: number for number, word in enumerate(VOCABULARY)}
    around = {mark: {"id": mark, "ids": [numbers[mark]], "tokens": [mark]} for mark in _MARKS[2:4]}
    cls, text, sep = (
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    )
    second = [
        {"Sequence": {"id": "B", "type_id": 1}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 1}},
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": numbers[mark],
                "content": mark,
                "special": True,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
            }
            for mark in _MARKS
        ],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [cls, text, sep],
            "pair": [cls, text, sep, *second],
            "special_tokens": around,
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": numbers,
        },
    }
