"""Tensors of a safetensors file as float32 arrays.

The `safetensors` library judges the file; NumPy maps its bytes, because the library's own arrays
know no bfloat16.
"""

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from tilewright.frontend.json_files import shown
from tilewright.graph import Shape

MOST_HEADER_BYTES = 8 << 20
"""Some 60,000 tensors; those of real encoders have up to some 100 KB."""

_STORED = MappingProxyType({"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"})
"""How NumPy reads the bytes of a format."""

_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True, slots=True, eq=False)
class StoredTensor:
    """A tensor of a file: its format by safetensors' name for it, its shape, its bytes (mapped)."""

    dtype: str
    shape: Shape
    content: NDArray[np.uint8]

    @property
    def is_float(self) -> bool:
        """Whether `read` takes it."""
        return self.dtype in _STORED

    def read(self) -> NDArray[np.float32]:
        """The numbers in float32, in memory of their own; float64 is rounded."""
        numbers = self.content.copy().view(_STORED[self.dtype]).reshape(self.shape)
        if self.dtype == "BF16":
            return (numbers.astype(np.uint32) << 16).view(np.float32)
        with np.errstate(over="ignore"):  # infinities are found with those of the file
            return np.asarray(numbers, np.float32)


def supported_dtypes() -> str:
    """For messages."""
    return ", ".join(_STORED)


def open_tensors(path: Path, faults: list[str]) -> dict[str, StoredTensor] | None:
    """The tensors of the file at `path`, by name.

    `None`, and a line in `faults`, if it is not a sound safetensors file.
    """
    try:
        start = _data_start(path)
        with safe_open(path, framework="np"):
            pass  # which checks the header: names, shapes, that the bytes are there and no others
        content: NDArray[np.uint8] = np.memmap(path, np.uint8, "r")
        header = json.loads(content[_LENGTH.size : start].tobytes())
    except (OSError, SafetensorError, ValueError, RecursionError) as fault:
        faults.append(f"{path.name}: {shown(str(fault))}")
        return None
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            place = content[start + first : start + last]
            tensors[name] = StoredTensor(entry["dtype"], tuple(entry["shape"]), place)
    return tensors


def _data_start(path: Path) -> int:
    """Where the header ends, in bytes. Raises `ValueError`."""
    with path.open("rb") as file:
        prefix = file.read(_LENGTH.size)
    if len(prefix) < _LENGTH.size:
        raise ValueError("too short to be a safetensors file")
    length: int = _LENGTH.unpack(prefix)[0]
    if length > MOST_HEADER_BYTES:
        raise ValueError(
            f"not a safetensors file, or one with a header of {length} bytes; at most "
            f"{MOST_HEADER_BYTES} are read"
        )
    return _LENGTH.size + length
