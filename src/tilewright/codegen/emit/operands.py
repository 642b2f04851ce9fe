"""Operands of kernel steps: each tile's shard of a buffer, and where it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from tilewright.codegen.emit.addresses import Address, Value
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.low import Buffer, KernelStep
from tilewright.codegen.mid import ElementOrder, Layout, Precision
from tilewright.codegen.mid.storage import Storage
from tilewright.device.kernels import KERNELS, Kernel, KernelFault
from tilewright.device.kernels.spec import Array


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the supervisor function `symbol` with these values in `$m2`, `$m3`, …

    `sizes` are those of the kernel's specification, where whoever makes the call knows them.
    """

    kernel: str
    values: tuple[Value, ...]
    sizes: tuple[tuple[str, int], ...] = ()

    @property
    def symbol(self) -> str:
        return KERNELS[self.kernel].symbol


@dataclass(frozen=True, slots=True)
class Matrix:
    """A tile's shard of a packed matrix: rows and columns as they are packed."""

    rows: int
    columns: int
    first_row: int
    first_column: int

    @property
    def elements(self) -> int:
        return self.rows * self.columns


@dataclass(frozen=True, slots=True)
class SeenBuffers:
    """A kernel step with what its operation sees: views of buffers are buffers of their own."""

    step: KernelStep
    buffers: Sequence[Buffer]
    addresses: Sequence[Address]


def as_seen(
    step: KernelStep, buffers: Sequence[Buffer], addresses: Sequence[Address]
) -> SeenBuffers:
    """The step, and buffers with addresses that it refers to."""
    numbers = (*step.operands, step.result)
    if all(
        buffers[each].slot.storage == seen for each, seen in zip(numbers, step.seen, strict=True)
    ):
        return SeenBuffers(step, buffers, addresses)
    buffers, addresses = list(buffers), list(addresses)
    for number, storage in zip(numbers, step.seen, strict=True):
        buffer = buffers[number]
        buffers.append(replace(buffer, slot=replace(buffer.slot, storage=storage)))
        addresses.append(addresses[number])
    *operands, result = range(len(buffers) - len(numbers), len(buffers))
    seen = replace(step, operands=tuple(operands), result=result)
    return SeenBuffers(seen, buffers, addresses)


class Operands:
    """Shards of buffers at `addresses`; of those with steps, the shards of step `window`."""

    def __init__(
        self, buffers: Sequence[Buffer], addresses: Sequence[Address], window: int = 0
    ) -> None:
        self._buffers = buffers
        self._addresses = addresses
        self._window = window

    def storage(self, buffer: int) -> Storage:
        return self._buffers[buffer].slot.storage

    def layout(self, buffer: int) -> Layout:
        return self._buffers[buffer].layout

    def terms(self, buffer: int) -> int:
        """How many tiles have a term each of what is summed up."""
        return self._buffers[buffer].slot.terms

    def precision(self, buffer: int) -> Precision:
        """Of what is stored."""
        return self.layout(buffer).format.precision

    def extents(self, buffer: int, tile: int) -> tuple[int, ...]:
        """Of a tile's shard, padding included, along (at least two) axes."""
        return tuple(extent for _, extent in self.ranges(buffer, tile))

    def ranges(self, buffer: int, tile: int) -> list[tuple[int, int]]:
        """First coordinates with extents."""
        held = self._buffers[buffer].shard_numbers(self._window)
        return _ranges(self.layout(buffer), int(held[tile % len(held)]))

    def starts(self, buffer: int, tile: int) -> tuple[int, ...]:
        """Where a tile's shard starts along the axes of `extents`."""
        return tuple(int(start) for start, _ in self.ranges(buffer, tile))

    def elements(self, buffer: int, tile: int) -> int:
        return int(np.prod(self.extents(buffer, tile)))

    def matrix(self, buffer: int, tile: int) -> Matrix:
        layout = self.layout(buffer)
        *_, rows, columns = self.ranges(buffer, tile)
        if layout.format.order.is_transposed:
            rows, columns = columns, rows
        if layout.format.order is ElementOrder.ROW_MAJOR:
            raise EmissionError(f"{self.name(buffer)} is not packed for the matrix engine")
        return Matrix(int(rows[1]), int(columns[1]), int(rows[0]), int(columns[0]))

    def at(self, buffer: int) -> Address:
        return self._addresses[buffer]

    def name(self, buffer: int) -> str:
        return self._buffers[buffer].name


def _ranges(layout: Layout, shard: int) -> list[tuple[int, int]]:
    return _shards(layout)[shard]


@lru_cache(maxsize=1024)
def _shards(layout: Layout) -> list[list[tuple[int, int]]]:
    """By tile, first coordinate and extent along (at least two) axes."""
    tiles = np.arange(layout.format.tiles)
    axes = [np.stack(axis, axis=1).tolist() for axis in layout.shard(tiles)]
    outer = [(0, 1)] * (2 - len(axes))
    return [[*outer, *(tuple(axis[tile]) for axis in axes)] for tile in tiles.tolist()]


def find_kernel(name: str) -> Kernel:
    """Raises `EmissionError` for one that does not exist."""
    if name not in KERNELS:
        raise EmissionError(f"there is no kernel {name}")
    return KERNELS[name]


def kernel_call(kernel: Kernel, sizes: dict[str, int], places: Mapping[str, Value]) -> Call:
    """A call as the kernel specifies it; `places` may give numbers that sizes do not tell.

    Raises `EmissionError` for sizes that the kernel does not take.
    """
    try:
        kernel.check_sizes(sizes)
    except KernelFault as fault:
        raise EmissionError(f"{kernel.name}: {fault}") from fault
    values = tuple(
        places[operand.name]
        if isinstance(operand, Array) or operand.name in places
        else operand.value(sizes)
        for operand in kernel.operands
    )
    return Call(kernel.name, values, tuple(sizes.items()))
