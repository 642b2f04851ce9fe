"""What the chip and its tile loader ask of the host. Addresses and sizes are in bytes.

Evidence: a third party's stack that ran on C600 cards, and the disassembly of the first
generation's tile loader, whose numbers agree where they can be compared (docs/fidelity.md).
"""

from tilewright.target.geometry import LOADABLE_END, LOADER_FRAME_END, TILES
from tilewright.target.topology import ROWS

HOST_PAGE = 4096
"""Host memory is translated in units of this size; no packet crosses one's end."""
HOST_WORD = 4
"""Every transfer between host and tiles is a multiple of this, at both ends."""
HOST_SPACE = 1 << 27
"""Host exchange reaches the attached pages as one space of at most this size."""
PACKET_WINDOW = (0x50000, 0x54000)
"""Where packets from the host land, half open. ASSUMED to be all that a packet's header can name:
its destination field looks wide enough for all of tile memory, but no one has tried."""

CONFIGURATION_SPACE = 0x80000
"""The size of the registers that the host sees; each is a word."""
HOST_SYNC_CONTROL = (0x302C, 0x3030)
"""The registers with the marks of host sync groups 1 and 2, which the driver alone writes."""

LOADER_BATCH_TILES = TILES // ROWS
"""The tile loader fills the tiles of one row at a time."""
LOADER_FRAME_PAYLOAD = 992
"""Bytes of tile memory in one frame of the tile loader."""
LOADER_FRAMES = range(17, 644)
"""How many frames the tile loader takes for one tile. The lower end is inferred."""

assert LOADER_FRAME_END + LOADER_FRAMES[-1] * LOADER_FRAME_PAYLOAD == LOADABLE_END
