"""Which addresses can be accessed, and which two of them at once."""

import random

import pytest

from tilewright.emulator.faults import AddressFault, ConflictFault
from tilewright.emulator.reference.access import check_conflict, check_data_address, memory_element

FIRST, REGION_1, END = 0x4C000, 0x80000, 0xE8000


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_alignment(size: int) -> None:
    for offset in range(32):
        if offset % size == 0:
            check_data_address(REGION_1 + offset, size)
        else:
            with pytest.raises(AddressFault, match="not aligned"):
                check_data_address(REGION_1 + offset, size)


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_both_ends_of_memory(size: int) -> None:
    check_data_address(END - size, size)
    for outside in (END, FIRST - size, 0, 1 << 21 | REGION_1, (1 << 32) - size):
        with pytest.raises(AddressFault, match="outside tile memory"):
            check_data_address(outside, size)
    if size < 16:
        check_data_address(FIRST, size)


def test_where_16_bytes_can_be_read() -> None:
    check_data_address(REGION_1, 16)
    for address in (FIRST, REGION_1 - 16):
        with pytest.raises(AddressFault, match="region 1"):
            check_data_address(address, 16)


def test_how_many_elements_there_are() -> None:
    """13 of 16 KiB below, and 26 above, which lie in pairs; each holds 2,048 atoms."""
    elements = [memory_element(address) for address in range(FIRST, END, 8)]
    assert len(set(elements)) == 39
    assert {elements.count(element) for element in set(elements)} == {2048}


def clash(one: int, other: int) -> bool:
    """Stated by regions and blocks, apart from elements."""
    if (one < REGION_1) != (other < REGION_1):
        return False
    if one < REGION_1:
        return one & ~0x3FFF == other & ~0x3FFF
    return one & ~0x7FFF == other & ~0x7FFF and (one ^ other) & 8 == 0


def test_conflicts_of_any_addresses() -> None:
    generator = random.Random(1)
    seen = set()
    for _ in range(3000):
        one = generator.randrange(FIRST, END) & ~7
        other = one + 8 * generator.randrange(-5000, 5000)
        if not FIRST <= other < END:
            continue
        expected = clash(one, other)
        seen.add((one < REGION_1, other < REGION_1, expected))
        try:
            check_conflict([one, other])
        except ConflictFault:
            assert expected
        else:
            assert not expected
    assert len(seen) == 6, "all kinds of pairs came up"


def test_three_accesses() -> None:
    apart = [0x60000, 0x90000, 0x90008]
    check_conflict(apart)
    for place, address in enumerate((0x60008, 0x90010, 0x90018)):
        others = [each for index, each in enumerate(apart) if index != place]
        check_conflict([address, *others])
        with pytest.raises(ConflictFault, match=f"{apart[place]:#x} and {address:#x}"):
            check_conflict([*apart, address])


def test_small_items_in_one_atom_conflict() -> None:
    """Also two reads of the very same place (assumed)."""
    for other in (0x90000, 0x90002, 0x90004):
        with pytest.raises(ConflictFault):
            check_conflict([0x90000, other])
