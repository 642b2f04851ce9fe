"""Code that runs on tiles: kernels in assembly.

The files are package data; `kernel_source` finds them.
"""

from importlib import resources
from pathlib import Path


def kernel_source(name: str) -> Path:
    """The path of a shipped assembly file, such as `add_f16.S`."""
    return Path(str(resources.files("tilewright.device").joinpath(name)))
