"""Checkpoints as commands name them: by path, or by an installed package that holds one."""

from pathlib import Path

from tilewright.errors import TilewrightError
from tilewright.frontend import (
    Checkpoint,
    CheckpointError,
    find_installed_checkpoint,
    load_checkpoint,
)
from tilewright.graph import DType

WEIGHTS = {"f16": DType.F16, "f8": DType.F8F143}
"""How `--weights` names the formats of stored matrices."""


def named_checkpoint(name: str) -> Checkpoint:
    """The checkpoint at a path, or in the installed package of that name.

    Raises `CheckpointError`.
    """
    if Path(name).exists():
        return load_checkpoint(name)
    missing = "there is no such file or folder, and nothing is downloaded"
    if "/" in name:
        raise CheckpointError(name, [missing])
    try:
        folder = find_installed_checkpoint(name)
    except CheckpointError as fault:
        raise CheckpointError(name, [missing, *fault.faults]) from fault
    return load_checkpoint(folder)


def weights_format(name: str) -> DType:
    """Raises `TilewrightError` for a name that is none."""
    if name not in WEIGHTS:
        raise TilewrightError(f"--weights is {' or '.join(WEIGHTS)}, not '{name}'")
    return WEIGHTS[name]
