"""From transfers to a timed phase: who sends, listens and writes when, as rows of machine code.

- what moves: `ExchangePhase`, `Transfer`, `PhaseError`
- when: `schedule`, `Schedule`, `lower_bound`
- rows: `encode`, `Rows`

Tiles are given by physical ids, addresses in bytes, lengths in words of 32 bits, times in events:
cycles of a tile's own clock from the barrier on. The rules are in `target.routes` and
`target.row_events`; the emulated chip judges rows without any of this code.
"""

from tilewright.exchange.bound import lower_bound
from tilewright.exchange.encode import Rows, encode
from tilewright.exchange.phase import ExchangePhase, PhaseError, Transfer
from tilewright.exchange.schedule import Schedule, schedule

__all__ = [
    "ExchangePhase",
    "PhaseError",
    "Rows",
    "Schedule",
    "Transfer",
    "encode",
    "lower_bound",
    "schedule",
]
