"""The exchange fabric: what the rows of all tiles move, judged from the events that they executed.

- `phase`: `run_phase`, one exchange between tiles from barrier to the end of its rows
- `rows`: what a tile sends and which controls it sets, event by event
- `listening`: who listens to whom, slot by slot; `arrivals`: the items that reach each receiver
- `delays`: from an item's address to memory
- `delivery`: the addresses and formats that items meet; `movement`: the words themselves
- `elements`: accesses to one memory element that get into each other's way

Independent of any encoder of rows. Evidence for the rules is in `tilewright.target.routes` and
`row_events`; what is assumed beyond it has names (docs/fidelity.md).
"""

from tilewright.emulator.fabric.elements import ClashRule
from tilewright.emulator.fabric.phase import run_phase
from tilewright.emulator.fabric.rows import Record

__all__ = ["ClashRule", "Record", "run_phase"]
