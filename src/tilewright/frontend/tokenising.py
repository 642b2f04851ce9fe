"""Texts to numbered tokens, by the checkpoint's own tokeniser."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer, models, normalizers, pre_tokenizers, processors

from tilewright.frontend.faults import TextError
from tilewright.frontend.json_files import Settings, read_settings, read_small, shown

TOKENISER = "tokenizer.json"
VOCABULARY = "vocab.txt"
WORD_PIECES = ("bert", "distilbert")
"""Kinds of models whose tokeniser is BERT's, so that a list of words is enough."""
TOKENISER_SETTINGS = "tokenizer_config.json"
_OTHER_TOKENISERS = ("vocab.json", "merges.txt", "sentencepiece.bpe.model", "spiece.model")

MOST_TOKENISER_BYTES = 64 << 20
"""Those with 250,000 words in many languages have some 17 MB."""

_MARKS = MappingProxyType(
    {
        "unk_token": "[UNK]",
        "sep_token": "[SEP]",
        "cls_token": "[CLS]",
        "pad_token": "[PAD]",
        "mask_token": "[MASK]",
    }
)
"""Words of BERT's that stand for no text, by what settings call them."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenBatch:
    """Texts as numbers: `ids` and `types` are int32, texts × tokens, filled up on the right.

    `counts` says how many tokens of each text are its own; `truncated`, which texts lost some at
    the end to fit.
    """

    ids: NDArray[np.int32]
    types: NDArray[np.int32]
    counts: NDArray[np.int32]
    truncated: NDArray[np.bool_]

    @property
    def texts(self) -> int:
        return len(self.ids)

    @property
    def tokens(self) -> int:
        return int(self.ids.shape[1])


class TextTokeniser:
    """The tokeniser of a checkpoint.

    `most_tokens` is the limit that its own settings state; `words` and `types` are one more than
    the greatest numbers that it gives to tokens and their types; `special_tokens` says how many
    tokens it adds to each text, such as [CLS] and [SEP].
    """

    def __init__(
        self, tokenizer: Tokenizer, padding_token: int, lower_case: bool, settings: Settings
    ) -> None:
        self._tokenizer = tokenizer
        self._padding_token = padding_token
        self._lower_case = lower_case
        self._cut_side = settings.choice("truncation_side", ("right", "left"), "right") or "right"
        self.most_tokens = _stated_limit(settings)
        tokenizer.no_padding()
        sample = tokenizer.encode("text")
        vocabulary: dict[str, int] = tokenizer.get_vocab(with_added_tokens=True)
        self.words = 1 + max((*vocabulary.values(), *sample.ids), default=-1)
        self.types = 1 + max(sample.type_ids, default=0)
        self.special_tokens: int = tokenizer.num_special_tokens_to_add(False)

    def tokenise(self, texts: Sequence[str], most: int, length: int | None = None) -> TokenBatch:
        """`texts` cut to `most` tokens each and filled up to `length`, by default the longest.

        White space at both ends of a text does not count. Raises `TextError` for what is no text,
        for texts without tokens, and if `most` leaves no room for a token of the text.
        """
        if most <= self.special_tokens:
            raise TextError(
                f"{most} tokens leave no room for text: the tokeniser itself adds "
                f"{self.special_tokens}; ask for {self.special_tokens + 1} or more"
            )
        plain = [self._plain(text, number) for number, text in enumerate(_listed(texts))]
        encodings = self._encode(plain, most)
        counts = np.array([len(each) for each in encodings], np.int32)
        for wrong in np.flatnonzero((counts == 0) | (counts > most)):
            raise TextError(f"text {wrong} has {counts[wrong]} tokens, not 1 to {most}")
        ids = np.full((len(texts), length or counts.max()), self._padding_token, np.int32)
        types = np.zeros_like(ids)
        for row, each in enumerate(encodings):
            ids[row, : len(each)] = each.ids
            types[row, : len(each)] = each.type_ids
        truncated = np.array([bool(each.overflowing) for each in encodings])
        return TokenBatch(ids, types, counts, truncated)

    def _encode(self, texts: list[str], most: int) -> list[Encoding]:
        self._tokenizer.enable_truncation(most, direction=self._cut_side)
        try:
            with _library_errors():
                encodings: list[Encoding] = self._tokenizer.encode_batch(texts)
        except ValueError as fault:
            raise TextError(f"the tokeniser does not take a text: {fault}") from fault
        return encodings

    def _plain(self, text: str, number: int) -> str:
        if not isinstance(text, str):
            raise TextError(f"expected a text, found {text!r}")
        try:
            text.encode()
        except UnicodeEncodeError as fault:
            what = ascii(text[fault.start])
            raise TextError(f"text {number} holds {what}, which is no character") from None
        text = text.strip()
        return text.lower() if self._lower_case else text


def _listed(texts: Sequence[str]) -> list[str]:
    listed = [] if isinstance(texts, str) else list(texts)
    if not listed:
        raise TextError(f"expected a list of one text or more, found {texts!r}")
    return listed


def open_tokeniser(
    folder: Path, model_type: str, padding_token: int, lower_case: bool, faults: list[str]
) -> TextTokeniser | None:
    """The tokeniser in `folder`; `None`, and a line in `faults`, if it cannot be used."""
    settings = None
    if (folder / TOKENISER_SETTINGS).exists():
        settings = read_settings(folder / TOKENISER_SETTINGS, TOKENISER_SETTINGS, faults)
    settings = settings or Settings(TOKENISER_SETTINGS, {}, faults)
    if (folder / TOKENISER).exists():
        path, make = folder / TOKENISER, _from_description
    elif model_type in WORD_PIECES and (folder / VOCABULARY).exists():
        path, make = folder / VOCABULARY, _from_vocabulary
    else:
        faults.append(_none_found(folder, model_type))
        return None
    content = read_small(path, path.name, MOST_TOKENISER_BYTES, faults)
    if content is None:
        return None
    before = len(faults)
    try:
        with _library_errors():
            tokenizer = make(content, settings)
            if model_type in WORD_PIECES:
                _follow_settings(tokenizer, settings)
            return TextTokeniser(tokenizer, padding_token, lower_case, settings)
    except ValueError as fault:
        if len(faults) == before:
            faults.append(f"{path.name}: {fault}")
        return None


def _none_found(folder: Path, model_type: str) -> str:
    needed = f"{TOKENISER}: there is no such file"
    if model_type in WORD_PIECES:
        needed += f", nor is there {VOCABULARY}"
    others = [name for name in _OTHER_TOKENISERS if (folder / name).exists()]
    if not others:
        return needed
    return (
        f"{needed}; {', '.join(others)} cannot be read: save the tokeniser with "
        "AutoTokenizer.from_pretrained(…).save_pretrained(…) of transformers"
    )


@contextmanager
def _library_errors() -> Iterator[None]:
    """As `ValueError`: plain `Exception`s, and panics, which derive from `BaseException`."""
    try:
        yield
    except BaseException as fault:
        kinds = {kind.__name__ for kind in type(fault).__mro__}
        if isinstance(fault, Exception) or "PanicException" in kinds:
            raise ValueError(shown(str(fault))) from fault
        raise


def _stated_limit(settings: Settings) -> int | None:
    """Tokenisers without a limit state a number of thirty digits."""
    limit = settings.values.get("model_max_length")
    return limit if isinstance(limit, int) and 0 < limit < 1 << 24 else None


def _follow_settings(tokenizer: Tokenizer, settings: Settings) -> None:
    """What BERT's settings say of letters counts, whatever the description says."""
    described = tokenizer.normalizer
    if not isinstance(described, normalizers.BertNormalizer):
        return
    if settings.values.get("do_lower_case") is not None:
        described.lowercase = settings.flag("do_lower_case", True)
    if "strip_accents" in settings.values:
        described.strip_accents = _optional_flag(settings, "strip_accents")
    if settings.values.get("tokenize_chinese_chars") is not None:
        described.handle_chinese_chars = settings.flag("tokenize_chinese_chars", True)
    tokenizer.normalizer = described


def _from_description(content: bytes, settings: Settings) -> Tokenizer:
    return Tokenizer.from_buffer(content)


def _from_vocabulary(content: bytes, settings: Settings) -> Tokenizer:
    """BERT's tokeniser, of a list of words, one to a line."""
    lines = content.decode().replace("\r\n", "\n").split("\n")
    numbers = {word: number for number, word in enumerate(lines) if word}
    marks = {key: settings.text(key, mark) for key, mark in _MARKS.items()}
    missing = [mark for mark in marks.values() if mark not in numbers]
    if missing:
        raise ValueError(f"lacks {', '.join(map(json.dumps, missing))}")
    return _bert_tokenizer(numbers, marks, settings)


def _bert_tokenizer(
    numbers: dict[str, int], marks: dict[str, str], settings: Settings
) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token=marks["unk_token"]))
    tokenizer.normalizer = normalizers.BertNormalizer(
        lowercase=settings.flag("do_lower_case", True),
        strip_accents=_optional_flag(settings, "strip_accents"),
        handle_chinese_chars=settings.flag("tokenize_chinese_chars", True),
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    separator, first = marks["sep_token"], marks["cls_token"]
    tokenizer.post_processor = processors.BertProcessing(
        (separator, numbers[separator]), (first, numbers[first])
    )
    tokenizer.add_special_tokens(list(marks.values()))
    return tokenizer


def _optional_flag(settings: Settings, key: str) -> bool | None:
    if settings.values.get(key) is None:
        return None
    return settings.flag(key, False)
