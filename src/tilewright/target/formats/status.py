"""What an operation hands back: a bit pattern, and the flags it raises."""

from enum import IntFlag
from typing import NamedTuple


class Flags(IntFlag):
    """Bits of `$FP_STS`, where they stay set, and of `$FP_CTL`, where they enable an exception.

    When each is raised is ASSUMED to follow IEEE 754, in so far as nothing published says otherwise
    (docs/fidelity.md, `fp-flags`).
    """

    NONE = 0
    INV = 1
    """Invalid: ∞−∞, 0·∞, 0/0, ∞/∞, root or logarithm below zero, a signalling NaN, a comparison
    with a NaN, an integer out of range, or an infinite half where none is allowed."""
    DIV0 = 2
    """Division by zero: x/0, 1/0, 1/√0, logarithm of 0."""
    OFLO = 4
    """Overflow: the result is too large for its format."""


class Result(NamedTuple):
    """The result's bit pattern, and what the operation adds to `$FP_STS`."""

    bits: int
    flags: Flags
