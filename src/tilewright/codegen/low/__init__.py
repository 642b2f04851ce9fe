"""From plans to what tiles do: shards, moves between them, kernel calls, repeats.

- `lower`, `TileSchedule`: the steps of a planned graph, with the buffers that they work on
- `lifetimes`: when each buffer holds something that is still needed; `taken_over`: results that
  may lie where an operand does
- `Moves`, `gathered`, `scattered`: which words of which tiles fill the shards of a stored tensor
- `exchange_phase`, `Placed`: moves of several tensors, at addresses, as one phase of the exchange

See docs/lowering.md.
"""

from tilewright.codegen.low.faults import LoweringError
from tilewright.codegen.low.lifetimes import Lifetimes, lifetimes, taken_over
from tilewright.codegen.low.lower import lower
from tilewright.codegen.low.moves import Copies, Moves, Origin, gathered, inner_places, scattered
from tilewright.codegen.low.phases import Placed, exchange_phase
from tilewright.codegen.low.schedule import (
    Block,
    Buffer,
    BufferKind,
    CopyStep,
    ExchangeStep,
    KernelStep,
    LowStep,
    RepeatStep,
    Sequence,
    TileSchedule,
    Uses,
    uses,
)

__all__ = [
    "Block",
    "Buffer",
    "BufferKind",
    "Copies",
    "CopyStep",
    "ExchangeStep",
    "KernelStep",
    "Lifetimes",
    "LowStep",
    "LoweringError",
    "Moves",
    "Origin",
    "Placed",
    "RepeatStep",
    "Sequence",
    "TileSchedule",
    "Uses",
    "exchange_phase",
    "gathered",
    "inner_places",
    "lifetimes",
    "lower",
    "scattered",
    "taken_over",
    "uses",
]
