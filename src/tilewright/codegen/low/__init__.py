"""From plans to work for tiles: what each moves, and what it calls.

- `Moves`, `gathered`, `scattered`: which words of which tiles fill the shards of a stored tensor
- `exchange_phase`: moves of several tensors as one phase of the exchange

So far the movement of data; see docs/lowering.md.
"""

from tilewright.codegen.low.faults import LoweringError
from tilewright.codegen.low.moves import Copies, Moves, gathered, scattered
from tilewright.codegen.low.phases import Placed, exchange_phase

__all__ = [
    "Copies",
    "LoweringError",
    "Moves",
    "Placed",
    "exchange_phase",
    "gathered",
    "scattered",
]
