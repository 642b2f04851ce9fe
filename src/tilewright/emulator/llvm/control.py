"""The control registers that a translation takes for granted.

Rounding, overflow, enabled exceptions, and quarter formats are decided when code is translated;
code that writes these registers ends its translation, and the next one is for the new values.
"""

from dataclasses import dataclass

from tilewright.target.csr import FIELDS

_SHIFT = {field.name: field.shift for field in FIELDS if field.register == "FP_CTL"}
_SCALE_BITS = 6
FLAG_BITS = 0b111
"""INV, DIV0 and OFLO."""

SPECIALISED_FIELDS = frozenset({"float_control", "number_format", "number_scale"})
"""Fields of a worker's record on which a translation depends."""


@dataclass(frozen=True, slots=True)
class FloatControl:
    """What $FP_CTL, $FP_NFMT and $FP_SCL say.

    `enabled` holds the flags that raise an exception, `rounding` the number of a direction;
    the formats are format bits, `scale` a power of two.
    """

    enabled: int = 0
    rounding: int = 0
    stochastic: bool = False
    nanoo: bool = False
    weight_format: int = 0
    register_format: int = 0
    scale: int = 0

    @classmethod
    def of(cls, control: int, formats: int, scale: int) -> "FloatControl":
        """From the registers' words."""
        raw_scale = scale & ((1 << _SCALE_BITS) - 1)
        return cls(
            enabled=control & FLAG_BITS,
            rounding=control >> _SHIFT["RND"] & 7,
            stochastic=bool(control >> _SHIFT["ESR"] & 1),
            nanoo=bool(control >> _SHIFT["NANOO"] & 1),
            weight_format=formats & 1,
            register_format=formats >> 1 & 1,
            scale=raw_scale - ((raw_scale >> (_SCALE_BITS - 1)) << _SCALE_BITS),
        )
