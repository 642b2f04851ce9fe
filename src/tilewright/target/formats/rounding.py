"""Rounding: from an exact number to a pattern, or to an integer.

Here patterns are magnitudes without sign, and the exponent field grows as far as it has to: the
caller decides what becomes of a pattern beyond its format's largest.
"""

from enum import IntEnum
from typing import Protocol

from tilewright.target.formats.exact import Number

RANDOM_BITS = 16
"""ASSUMED: random bits that one stochastic rounding takes (docs/fidelity.md, `sr-bits`)."""


class Rounding(IntEnum):
    """Directions of `f32int`, and of `$FP_CTL.RND` where it is honoured.

    ASSUMED: directions 1 to 3 of RND are those of `f32int`, 4 is as given here for both, and 5 to 7
    have no meaning: `Rounding(5)` raises ValueError (docs/fidelity.md, `rnd`).
    """

    NEAREST_EVEN = 0
    UP = 1
    """Toward +∞."""
    DOWN = 2
    """Toward −∞."""
    ZERO = 3
    NEAREST_AWAY = 4
    """Ties away from zero."""


class Places(Protocol):
    """What rounding needs to know of a format."""

    @property
    def fraction_bits(self) -> int: ...

    @property
    def bias(self) -> int: ...


def nearest(number: Number, format: Places) -> int:
    """The pattern nearest to |`number`|, ties to even."""
    pattern, rest, width = _cut(number, format)
    twice, step = 2 * rest, 1 << width
    return pattern + (twice > step or (twice == step and pattern & 1))


def stochastic(number: Number, format: Places, random: int) -> int:
    """⌊|`number`| + `random` / 2**16⌋, counted in steps of the format at this place.

    So a number between two patterns goes up for as many of the 65,536 values of `random` as its
    share of the step says, and one that has a pattern keeps it. The steps are those of the binade
    of |`number`|, subnormals included.

    ASSUMED: sixteen random bits, used this way (docs/fidelity.md, `sr-bits`).
    """
    pattern, rest, width = _cut(number, format)
    return pattern + ((rest << RANDOM_BITS) + (random << width) >> RANDOM_BITS + width)


def integral(number: Number, mode: Rounding) -> int:
    """The magnitude of the integer that `number` rounds to."""
    if number.exponent >= 0:
        return number.significand << number.exponent
    step = 1 << -number.exponent
    below, rest = divmod(number.significand, step)
    return below + _goes_up(mode, number.negative, below, rest, step)


def _goes_up(mode: Rounding, negative: bool, below: int, rest: int, step: int) -> bool:
    """Whether a magnitude of `below` + `rest`/`step` rounds to `below` + 1."""
    match mode:
        case Rounding.NEAREST_EVEN:
            return 2 * rest > step or (2 * rest == step and below % 2 == 1)
        case Rounding.NEAREST_AWAY:
            return 2 * rest >= step
        case Rounding.UP:
            return rest != 0 and not negative
        case Rounding.DOWN:
            return rest != 0 and negative
        case Rounding.ZERO:
            return False


def _cut(number: Number, format: Places) -> tuple[int, int, int]:
    """The pattern at or beneath |`number`|, and the rest: `rest` / 2**`width` of a step."""
    if number.significand == 0:
        return 0, 0, 0
    leading = number.significand.bit_length() - 1 + number.exponent
    binade = max(leading, 1 - format.bias)
    width = binade - format.fraction_bits - number.exponent
    if width > 0:
        steps = number.significand >> width
        rest = number.significand & ((1 << width) - 1)
    else:
        steps, rest, width = number.significand << -width, 0, 0
    # The leading bit of a normal number carries into the exponent field, which is one short for it.
    pattern = (binade + format.bias - 1 << format.fraction_bits) + steps
    return pattern, rest, width
