"""What programs of tiles call beside kernels: `static_runtime.S`."""

from importlib import resources
from pathlib import Path

RUNTIME = Path(str(resources.files("tilewright.device").joinpath("static_runtime.S")))
ADVANCE = "advance_words"
"""Adds to the words of a table; operands in the source."""
