"""What programs of tiles call beside kernels: `static_runtime.S`, where operands are explained."""

from importlib import resources
from pathlib import Path
from types import MappingProxyType

from tilewright.target.geometry import RUNTIME_STATE, STACK_TOP, WORKER_SCRATCH_SIZE
from tilewright.target.topology import NEUTRAL_MUX

RUNTIME = Path(str(resources.files("tilewright.device").joinpath("static_runtime.S")))

START_UP = "start_up"
AWAIT_SESSION = "await_session"
FINISH = "finish"
RENDEZVOUS = "rendezvous"
SAMPLE_FROM = "sample_from"
SAMPLE = "sample_cycles"
SAMPLE_CYCLES = 33
"""From the call of `sample_cycles` to its return, on the emulated chip."""
ADVANCE = "advance_words"
"""Adds to the words of a table."""

COMPLETION_WORD = RUNTIME_STATE[0]
COMPLETED = 1
"""What `finish` puts into the completion word."""

RUNTIME_VALUES = MappingProxyType(
    {
        "COMPLETION_WORD": COMPLETION_WORD,
        "STACK_TOP": STACK_TOP,
        "WORKER_SCRATCH_SIZE": WORKER_SCRATCH_SIZE,
        "NEUTRAL_MUX": NEUTRAL_MUX,
    }
)
"""Symbols that the linker is to give values."""
