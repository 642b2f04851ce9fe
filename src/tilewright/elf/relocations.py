"""The relocation types of Colossus objects: what each computes, checks and writes.

S is the symbol's value, A the addend, B the start of tile memory. The value is
`(S + A - B) >> shift` for relative types and `(S + A) >> shift` for the others; `S + A` must be
aligned to `1 << shift` and the value must lie in 0 .. 2**bits - 1, so a difference that goes
negative fails. There is no PC-relative type: branches are absolute. Evidence: two independent
public linkers agree bit for bit (docs/objects.md).
"""

from dataclasses import dataclass
from enum import IntEnum

from tilewright.errors import TilewrightError
from tilewright.target.geometry import MEMORY_BASE


class RelocationType(IntEnum):
    """Numbers in r_info; 10 to 13 are unassigned."""

    NONE = 0
    ABS_8 = 1
    ABS_16 = 2
    ABS_20 = 3
    ABS_32 = 4
    ABS_64 = 5
    RELATIVE_16_S2 = 6
    ABS_18_S2 = 7
    ABS_19_S2 = 8
    RUN = 9
    ABS_16_S3 = 14
    ABS_16_S4 = 15
    ABS_16_S5 = 16
    ABS_21 = 17


class RelocationError(TilewrightError):
    """A value that a relocation cannot hold: misaligned or out of range."""


@dataclass(frozen=True, slots=True)
class RelocationRule:
    """How one type is computed and written.

    `width` is the number of bytes that are read and rewritten, `fields` the bit ranges (high, low)
    that receive the value, most significant first; all other bits are kept.
    """

    name: str
    width: int
    bits: int
    fields: tuple[tuple[int, int], ...]
    shift: int = 0
    is_relative: bool = False

    def value(self, target: int) -> int:
        """The value to write for `target` = S + A in bytes. Raises `RelocationError`."""
        if target & ((1 << self.shift) - 1):
            raise RelocationError(
                f"{self.name} needs an address aligned to {1 << self.shift} bytes, got {target:#x}"
            )
        base = MEMORY_BASE if self.is_relative else 0
        value = (target - base) >> self.shift
        if not 0 <= value < 1 << self.bits:
            low, high = base, base + (((1 << self.bits) - 1) << self.shift)
            raise RelocationError(
                f"{self.name} reaches {low:#x} to {high:#x}, got {_signed_hex(target)}"
            )
        return value

    def apply(self, data: bytearray, offset: int, target: int) -> None:
        """Write the value for `target` = S + A at `offset`. Raises `RelocationError`."""
        value = self.value(target)
        end = offset + self.width
        word = int.from_bytes(data[offset:end], "little")
        for high, low in reversed(self.fields):
            size = high - low + 1
            mask = (1 << size) - 1
            word = word & ~(mask << low) | (value & mask) << low
            value >>= size
        data[offset:end] = word.to_bytes(self.width, "little")


def _signed_hex(value: int) -> str:
    return f"-{-value:#x}" if value < 0 else f"{value:#x}"


RULES: dict[int, RelocationRule] = {
    RelocationType.ABS_8: RelocationRule("8", 1, 8, ((7, 0),)),
    RelocationType.ABS_16: RelocationRule("16", 2, 16, ((15, 0),)),
    RelocationType.ABS_20: RelocationRule("20", 4, 20, ((19, 0),)),
    RelocationType.ABS_32: RelocationRule("32", 4, 32, ((31, 0),)),
    RelocationType.ABS_64: RelocationRule("64", 8, 64, ((63, 0),)),
    RelocationType.RELATIVE_16_S2: RelocationRule(
        "RELATIVE_16_S2", 2, 16, ((15, 0),), shift=2, is_relative=True
    ),
    RelocationType.ABS_18_S2: RelocationRule("18_S2", 4, 18, ((17, 0),), shift=2),
    RelocationType.ABS_19_S2: RelocationRule("19_S2", 4, 19, ((18, 0),), shift=2),
    RelocationType.RUN: RelocationRule(
        "RUN", 4, 16, ((19, 16), (11, 0)), shift=2, is_relative=True
    ),
    RelocationType.ABS_16_S3: RelocationRule("16_S3", 2, 16, ((15, 0),), shift=3),
    RelocationType.ABS_16_S4: RelocationRule("16_S4", 2, 16, ((15, 0),), shift=4),
    RelocationType.ABS_16_S5: RelocationRule("16_S5", 2, 16, ((15, 0),), shift=5),
    RelocationType.ABS_21: RelocationRule("21", 4, 21, ((20, 0),)),
}
"""Every type but NONE, which computes and writes nothing."""


def relocation_name(number: int) -> str:
    """The name used in listings and messages, e.g. `19_S2`; `type 12` for an unassigned one."""
    if number == RelocationType.NONE:
        return "NONE"
    rule = RULES.get(number)
    return rule.name if rule else f"type {number}"
