"""The registers of a C600 that the driver uses, as offsets in the configuration space.

Evidence: a third party's stack that ran on C600 cards, which used them so (docs/fidelity.md says
which meanings are inferred).
"""

from enum import IntEnum

from tilewright.target.debug import DebugRegister
from tilewright.target.host import HOST_SYNC_CONTROL

CCSR = 0x2000
"""Central control."""
CCSR_NO_SNOOP, CCSR_LINK_ECRC = 1 << 1, 1 << 10

AUTO_LOADER_CONTROL = 0x2068
AUTO_LOADER_TARGET = 0x206C
AUTO_LOADER_DATA = 0x2070
AUTO_LOADER_GO, AUTO_LOADER_HAS_DATA = 1 << 8, 1 << 20
AUTO_LOADER_POINTER_MASK = 0x3F
AUTO_LOADER_TILE_SHIFT, AUTO_LOADER_TILE_MASK = 9, 0x7FF
AUTO_LOADER_END_SHIFT, AUTO_LOADER_KIB_MASK = 10, 0x3FF
AUTO_LOADER_ZONE_SHIFT, AUTO_LOADER_ZONE = 20, 32
"""What the zone selects is unknown; 32 is what is used."""


class SyncGroup(IntEnum):
    """Groups of host sync: the loader uses the first, programs the second."""

    LOADER = 1
    PROGRAM = 2

    @property
    def control(self) -> int:
        """The register with the group's mark."""
        return HOST_SYNC_CONTROL[self - 1]


MARK_MASK = 0xFFFF
"""The mark's bits; the others of its register are not understood."""

EXCHANGE_WINDOW_BASE = 0x3044
EXCHANGE_WINDOW_PAGED = 1 << 11
"""Addresses of host exchange go through the table of attached pages."""

EXCHANGE_BLOCKS = 8
"""On each side of the chip."""
_BLOCK_SPACING = 0x400
_REQUESTS_OFFSET = 4
WEST_REQUESTS = tuple(
    0x5400 + _BLOCK_SPACING * block + _REQUESTS_OFFSET for block in range(EXCHANGE_BLOCKS)
)
EAST_REQUESTS = tuple(
    0x1B800 + _BLOCK_SPACING * block + _REQUESTS_OFFSET for block in range(EXCHANGE_BLOCKS)
)
"""Which requests each exchange block serves (DCXCR): a mark in bits 2:0, four ids of 6 bits."""
REQUEST_ID_SHIFT, REQUEST_ID_MASK = 3, 0x3F
NO_REQUESTS, LOADING_REQUESTS = 0x07FFFFFA, 0x00000002
"""Ids of all contexts: none; the loader's, on the west side."""
RUNNING_REQUESTS_WEST, RUNNING_REQUESTS_EAST = 0x00000002, 0x0020820A

_TILE_REGISTERS = 0x30000
_TILE_SPACING, _WORD = 0x40, 4


def tile_register(tile: int, register: DebugRegister) -> int:
    """The offset of a debug register of a tile, by its physical id."""
    return _TILE_REGISTERS + _TILE_SPACING * tile + _WORD * register


TILE_WINDOW = range(_TILE_REGISTERS, 0x80000)
"""Offsets of the debug registers of tiles; `tile_of` takes them apart."""


def tile_of(offset: int) -> tuple[int, int]:
    """The physical id and the register's number of an offset in the window."""
    tile, place = divmod(offset - _TILE_REGISTERS, _TILE_SPACING)
    return tile, place // _WORD
