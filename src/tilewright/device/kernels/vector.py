"""What vector kernels share: whole atoms, six workers that take turns, and what a call costs."""

from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

import numpy as np

from tilewright.device.kernels.launches import launch_end
from tilewright.device.kernels.spec import (
    ATOM_BYTES,
    Array,
    Places,
    Role,
    Sample,
    Scalar,
    Size,
    Sizes,
    normal,
)
from tilewright.target.geometry import WORKERS

LARGEST = 1 << 17
"""Elements of a vector call, which more than fill a tile."""
N = Size("n", maximum=LARGEST, usual=4096)
HALF, SINGLE = 2.0**-11, 2.0**-24
"""Relative errors of rounding to nearest, for accuracies."""

_TO_FIRST_STORE, _RETURN = 12, 6
"""Cycles of the supervisor: from the call to its first store of the state, and to return."""


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


def vector(name: str, dtype: str, role: Role = Role.INPUT, sample: Sample = normal) -> Array:
    """An array of `n` elements."""
    return Array(name, dtype, role, elements, sample=sample)


def atom_count(dtype: str) -> Scalar:
    return Scalar("atoms", atoms(dtype))


def call_cycles(stored: int, steps: Sequence[int]) -> int:
    """Of a call whose supervisor stores so many words and whose workers take so many steps each."""
    return launch_end(_TO_FIRST_STORE + stored, steps) + _RETURN


def shares(units: int) -> list[int]:
    """How many units each worker takes when they take turns."""
    return [(units + WORKERS - 1 - worker) // WORKERS for worker in range(WORKERS)]


def vector_cycles(
    dtype: str, stored: int, first: int, further: int, padding_saves: int = 0
) -> Callable[[Sizes, Places], int]:
    """Of a kernel whose workers take `first` steps in all for one atom, `further` for each more,
    and `padding_saves` less for each element that the last atom is short of."""
    count = atoms(dtype)

    def cycles(sizes: Sizes, places: Places) -> int:
        steps = [first + further * (share - 1) for share in shares(count(sizes))]
        steps[(count(sizes) - 1) % WORKERS] -= padding_saves * (-sizes["n"] % per_atom(dtype))
        return call_cycles(stored, [max(each, 1) for each in steps])

    return cycles
