"""The LLVM engine for workers: the meanings, run with an IR builder instead of numbers.

`LlvmWorkers` runs workers; `WorkerResult` tells how a run ended. See the modules for how:

- `translate`: from code to a function; `machine`: the abstract machine that emits an instruction
- `frame`, `registers`, `effects`, `access`: where state lives, and how it is read and written
- `floats`, `halves`, `singles`, `quarters`, `ordered`, `functions`, `tables`, `rounded`: floating
  point; usual operands take a short way, and what raises flags takes a complete one
- `dots`, `weighted`, `weights`, `units`, `sums`: accumulators, AMP and SLIC
- `compiler`, `cache`, `support`: machine code, on disk, and what it uses from outside
- `workers`: the driver
"""

from tilewright.emulator.llvm.cache import ObjectCache
from tilewright.emulator.llvm.workers import UNLIMITED, LlvmWorkers, WorkerResult

__all__ = ["UNLIMITED", "LlvmWorkers", "ObjectCache", "WorkerResult"]
