"""Memory elements as the exchange sees them: in region 1, pairs of elements count as one."""

from tilewright.compiled import compiled_part
from tilewright.emulator.fabric.findings import Number
from tilewright.target.geometry import ELEMENT_SIZE, MEMORY_BASE, MEMORY_END, REGION1_BASE

_PAIR_OF_ELEMENTS = 2 * ELEMENT_SIZE
_FIRST_OF_REGION1 = (REGION1_BASE - MEMORY_BASE) // ELEMENT_SIZE

assert MEMORY_BASE % ELEMENT_SIZE == 0
assert REGION1_BASE % _PAIR_OF_ELEMENTS == 0
assert _FIRST_OF_REGION1 + (MEMORY_END - REGION1_BASE) // _PAIR_OF_ELEMENTS < 63


@compiled_part
def element_at(address: Number) -> int:
    """The first address of an address's element."""
    width = ELEMENT_SIZE if address < REGION1_BASE else _PAIR_OF_ELEMENTS
    return address // width * width


@compiled_part
def element_end(address: Number) -> int:
    """The address after an address's element."""
    width = ELEMENT_SIZE if address < REGION1_BASE else _PAIR_OF_ELEMENTS
    return (address // width + 1) * width


@compiled_part
def element_bit(address: Number) -> int:
    """Stands for an address's element in a set of them; 0 outside memory."""
    if address < MEMORY_BASE or address >= MEMORY_END:
        return 0
    if address < REGION1_BASE:
        return 1 << (address - MEMORY_BASE) // ELEMENT_SIZE
    return 1 << _FIRST_OF_REGION1 + (address - REGION1_BASE) // _PAIR_OF_ELEMENTS
