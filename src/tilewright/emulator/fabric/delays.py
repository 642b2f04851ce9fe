"""How long items take from the event in which they get their address: the same for all tiles.

The delays from slots, of which these are differences, grow with the tile's row.
"""

from tilewright.target.row_events import (
    clash_delays,
    pointer_delays,
    row_end_delays,
    visible_delays,
)

_POINTER = int(pointer_delays(0))

TO_CLASH = int(clash_delays(0)) - _POINTER
"""To the cycle in which the item's write occupies its memory element."""
TO_VISIBLE = int(visible_delays(0)) - _POINTER
"""To the first event in which the item can be read from memory."""
TO_ROW_END = int(row_end_delays(0)) + 1 - _POINTER
"""To the earliest last event of the row (the delay of row ends counts from the following slot)."""
