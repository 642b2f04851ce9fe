"""Checked access to a tile's memory: alignment, range, region, and element conflicts."""

from collections.abc import Iterable

from tilewright.emulator.faults import AddressFault, ConflictFault
from tilewright.target.geometry import ELEMENT_SIZE, MEMORY_BASE, MEMORY_END, REGION1_BASE


def check_data_address(address: int, size: int) -> None:
    """Raises `AddressFault` unless `size` bytes can be accessed there at once."""
    if address % size:
        raise AddressFault(f"{address:#x} is not aligned to {size} bytes")
    if not MEMORY_BASE <= address <= MEMORY_END - size:
        raise AddressFault(f"{address:#x} is outside tile memory")
    if size == 16 and address < REGION1_BASE:
        raise AddressFault(f"{address:#x} is outside region 1, where 16 bytes can be read at once")


def memory_element(address: int) -> tuple[int, int]:
    """Which element serves an address; elements of region 1 are pairs that alternate by atom."""
    if address < REGION1_BASE:
        return address // ELEMENT_SIZE, 0
    return address // (2 * ELEMENT_SIZE), 1 + (address >> 3 & 1)


def check_conflict(addresses: Iterable[int]) -> None:
    """Raises `ConflictFault` if two accesses fall into one element, even at one atom (assumed)."""
    seen: dict[tuple[int, int], int] = {}
    for address in addresses:
        element = memory_element(address)
        if element in seen:
            raise ConflictFault(
                f"{seen[element]:#x} and {address:#x} lie in the same memory element"
            )
        seen[element] = address
