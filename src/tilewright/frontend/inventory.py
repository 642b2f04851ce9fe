"""The tensors that an encoder consists of, by the names that BERT's checkpoints give them."""

from collections.abc import Iterable

from tilewright.frontend.config import EncoderConfig
from tilewright.frontend.families import FAMILIES, Family
from tilewright.frontend.json_files import shown
from tilewright.graph import Shape

WORDS = "embeddings.word_embeddings.weight"
POSITIONS = "embeddings.position_embeddings.weight"
TYPES = "embeddings.token_type_embeddings.weight"
EMBEDDING_NORM = "embeddings.LayerNorm"

QUERY = "attention.self.query"
KEY = "attention.self.key"
VALUE = "attention.self.value"
OUT = "attention.output.dense"
FIRST_NORM = "attention.output.LayerNorm"
UP = "intermediate.dense"
DOWN = "output.dense"
SECOND_NORM = "output.LayerNorm"

_IGNORED = (
    *("pooler.", "cls.", "lm_head.", "classifier.", "pre_classifier.", "qa_outputs."),
    *("vocab_transform.", "vocab_layer_norm.", "vocab_projector."),
    *("fit_dense.", "fit_denses."),
)
_IGNORED_BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")


def layer_name(layer: int, part: str) -> str:
    """What BERT's checkpoints call a part of a layer, without `.weight` or `.bias`."""
    return f"encoder.layer.{layer}.{part}"


def expected_tensors(config: EncoderConfig) -> dict[str, Shape]:
    """Every tensor that the encoder needs, with its shape. Products have outputs × inputs."""
    width = config.width
    shapes: dict[str, Shape] = {
        WORDS: (config.words, width),
        POSITIONS: (config.positions, width),
        f"{EMBEDDING_NORM}.weight": (width,),
        f"{EMBEDDING_NORM}.bias": (width,),
    }
    if config.types:
        shapes[TYPES] = (config.types, width)
    products = {
        QUERY: (width, width),
        KEY: (width, width),
        VALUE: (width, width),
        OUT: (width, width),
        UP: (config.inner, width),
        DOWN: (width, config.inner),
    }
    for layer in range(config.layers):
        for part, (outputs, inputs) in products.items():
            shapes[f"{layer_name(layer, part)}.weight"] = (outputs, inputs)
            shapes[f"{layer_name(layer, part)}.bias"] = (outputs,)
        for part in (FIRST_NORM, SECOND_NORM):
            shapes[f"{layer_name(layer, part)}.weight"] = (width,)
            shapes[f"{layer_name(layer, part)}.bias"] = (width,)
    return shapes


def find_prefix(names: Iterable[str], family: Family, faults: list[str]) -> str:
    """What stands before the names of the encoder's tensors, such as `bert.` or nothing.

    It is known from the table of words. Without one, it is the family's, and the tables of several
    encoders, or of one of another family, are a fault.
    """
    found = [each.removesuffix(WORDS) for each in names if each.endswith(WORDS)]
    if len(found) > 1:
        faults.append(f"tensors of several encoders: {shown(', '.join(map(repr, found)))}")
    prefix = found[0] if len(found) == 1 else family.prefix
    others = {each.prefix for each in FAMILIES.values()} - {family.prefix}
    if _last_part(prefix) in others:
        faults.append(
            f"tensors begin with {shown(prefix)}, and are not of the kind that model_type states"
        )
    return prefix


def plain_name(name: str, prefix: str, family: Family) -> str:
    """A tensor's name without prefix, and with today's words for a norm's two rows.

    Heads stand beside the encoder: before them is what stands before its own name.
    """
    for before in (prefix, family.prefix, prefix.removesuffix(_last_part(prefix))):
        if before and name.startswith(before):
            name = name.removeprefix(before)
            break
    for old, new in (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")):
        if name.endswith(old):
            name = name.removesuffix(old) + new
    return name


def _last_part(prefix: str) -> str:
    """`bert.` of `module.bert.`"""
    return prefix[prefix.rstrip(".").rfind(".") + 1 :]


def is_ignored(plain: str) -> bool:
    """Whether a tensor plays no part in hidden states: heads, the pooler, numbered positions."""
    return plain.startswith(_IGNORED) or plain in _IGNORED_BUFFERS
