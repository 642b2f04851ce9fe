"""Operands of kernel steps: each tile's shard of a buffer, and where it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.codegen.emit.addresses import Address, Value
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.low import Buffer
from tilewright.codegen.mid import ElementOrder, Layout, Precision
from tilewright.device.kernels import KERNELS, Kernel, KernelFault
from tilewright.device.kernels.spec import Array


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the supervisor function `symbol` with these values in `$m2`, `$m3`, …"""

    kernel: str
    values: tuple[Value, ...]

    @property
    def symbol(self) -> str:
        return KERNELS[self.kernel].symbol


@dataclass(frozen=True, slots=True)
class Matrix:
    """A tile's shard of a packed matrix: rows and columns as they are packed."""

    rows: int
    columns: int
    first_row: int

    @property
    def elements(self) -> int:
        return self.rows * self.columns


class Operands:
    """Shards of buffers at `addresses`."""

    def __init__(self, buffers: Sequence[Buffer], addresses: Sequence[Address]) -> None:
        self._buffers = buffers
        self._addresses = addresses

    def layout(self, buffer: int) -> Layout:
        return self._buffers[buffer].layout

    def precision(self, buffer: int) -> Precision:
        """Of what is stored."""
        return self.layout(buffer).format.precision

    def extents(self, buffer: int, tile: int) -> tuple[int, ...]:
        """Of a tile's shard, padding included, along (at least two) axes."""
        layout = self.layout(buffer)
        return tuple(int(extent) for _, extent in _ranges(layout, tile))

    def starts(self, buffer: int, tile: int) -> tuple[int, ...]:
        """Where a tile's shard starts along the axes of `extents`."""
        return tuple(int(start) for start, _ in _ranges(self.layout(buffer), tile))

    def elements(self, buffer: int, tile: int) -> int:
        return int(np.prod(self.extents(buffer, tile)))

    def matrix(self, buffer: int, tile: int) -> Matrix:
        layout = self.layout(buffer)
        *_, rows, columns = _ranges(layout, tile)
        if layout.format.order.is_transposed:
            rows, columns = columns, rows
        if layout.format.order is ElementOrder.ROW_MAJOR:
            raise EmissionError(f"{self.name(buffer)} is not packed for the matrix engine")
        return Matrix(int(rows[1]), int(columns[1]), int(rows[0]))

    def at(self, buffer: int) -> Address:
        return self._addresses[buffer]

    def name(self, buffer: int) -> str:
        return self._buffers[buffer].name


def _ranges(layout: Layout, tile: int) -> list[tuple[int, int]]:
    found = [(int(start), int(extent)) for start, extent in layout.shard(np.array(tile))]
    return [(0, 1)] * (2 - len(found)) + found


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
    return Call(kernel.name, values)
