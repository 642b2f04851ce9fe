"""The numbers of the chip, restated."""

from tilewright.target import geometry


def test_tiles_and_workers() -> None:
    assert (geometry.TILES, geometry.WORKERS) == (1472, 6)


def test_memory_map() -> None:
    assert geometry.MEMORY_BASE == 0x4C000
    assert geometry.MEMORY_SIZE == 624 * 1024
    assert geometry.MEMORY_END == 0xE8000
    assert geometry.REGION1_BASE == geometry.EXECUTABLE_END == 0x80000
    assert geometry.MEMORY_END <= 1 << geometry.ADDRESS_BITS == 0x200000


def test_regions_are_whole_elements() -> None:
    assert geometry.ELEMENT_SIZE == 16 * 1024
    assert (geometry.REGION1_BASE - geometry.MEMORY_BASE) // geometry.ELEMENT_SIZE == 13
    # Region 1 pairs its elements.
    pair = 2 * geometry.ELEMENT_SIZE
    assert divmod(geometry.MEMORY_END - geometry.REGION1_BASE, pair) == (13, 0)


def test_windows_of_our_layout() -> None:
    assert geometry.LOADER_FRAME_END == 0x4C010
    assert geometry.LOADABLE_END == 0xE7BB0
    assert geometry.EXCHANGE_WINDOW == (0x50000, 0x58000)
    assert geometry.RUNTIME_STATE == (0x58000, 0x5C000)
    for start, end in (geometry.EXCHANGE_WINDOW, geometry.RUNTIME_STATE):
        assert geometry.MEMORY_BASE < start < end < geometry.REGION1_BASE
        assert start % geometry.ELEMENT_SIZE == end % geometry.ELEMENT_SIZE == 0


def test_architecture() -> None:
    assert geometry.ARCHITECTURE_VERSION == 21
    assert geometry.SUPERVISOR_FETCH_AHEAD == 64
