"""What every instruction does, stated once as functions over an abstract machine.

- `machine`: the abstract machine and its conventions
- `registry`: `MEANINGS`, by mnemonic
- by subject: `integer`, `permute`, `control`, `csr`, `memory`, `pace`, `floats`, `accumulate`,
  `amp`, `exchange`
"""

from tilewright.isa.meaning import (  # noqa: F401  (registers the meanings)
    accumulate,
    amp,
    control,
    csr,
    exchange,
    floats,
    integer,
    memory,
    pace,
    permute,
)
from tilewright.isa.meaning.machine import Bound, Machine
from tilewright.isa.meaning.registry import MEANINGS, Meaning

__all__ = ["MEANINGS", "Bound", "Machine", "Meaning"]
