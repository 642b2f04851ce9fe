"""From transfers to a timed phase: who sends, listens and writes when, as rows of machine code.

- what moves: `ExchangePhase`, `Transfer`, `PhaseError`; as text: `parse_phase`, `print_phase`
- when: `schedule`, `Schedule`; how soon at best: `lower_bound`; about when: `estimated_events`,
  `estimated_cycles`
- rows: `encode`, `Rows`; used again: `patches`, `Patches`, `row_shapes`
- rows read back: `decode_rows`, `RowEvents`, `RowError`; judged: `check`, `find_faults`, `RowFault`

Tiles are given by physical ids, addresses in bytes, lengths in words of 32 bits, times in events:
cycles of a tile's own clock from the barrier on. The rules are in `target.routes` and
`target.row_events`; the emulated chip judges rows without any of this code. See docs/exchange.md.
"""

from tilewright.exchange.bound import lower_bound
from tilewright.exchange.check import RowFault, check, find_faults
from tilewright.exchange.decode import RowError, RowEvents, decode_rows
from tilewright.exchange.encode import Rows, encode
from tilewright.exchange.estimate import estimated_cycles, estimated_events
from tilewright.exchange.phase import ExchangePhase, PhaseError, Transfer
from tilewright.exchange.repeats import Patches, patches, row_shapes
from tilewright.exchange.schedule import Schedule, schedule
from tilewright.exchange.text import parse_phase, print_phase

__all__ = [
    "ExchangePhase",
    "Patches",
    "PhaseError",
    "RowError",
    "RowEvents",
    "RowFault",
    "Rows",
    "Schedule",
    "Transfer",
    "check",
    "decode_rows",
    "encode",
    "estimated_cycles",
    "estimated_events",
    "find_faults",
    "lower_bound",
    "parse_phase",
    "patches",
    "print_phase",
    "row_shapes",
    "schedule",
]
