"""From plans to what tiles do: shards, moves between them, kernel calls, repeats.

- `lower`, `TileSchedule`: the steps of a planned graph, with the buffers that they work on
- `Moves`, `gathered`, `scattered`: which words of which tiles fill the shards of a stored tensor
- `exchange_phase`, `Placed`: moves of several tensors, at addresses, as one phase of the exchange

See docs/lowering.md.
"""

from tilewright.codegen.low.faults import LoweringError
from tilewright.codegen.low.lower import lower
from tilewright.codegen.low.moves import Copies, Moves, gathered, scattered
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
    "LowStep",
    "LoweringError",
    "Moves",
    "Placed",
    "RepeatStep",
    "Sequence",
    "TileSchedule",
    "Uses",
    "exchange_phase",
    "gathered",
    "lower",
    "scattered",
    "uses",
]
