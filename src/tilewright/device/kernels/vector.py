"""What vector kernels share: whole atoms, six workers that take turns, and what a call costs."""

from collections.abc import Callable
from importlib import resources
from pathlib import Path

import numpy as np

from tilewright.device.kernels.spec import (
    ATOM_BYTES,
    Array,
    Places,
    Role,
    Scalar,
    Size,
    Sizes,
)
from tilewright.target.geometry import WORKERS
from tilewright.target.timing import WORKER_STEP

LARGEST = 1 << 17
"""Elements of a vector call, which more than fill a tile."""
N = Size("n", maximum=LARGEST, usual=4096)

_CALL_CYCLES = 26
"""From a call to the return, beyond what the supervisor stores and what the workers take: as the
emulated chip counts it."""


def source(name: str) -> Path:
    """The path of an assembly file beside this module."""
    return Path(str(resources.files(__package__).joinpath(name)))


def elements(sizes: Sizes) -> int:
    return sizes["n"]


def per_atom(dtype: str) -> int:
    """Elements of this type in an atom."""
    return ATOM_BYTES // np.dtype(dtype).itemsize


def atoms(dtype: str) -> Callable[[Sizes], int]:
    """Atoms of `n` elements."""
    return lambda sizes: -(-sizes["n"] // per_atom(dtype))


def vector(name: str, dtype: str, role: Role = Role.INPUT, **more: object) -> Array:
    """An array of `n` elements."""
    return Array(name, dtype, role, elements, **more)  # type: ignore[arg-type]  # Array's own


def atom_count(dtype: str) -> Scalar:
    return Scalar("atoms", atoms(dtype))


def call_cycles(stored: int, steps: int, last_worker: int) -> int:
    """Of a call whose supervisor stores so many words, and whose workers take so many steps.

    `last_worker` is the last of those that take that long: it ends that many cycles after the
    first.
    """
    return _CALL_CYCLES + stored + WORKER_STEP.value * steps + last_worker


def vector_cycles(
    dtype: str, stored: int, first: int, further: int
) -> Callable[[Sizes, Places], int]:
    """Of a kernel whose workers take `first` steps in all for one atom, `further` for each more."""
    count = atoms(dtype)

    def cycles(sizes: Sizes, places: Places) -> int:
        turns, last_worker = divmod(count(sizes) - 1, WORKERS)
        return call_cycles(stored, first + further * turns, last_worker)

    return cycles
