"""The tensors that an encoder consists of, by the names that checkpoints give them."""

from tilewright.frontend.config import FAMILIES, EncoderConfig
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

_IGNORED = ("pooler.", "cls.", "lm_head.", "classifier.", "qa_outputs.")
_IGNORED_BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")


def layer_name(layer: int, part: str) -> str:
    """What checkpoints call a part of a layer, without `.weight` or `.bias`."""
    return f"encoder.layer.{layer}.{part}"


def expected_tensors(config: EncoderConfig) -> dict[str, Shape]:
    """Every tensor that the encoder needs, with its shape. Products have outputs × inputs."""
    width = config.width
    shapes: dict[str, Shape] = {
        WORDS: (config.words, width),
        POSITIONS: (config.positions, width),
        TYPES: (config.types, width),
        f"{EMBEDDING_NORM}.weight": (width,),
        f"{EMBEDDING_NORM}.bias": (width,),
    }
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


def plain_name(name: str) -> str:
    """A tensor's name without its family's prefix, and with today's words for a norm's two rows."""
    for prefix in sorted({family.prefix for family in FAMILIES.values()}):
        name = name.removeprefix(prefix)
    for old, new in (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")):
        if name.endswith(old):
            name = name.removesuffix(old) + new
    return name


def is_ignored(plain: str) -> bool:
    """Whether a tensor plays no part in hidden states: heads, the pooler, numbered positions."""
    return plain.startswith(_IGNORED) or plain in _IGNORED_BUFFERS
