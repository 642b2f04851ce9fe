"""The exchange fabric: what the rows of all tiles move, judged from the events that they executed.

- `inputs`: what the fabric is given; `phase`: `run_phase`, one exchange between tiles from barrier
  to the end of its rows
- `rows`: what tiles send and which controls they set, event by event
- `listening`: who listens to whom, slot by slot; `arrivals`: the items that reach each receiver
- `delays`: from an item's address to memory
- `delivery`: the addresses and formats that items meet; `movement`: the words themselves;
  `relays`: those that are sent on
- `elements`: accesses to one memory element that get into each other's way; `layout`: where
  elements are
- `findings`: what is wrong, noted as numbers and told as faults; `compiled_arrays`: helpers

Independent of any encoder of rows. Evidence for the rules is in `tilewright.target.routes` and
`row_events`; what is assumed beyond it has names (docs/fidelity.md).

A phase goes through compiled functions over arrays of all tiles' sends, controls, arrivals and
deliveries. `phase` is imported when the first words move, as compiled functions take their time.
"""

from tilewright.emulator.fabric.inputs import ClashRule, Executed

__all__ = ["ClashRule", "Executed"]
