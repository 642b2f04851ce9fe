"""From schedules to programs: addresses, kernel calls, exchange rows, supervisor code.

- `emit`, `Program`: the code of every tile, with kernels linked, and where tensors lie
- `place_buffers`: addresses of a schedule's buffers

So far for matrix products with sums over tiles, biases, functions of one array and sums of two, and
rows that lie whole: see docs/emission.md.
"""

from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.memory import place_buffers
from tilewright.codegen.emit.program import Program, emit

__all__ = ["EmissionError", "Program", "emit", "place_buffers"]
