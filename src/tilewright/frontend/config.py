"""`config.json`: the shape of an encoder, and whether it is one of those supported."""

from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from tilewright.frontend.families import FAMILIES, Family
from tilewright.frontend.json_files import Settings

MOST_LAYERS = 1024
MOST_WIDTH = 1 << 16
MOST_ROWS = 1 << 24
"""Of a table of embeddings. These bounds only keep absurd files from costing memory or time."""
LEAST_EPSILON, MOST_EPSILON = 1e-30, 1e30
"""Of a norm: with 0, rows that are all alike, such as those that fill a batch up, become NaN."""


class Activation(Enum):
    """Between the two products of a layer's feed-forward part."""

    GELU = "gelu"
    """x · Φ(x), exact."""
    GELU_TANH = "gelu_tanh"
    RELU = "relu"
    SILU = "silu"


ACTIVATIONS = MappingProxyType(
    {
        "gelu": Activation.GELU,
        "gelu_python": Activation.GELU,
        "gelu_new": Activation.GELU_TANH,
        "gelu_fast": Activation.GELU_TANH,
        "gelu_pytorch_tanh": Activation.GELU_TANH,
        "relu": Activation.RELU,
        "silu": Activation.SILU,
        "swish": Activation.SILU,
    }
)
"""What `hidden_act` may say."""


@dataclass(frozen=True, slots=True)
class EncoderConfig:
    """Sizes of an encoder in elements, and what differs between encoders.

    `inner` is the width between the two products of the feed-forward part; `words`, `positions` and
    `types` are the rows of the three tables of embeddings, `first_position` the row of the first
    token's position. A family without types has 0 of them.
    """

    model_type: str
    layers: int
    width: int
    heads: int
    inner: int
    activation: Activation
    epsilon: float
    words: int
    positions: int
    types: int
    padding_token: int
    first_position: int

    @property
    def family(self) -> Family:
        return FAMILIES[self.model_type]

    @property
    def head_size(self) -> int:
        return self.width // self.heads

    @property
    def most_tokens(self) -> int:
        """For which there are positions."""
        return self.positions - self.first_position


def read_config(settings: Settings) -> EncoderConfig | None:
    """The encoder that `settings` describes, `None` if its sizes are not known.

    `settings` gain faults for these, and for an activation or variant that is not supported, which
    says nothing against comparing tensors.
    """
    _check_variants(settings)
    model_type = settings.choice("model_type", FAMILIES)
    if model_type is None:
        return None
    family = FAMILIES[model_type]
    activation = settings.choice(family.setting("hidden_act"), ACTIVATIONS, "gelu")
    before = len(settings.faults)
    padding = settings.whole("pad_token_id", family.padding_token, least=0, most=MOST_ROWS)
    config = EncoderConfig(
        model_type=model_type,
        layers=settings.whole(family.setting("num_hidden_layers"), most=MOST_LAYERS),
        width=settings.whole(family.setting("hidden_size"), most=MOST_WIDTH),
        heads=settings.whole(family.setting("num_attention_heads"), most=MOST_WIDTH),
        inner=settings.whole(family.setting("intermediate_size"), most=MOST_WIDTH),
        activation=ACTIVATIONS[activation or "gelu"],
        epsilon=settings.number("layer_norm_eps", 1e-12, least=LEAST_EPSILON, most=MOST_EPSILON),
        words=settings.whole("vocab_size", most=MOST_ROWS),
        positions=settings.whole("max_position_embeddings", most=MOST_ROWS),
        types=settings.whole("type_vocab_size", 2, most=MOST_ROWS) if family.has_types else 0,
        padding_token=padding,
        first_position=padding + 1 if family.positions_after_padding else 0,
    )
    if len(settings.faults) == before:
        _check_sizes(config, settings)
    return config if len(settings.faults) == before else None


def _check_variants(settings: Settings) -> None:
    settings.choice("position_embedding_type", ("absolute",), "absolute")
    for key in ("is_decoder", "add_cross_attention", "is_encoder_decoder"):
        if settings.flag(key, False):
            settings.fault(key, "is true; supported are encoders only")
    if settings.values.get("quantization_config") is not None:
        settings.fault("quantization_config", "is set; quantised checkpoints are not supported")


def _check_sizes(config: EncoderConfig, settings: Settings) -> None:
    if config.width % config.heads:
        settings.fault(
            config.family.setting("hidden_size"),
            f"is {config.width}, which {config.heads} heads do not divide",
        )
    if config.padding_token >= config.words:
        settings.fault("pad_token_id", f"is {config.padding_token}; vocab_size is {config.words}")
    if config.most_tokens < 1:
        settings.fault(
            "max_position_embeddings",
            f"is {config.positions}; positions start at {config.first_position}",
        )
