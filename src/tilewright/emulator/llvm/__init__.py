"""The LLVM engine for workers: the meanings, run with an IR builder instead of numbers.

`LlvmWorkers` runs workers; `WorkerResult` tells how a run ended. See the modules for how:

- `translate`: from code to a function; `machine`: the abstract machine that emits an instruction
- `frame`, `registers`, `effects`, `access`: where state lives, and how it is read and written
- `halves`, `singles`, `quarters`, `functions`, `dots`, `sums`: floating point
- `compiler`, `cache`, `support`: machine code, on disk, and what it uses from outside
- `workers`: the driver
"""

from tilewright.emulator.llvm.cache import ObjectCache
from tilewright.emulator.llvm.workers import UNLIMITED, LlvmWorkers, WorkerResult

__all__ = ["UNLIMITED", "LlvmWorkers", "ObjectCache", "WorkerResult"]
