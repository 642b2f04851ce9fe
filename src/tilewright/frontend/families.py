"""Kinds of checkpoints that hold BERT's layers, and what each of them calls things."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


def _as_bert() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Family:
    """What differs from BERT. `settings` and `parts` map BERT's names to the family's own."""

    prefix: str
    """Before the names of tensors where the file holds a model with a head."""
    padding_token: int = 0
    """Where `config.json` does not say."""
    positions_after_padding: bool = False
    """Position numbers start behind that of the padding token, not at 0."""
    has_types: bool = True
    """There are embeddings of token types."""
    settings: Mapping[str, str] = field(default_factory=_as_bert)
    """Keys of `config.json`."""
    layers: str = "encoder.layer"
    parts: Mapping[str, str] = field(default_factory=_as_bert)
    """Parts of a layer."""

    def setting(self, key: str) -> str:
        """What the family's `config.json` calls BERT's `key`."""
        return self.settings.get(key, key)

    def tensor(self, name: str) -> str:
        """What the family's files call BERT's tensor `name`, without prefix."""
        if not name.startswith("encoder.layer."):
            return name
        layer, _, rest = name.removeprefix("encoder.layer.").partition(".")
        part, _, kind = rest.rpartition(".")
        return f"{self.layers}.{layer}.{self.parts.get(part, part)}.{kind}"


_ROBERTA = Family("roberta.", padding_token=1, positions_after_padding=True)

_DISTILBERT = Family(
    "distilbert.",
    has_types=False,
    settings=MappingProxyType(
        {
            "num_hidden_layers": "n_layers",
            "hidden_size": "dim",
            "num_attention_heads": "n_heads",
            "intermediate_size": "hidden_dim",
            "hidden_act": "activation",
        }
    ),
    layers="transformer.layer",
    parts=MappingProxyType(
        {
            "attention.self.query": "attention.q_lin",
            "attention.self.key": "attention.k_lin",
            "attention.self.value": "attention.v_lin",
            "attention.output.dense": "attention.out_lin",
            "attention.output.LayerNorm": "sa_layer_norm",
            "intermediate.dense": "ffn.lin1",
            "output.dense": "ffn.lin2",
            "output.LayerNorm": "output_layer_norm",
        }
    ),
)

FAMILIES = MappingProxyType(
    {
        "bert": Family("bert."),
        "distilbert": _DISTILBERT,
        "roberta": _ROBERTA,
        "xlm-roberta": _ROBERTA,
        "camembert": _ROBERTA,
    }
)
"""By `model_type`."""
