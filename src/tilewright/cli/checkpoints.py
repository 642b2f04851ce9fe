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
    if Path(name).exists() or "/" in name:
        return load_checkpoint(name)
    try:
        return load_checkpoint(find_installed_checkpoint(name))
    except CheckpointError as fault:
        faults = ["there is no such file or folder", *fault.faults]
        raise CheckpointError(name, faults) from fault


def weights_format(name: str) -> DType:
    """Raises `TilewrightError` for a name that is none."""
    if name not in WEIGHTS:
        raise TilewrightError(f"--weights is {' or '.join(WEIGHTS)}, not '{name}'")
    return WEIGHTS[name]
