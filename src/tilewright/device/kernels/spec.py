"""What a kernel is: how it is called, what it needs of memory, what it gives, what it takes.

A `Kernel` describes a supervisor function of the calling convention in docs/kernels.md. Its
operands stand in the order of the registers `$m2`, `$m3`, …: arrays by address, scalars by value.
Everything about them follows from the *sizes* of a call, named numbers such as `rows=64`.
`reference` states the meaning with NumPy, `cycles` what a call costs; tests hold both against the
machine code.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import TilewrightError
from tilewright.target.geometry import REGION1_BASE

Sizes = Mapping[str, int]
Arrays = Mapping[str, NDArray[Any]]
Places = Mapping[str, int]
"""Addresses of the arrays of a call, by name."""
Sample = Callable[[np.random.Generator, int], NDArray[Any]]
"""So many values to try a kernel with."""

ATOM_BYTES = 8
"""Arrays that are aligned to atoms take whole atoms of memory: what their last one holds beyond
them is free to be read and to be overwritten."""

MOST_OPERANDS = 8
LARGEST_ELEMENT = 4
"""Bytes: unwritten memory reads as NaN in elements of up to a word."""


class KernelFault(TilewrightError):
    """A kernel used as its specification does not allow."""


class Role(Enum):
    """What a kernel does with an array."""

    INPUT = "input"
    RESULT = "result"
    UPDATED = "updated"
    """Read and written."""
    WORKSPACE = "workspace"
    """Room for values on the way."""

    @property
    def is_read(self) -> bool:
        return self in (Role.INPUT, Role.UPDATED)

    @property
    def is_result(self) -> bool:
        return self in (Role.RESULT, Role.UPDATED)


class Memory(Enum):
    """Where an array may lie."""

    ANY = "any"
    INTERLEAVED = "interleaved"
    """In region 1 only."""


def normal(random: np.random.Generator, count: int) -> NDArray[Any]:
    """Values around 0 in steps of 2**-10: products and short sums of them are exact in f64."""
    return np.round(random.normal(size=count) * 1024) / 1024


@dataclass(frozen=True, slots=True)
class Array:
    """An array operand; `count` is its number of elements, `alignment` is in bytes.

    `content` gives the elements where sizes determine them: see `table`.
    """

    name: str
    dtype: str
    role: Role
    count: Callable[[Sizes], int]
    alignment: int = ATOM_BYTES
    memory: Memory = Memory.ANY
    sample: Sample = normal
    content: Callable[[Sizes], NDArray[Any]] | None = None

    def faults(self) -> Iterator[str]:
        """What is wrong with it."""
        try:
            size = np.dtype(self.dtype).itemsize
        except TypeError:
            yield f"NumPy has no dtype {self.dtype!r}"
            return
        if size > LARGEST_ELEMENT:
            yield f"elements have up to {LARGEST_ELEMENT} bytes, those of {self.dtype} have {size}"
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            yield f"an alignment is a power of two, {self.alignment} is none"

    def bytes(self, sizes: Sizes) -> int:
        """What it takes up in memory: whole atoms, or as much as its alignment if that is less."""
        size = self.count(sizes) * np.dtype(self.dtype).itemsize
        grain = min(self.alignment, ATOM_BYTES)
        return -(-size // grain) * grain


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number that a register holds."""

    name: str
    value: Callable[[Sizes], int]


def table(name: str, entries: Sequence[Scalar]) -> Array:
    """The address of words that hold numbers, for a kernel that has more of them than registers."""

    def content(sizes: Sizes) -> NDArray[Any]:
        return np.array([entry.value(sizes) & 0xFFFF_FFFF for entry in entries], np.uint32)

    return Array(name, "u4", Role.INPUT, lambda sizes: len(entries), content=content)


@dataclass(frozen=True, slots=True)
class Size:
    """A named size of a call: its range, what it must be a multiple of, one to try."""

    name: str
    minimum: int = 1
    maximum: int = 1 << 16
    multiple: int = 1
    usual: int = 1

    def check(self, value: int) -> None:
        """Raises `KernelFault` for a value that the kernel does not take."""
        if not self.minimum <= value <= self.maximum or value % self.multiple:
            grain = f", multiples of {self.multiple}" if self.multiple > 1 else ""
            raise KernelFault(
                f"{self.name}={value}, but {self.name} is {self.minimum} to {self.maximum}{grain}"
            )


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How far a result may be from the reference: |error| ≤ absolute + relative · |reference|.

    Both 0: the reference states the order of operations, and results are equal to the bit.
    """

    absolute: float = 0.0
    relative: float = 0.0

    @property
    def is_exact(self) -> bool:
        return not (self.absolute or self.relative)


EXACT = Accuracy()


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel. `source` is its assembly; `name` the symbol of its supervisor function, and after
    a dot the form of the call if there are several: `gemm_f16.zero`.

    - `reference(sizes, inputs)` gives the results by name; inputs are flat arrays by name.
    - `cycles(sizes, places)` is the cost of a call in cycles of the tile clock, from `call` to
      return, for arrays at these addresses.
    - `apart` names pairs of arrays that must not share a memory element (a pair of elements in
      region 1); `in_place` pairs of a result and an input that may be the same memory. Other arrays
      do not overlap.
    - `elements(sizes)` is what `kernel run` gives its cycles per; for matrix products it is the
      number of multiply-adds.
    """

    name: str
    summary: str
    source: Path
    operands: tuple[Array | Scalar, ...]
    sizes: tuple[Size, ...]
    reference: Callable[[Sizes, Arrays], Arrays]
    cycles: Callable[[Sizes, Places], int]
    elements: Callable[[Sizes], int]
    accuracy: Accuracy = EXACT
    apart: tuple[tuple[str, str], ...] = ()
    in_place: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Raises `KernelFault`, which lists what is wrong."""
        object.__setattr__(self, "source", Path(self.source))
        if faults := list(self._faults()):
            raise KernelFault(f"the specification of {self.name}: {'; '.join(faults)}")

    def _faults(self) -> Iterator[str]:
        names = [operand.name for operand in self.operands]
        if len(names) > MOST_OPERANDS:
            yield f"{len(names)} operands, but {MOST_OPERANDS} registers hold some, $m2 to $m9"
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"two operands are named {name}"
        if not any(array.role.is_result for array in self.arrays):
            yield "no array is a result"
        for array in self.arrays:
            yield from (f"{array.name}: {fault}" for fault in array.faults())
        arrays = {array.name for array in self.arrays}
        for pair in (*self.apart, *self.in_place):
            yield from (f"there is no array {name}" for name in pair if name not in arrays)

    @property
    def symbol(self) -> str:
        return self.name.partition(".")[0]

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(operand for operand in self.operands if isinstance(operand, Array))

    def array(self, name: str) -> Array:
        return next(array for array in self.arrays if array.name == name)

    def check_sizes(self, sizes: Sizes) -> None:
        """Raises `KernelFault` unless these are the sizes of the kernel, each in its range."""
        names = [size.name for size in self.sizes]
        if sorted(names) != sorted(sizes):
            raise KernelFault(
                f"{self.name} takes the sizes {', '.join(names)}, not {', '.join(sizes) or 'none'}"
            )
        for size in self.sizes:
            size.check(sizes[size.name])


def is_interleaved(address: int) -> bool:
    """Whether an address lies in region 1, where 128-bit loads work."""
    return address >= REGION1_BASE
