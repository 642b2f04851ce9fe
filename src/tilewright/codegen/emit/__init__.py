"""From schedules to programs: addresses, kernel calls, exchange rows, supervisor code.

- `emit`, `Program`: the code of every tile, with kernels linked, and where tensors lie
- `source_contents`, `read_outputs`: what tiles hold of sources before, and of outputs afterwards
- `Frame`, `FrameMaker`: what programs do around the graph; `Environment`: what code is made with
- `place_buffers`, `DataMemory`: addresses of a schedule's buffers

See docs/emission.md, also for what is not emitted yet.
"""

from tilewright.codegen.emit.contents import read_outputs, source_contents
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.memory import DataMemory, place_buffers
from tilewright.codegen.emit.program import Environment, Frame, FrameMaker, Program, emit

__all__ = [
    "DataMemory",
    "EmissionError",
    "Environment",
    "Frame",
    "FrameMaker",
    "Program",
    "emit",
    "place_buffers",
    "read_outputs",
    "source_contents",
]
