"""What comes after the encoder: pooling and normalisation, as sentence-transformers' files say."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from tilewright.frontend.json_files import Settings, quoted, read_json, read_settings, shown

MODULES = "modules.json"
_MOST_TOKENS = 1 << 24
_NAMED_AFTER = ("bert", "roberta", "distilbert", "camembert", "xlm-roberta")
"""What the file of limits was named after, at some time; the first that is there counts."""


class Pooling(Enum):
    """How the hidden states of a text's tokens become one vector. The value is its name in files.

    All but the maxima are sums of tokens with weights. Vectors of several kinds of pooling stand
    one after the other, in this order.
    """

    FIRST = "cls_token"
    """That of the first token."""
    MAX = "max_tokens"
    MEAN = "mean_tokens"
    MEAN_SQRT = "mean_sqrt_len_tokens"
    """The sum divided by the square root of the number of tokens."""
    WEIGHTED_MEAN = "weightedmean_tokens"
    """The n-th token counts n times."""
    LAST = "lasttoken"

    @property
    def key(self) -> str:
        """Of the flag in the settings of a pooling."""
        return f"pooling_mode_{self.value}"


_BY_NAME = MappingProxyType(
    {
        "cls": Pooling.FIRST,
        "max": Pooling.MAX,
        "mean": Pooling.MEAN,
        "mean_sqrt_len_tokens": Pooling.MEAN_SQRT,
        "weightedmean": Pooling.WEIGHTED_MEAN,
        "lasttoken": Pooling.LAST,
    }
)
"""What `pooling_mode` may say, which newer files have instead of flags."""


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """How hidden states become a text's vector.

    `transformer` is the folder of the encoder's own files; `most_tokens` is `None` where the files
    set no limit.
    """

    transformer: Path
    pooling: tuple[Pooling, ...] = (Pooling.MEAN,)
    normalise: bool = False
    lower_case: bool = False
    most_tokens: int | None = None


def read_modules(folder: Path, faults: list[str]) -> tuple[SentenceModel, Settings | None]:
    """The sentence model in `folder`, and the settings of its pooling.

    Without `modules.json` the mean is pooled and not normalised, which is also what
    sentence-transformers does with a plain encoder.
    """
    if not (folder / MODULES).exists():
        return SentenceModel(folder), None
    modules = read_json(folder / MODULES, MODULES, faults)
    if modules is None:
        return SentenceModel(folder), None
    kinds = _kinds(modules, faults)
    if kinds is None:
        return SentenceModel(folder), None
    paths = [_inside(folder, module, faults) for module in modules]
    _check_prompts(folder, faults)
    pooling = _settings(folder, paths[1], "config.json", faults)
    lower_case, most_tokens = _limits(folder, paths[0], faults)
    model = SentenceModel(
        transformer=paths[0],
        pooling=_poolings(pooling) if pooling else (),
        normalise="Normalize" in kinds,
        lower_case=lower_case,
        most_tokens=most_tokens,
    )
    return model, pooling


def check_pooled_width(pooling: Settings, width: int) -> None:
    """Note a pooling that was made for hidden states of another width."""
    stated = pooling.whole("word_embedding_dimension", width, most=1 << 24)
    if stated != width:
        pooling.fault("word_embedding_dimension", f"is {stated}; hidden_size is {width}")


def _kinds(modules: Any, faults: list[str]) -> tuple[str, ...] | None:
    """The modules' class names, if they are a transformer, a pooling and maybe a normalisation."""
    if not isinstance(modules, list) or not all(isinstance(each, dict) for each in modules):
        faults.append(f"{MODULES}: expected a list of objects, found {quoted(modules)}")
        return None
    types = [each.get("type") for each in modules]
    kinds = tuple(each.rpartition(".")[2] if isinstance(each, str) else "" for each in types)
    if kinds in (("Transformer", "Pooling"), ("Transformer", "Pooling", "Normalize")):
        return kinds
    faults.append(
        f"{MODULES}: the modules are {shown(', '.join(kinds))}; supported are Transformer, Pooling "
        "and, if wanted, Normalize, in this order"
    )
    return None


def _inside(folder: Path, module: dict[str, Any], faults: list[str]) -> Path:
    """A module's folder, which must lie in the checkpoint's."""
    text = module.get("path", "")
    path = PurePosixPath(text if isinstance(text, str) else "/")
    if path.is_absolute() or ".." in path.parts or "\0" in str(path):
        faults.append(f"{MODULES}: path {quoted(text)} is none inside of the checkpoint's folder")
        return folder
    return folder / path


def _settings(folder: Path, inside: Path, file: str, faults: list[str]) -> Settings | None:
    path = inside / file
    return read_settings(path, str(path.relative_to(folder)), faults)


def _poolings(settings: Settings) -> tuple[Pooling, ...]:
    if settings.values.get("pooling_mode") is not None:
        name = settings.choice("pooling_mode", _BY_NAME)
        return () if name is None else (_BY_NAME[name],)
    by_key = {each.key: each for each in Pooling}
    flags = [key for key in settings.values if key.startswith("pooling_mode_")]
    asked = {key for key in flags if settings.flag(key, False)}
    if settings.flag(Pooling.MEAN.key, True):  # which it is in sentence-transformers
        asked.add(Pooling.MEAN.key)
    for key in sorted(asked - by_key.keys()):
        settings.fault(shown(key), f"is true; supported are {', '.join(by_key)}")
    if not asked:
        settings.fault("pooling_mode_…", f"none is true; supported are {', '.join(by_key)}")
    return tuple(each for key, each in by_key.items() if key in asked)


def _limits(folder: Path, transformer: Path, faults: list[str]) -> tuple[bool, int | None]:
    """Whether text is lowered first, and how many tokens the model wants at most."""
    names = [f"sentence_{kind}_config.json" for kind in _NAMED_AFTER]
    present = [name for name in names if (transformer / name).exists()]
    if not present:
        return False, None
    settings = _settings(folder, transformer, present[0], faults)
    if settings is None:
        return False, None
    most = None
    if settings.values.get("max_seq_length") is not None:
        most = settings.whole("max_seq_length", most=_MOST_TOKENS)
    return settings.flag("do_lower_case", False), most


def _check_prompts(folder: Path, faults: list[str]) -> None:
    name = "config_sentence_transformers.json"
    if not (folder / name).exists():
        return
    settings = read_settings(folder / name, name, faults)
    if settings is not None and settings.values.get("default_prompt_name") is not None:
        settings.fault(
            "default_prompt_name",
            f"is {quoted(settings.values['default_prompt_name'])}; prompts are not supported",
        )
