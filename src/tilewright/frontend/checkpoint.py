"""A checkpoint: an encoder's sizes, its tensors, its tokeniser, and what comes after it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from tilewright.frontend.config import EncoderConfig, read_config
from tilewright.frontend.faults import CheckpointError, TextError
from tilewright.frontend.inventory import (
    POSITIONS,
    TYPES,
    WORDS,
    expected_tensors,
    find_prefix,
    is_ignored,
    plain_name,
)
from tilewright.frontend.json_files import read_settings, shown
from tilewright.frontend.modules import SentenceModel, check_pooled_width, read_modules
from tilewright.frontend.sharding import find_tensors
from tilewright.frontend.tensor_file import StoredTensor, supported_dtypes
from tilewright.frontend.tokenising import TextTokeniser, TokenBatch, open_tokeniser
from tilewright.graph import Shape

LARGEST_HALF = float(np.finfo(np.float16).max)

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """An encoder of the BERT family, checked and in memory.

    `tensors` are float32 by the names that BERT gives them (`encoder.layer.0.output.dense.weight`),
    whatever the family; `ignored` names the file's tensors that hidden states do not depend on.
    """

    name: str
    path: Path
    config: EncoderConfig
    sentence: SentenceModel
    tokeniser: TextTokeniser = field(repr=False)
    tensors: Mapping[str, Floats] = field(repr=False)
    ignored: tuple[str, ...]

    @property
    def most_tokens(self) -> int:
        """The longest text, in tokens.

        The limit of the sentence model counts, or else that of the tokeniser, as far as the encoder
        has positions.
        """
        stated = self.sentence.most_tokens or self.tokeniser.most_tokens
        return min(stated or self.config.most_tokens, self.config.most_tokens)

    def tokenise(self, texts: Sequence[str], tokens: int | None = None) -> TokenBatch:
        """`texts` as numbers, cut and filled up to `tokens`, by default to the longest of them.

        Raises `TextError`; so it does for more tokens than the encoder has positions.
        """
        if tokens is not None:
            check_tokens(self, tokens)
        most = self.most_tokens if tokens is None else min(tokens, self.most_tokens)
        return self.tokeniser.tokenise(texts, most, tokens)


def check_tokens(checkpoint: Checkpoint, tokens: int) -> None:
    """Raises `TextError` for lengths that the encoder does not take."""
    most = checkpoint.config.most_tokens
    if not 1 <= tokens <= most:
        raise TextError(f"{checkpoint.name} takes texts of 1 to {most} tokens, not {tokens}")


def load_checkpoint(path: Path | str) -> Checkpoint:
    """The checkpoint in a folder, or in a safetensors file with the other files beside it.

    Everything is read and checked; raises `CheckpointError`, which lists all that is wrong.
    """
    path = Path(path)
    faults: list[str] = []
    try:
        if not path.exists():
            raise CheckpointError(path, ["there is no such file or folder"])
        loaded = _load(path, faults)
    except OSError as fault:
        raise CheckpointError(path, [*faults, str(fault)]) from fault
    if faults or loaded is None:
        raise CheckpointError(path, faults)
    return loaded


def _load(path: Path, faults: list[str]) -> Checkpoint | None:
    sentence, pooling = read_modules(path if path.is_dir() else path.parent, faults)
    settings = read_settings(sentence.transformer / "config.json", "config.json", faults)
    config = read_config(settings) if settings is not None else None
    if config is not None and pooling is not None:
        check_pooled_width(pooling, config.width)
    tokeniser = open_tokeniser(
        sentence.transformer,
        config.model_type if config else "bert",
        config.padding_token if config else 0,
        sentence.lower_case,
        faults,
    )
    if config is not None and tokeniser is not None:
        _check_tokeniser(tokeniser, config, faults)
    file = find_tensors(path, sentence.transformer, faults)
    if config is None and file is not None:
        faults.append("the tensors were not compared: the encoder's sizes are not known")
    if config is None or file is None:
        return None
    tensors, ignored = _read_tensors(file, config, faults)
    if tokeniser is None:
        return None
    return Checkpoint(
        _name(path), path, config, sentence, tokeniser, MappingProxyType(tensors), ignored
    )


def _check_tokeniser(tokeniser: TextTokeniser, config: EncoderConfig, faults: list[str]) -> None:
    if tokeniser.words > config.words:
        faults.append(
            f"the tokeniser has tokens up to {tokeniser.words - 1}; vocab_size is {config.words}"
        )
    if tokeniser.types > max(config.types, 1):
        faults.append(
            f"the tokeniser has types up to {tokeniser.types - 1}; type_vocab_size is "
            f"{config.types}"
        )


def _name(path: Path) -> str:
    """The innermost name on the path that says more than "model"."""
    resolved = path.resolve()
    inside = resolved if resolved.is_dir() else resolved.with_suffix("")
    names = [each for each in reversed(inside.parts[1:]) if each != "model"]
    return names[0] if names else "model"


def _read_tensors(
    file: Mapping[str, StoredTensor], config: EncoderConfig, faults: list[str]
) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """The encoder's tensors by BERT's names, and the names of those in the file that it ignores."""
    before = len(faults)
    prefix = find_prefix(file, config.family, faults)
    if len(faults) > before:
        return {}, ()
    plain = {name: plain_name(name, prefix, config.family) for name in file}
    ignored = tuple(name for name in file if is_ignored(plain[name]))
    stored = _by_plain_name(
        {name: each for name, each in plain.items() if not is_ignored(each)}, faults
    )
    shapes = expected_tensors(config)
    own = {name: config.family.tensor(name) for name in shapes}
    for name, shape in shapes.items():
        _compare(own[name], stored.get(own[name]), shape, file, faults)
    needed = set(own.values())
    faults += [
        f"tensor {shown(stored[extra])} belongs to no part of a {config.model_type} encoder"
        for extra in stored
        if extra not in needed
    ]
    if len(faults) > before:
        return {}, ignored
    tensors = {name: file[stored[own[name]]].read() for name in shapes}
    _check_numbers(tensors, own, faults)
    return tensors, ignored


def _by_plain_name(plain: Mapping[str, str], faults: list[str]) -> dict[str, str]:
    """The other way round: the file's names of tensors by the plain ones."""
    stored: dict[str, str] = {}
    for name, each in plain.items():
        first = stored.setdefault(each, name)
        if first != name:
            faults.append(
                f"tensors {shown(first)} and {shown(name)} are the same part of the encoder"
            )
    return stored


def _compare(
    wanted: str,
    name: str | None,
    shape: Shape,
    file: Mapping[str, StoredTensor],
    faults: list[str],
) -> None:
    if name is None:
        faults.append(f"tensor {wanted} is missing; it should be {list(shape)}")
        return
    tensor = file[name]
    if tensor.shape != shape:
        faults.append(f"tensor {name} is {list(tensor.shape)}, expected {list(shape)}")
    if not tensor.is_float:
        faults.append(f"tensor {name} is stored as {tensor.dtype}; supported: {supported_dtypes()}")


def _check_numbers(
    tensors: Mapping[str, Floats], own: Mapping[str, str], faults: list[str]
) -> None:
    """All are finite, and nothing that the chip is to hold lies beyond the range of F16."""
    largest = {name: float(np.abs(numbers).max()) for name, numbers in tensors.items()}
    for name, most in largest.items():
        if not np.isfinite(most):
            faults.append(f"tensor {own[name]} holds NaN or infinity")
        elif most > LARGEST_HALF:
            faults.append(f"tensor {own[name]} holds {most:g}; halves end at {LARGEST_HALF:g}")
    rows = [largest[name] for name in (WORDS, POSITIONS, TYPES) if name in largest]
    if sum(rows) > LARGEST_HALF >= max(rows):
        faults.append(f"sums of embeddings may reach {sum(rows):g}; halves end at {LARGEST_HALF:g}")
