"""The part of tile memory that belongs to the exchange with the host, and what lies where in it.

From its start: the command word, the target of reads that read nothing, each tile's table of
requests and packets; up to its end, each tile's staging for what the host sends. It is one memory
element, and no code lies in it: so a tile can send tables while it executes the code that does.
Destinations of packets are multiples of `DESTINATION_UNIT`.
"""

from tilewright.target.geometry import ELEMENT_SIZE
from tilewright.target.host import PACKET_WINDOW
from tilewright.target.host_packets import DESTINATION_UNIT

COMMAND = PACKET_WINDOW[0]
"""The word that says what to do next, on all tiles."""
DUMMY = COMMAND + DESTINATION_UNIT
"""Where a read of no bytes would land."""
TABLES = DUMMY + DESTINATION_UNIT
"""Where each tile's table of requests and packets starts."""
STAGING_END = PACKET_WINDOW[1]

assert PACKET_WINDOW[0] % ELEMENT_SIZE == 0
assert PACKET_WINDOW[1] - PACKET_WINDOW[0] == ELEMENT_SIZE
