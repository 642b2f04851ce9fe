"""Memory elements as bits, as the exchange sees them: in region 1, pairs of them act as one."""

from tilewright.exchange.phase import Ints
from tilewright.target.geometry import ELEMENT_SIZE, MEMORY_BASE, REGION1_BASE

_REGION1_FIRST = (REGION1_BASE - MEMORY_BASE) // ELEMENT_SIZE


def elements(address: Ints, end: Ints) -> Ints:
    """The elements of bytes `address` to `end` (exclusive, not empty)."""
    return (2 << _number(end - 1)) - (1 << _number(address))


def _number(address: Ints) -> Ints:
    number = (address - MEMORY_BASE) // ELEMENT_SIZE
    paired = _REGION1_FIRST + (number - _REGION1_FIRST) // 2
    in_pairs = number >= _REGION1_FIRST
    return number + in_pairs * (paired - number)
